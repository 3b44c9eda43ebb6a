/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOG_LINE_H
#define BASE_LOG_LINE_H

#include <stdarg.h>
#include <stddef.h>

#include "base/log.h"

/** log_line - format one line. For base/log*.c alone. */

enum { LOG_LINE_MAX = 2048 }; /* with newline and NUL; a longer line is cut */

/**
 * log_line_format - time, level, event and the text of @fmt, then a newline and a NUL
 * @line: LOG_LINE_MAX octets
 *
 * Return: octets, with the newline.
 */
size_t log_line_format(char *line, enum log_level level, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
size_t log_line_vformat(char *line, enum log_level level, const char *event, const char *fmt,
			va_list ap) __attribute__((format(printf, 4, 0)));

#endif
