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

int inherit_add(struct inherit *in, const int *fds, unsigned n, bool is_lent)
{
	struct inherited *all = mem_zalloc((in->n + n) * sizeof(*all));

	if (!all) {
		close_all(fds, n);
		return ERR_NOMEM;
	}
	if (in->n)
		memcpy(all, in->all, in->n * sizeof(*all));
	for (unsigned i = 0; i < n; i++)
		all[in->n + i] = (struct inherited){.fd = fds[i], .is_lent = is_lent};
	mem_free(in->all);
	in->all = all;
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
		/* fails only if the descriptor does not exist */
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
			err = inherit_add(in, &fd, 1, true);
	}
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

/* The interface is compared only for link-local addresses. */
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

/* On a socket for both families all IPv4 clients would count as one network. */
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

/* Whether socket @i listens on @addr. */
static bool listens_on(const struct inherit *in, unsigned i, const struct fabric_addr *addr)
{
	struct sockaddr_storage is;
	socklen_t len = sizeof(is);

	memset(&is, 0, sizeof(is));
	return in->all[i].fd >= 0 && is_listening(in->all[i].fd) &&
	       getsockname(in->all[i].fd, (struct sockaddr *)&is, &len) == 0 &&
	       is_at(&is, &addr->ss);
}

static bool unblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* Return: the descriptor of socket @i, owned by the caller; or -1. */
static int take(struct inherit *in, unsigned i)
{
	struct inherited *one = &in->all[i];
	int fd = one->fd;

	if (!unblock(fd))
		return -1;
	if (one->is_lent) {
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		one->is_used |= fd >= 0;
	} else {
		one->fd = -1;
	}
	return fd;
}

int inherit_take(struct inherit *in, const struct fabric_addr *addr)
{
	for (unsigned i = 0; i < in->n; i++)
		if (listens_on(in, i, addr) && !takes_both_families(in->all[i].fd, addr))
			return take(in, i);
	return -1;
}

void inherit_give_back(struct inherit *in, const struct fabric_addr *addr)
{
	for (unsigned i = 0; i < in->n; i++)
		if (in->all[i].is_lent && listens_on(in, i, addr))
			in->all[i].is_used = false;
}

int inherit_take_path(struct inherit *in, const char *path)
{
	for (unsigned i = 0; i < in->n; i++) {
		const struct inherited *one = &in->all[i];
		struct sockaddr_un is;
		socklen_t len = sizeof(is);

		memset(&is, 0, sizeof(is));
		if (!one->is_lent && one->fd >= 0 && is_listening(one->fd) &&
		    getsockname(one->fd, (struct sockaddr *)&is, &len) == 0 &&
		    is.sun_family == AF_UNIX &&
		    strncmp(is.sun_path, path, sizeof(is.sun_path)) == 0)
			return take(in, i);
	}
	return -1;
}

bool inherit_lends(const struct inherit *in, int fd)
{
	struct fabric_addr addr = {.len = sizeof(addr.ss)};

	if (getsockname(fd, (struct sockaddr *)&addr.ss, &addr.len))
		return false;
	for (unsigned i = 0; i < in->n; i++)
		if (in->all[i].is_lent && listens_on(in, i, &addr))
			return true;
	return false;
}

bool inherit_is_idle(const struct inherit *in, unsigned i)
{
	return in->all[i].is_lent && !in->all[i].is_used && in->all[i].fd >= 0;
}

void inherit_tell_idle(const struct inherit *in, unsigned i)
{
	struct fabric_addr is = {.len = sizeof(is.ss)};
	char at[FABRIC_ADDR_TEXT] = "-";

	if (getsockname(in->all[i].fd, (struct sockaddr *)&is.ss, &is.len) == 0 &&
	    (is.ss.ss_family == AF_INET || is.ss.ss_family == AF_INET6))
		fabric_addr_format(&is, at);
	log_warn("listen.unused",
		 "descriptor=%d address=%s why=\"it was passed, and no route listens there%s\"",
		 in->all[i].fd, at, in->all[i].is_lent ? ": clients are turned away" : "");
}

void inherit_settle(struct inherit *in)
{
	for (unsigned i = 0; i < in->n; i++) {
		struct inherited *one = &in->all[i];
		bool stays = one->is_lent && is_listening(one->fd) && unblock(one->fd);

		if (one->fd < 0 || stays)
			continue;
		inherit_tell_idle(in, i);
		close(one->fd);
		one->fd = -1;
	}
}

void inherit_end(struct inherit *in)
{
	for (unsigned i = 0; i < in->n; i++)
		if (in->all[i].fd >= 0)
			close(in->all[i].fd);
	mem_free(in->all);
	*in = (struct inherit){.n = 0};
}
