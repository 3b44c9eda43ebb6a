/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/err.h"

/**
 * Logging: one line an event on standard error,
 *     time=2026-01-02T03:04:05.678901Z level=info event=session.open key=value ...
 * Values with blanks are quoted by the caller ("why=\"...\"").
 *
 * Thread-safe; not to be called from a signal handler.
 *
 * Synchronous, one write(2) a line, until log_start(): for tools, tests and a daemon before its
 * threads run. From then on a line goes into a bounded ring and a thread of the log writes it, so a
 * thread that logs never waits for standard error. Lines that do not fit are dropped and counted
 * (event=log.lost lines=N is written in their place). Lines that peers cause are limited by peer
 * and event, see log_peer().
 */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/** log_set_level - lines above @level are dropped; the default is info. */
void log_set_level(enum log_level level);

/** log_level_name - the word that log_level_parse() reads. */
const char *log_level_name(enum log_level level);

/** log_level_parse - "error", "warn", "info" or "debug" to @level; ERR_CONFIG otherwise. */
int log_level_parse(const char *name, enum log_level *level);

/** log_is_on - whether a line of @level would be written. Call it first if arguments of the line
 * are costly. */
int log_is_on(enum log_level level);

/** log_event - @event is a dotted word; @fmt gives the " key=value" pairs after it. */
void log_event(enum log_level level, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * log_peer - as log_event(), for an event that a peer can cause as often as it likes
 * @event: a string that lives for ever
 * @peer: the peer against whose limit the line counts: an address without port, or the name of a
 *        route
 *
 * After log_start() the number of lines of an event is limited, for each peer and for all peers
 * together, at once and per second (log_limit.h). The other lines are counted, and the count is
 * logged every ten seconds: event=log.suppressed of=EVENT peer=PEER lines=N. With level debug there
 * is no limit but the ring.
 */
void log_peer(enum log_level level, const char *event, const char *peer, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * log_start - from here on a thread of the log writes lines
 *
 * Call it in the process that does the work: a child made by fork() has no such thread. All signals
 * are blocked in it. SIGPIPE must be ignored or handled by the caller.
 *
 * Return: 0, or ERR_NOMEM: there is no thread; the log stays synchronous.
 */
int log_start(void) WARN_UNUSED;

/**
 * log_stop - write the lines that are left, for at most a second, then be synchronous again
 *
 * Call it when all other threads that log have ended. If standard error does not take everything in
 * that second, the rest is dropped and the log is silent from then on, because a write might block.
 */
void log_stop(void);

/** log_has_room - whether half of the ring is free: a thread with a long report waits until it
 * is. */
bool log_has_room(void);

/** log_set_sink - tests: hand lines (without newline) to @sink instead; NULL restores stderr. */
void log_set_sink(void (*sink)(const char *line));

#define log_error(event, ...) log_event(LOG_LEVEL_ERROR, event, __VA_ARGS__)
#define log_warn(event, ...) log_event(LOG_LEVEL_WARN, event, __VA_ARGS__)
#define log_info(event, ...) log_event(LOG_LEVEL_INFO, event, __VA_ARGS__)
#define log_debug(event, ...)                                                                      \
	do {                                                                                       \
		if (log_is_on(LOG_LEVEL_DEBUG))                                                    \
			log_event(LOG_LEVEL_DEBUG, event, __VA_ARGS__);                            \
	} while (0)

#endif
