/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_DAEMON_INSIDE_H
#define TESTS_DAEMON_INSIDE_H

/**
 * inside_foreign - try to end process @victim and to remove @file, by calls of the other ABIs that
 * this kernel may have
 *
 * @tell: called for each call that succeeded
 */
void inside_foreign(void (*tell)(const char *fmt, ...), long victim, const char *file);

#endif
