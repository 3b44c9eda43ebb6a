/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_SOCKET_H
#define DAEMON_CONTROL_SOCKET_H

#include "base/err.h"

/* CONTROL_PATH_BYTES: octets of sun_path, with its NUL. */
enum { CONTROL_PATH_BYTES = 108, CONTROL_WHY = 256 };

/**
 * control_socket_open - make a listening, non-blocking Unix socket at @path, for this user only
 * (mode 0600)
 * @why: of CONTROL_WHY octets: the reason of a failure, with what to do about it
 *
 * - A socket left at @path by a dead process is replaced. A socket on which a process listens, or
 *   another file, is not.
 * - The file stays when the socket is closed. The sandbox leaves no right to remove files, because
 *   a process with that right could remove other files beside it (daemon/sandbox.h).
 * - Call before there are other threads, because the file mode mask is changed meanwhile.
 *
 * Return: the descriptor, owned by the caller; or ERR_IO.
 */
int control_socket_open(const char *path, char *why) WARN_UNUSED;

#endif
