/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/idle.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "daemon/loop.h"

enum { ACCEPTS = 16 /* most connections that one call accepts */ };
#define AGAIN_TIME NSEC_PER_SEC /* pause while descriptors are short */

struct idle_socket {
	struct loop_watch watch;
	struct idle *idle;
	unsigned i; /* index of the socket in struct inherit */
	bool is_idle, is_watched;
};

static void watch(struct idle_socket *s)
{
	struct idle *idle = s->idle;

	if (!s->is_idle || s->is_watched)
		return;
	s->is_watched = idle->loop->ops->add(idle->loop, &s->watch, idle->inherit->all[s->i].fd,
					     LOOP_READ, 0) == 0;
	if (!s->is_watched)
		idle->again = loop_now() + AGAIN_TIME;
}

static void unwatch(struct idle_socket *s)
{
	if (s->is_watched)
		s->idle->loop->ops->del(s->idle->loop, &s->watch);
	s->is_watched = false;
}

/* Close with a reset: the kernel keeps no state, and the client learns at once that nothing
 * listens. */
static void turn_away(int fd)
{
	const struct linger at_once = {.l_onoff = 1};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
}

static void on_arrival(struct loop_watch *watch, unsigned events)
{
	struct idle_socket *s = container_of(watch, struct idle_socket, watch);

	(void)events;
	for (unsigned n = 0; n < ACCEPTS; n++) {
		int fd = accept4(s->idle->inherit->all[s->i].fd, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			turn_away(fd);
		} else if (errno != ECONNABORTED) {
			/* When descriptors are short, accept() would fail again at once, without
			 * end. */
			if (errno != EAGAIN && errno != EINTR) {
				unwatch(s);
				s->idle->again = loop_now() + AGAIN_TIME;
			}
			return;
		}
	}
}

int idle_begin(struct idle *idle, struct loop *loop, struct inherit *inherit)
{
	*idle = (struct idle){.loop = loop, .inherit = inherit, .again = NSEC_NEVER};
	if (inherit->n == 0)
		return 0;
	idle->all = mem_zalloc(inherit->n * sizeof(*idle->all));
	if (!idle->all)
		return ERR_NOMEM;
	idle->n = inherit->n;
	for (unsigned i = 0; i < idle->n; i++)
		idle->all[i] =
			(struct idle_socket){.watch = {.ready = on_arrival}, .idle = idle, .i = i};
	idle_follow(idle);
	return 0;
}

void idle_follow(struct idle *idle)
{
	for (unsigned i = 0; i < idle->n; i++) {
		struct idle_socket *s = &idle->all[i];
		bool was = s->is_idle;

		s->is_idle = inherit_is_idle(idle->inherit, i);
		if (s->is_idle && !was)
			inherit_tell_idle(idle->inherit, i);
		if (!s->is_idle)
			unwatch(s);
		watch(s);
	}
}

nsec_t idle_tick(struct idle *idle, nsec_t now)
{
	if (now < idle->again)
		return idle->again;
	idle->again = NSEC_NEVER;
	for (unsigned i = 0; i < idle->n; i++)
		watch(&idle->all[i]);
	return idle->again;
}

void idle_end(struct idle *idle)
{
	for (unsigned i = 0; i < idle->n; i++)
		unwatch(&idle->all[i]);
	mem_free(idle->all);
	idle->all = NULL;
	idle->n = 0;
}
