/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_CONTROL_H
#define DAEMON_CONTROL_CONTROL_H

#include "daemon/stats_collector.h"
#include "daemon/control/to_json.h"
#include "daemon/reload.h"

/**
 * control - the control socket for rpcrdma-gwctl. The main thread answers the requests. Workers
 * make copies of their state for these answers.
 */
struct control;

enum control_yield {
	/* the successor is about to learn that this process yields: release what two processes
	 * cannot have at once (registrations at rpcbind) */
	CONTROL_YIELD_BEGIN,
	CONTROL_YIELD_END, /* the successor has learned it */
	/* the successor closed its connection before it learned that: go on as before */
	CONTROL_YIELD_UNDO,
};

/** struct control_config - all borrowed, as long as the control lives. */
struct control_config {
	const char *path;
	struct inherit *inherit; /* sockets that were passed to this process */
	struct loop *loop;
	struct worker_queries *worker_queries;
	unsigned nworkers; /* number of workers behind .worker_queries */
	struct stats_collector *stats_collector;
	/** Current state of the process beside the figures. */
	struct to_json_process (*process)(void *arg);
	struct reload *reload;
	/** Write the listening sockets of the process into @fds, at most @most, without the control
	 * socket and without the lent sockets of .inherit (daemon/inherit.h). Return: how many; -1:
	 * some cannot be passed, or the process is about to end. */
	int (*sockets)(void *arg, int *fds, unsigned most);
	/** Called for each step of yielding to a successor. */
	void (*yield)(void *arg, enum control_yield step);
	void *arg;
};

/** control_open - Return: 0 and *@out owned; ERR_IO or ERR_NOMEM (logged). */
int control_open(const struct control_config *cfg, struct control **out) WARN_UNUSED;

/** control_close - stop accepting; after that another process may use the path. Idempotent. */
void control_close(struct control *c);

/** control_has_successor - whether another process was handed the listening sockets and is still
 * connected. */
bool control_has_successor(const struct control *c);

/** control_is_awaited - whether this process has yielded and its successor is still connected. */
bool control_is_awaited(const struct control *c);

/** control_tick - call after each wake-up. Return: when to call again. */
nsec_t control_tick(struct control *c);

/** control_free - takes @c, which may be NULL; no worker may be answering a query. */
void control_free(struct control *c);

#endif
