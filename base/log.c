/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/log_line.h"
#include "base/log_writer.h"

enum log_mode { LOG_SYNCHRONOUS, LOG_STARTED, LOG_SILENT };

static atomic_int max_level = LOG_LEVEL_INFO;
static atomic_int mode = LOG_SYNCHRONOUS;
static void (*line_sink)(const char *line);

void log_set_level(enum log_level level)
{
	atomic_store(&max_level, (int)level);
}

static const char *const level_names[] = {"error", "warn", "info", "debug"};

const char *log_level_name(enum log_level level)
{
	return level_names[level];
}

int log_level_parse(const char *name, enum log_level *level)
{
	for (unsigned i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++)
		if (strcmp(name, level_names[i]) == 0) {
			*level = (enum log_level)i;
			return 0;
		}
	return ERR_CONFIG;
}

int log_is_on(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&max_level, memory_order_relaxed);
}

void log_set_sink(void (*sink)(const char *line))
{
	line_sink = sink;
}

static void put_line(enum log_level level, const char *event, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void put_line(enum log_level level, const char *event, const char *fmt, va_list ap)
{
	char line[LOG_LINE_MAX];
	size_t n = log_line_vformat(line, level, event, fmt, ap);

	if (line_sink) {
		line[n - 1] = '\0';
		line_sink(line);
		return;
	}
	if (atomic_load(&mode) == LOG_STARTED)
		log_writer_put(level, line, n);
	/* A log that cannot be written is no reason to stop serving. */
	else if (atomic_load(&mode) == LOG_SYNCHRONOUS && write(STDERR_FILENO, line, n) < 0)
		return;
}

void log_event(enum log_level level, const char *event, const char *fmt, ...)
{
	va_list ap;

	if (!log_is_on(level))
		return;
	va_start(ap, fmt);
	put_line(level, event, fmt, ap);
	va_end(ap);
}

void log_peer(enum log_level level, const char *event, const char *peer, const char *fmt, ...)
{
	va_list ap;

	if (!log_is_on(level))
		return;
	if (atomic_load(&mode) == LOG_STARTED && !log_is_on(LOG_LEVEL_DEBUG) &&
	    !log_writer_allow(event, peer))
		return;
	va_start(ap, fmt);
	put_line(level, event, fmt, ap);
	va_end(ap);
}

int log_start(void)
{
	int err = log_writer_start();

	if (!err)
		atomic_store(&mode, LOG_STARTED);
	return err;
}

void log_stop(void)
{
	if (atomic_load(&mode) == LOG_STARTED)
		atomic_store(&mode, log_writer_stop() ? LOG_SYNCHRONOUS : LOG_SILENT);
}

bool log_has_room(void)
{
	return atomic_load(&mode) != LOG_STARTED || log_writer_has_room();
}
