/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   accepted --> waiting --request is whole--> asking --answer is said--> answered --> leaving
 *                   ^                                                        |
 *                   +----------- all of it was sent, and .once is false -----+
 *
 * - The socket is read only while the visitor waits, and written only while there is something to
 *   send. So a peer that sends more than one request at a time fills its own socket.
 * - A visitor that leaves gets FIN, and is read until its peer closes. A socket that is closed with
 *   unread octets sends a reset, which discards what the peer has not read yet (RFC 9112 section
 *   9.6).
 * - An ended visitor goes to the list .over and is freed by opsock_tick(), never within a call.
 */
#include "daemon/opsock/opsock.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

enum { ACCEPTS = 16 /* most connections that one call accepts */, OUT_LEAST = 4096 };
#define LEAVE_TIME (2 * NSEC_PER_SEC)
#define AGAIN_TIME NSEC_PER_SEC

struct opsock {
	struct loop *loop;
	struct opsock_config cfg;
	struct loop_watch listening;
	bool is_listening;
	nsec_t again; /* earliest next accept(), after descriptors were short */
	int fd;
	/* visitors that leave, then visitors whose request is awaited, the oldest first */
	struct list waiting;
	struct list busy; /* with a request; the one without progress for longest first */
	struct list over;
	unsigned n; /* number of visitors in the three lists, and of held ones */
};

/* End the connection. The memory is freed when the visitor is not held. */
static void end(struct visitor *v)
{
	struct opsock *d = v->opsock;

	if (v->is_gone)
		return;
	v->is_gone = true;
	if (v->is_held && d->cfg.cancel) {
		d->cfg.cancel(v);
		v->is_held = false;
	}
	d->loop->ops->del(d->loop, &v->watch);
	close(v->fd);
	list_del(&v->link);
	list_add_tail(&d->over, &v->link);
}

static void look_for(struct visitor *v, unsigned events)
{
	struct loop *loop = v->opsock->loop;

	if (v->is_gone || v->watched == events)
		return;
	loop->ops->del(loop, &v->watch);
	v->watched = events;
	if (events && loop->ops->add(loop, &v->watch, v->fd, events, 0) < 0)
		end(v);
}

static void set_watch(struct visitor *v)
{
	unsigned events = 0;

	if (!v->is_asking)
		events |= LOOP_READ;
	if (v->out_len > v->out_at)
		events |= LOOP_WRITE;
	look_for(v, events);
}

static void begin_wait(struct visitor *v)
{
	struct opsock *d = v->opsock;

	v->is_asking = v->is_answered = false;
	v->deadline = d->cfg.now() + (v->timeout ? v->timeout : OPSOCK_ASK_TIME);
	list_del(&v->link);
	list_add_tail(&d->waiting, &v->link);
}

static void leave(struct visitor *v)
{
	struct opsock *d = v->opsock;

	(void)shutdown(v->fd, SHUT_WR);
	v->is_asking = v->is_answered = false;
	v->deadline = d->cfg.now() + LEAVE_TIME;
	list_del(&v->link);
	list_add_head(&d->waiting, &v->link);
}

/* Find a request in what was received. Octets behind a request that was too long may be its rest,
 * so they are not taken for a request. */
static void hear(struct visitor *v)
{
	struct opsock *d = v->opsock;
	size_t len = d->cfg.whole(v->in, v->in_len);
	char *request;

	if (len == 0 && v->in_len < d->cfg.request_bytes)
		return;
	v->is_asking = true;
	v->is_last = d->cfg.once || len == 0;
	v->deadline = d->cfg.now() + OPSOCK_ANSWER_TIME;
	list_del(&v->link);
	list_add_tail(&d->busy, &v->link);
	if (len == 0) {
		v->in_len = 0;
		if (d->cfg.too_long)
			d->cfg.too_long(v);
		else
			end(v);
		return;
	}
	request = mem_zalloc(len + 1);
	if (!request) {
		end(v);
		return;
	}
	memcpy(request, v->in, len);
	v->in_len -= len;
	memmove(v->in, v->in + len, v->in_len);
	d->cfg.asked(v, request, len);
	mem_free(request);
}

