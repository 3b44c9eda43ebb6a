/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/loop.h"

/* The watchdog is fed this many times in its interval. */
enum { FEEDS = 4, NSEC_PER_USEC = 1000 };

/* Time between the end of the drain and the end of the process, on a machine under load. */
#define STOP_MARGIN (20 * NSEC_PER_SEC)

/* Value of a numeric environment variable, or 0. */
static unsigned long long number(const char *name)
{
	const char *text = getenv(name);
	unsigned long long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	return *end || errno ? 0 : value;
}

/* Bind to an abstract name that the kernel chooses. Then nothing can bind the socket to a path
 * later, which would make a file. The manager sends nothing to that name. */
static void take_a_name(int fd)
{
	const struct sockaddr_un any = {.sun_family = AF_UNIX};

	if (bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family)) ||
	    shutdown(fd, SHUT_RD))
		log_warn("service", "why=\"%s\"", strerror(errno));
}

/* Return: whether there is a service manager. */
static bool find_manager(struct service *s, const char *path)
{
	size_t len = path ? strlen(path) : 0;

	/* a path, or an abstract name */
	if (len < 2 || len >= sizeof(s->to.sun_path) || (*path != '/' && *path != '@'))
		return false;
	s->to.sun_family = AF_UNIX;
	memcpy(s->to.sun_path, path, len);
	if (*path == '@')
		s->to.sun_path[0] = '\0';
	s->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (*path == '/'));
	s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd >= 0)
		take_a_name(s->fd);
	return s->fd >= 0;
}

void service_open(struct service *s)
{
	unsigned long long usec = number("WATCHDOG_USEC"), pid = number("WATCHDOG_PID");

	*s = (struct service){.fd = -1};
	if (find_manager(s, getenv("NOTIFY_SOCKET")) &&
	    (!pid || pid == (unsigned long long)getpid()) && usec < NSEC_NEVER / NSEC_PER_USEC)
		s->interval = usec * NSEC_PER_USEC / FEEDS;
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

static void say(const struct service *s, const char *text)
{
	if (s->fd >= 0 && sendto(s->fd, text, strlen(text), MSG_NOSIGNAL,
				 (const struct sockaddr *)&s->to, s->len) < 0)
		log_warn("service", "why=\"%s\"", strerror(errno));
}

void service_watch(struct service *s, struct stats_collector *stats_collector)
{
	s->stats_collector = stats_collector;
}

/* Also sends the process number, because this process may have taken over from another. */
void service_ready(const struct service *s)
{
	char text[64];

	snprintf(text, sizeof(text), "MAINPID=%d\nREADY=1", (int)getpid());
	say(s, text);
}

void service_reloading(const struct service *s)
{
	char text[96];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)(loop_now() / NSEC_PER_USEC));
	say(s, text);
}

void service_stopping(const struct service *s, nsec_t within)
{
	char text[96];

	snprintf(text, sizeof(text), "STOPPING=1\nEXTEND_TIMEOUT_USEC=%llu",
		 (unsigned long long)((within + STOP_MARGIN) / NSEC_PER_USEC));
	say(s, text);
}

static void on_figures(struct stats_collect *collected, const struct stats_table *sum)
{
	struct service *s = container_of(collected, struct service, collect);

	(void)sum;
	s->is_asking = false;
	s->next = loop_now() + s->interval;
	say(s, "WATCHDOG=1");
}

nsec_t service_tick(struct service *s)
{
	if (!s->interval || !s->stats_collector || s->is_asking)
		return NSEC_NEVER;
	if (loop_now() < s->next)
		return s->next;
	s->is_asking = true;
	s->collect.collected = on_figures;
	collect(s->stats_collector, &s->collect);
	return NSEC_NEVER; /* the workers' answers wake this thread */
}

void service_close(struct service *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
