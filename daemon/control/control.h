/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_CONTROL_H
#define DAEMON_CONTROL_CONTROL_H

#include "daemon/collect.h"
#include "daemon/control/tell.h"
#include "daemon/reload.h"

/**
 * control - the control socket: what rpcrdma-gwctl asks and orders is answered by the main thread, out
 * of what workers copy for it
 */
struct control;

enum control_yield {
	CONTROL_YIELD_BEGIN, /* it is about to hear: what both cannot have is given up */
	CONTROL_YIELD_END,   /* it has heard */
	CONTROL_YIELD_UNDO,  /* it has gone, and never heard: all goes on as it was */
};

/** struct control_config - all borrowed, as long as the control lives. */
struct control_config {
	const char *path;
	struct inherit *inherit; /* sockets that listen already */
	struct loop *loop;
	struct inquiries *inquiries;
	unsigned nworkers; /* that these reach */
	struct collector *collector;
	/** What is told of the process beside the figures, now. */
	struct tell_process (*process)(void *arg);
	struct reload *reload;
	/** The process' listening sockets, but for the control socket and those of .inherit that are lent: at most
	 * @most, into @fds. Return: how many; -1: it has some that cannot be passed, or is about to end. */
	int (*sockets)(void *arg, int *fds, unsigned most);
	/** A successor serves, as soon as it hears that this one yields. */
	void (*yield)(void *arg, enum control_yield step);
	void *arg;
};

/** control_open - Return: 0 and *@out owned; ERR_IO or ERR_NOMEM (logged). */
int control_open(const struct control_config *cfg, struct control **out) WARN_UNUSED;

/** control_close - nobody comes any more, and another process may take the path. Idempotent. */
void control_close(struct control *c);

/** control_has_successor - whether another process was handed the listening sockets, and has not left. */
bool control_has_successor(const struct control *c);

/** control_is_awaited - whether this process has yielded, and its successor has not left yet. */
bool control_is_awaited(const struct control *c);

/** control_tick - after each wake-up. Return: when it is due again. */
nsec_t control_tick(struct control *c);

/** control_free - takes @c, which may be NULL; once no thread works on an inquiry. */
void control_free(struct control *c);

#endif