/* Return: whether all of .out was sent. */
static bool flush(struct visitor *v)
{
	while (v->out_at < v->out_len) {
		ssize_t n = send(v->fd, v->out + v->out_at, v->out_len - v->out_at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (errno != EAGAIN && errno != EWOULDBLOCK)
				end(v);
			return false;
		}
		v->out_at += (size_t)n;
		list_del(&v->link);
		list_add_tail(&v->opsock->busy, &v->link);
	}
	mem_free(v->out);
	v->out = NULL;
	v->out_at = v->out_len = v->out_cap = 0;
	return true;
}

/* Do all that is possible now: at most one answer, and then the next request. */
static void go_on(struct visitor *v)
{
	while (!v->is_gone && v->is_asking && flush(v)) {
		if (v->is_answered && v->is_last) {
			leave(v);
		} else if (v->is_answered) {
			begin_wait(v);
			hear(v);
		} else {
			if (!v->is_held && v->opsock->cfg.more)
				v->opsock->cfg.more(v);
			if (v->out_len == 0 && !v->is_answered)
				break;
		}
	}
	set_watch(v);
}

static void take_octets(struct visitor *v)
{
	ssize_t n;

	if (v->is_last)
		v->in_len = 0; /* the visitor leaves: its octets are dropped */
	n = recv(v->fd, v->in + v->in_len, v->opsock->cfg.request_bytes - v->in_len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return;
	if (n <= 0) {
		end(v);
		return;
	}
	v->in_len += (size_t)n;
	if (!v->is_last)
		hear(v);
}

static void on_ready(struct loop_watch *watch, unsigned events)
{
	struct visitor *v = container_of(watch, struct visitor, watch);

	if ((events & LOOP_READ) && !v->is_asking && !v->is_gone)
		take_octets(v);
	go_on(v);
}

static void come_in(struct opsock *d, int fd, const uint8_t *host)
{
	struct visitor *v = mem_zalloc(d->cfg.visitor_bytes);

	if (v)
		v->in = mem_zalloc(d->cfg.request_bytes);
	if (!v || !v->in) {
		close(fd);
		mem_free(v);
		return;
	}
	v->opsock = d;
	v->fd = fd;
	memcpy(v->host, host, sizeof(v->host));
	v->watch.ready = on_ready;
	list_init(&v->link);
	d->n++;
	begin_wait(v);
	set_watch(v);
}

static void stop_listening(struct opsock *d)
{
	if (d->is_listening)
		d->loop->ops->del(d->loop, &d->listening);
	d->is_listening = false;
}

static void free_over(struct opsock *d, bool all)
{
	list_for_each_safe(it, tmp, &d->over)
	{
		struct visitor *v = container_of(it, struct visitor, link);

		if (v->is_held && !all)
			continue;
		list_del(&v->link);
		if (d->cfg.forget)
			d->cfg.forget(v);
		mem_free(v->in);
		mem_free(v->out);
		mem_free(v);
		d->n--;
	}
}

static bool can_go(const struct visitor *v)
{
	return !v->timeout && (!v->is_held || v->opsock->cfg.cancel);
}

static bool some_can_go(const struct list *head)
{
	for (const struct list *it = head->next; it != head; it = it->next)
		if (can_go(container_of(it, struct visitor, link)))
			return true;
	return false;
}

static bool has_room(const struct opsock *d)
{
	return d->n < d->cfg.most || some_can_go(&d->waiting) || some_can_go(&d->busy);
}

static unsigned count_of(const struct list *head, const uint8_t *host)
{
	unsigned n = 0;

	for (const struct list *it = head->next; it != head; it = it->next)
		n += memcmp(container_of(it, struct visitor, link)->host, host, OPSOCK_HOST) == 0;
	return n;
}

/*
 * The visitor that a new visitor of @host displaces, or NULL.
 *
 * State:  .most visitors are connected, and a new one arrives.
 * Danger: one client address keeps all others from being served.
 * Rule:   a visitor of the client address with most visitors leaves. The new visitor is counted as
 *         one of its address. The first choice is a visitor that has its whole answer; then the one
 *         whose request has been awaited for longest; then the one whose peer has read nothing of its
 *         answer for longest. A visitor stays if its answer is under way and cannot be cancelled,
 *         or if it has a time limit of its own (can_go()). If all stay, the new visitor waits in the
 *         kernel's queue.
 * Pinned: tests/operators/test_opsock.c:a_host_displaces_its_own,
 *         :the_slowest_reader_is_displaced, :the_next_waits
 */
static struct visitor *to_displace(const struct opsock *d, const uint8_t *host)
{
	const struct list *const heads[] = {&d->waiting, &d->busy};
	struct visitor *found = NULL;
	unsigned most = 0;

	for (unsigned i = 0; i < 2; i++) {
		for (struct list *it = heads[i]->next; it != heads[i]; it = it->next) {
			struct visitor *v = container_of(it, struct visitor, link);
			unsigned n = count_of(&d->waiting, v->host) + count_of(&d->busy, v->host);

			n += memcmp(v->host, host, OPSOCK_HOST) == 0;
			if (n > most && can_go(v)) {
				most = n;
				found = v;
			}
		}
	}
	return found;
}

/* Return: whether a place is free for a connection of @host. */
static bool make_room(struct opsock *d, const uint8_t *host)
{
	struct visitor *v;

	free_over(d, false);
	if (d->n < d->cfg.most)
		return true;
	v = to_displace(d, host);
	if (!v)
		return false;
	end(v);
	free_over(d, false);
	return true;
}

static void on_arrival(struct loop_watch *watch, unsigned events)
{
	struct opsock *d = container_of(watch, struct opsock, listening);

	(void)events;
	for (unsigned i = 0; i < ACCEPTS; i++) {
		struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
		socklen_t len = sizeof(peer);
		uint8_t host[OPSOCK_HOST] = {0};
		int fd;

		if (!has_room(d)) {
			stop_listening(d); /* until opsock_tick() finds a place */
			return;
		}
		fd = accept4(d->fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0 && errno == ECONNABORTED)
			continue;
		if (fd < 0) {
			/* When descriptors are short, accept() would fail again at once, without
			 * end. */
			if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
				stop_listening(d);
				d->again = d->cfg.now() + AGAIN_TIME;
			}
			return;
		}
		if (d->cfg.host_of)
			d->cfg.host_of(&peer, host);
		if (make_room(d, host))
			come_in(d, fd, host);
		else
			close(fd);
	}
}

