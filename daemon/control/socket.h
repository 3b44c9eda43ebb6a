/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_SOCKET_H
#define DAEMON_CONTROL_SOCKET_H

#include "base/err.h"

/* Octets of a path that fits, its NUL included. */
enum { CONTROL_PATH_BYTES = 108, CONTROL_WHY = 256 };

/**
 * control_socket_open - a Unix socket at @path, for this user alone (mode 0600), that listens and does not block
 * @why: of CONTROL_WHY octets: the reason of a failure, with what to do about it
 *
 * A socket that a dead process left at @path is replaced; a socket that somebody answers at, or another file, is
 * not. The file stays when the socket is closed: a process that could remove it could remove others beside it, and
 * the sandbox leaves no such right (daemon/sandbox.h). Before there are other threads, because the file mode mask is
 * set meanwhile. Return: the descriptor, the caller's; or ERR_IO.
 */
int control_socket_open(const char *path, char *why) WARN_UNUSED;

#endif
