/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/poll_loop.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"

/* The backend word of a watch holds its descriptor. */
static int add(struct loop *loop, struct loop_watch *watch, int fd, unsigned events, int edge)
{
	struct poll_loop *p = container_of(loop, struct poll_loop, loop);
	struct epoll_event ev = {.data.ptr = watch};

	ev.events = (events & LOOP_READ ? EPOLLIN : 0u) | (events & LOOP_WRITE ? EPOLLOUT : 0u) |
		    (edge ? (unsigned)EPOLLET : 0u);
	watch->backend = (void *)(intptr_t)fd;
	return epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? ERR_IO : 0;
}

static void del(struct loop *loop, struct loop_watch *watch)
{
	struct poll_loop *p = container_of(loop, struct poll_loop, loop);

	epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, (int)(intptr_t)watch->backend, NULL);
	for (int i = 0; i < p->pending_count; i++)
		if (p->pending[i] == watch)
			p->pending[i] = NULL;
}

static const struct loop_ops ops = {.add = add, .del = del};

int poll_loop_init(struct poll_loop *p)
{
	*p = (struct poll_loop){.loop.ops = &ops, .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
	return p->epoll_fd < 0 ? ERR_IO : 0;
}

void poll_loop_fini(struct poll_loop *p)
{
	close(p->epoll_fd);
}

int poll_loop_step(struct poll_loop *p, int timeout_ms)
{
	enum { ROUND = 64 };
	struct epoll_event ready[ROUND];
	struct loop_watch *watches[ROUND];
	int n = epoll_wait(p->epoll_fd, ready, ROUND, timeout_ms);

	if (n < 0)
		n = 0;
	for (int i = 0; i < n; i++)
		watches[i] = ready[i].data.ptr;
	p->pending = watches;
	p->pending_count = n;
	for (int i = 0; i < n; i++) {
		unsigned events = ready[i].events & EPOLLIN ? LOOP_READ : 0u;

		if (ready[i].events & EPOLLOUT)
			events |= LOOP_WRITE;
		if (ready[i].events & (EPOLLERR | EPOLLHUP))
			events |= LOOP_READ | LOOP_WRITE;
		if (watches[i])
			watches[i]->ready(watches[i], events);
	}
	p->pending_count = 0;
	p->pending = NULL;
	return n;
}

nsec_t poll_loop_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (nsec_t)ts.tv_sec * NSEC_PER_SEC + (nsec_t)ts.tv_nsec;
}

int poll_loop_timeout(nsec_t deadline, int max_ms)
{
	nsec_t now, ms;

	if (deadline == 0)
		return 0;
	if (deadline == NSEC_NEVER)
		return max_ms;
	now = poll_loop_now();
	if (deadline <= now)
		return 0;
	ms = (deadline - now + NSEC_PER_MS - 1) / NSEC_PER_MS;
	return max_ms >= 0 && ms > (nsec_t)max_ms ? max_ms : (int)ms;
}
