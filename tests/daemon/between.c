/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded: measures the most octets that a thread moves between two looks at its sockets. Written
 * to standard error at the end: "event=between octets=N".
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static _Thread_local unsigned long here;
static atomic_ulong most;

static ssize_t count(ssize_t n)
{
	if (n > 0)
		here += (unsigned long)n;
	return n;
}

/* The C library's. */
static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

int epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
	int (*real)(int, struct epoll_event *, int, int) = next("epoll_wait");
	unsigned long before = atomic_load(&most);

	while (here > before && !atomic_compare_exchange_weak(&most, &before, here))
		;
	here = 0;
	return real(fd, events, room, timeout);
}

ssize_t recv(int fd, void *to, size_t len, int flags)
{
	ssize_t (*real)(int, void *, size_t, int) = next("recv");

	return count(real(fd, to, len, flags));
}

ssize_t readv(int fd, const struct iovec *iov, int n)
{
	ssize_t (*real)(int, const struct iovec *, int) = next("readv");

	return count(real(fd, iov, n));
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	ssize_t (*real)(int, const struct msghdr *, int) = next("sendmsg");

	return count(real(fd, m, flags));
}

__attribute__((destructor)) static void tell(void)
{
	dprintf(STDERR_FILENO, "event=between octets=%lu\n", atomic_load(&most));
}
