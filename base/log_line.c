/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log_line.h"

#include <stdio.h>
#include <time.h>

static size_t format_time(char *buf, size_t cap)
{
	struct timespec ts;
	struct tm tm;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(buf, cap, "time=%Y-%m-%dT%H:%M:%S", &tm);
	return n + (size_t)snprintf(buf + n, cap - n, ".%06ldZ", ts.tv_nsec / 1000);
}

size_t log_line_vformat(char *line, enum log_level level, const char *event, const char *fmt,
			va_list ap)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};
	size_t cap = LOG_LINE_MAX - 1, n = format_time(line, cap);
	int more;

	n += (size_t)snprintf(line + n, cap - n, " level=%s event=%.64s ", names[level], event);
	more = vsnprintf(line + n, cap - n, fmt, ap);
	if (more > 0)
		n += (size_t)more < cap - n ? (size_t)more : cap - n - 1;
	line[n++] = '\n';
	line[n] = '\0';
	return n;
}

size_t log_line_format(char *line, enum log_level level, const char *event, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = log_line_vformat(line, level, event, fmt, ap);
	va_end(ap);
	return n;
}