static int listen_again(struct opsock *d)
{
	if (d->is_listening || d->fd < 0)
		return 0;
	d->is_listening = d->loop->ops->add(d->loop, &d->listening, d->fd, LOOP_READ, 0) == 0;
	return d->is_listening ? 0 : ERR_NOMEM;
}

struct opsock *opsock_open(struct loop *loop, int fd, const struct opsock_config *cfg)
{
	struct opsock *d = mem_zalloc(sizeof(*d));

	if (!d) {
		close(fd);
		return NULL;
	}
	d->loop = loop;
	d->cfg = *cfg;
	d->fd = fd;
	d->listening.ready = on_arrival;
	list_init(&d->waiting);
	list_init(&d->busy);
	list_init(&d->over);
	if (listen_again(d) < 0) {
		opsock_free(d);
		return NULL;
	}
	return d;
}

void opsock_close(struct opsock *d)
{
	stop_listening(d);
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

/* A kept visitor sent no request in time: let .late() say its last answer, which may be empty. */
static void dismiss(struct visitor *v)
{
	struct opsock *d = v->opsock;

	v->timeout = 0;
	v->is_asking = v->is_last = true;
	v->deadline = d->cfg.now() + OPSOCK_ANSWER_TIME;
	list_del(&v->link);
	list_add_tail(&d->busy, &v->link);
	d->cfg.late(v);
	visitor_done(v);
	go_on(v);
}

static nsec_t end_late(struct list *head, nsec_t now)
{
	nsec_t next = NSEC_NEVER;

	list_for_each_safe(it, tmp, head)
	{
		struct visitor *v = container_of(it, struct visitor, link);

		if (v->deadline <= now && v->timeout && !v->is_asking && v->opsock->cfg.late)
			dismiss(v);
		else if (v->deadline <= now)
			end(v);
		if (!v->is_gone)
			next = nsec_min(next, v->deadline);
	}
	return next;
}

nsec_t opsock_tick(struct opsock *d)
{
	nsec_t now = d->cfg.now();
	nsec_t next = nsec_min(end_late(&d->waiting, now), end_late(&d->busy, now));

	free_over(d, false);
	if (d->is_listening || d->fd < 0)
		return next;
	/* New connections wait in the kernel's queue for a place, or for descriptors. */
	if (now >= d->again && has_room(d))
		(void)listen_again(d);
	return nsec_min(next, now + AGAIN_TIME);
}

void *opsock_user(const struct opsock *d)
{
	return d->cfg.user;
}

unsigned opsock_visitors(const struct opsock *d)
{
	return d->n;
}

static void end_all(struct list *head)
{
	list_for_each_safe(it, tmp, head) end(container_of(it, struct visitor, link));
}

void opsock_free(struct opsock *d)
{
	if (!d)
		return;
	opsock_close(d);
	end_all(&d->waiting);
	end_all(&d->busy);
	free_over(d, true);
	mem_free(d);
}

static bool grow(struct visitor *v, size_t len)
{
	size_t most = v->opsock->cfg.answer_bytes, cap = v->out_cap ? v->out_cap : OUT_LEAST;
	char *to;

	if (len > most - v->out_len)
		return false;
	while (cap < v->out_len + len)
		cap *= 2;
	if (cap == v->out_cap)
		return true;
	to = mem_zalloc(cap);
	if (!to)
		return false;
	if (v->out_len)
		memcpy(to, v->out, v->out_len);
	mem_free(v->out);
	v->out = to;
	v->out_cap = cap;
	return true;
}

void visitor_say(struct visitor *v, const char *text, size_t len)
{
	if (v->is_gone || len == 0)
		return;
	if (!grow(v, len)) {
		end(v);
		return;
	}
	memcpy(v->out + v->out_len, text, len);
	v->out_len += len;
}

int visitor_pass(struct visitor *v, const char *text, size_t len, const int *fds, unsigned n)
{
	union {
		struct cmsghdr head;
		char octets[CMSG_SPACE(VISITOR_PASSES * sizeof(int))];
	} control = {.octets = {0}};
	struct iovec iov = {.iov_base = (void *)text, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.octets,
			     .msg_controllen = CMSG_SPACE(n * sizeof(int))};

	if (v->is_gone || v->out_len > 0 || n == 0 || n > VISITOR_PASSES)
		return ERR_IO;
	control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(n * sizeof(int)),
					.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
	if (sendmsg(v->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len)
		return 0;
	end(v);
	return ERR_IO;
}

bool visitor_deliver(struct visitor *v)
{
	if (!v->is_gone && flush(v))
		return true;
	end(v);
	return false;
}

void visitor_keep(struct visitor *v, nsec_t time)
{
	v->timeout = time;
}

int opsock_fd(const struct opsock *d)
{
	return d->fd;
}

void visitor_done(struct visitor *v)
{
	v->is_answered = true;
}

void visitor_hold(struct visitor *v)
{
	v->is_held = true;
}

void visitor_release(struct visitor *v)
{
	v->is_held = false;
	if (!v->is_gone)
		go_on(v);
}
