/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_DAEMON_INSIDE_H
#define TESTS_DAEMON_INSIDE_H

/** inside_foreign - tries to end @victim and to remove @file by the calls of the other ABIs that this kernel may serve
 *
 * @tell: is called for each call that succeeded
 */
void inside_foreign(void (*tell)(const char *fmt, ...), long victim, const char *file);

#endif
