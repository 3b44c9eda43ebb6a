/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/listen.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/iwarp_internal.h"
#include "fabric/iwarp/setup.h"
#include "fabric/iwarp/sock.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

/*
 * Operation
 *
 * A listener is a socket. An attachment is one instance's watch on it, level-triggered because
 * instances share the queue of connections. When descriptors or memory run out, the watch is
 * removed for PAUSE_MS. Otherwise the loop would be woken again and again for connections that
 * cannot be accepted. These wait in the kernel.
 *
 * State:  this worker has more sessions than another one (.is_fullest), and a client connects.
 * Danger: all connections of one client go to one worker, and the other workers are idle.
 * Rule:   the watch is removed for LEAVE_MS at most, or until .is_fullest is cleared; another
 *         instance accepts. After LEAVE_MS the worker wakes up and sets .is_fullest anew, because
 *         it may have the fewest sessions by then, and no other worker would accept.
 * Pinned: tests/iwarp/test_iwarp_setups.c:the_fullest_worker_accepts_later
 */

enum { BACKLOG = 1024, PAUSE_MS = 100, LEAVE_MS = 5 };

struct attachment {
	struct list item;
	struct loop_watch watch;
	struct iwarp *iw;
	struct fabric_listener *listener;
	void *owner;
	bool watched;
	bool leaves;   /* the watch is removed so that other instances accept */
	nsec_t resume; /* when the watch is added again */
};

struct fabric_listener *iwarp_listen(const struct fabric_addr *addr, int *err)
{
	struct fabric_listener *l = mem_zalloc(sizeof(*l));
	int one = 1, fd, saved;

	*err = ERR_NOMEM;
	if (!l)
		return NULL;
	*err = ERR_IO;
	fd = socket(addr->ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		goto fail;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		goto fail;
	if (addr->ss.ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)))
		goto fail;
	sock_unpace(fd);
	if (bind(fd, (const struct sockaddr *)&addr->ss, addr->len) || listen(fd, BACKLOG))
		goto fail;
	l->fd = fd;
	l->addr.len = sizeof(l->addr.ss);
	if (getsockname(fd, (struct sockaddr *)&l->addr.ss, &l->addr.len))
		goto fail;
	*err = 0;
	return l;
fail:
	saved = errno;
	if (fd >= 0)
		close(fd);
	mem_free(l);
	errno = saved;
	return NULL;
}

struct fabric_listener *iwarp_adopt(int fd)
{
	struct fabric_listener *l = mem_zalloc(sizeof(*l));

	if (!l)
		return NULL;
	l->fd = fd;
	l->addr.len = sizeof(l->addr.ss);
	sock_unpace(fd);
	if (getsockname(fd, (struct sockaddr *)&l->addr.ss, &l->addr.len) == 0)
		return l;
	mem_free(l);
	return NULL;
}

int iwarp_listener_fd(const struct fabric_listener *l)
{
	return l->fd;
}

void iwarp_listener_addr(const struct fabric_listener *l, struct fabric_addr *addr)
{
	*addr = l->addr;
}

void iwarp_listener_free(struct fabric_listener *l)
{
	if (!l)
		return;
	close(l->fd);
	mem_free(l);
}

static void unwatch(struct attachment *a)
{
	if (a->watched)
		a->iw->loop->ops->del(a->iw->loop, &a->watch);
	a->watched = false;
}

static int rewatch(struct attachment *a)
{
	int rc = a->iw->loop->ops->add(a->iw->loop, &a->watch, a->listener->fd, LOOP_READ, 0);

	a->watched = !rc;
	a->leaves = false;
	a->resume = rc ? iwarp_now() + PAUSE_MS * NSEC_PER_MS : NSEC_NEVER;
	return rc;
}

static void pause_accepting(struct attachment *a, const char *why)
{
	log_peer(LOG_LEVEL_WARN, "iwarp.accept", "*", "pause_ms=%d why=\"%s\"", PAUSE_MS, why);
	unwatch(a);
	a->resume = iwarp_now() + PAUSE_MS * NSEC_PER_MS;
}

/* At the limit of set-ups: ends the oldest set-up of the client address with the most set-ups
 * (decision 66). */
static void bound_setups(struct iwarp *iw)
{
	while (preauth_queue_is_full(&iw->preauth_queue)) {
		struct iwarp_conn *c = container_of(preauth_queue_first(&iw->preauth_queue),
						    struct iwarp_conn, silent);

		iw->counters.setup_failures++;
		log_debug("iwarp.setup", "cause=limit why=\"too many connections in set-up\"");
		iwarp_conn_free(c);
	}
}

