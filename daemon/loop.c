/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * - Each watch has one persistent struct event, added once. Edge-triggered events need no
 *   epoll_ctl(2) after that.
 * - One timerfd bounds the wait. A time-out of epoll_wait(2) would make the kernel set a timer for
 *   each wait. The timerfd is changed only if it would fire too late: most deadlines move away from
 *   now (traffic pushes a stall timer back), and one early wake-up costs less than setting the
 *   timer at every turn.
 * - Before it blocks, a loop may busy-poll: loop_polling.h.
 * - libevent's locking and its process-wide signal handling are not used. A loop has one thread,
 *   other threads reach it only through an eventfd, and signals arrive through a signalfd.
 */
#include "daemon/loop.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/loop_heap.h"
#include "daemon/loop_polling.h"

#define LATE NSEC_PER_MS /* a wait may end that long after its deadline */

struct event_loop {
	struct loop loop; /* first member */
	struct event_base *base;
	struct event timer;
	nsec_t armed; /* the deadline that the timer is set for; NSEC_NEVER: it is not set */
	struct loop_watch wake_watch;
	int wake_fd, timer_fd;
	unsigned watches;
	nsec_t came; /* when the wait's first event was given to its watch; 0: none yet */
	struct polling polling;
};

/* One for each watch. */
struct watch_event {
	struct event event;
	struct loop_watch *watch;
	struct event_loop *loop;
};

static struct event_loop *event_loop_of(struct loop *loop)
{
	return (struct event_loop *)loop;
}

nsec_t loop_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (nsec_t)ts.tv_sec * NSEC_PER_SEC + (nsec_t)ts.tv_nsec;
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct watch_event *we = arg;
	unsigned events = 0;

	(void)fd;
	if (what & EV_READ)
		events |= LOOP_READ;
	if (what & EV_WRITE)
		events |= LOOP_WRITE;
	if (!we->loop->came)
		we->loop->came = loop_now();
	if (events)
		we->watch->ready(we->watch, events);
}

static int watch_add(struct loop *loop, struct loop_watch *watch, int fd, unsigned events, int edge)
{
	struct event_loop *el = event_loop_of(loop);
	struct watch_event *we = mem_zalloc(sizeof(*we));
	short what = EV_PERSIST;

	if (!we)
		return ERR_NOMEM;
	*we = (struct watch_event){.watch = watch, .loop = el};
	if (events & LOOP_READ)
		what |= EV_READ;
	if (events & LOOP_WRITE)
		what |= EV_WRITE;
	if (edge)
		what |= EV_ET;
	if (event_assign(&we->event, el->base, fd, what, on_event, we) ||
	    event_add(&we->event, NULL)) {
		mem_free(we);
		return ERR_LOCAL;
	}
	watch->backend = we;
	el->watches++;
	return 0;
}

static void watch_del(struct loop *loop, struct loop_watch *watch)
{
	struct event_loop *el = event_loop_of(loop);
	struct watch_event *we = watch->backend;

	if (!we)
		return;
	/* event_del() also removes the event from the queue of events that libevent is about to
	 * deliver. */
	event_del(&we->event);
	mem_free(we);
	watch->backend = NULL;
	el->watches--;
}

static const struct loop_ops event_loop_ops = {.add = watch_add, .del = watch_del};

/* The watch is edge-triggered, and setting the timerfd again clears it: it is never read. */
static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct event_loop *el = arg;

	(void)fd;
	(void)what;
	el->armed = NSEC_NEVER;
}

static void on_wake(struct loop_watch *watch, unsigned events)
{
	struct event_loop *el = container_of(watch, struct event_loop, wake_watch);
	uint64_t count;

	(void)events;
	while (read(el->wake_fd, &count, sizeof(count)) > 0)
		;
}

struct event_base *loop_base(struct loop *loop)
{
	return event_loop_of(loop)->base;
}

void loop_wake(struct loop *loop)
{
	uint64_t one = 1;
	int saved = errno;

	/* EAGAIN: the eventfd is full, so the loop has been woken already. */
	if (write(event_loop_of(loop)->wake_fd, &one, sizeof(one)) < 0)
		errno = saved;
}

/* Messages of libevent are logged in our form. The failure itself is also returned by the function
 * that failed. */
static void on_libevent(int severity, const char *text)
{
	if (severity >= EVENT_LOG_WARN)
		log_warn("loop.event", "why=\"%s\"", text);
}

static struct event_base *base_new(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base = NULL;

	if (!cfg)
		return NULL;
	if (event_config_require_features(cfg, EV_FEATURE_ET) == 0 &&
	    event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV) == 0)
		base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	return base;
}

static int loop_open(struct event_loop *el)
{
	el->base = base_new();
	if (!el->base)
		return ERR_NOMEM;
	el->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	el->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (el->wake_fd < 0 || el->timer_fd < 0)
		return ERR_IO;
	if (event_assign(&el->timer, el->base, el->timer_fd, EV_READ | EV_ET | EV_PERSIST, on_timer,
			 el) ||
	    event_add(&el->timer, NULL))
		return ERR_NOMEM;
	el->wake_watch.ready = on_wake;
	return watch_add(&el->loop, &el->wake_watch, el->wake_fd, LOOP_READ, 0);
}

