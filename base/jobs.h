/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_JOBS_H
#define BASE_JOBS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/list.h"

/**
 * jobs - work that takes too long for a thread with an event loop, done by a few threads
 *
 * Each thread that has jobs has a port. A job is submitted at a port and comes back to the same
 * port, in the order in which jobs finish. Meanwhile the job owns the data it works on. No job
 * allocates. Only jobs_port_wait() waits.
 */
struct jobs;

enum job_state { JOB_IDLE, JOB_QUEUED, JOB_RUNNING, JOB_DONE };

/** struct job - embedded in its owner; all zero but .run. */
struct job {
	struct list link; /* private, as are .state and .port */
	enum job_state state;
	struct jobs_port *port;
	void (*run)(struct job *job); /* called in another thread */
};

struct jobs_port {
	struct jobs *jobs; /* all private */
	void (*wake)(void *arg);
	void *arg;
	struct list done;
	unsigned running;
};

/** jobs_new - with @threads threads, not started. Return: owned, or NULL. */
struct jobs *jobs_new(unsigned threads);

/** jobs_start - start the threads, unless they run; they have a lower scheduling priority.
 * Return: 0, or ERR_NOMEM with some of them running. */
int jobs_start(struct jobs *jobs) WARN_UNUSED;

/** jobs_free - takes @jobs, which may be NULL; nothing is queued or running (asserted). */
void jobs_free(struct jobs *jobs);

/** jobs_port_init - set up @port. @wake is called, in another thread, when a job is done. */
void jobs_port_init(struct jobs_port *port, struct jobs *jobs, void (*wake)(void *arg), void *arg);

/** jobs_submit - submit @job, which is new or was returned by jobs_next() or jobs_cancel(). */
void jobs_submit(struct jobs_port *port, struct job *job);

/** jobs_cancel - take @job back before it runs. Return: whether its owner has it again; if not, it
 * runs, and jobs_next() will return it. */
bool jobs_cancel(struct job *job) WARN_UNUSED;

/** jobs_next - a job that is done, or NULL. */
struct job *jobs_next(struct jobs_port *port);

/** jobs_port_wait - wait until none of the port's jobs runs; take them by jobs_next() after
 * that. */
void jobs_port_wait(struct jobs_port *port);

#endif
