/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/stdfds.h"

#include <fcntl.h>
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
