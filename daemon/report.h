/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_REPORT_H
#define DAEMON_REPORT_H

/** report_process - one line event=process: descriptors, heap and resident memory now. */
void report_process(void);

#endif
