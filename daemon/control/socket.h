/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_SOCKET_H
#define DAEMON_CONTROL_SOCKET_H

#include <sys/types.h>
#include <time.h>

#include "base/err.h"

/** struct control_socket - a Unix socket that listens, at a path of the file system. */
struct control_socket {
	int fd; /* whoever takes it writes -1 here */
	const char *path;
	dev_t dev;
	ino_t ino;
	struct timespec changed;
};

/* Octets of a path that fits, its NUL included. */
enum { CONTROL_PATH_BYTES = 108, CONTROL_WHY = 256 };

/**
 * control_socket_open - bind, for this user alone (mode 0600), and listen, without blocking
 * @path: borrowed, as long as @s is open
 * @why: of CONTROL_WHY octets: the reason of a failure, with what to do about it
 *
 * What a dead process left at @path is replaced; a socket that somebody answers at, or another file, is
 * not. Before there are other threads: the file mode mask is set meanwhile. Return: 0 or ERR_IO.
 */
int control_socket_open(struct control_socket *s, const char *path, char *why) WARN_UNUSED;

/** control_socket_adopt - of @fd, which listens already; takes it. The file is another process's to remove until
 * control_socket_own(). */
void control_socket_adopt(struct control_socket *s, int fd);

/** control_socket_own - the file at @path, borrowed as long as @s is open, is this process's from now on. */
void control_socket_own(struct control_socket *s, const char *path);

/** control_socket_forget - the file is somebody else's from now on. */
void control_socket_forget(struct control_socket *s);

/** control_socket_remove - the file goes, if it is still that of @s; idempotent. Closes what is left. */
void control_socket_remove(struct control_socket *s);

#endif