static bool begin_setup(struct attachment *a, int fd, const struct fabric_addr *peer)
{
	struct iwarp *iw = a->iw;
	struct iwarp_conn *c = iwarp_conn_new(iw, fd, IWARP_AWAITING, a->owner);

	if (!c)
		return false;
	c->base.peer = *peer;
	bound_setups(iw);
	list_add_tail(&iw->setups, &c->setup);
	preauth_queue_enter(&iw->preauth_queue, &c->silent, peer);
	iw->base.arrived = iw->preauth_queue.count;
	setup_begin_time(c);
	c->watched = !iw->loop->ops->add(iw->loop, &c->watch, fd, LOOP_READ | LOOP_WRITE, 1);
	if (!c->watched) {
		iwarp_conn_free(c);
		return false;
	}
	return true;
}

/* Accepts one connection per call: when many come at once, each worker that shares the listener
 * gets some. */
static void listener_ready(struct loop_watch *w, unsigned events)
{
	struct attachment *a = container_of(w, struct attachment, watch);
	struct fabric_addr peer = {.len = sizeof(peer.ss)};
	int fd;

	(void)events;
	if (a->iw->base.is_fullest) { /* set anew each turn: another worker has fewer sessions */
		unwatch(a);
		a->leaves = true;
		a->resume = iwarp_now() + LEAVE_MS * NSEC_PER_MS;
		return;
	}
	fd = accept4(a->listener->fd, (struct sockaddr *)&peer.ss, &peer.len,
		     SOCK_NONBLOCK | SOCK_CLOEXEC);
	fd = sock_within(fd, a->iw->cfg.descriptors);
	if (fd >= 0) {
		if (!begin_setup(a, fd, &peer))
			pause_accepting(a, "out of memory");
		return;
	}
	switch (errno) {
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		pause_accepting(a, strerrordesc_np(errno));
		break;
	default: /* another worker accepted the connection, or it has ended (accept(2)) */
		break;
	}
}

int listen_attach(struct fabric *f, struct fabric_listener *l, void *owner)
{
	struct iwarp *iw = iwarp_of(f);
	struct attachment *a = mem_zalloc(sizeof(*a));
	int rc;

	if (!a)
		return ERR_NOMEM;
	a->iw = iw;
	a->listener = l;
	a->owner = owner;
	a->watch.ready = listener_ready;
	rc = rewatch(a);
	if (rc) {
		mem_free(a);
		return rc;
	}
	list_add_tail(&iw->attachments, &a->item);
	return 0;
}

/* Frees connections of @owner that are in set-up: no REQUEST follows. */
static void drop_setups(struct iwarp *iw, const void *owner)
{
	list_for_each_safe(item, tmp, &iw->setups)
	{
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, setup);

		if (c->base.owner == owner)
			iwarp_conn_free(c);
	}
	list_for_each_safe(item, tmp, &iw->conns)
	{
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, all);

		if (c->request_due && c->base.owner == owner)
			iwarp_conn_free(c);
	}
}

void listen_detach(struct fabric *f, struct fabric_listener *l)
{
	struct iwarp *iw = iwarp_of(f);

	list_for_each_safe(item, tmp, &iw->attachments)
	{
		struct attachment *a = container_of(item, struct attachment, item);

		if (a->listener != l)
			continue;
		unwatch(a);
		list_del(&a->item);
		drop_setups(iw, a->owner);
		mem_free(a);
	}
}

bool listen_arriving(const struct fabric *f)
{
	const struct iwarp *iw = (const struct iwarp *)f;

	if (!list_is_empty(&iw->setups))
		return true;
	for (const struct list *it = iw->conns.next; it != &iw->conns; it = it->next)
		if (container_of(it, struct iwarp_conn, all)->request_due)
			return true;
	return false;
}

/* An instance that leaves connections to others resumes as soon as .is_fullest is cleared: when
 * many connections come at once, .is_fullest changes often. */
static nsec_t resume_at(const struct attachment *a)
{
	return a->leaves && !a->iw->base.is_fullest ? 0 : a->resume;
}

void listen_tick(struct iwarp *iw, nsec_t now)
{
	list_for_each_safe(item, tmp, &iw->attachments)
	{
		struct attachment *a = container_of(item, struct attachment, item);

		if (!a->watched && now >= resume_at(a))
			(void)rewatch(a);
	}
}

nsec_t listen_deadline(const struct iwarp *iw)
{
	nsec_t next = NSEC_NEVER;

	list_for_each_safe(item, tmp, &iw->attachments) next =
		nsec_min(next, resume_at(container_of(item, struct attachment, item)));
	return next;
}
