/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/stdfds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int stdfds_fill(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* @fd is the least free number. */
		if (open("/dev/null", fd == STDERR_FILENO ? O_RDWR : O_RDONLY) != fd)
			return ERR_IO;
	}
	return 0;
}

int stdfds_flush(const char *program)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "%s: standard output: %s\n", program,
		errno ? strerror(errno) : "a part of it could not be written");
	return ERR_IO;
}
