/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/inherit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

enum { FIRST = 3 /* sd_listen_fds(3) */, MOST = 4096 };

static void close_all(const int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
}

int inherit_add(struct inherit *in, const int *fds, unsigned n)
{
	int *all = mem_zalloc((in->n + n) * sizeof(*all));

	if (!all) {
		close_all(fds, n);
		return ERR_NOMEM;
	}
	if (in->n)
		memcpy(all, in->fds, in->n * sizeof(*all));
	if (n)
		memcpy(all + in->n, fds, n * sizeof(*all));
	mem_free(in->fds);
	in->fds = all;
	in->n += n;
	return 0;
}

static long number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (!text)
		return -1;
	value = strtol(text, &end, 10);
	return *end || end == text ? -1 : value;
}

int inherit_environment(struct inherit *in)
{
	long n = number("LISTEN_FDS"), pid = number("LISTEN_PID");
	int err = 0;

	*in = (struct inherit){.n = 0};
	if (pid != (long)getpid() || n > MOST)
		n = 0;
	for (int fd = FIRST; fd < FIRST + n && !err; fd++) {
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) /* else there is none */
			err = inherit_add(in, &fd, 1);
	}
	in->nlent = in->n;
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDNAMES");
	return err;
}

static bool is_listening(int fd)
{
	int type = 0, listens = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_STREAM)
		return false;
	len = sizeof(listens);
	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens;
}

/* An interface matters where it tells links apart. */
static bool is_at(const struct sockaddr_storage *is, const struct sockaddr_storage *want)
{
	if (is->ss_family != want->ss_family)
		return false;
	if (is->ss_family == AF_INET) {
		const struct sockaddr_in *a = (const void *)is, *b = (const void *)want;

		return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
	}
	if (is->ss_family == AF_INET6) {
		const struct sockaddr_in6 *a = (const void *)is, *b = (const void *)want;

		return a->sin6_port == b->sin6_port && a->sin6_scope_id == b->sin6_scope_id &&
		       memcmp(&a->sin6_addr, &b->sin6_addr, sizeof(a->sin6_addr)) == 0;
	}
	return false;
}

/* Clients of both families at one socket would be counted as one network's. */
static bool takes_both_families(int fd, const struct fabric_addr *addr)
{
	char at[FABRIC_ADDR_TEXT];
	int only = 1;
	socklen_t len = sizeof(only);

	if (addr->ss.ss_family != AF_INET6 ||
	    getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &len) || only)
		return false;
	log_error("listen.failed",
		  "address=%s why=\"the socket that was passed takes IPv4 as well: use "
		  "BindIPv6Only=ipv6-only\"",
		  fabric_addr_format(addr, at));
	return true;
}

/* Return: @i's descriptor, the caller's; or -1. */
static int take(struct inherit *in, unsigned i)
{
	int fd = in->fds[i], flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	in->fds[i] = -1;
	return fd;
}

int inherit_take(struct inherit *in, const struct fabric_addr *addr)
{
	for (unsigned i = 0; i < in->n; i++) {
		struct sockaddr_storage is;
		socklen_t len = sizeof(is);

		memset(&is, 0, sizeof(is));
		if (in->fds[i] >= 0 && is_listening(in->fds[i]) &&
		    getsockname(in->fds[i], (struct sockaddr *)&is, &len) == 0 &&
		    is_at(&is, &addr->ss) && !takes_both_families(in->fds[i], addr))
			return take(in, i);
	}
	return -1;
}

int inherit_take_path(struct inherit *in, const char *path)
{
	for (unsigned i = in->nlent; i < in->n; i++) {
		struct sockaddr_un is;
		socklen_t len = sizeof(is);

		memset(&is, 0, sizeof(is));
		if (in->fds[i] >= 0 && is_listening(in->fds[i]) &&
		    getsockname(in->fds[i], (struct sockaddr *)&is, &len) == 0 &&
		    is.sun_family == AF_UNIX &&
		    strncmp(is.sun_path, path, sizeof(is.sun_path)) == 0)
			return take(in, i);
	}
	return -1;
}

void inherit_end(struct inherit *in)
{
	for (unsigned i = 0; i < in->n; i++) {
		struct fabric_addr is = {.len = sizeof(is.ss)};
		char at[FABRIC_ADDR_TEXT] = "-";

		if (in->fds[i] < 0)
			continue;
		if (getsockname(in->fds[i], (struct sockaddr *)&is.ss, &is.len) == 0 &&
		    (is.ss.ss_family == AF_INET || is.ss.ss_family == AF_INET6))
			fabric_addr_format(&is, at);
		log_warn("listen.unused",
			 "descriptor=%d address=%s why=\"it was passed, and no route listens "
			 "there\"",
			 in->fds[i], at);
		close(in->fds[i]);
	}
	mem_free(in->fds);
	*in = (struct inherit){.n = 0};
}
