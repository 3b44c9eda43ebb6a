/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOG_H
#define BASE_LOG_H

/**
 * Logging: one line an event on standard error,
 *     time=2026-01-02T03:04:05.678901Z level=info event=session.open key=value ...
 * Values with blanks are quoted by the caller ("why=\"...\"").
 * Thread-safe: a line is one write(2).
 */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/** log_set_level - lines above @level are dropped; the default is info. */
void log_set_level(enum log_level level);

/** log_level_parse - "error", "warn", "info" or "debug" to @level; ERR_CONFIG otherwise. */
int log_level_parse(const char *name, enum log_level *level);

/** log_is_on - whether a line of @level would be written: guard costly arguments. */
int log_is_on(enum log_level level);

/** log_event - @event is a dotted word; @fmt gives the " key=value" pairs after it. */
void log_event(enum log_level level, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

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
