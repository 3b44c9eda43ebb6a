/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/control/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 500 };

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return to;
}

static int open_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static int complain(char *why, const char *what, int error)
{
	snprintf(why, CONTROL_WHY, "%s%s%s", what, error ? ": " : "", error ? strerror(error) : "");
	return ERR_IO;
}

/* Return: 0 if @path is free, or was made free. */
static int clear_path(const char *path, char *why)
{
	struct sockaddr_un to = address_of(path);
	struct stat st;
	int fd, err;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : complain(why, "it cannot be examined", errno);
	if (!S_ISSOCK(st.st_mode))
		return complain(why, "another file is there: move it away, or give another path",
				0);
	fd = open_unix();
	if (fd < 0)
		return complain(why, "no socket", errno);
	err = connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
	close(fd);
	/* EAGAIN: the queue of a listening process is full. */
	if (err == 0 || err == EAGAIN)
		return complain(why,
				"another process answers there: stop it, or give each its own path",
				0);
	if (err != ECONNREFUSED && err != ENOENT)
		return complain(why, "the process that listens there cannot be asked", err);
	if (unlink(path) < 0 && errno != ENOENT)
		return complain(why, "the socket of a process that has ended cannot be removed",
				errno);
	return 0;
}

static int bind_private(int fd, const char *path)
{
	struct sockaddr_un to = address_of(path);
	mode_t mask = umask(0177);
	int err = bind(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;

	umask(mask);
	return err;
}

/*
 * State:  a dead process has left its socket's file, and two processes start at the same path.
 * Danger: both find the old file; the second one removes the first one's new socket.
 * Rule:   a process locks the directory while it checks and binds. The directory is locked so that
 *         no lock file remains. Any process may hold that lock, so after five seconds without it
 *         the process goes on.
 * Pinned: tests/operators/test_control_socket.c:of_two_at_once_one_has_it
 * Return: a descriptor to close, or -1.
 */
static int lock_directory(const char *path)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	const char *slash = strrchr(path, '/');
	char dir[CONTROL_PATH_BYTES] = ".";
	int fd;

	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path) + 1, path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			break;
		nanosleep(&pause, NULL);
	}
	return fd;
}

/* Return: a socket that listens at @path; or ERR_IO. */
static int take_place(const char *path, char *why)
{
	int fd, err;

	if (clear_path(path, why) < 0)
		return ERR_IO;
	fd = open_unix();
	if (fd < 0)
		return complain(why, "no socket", errno);
	err = bind_private(fd, path);
	if (err) {
		close(fd);
		return complain(why,
				err == ENOENT || err == ENOTDIR
					? "cannot bind: make its folder before the start, as "
					  "RuntimeDirectory= of a unit does"
					: "cannot bind",
				err);
	}
	if (listen(fd, SOMAXCONN) == 0)
		return fd;
	err = errno;
	close(fd);
	return complain(why, "cannot listen", err);
}

int control_socket_open(const char *path, char *why)
{
	int lock, fd;

	if (strlen(path) >= CONTROL_PATH_BYTES)
		return complain(why, "the path is longer than a socket's may be", 0);
	lock = lock_directory(path);
	fd = take_place(path, why);
	if (lock >= 0)
		close(lock);
	return fd;
}
