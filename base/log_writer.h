/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOG_WRITER_H
#define BASE_LOG_WRITER_H

#include <stddef.h>

#include "base/log.h"

/**
 * log_writer - the ring, the limits and the thread behind log_start(). For base/log.c alone.
 *
 * Any thread may call every function except log_writer_start() and log_writer_stop(). No function
 * that any thread may call waits for standard error: the lock is held for a copy of a line, never
 * for a system call.
 */

/** log_writer_start - Return: 0 or ERR_NOMEM. */
int log_writer_start(void) WARN_UNUSED;

/** log_writer_stop - Return: whether standard error took everything, the count of lost lines
 * included. */
bool log_writer_stop(void);

/** log_writer_put - add a line with its newline; dropped and counted if there is no room. */
void log_writer_put(enum log_level level, const char *line, size_t len);

/** log_writer_allow - whether @peer may cause one more line of @event; if not, the line is
 * counted. */
bool log_writer_allow(const char *event, const char *peer);

/** log_writer_has_room - whether half of the ring is free. */
bool log_writer_has_room(void);

#endif
