/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

static atomic_int max_level = LOG_LEVEL_INFO;
static void (*line_sink)(const char *line);

static const char *const names[] = {"error", "warn", "info", "debug"};

void log_set_level(enum log_level level)
{
	atomic_store(&max_level, (int)level);
}

int log_level_parse(const char *name, enum log_level *level)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0) {
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

static size_t stamp(char *buf, size_t cap)
{
	struct timespec ts;
	struct tm tm;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(buf, cap, "time=%Y-%m-%dT%H:%M:%S", &tm);
	return n + (size_t)snprintf(buf + n, cap - n, ".%06ldZ", ts.tv_nsec / 1000);
}

void log_event(enum log_level level, const char *event, const char *fmt, ...)
{
	char line[1024];
	size_t cap = sizeof(line) - 1, n;
	va_list ap;
	int more;

	if (!log_is_on(level))
		return;
	n = stamp(line, cap);
	n += (size_t)snprintf(line + n, cap - n, " level=%s event=%s ", names[level], event);
	va_start(ap, fmt);
	more = vsnprintf(line + n, cap - n, fmt, ap);
	va_end(ap);
	if (more > 0)
		n += (size_t)more < cap - n ? (size_t)more : cap - n - 1;
	if (line_sink) {
		line_sink(line);
		return;
	}
	line[n++] = '\n';
	/* A log that cannot be written is nobody's reason to stop serving. */
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}