static void loop_close(struct event_loop *el)
{
	watch_del(&el->loop, &el->wake_watch);
	assert(el->watches == 0);
	if (event_initialized(&el->timer))
		event_del(&el->timer);
	if (el->wake_fd >= 0)
		close(el->wake_fd);
	if (el->timer_fd >= 0)
		close(el->timer_fd);
	if (el->base)
		event_base_free(el->base);
	mem_free(el);
}

struct loop *loop_new(void)
{
	struct event_loop *el = mem_zalloc(sizeof(*el));
	int err;

	if (!el)
		return NULL;
	loop_heap_use();
	event_set_log_callback(on_libevent);
	el->loop.ops = &event_loop_ops;
	el->wake_fd = el->timer_fd = -1;
	el->armed = NSEC_NEVER;
	err = loop_open(el);
	if (err) {
		log_error("loop.failed", "cause=%s why=\"%s\"", err_name(err),
			  err == ERR_IO ? strerror(errno) : "descriptors or memory");
		loop_close(el);
		return NULL;
	}
	return &el->loop;
}

void loop_free(struct loop *loop)
{
	if (loop)
		loop_close(event_loop_of(loop));
}

/* Set the timer for @deadline, unless it fires earlier anyway. It fires up to LATE later, so that
 * deadlines close to each other share a wake-up. */
static int loop_arm(struct event_loop *el, nsec_t deadline)
{
	nsec_t at = deadline + LATE;
	struct itimerspec when = {.it_value = {.tv_sec = (time_t)(at / NSEC_PER_SEC),
					       .tv_nsec = (long)(at % NSEC_PER_SEC)}};

	if (el->armed <= deadline)
		return 0;
	if (timerfd_settime(el->timer_fd, TFD_TIMER_ABSTIME, &when, NULL)) {
		log_error("loop.failed", "why=\"%s\"", strerror(errno));
		return ERR_IO;
	}
	el->armed = deadline;
	return 0;
}

void loop_poll_first(struct loop *loop, nsec_t most)
{
	polling_init(&event_loop_of(loop)->polling, most);
}

static int hand_out(struct event_loop *el, int flags)
{
	if (event_base_loop(el->base, EVLOOP_ONCE | flags) >= 0)
		return 0;
	log_error("loop.failed", "why=\"%s\"", strerror(errno));
	return ERR_IO;
}

static int poll_until(struct event_loop *el, nsec_t until)
{
	int err;

	do
		err = hand_out(el, EVLOOP_NONBLOCK);
	while (!err && !el->came && loop_now() < until);
	return err;
}

static int sleep_until(struct event_loop *el, nsec_t deadline)
{
	int err = 0;

	if (deadline <= loop_now())
		return hand_out(el, EVLOOP_NONBLOCK);
	if (deadline != NSEC_NEVER)
		err = loop_arm(el, deadline);
	return err ? err : hand_out(el, 0);
}

static int poll_or_sleep(struct event_loop *el, nsec_t deadline)
{
	nsec_t begun = loop_now(), most = polling_time(&el->polling);
	int err;

	el->came = 0;
	err = most ? poll_until(el, nsec_min(deadline, begun + most)) : 0;
	if (!err && !el->came)
		err = sleep_until(el, deadline);
	polling_note(&el->polling, el->came ? el->came - begun : NSEC_NEVER);
	return err;
}

int loop_run_once(struct loop *loop, nsec_t deadline)
{
	struct event_loop *el = event_loop_of(loop);

	if (deadline == 0 || deadline <= loop_now())
		return hand_out(el, EVLOOP_NONBLOCK);
	return poll_or_sleep(el, deadline);
}

static void on_signal(struct loop_watch *watch, unsigned events)
{
	struct loop_signals *signals = container_of(watch, struct loop_signals, watch);
	struct signalfd_siginfo info;

	(void)events;
	while (read(signals->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		signals->caught(signals, (int)info.ssi_signo);
}

int loop_signals_init(struct loop *loop, struct loop_signals *signals, const int *signos)
{
	sigset_t set;
	int err;

	sigemptyset(&set);
	for (; *signos; signos++)
		sigaddset(&set, *signos);
	signals->loop = loop;
	signals->watch = (struct loop_watch){.ready = on_signal};
	if (pthread_sigmask(SIG_BLOCK, &set, NULL))
		return ERR_IO;
	signals->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals->fd < 0)
		return ERR_IO;
	err = watch_add(loop, &signals->watch, signals->fd, LOOP_READ, 0);
	if (err)
		loop_signals_fini(signals);
	return err;
}

void loop_signals_fini(struct loop_signals *signals)
{
	watch_del(signals->loop, &signals->watch);
	if (signals->fd >= 0)
		close(signals->fd);
	signals->fd = -1;
}
