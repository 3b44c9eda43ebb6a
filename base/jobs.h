/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_JOBS_H
#define BASE_JOBS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/list.h"

/**
 * jobs - work that takes too long for a thread with a loop, done by a few threads for it
 *
 * Each thread that has jobs has a port. A job is submitted at one and comes back to the same, in
 * the order in which jobs are done; meanwhile what it works on is its own. Nothing is
 * allocated for a job, and nothing waits but jobs_port_wait().
 */
struct jobs;

enum job_state { JOB_IDLE, JOB_QUEUED, JOB_RUNNING, JOB_DONE };

/** struct job - embedded in its owner; zero-initialise but for .run. */
struct job {
	struct list link; /* private, as .state */
	enum job_state state;
	struct jobs_port *port;
	void (*run)(struct job *job); /* in another thread */
};

struct jobs_port {
	struct jobs *jobs; /* all private */
	void (*wake)(void *arg);
	void *arg;
	struct list done;
	unsigned running;
};

/** jobs_new - @threads for them, not started. Return: owned, or NULL. */
struct jobs *jobs_new(unsigned threads);

/** jobs_start - the threads, unless they run; they give way to others where CPUs are short. Return: 0, or
 * ERR_NOMEM with some of them running. */
int jobs_start(struct jobs *jobs) WARN_UNUSED;

/** jobs_free - takes @jobs, which may be NULL; nothing is queued or running (asserted). */
void jobs_free(struct jobs *jobs);

/** jobs_port_init - @wake is called, in another thread, when a job is done. */
void jobs_port_init(struct jobs_port *port, struct jobs *jobs, void (*wake)(void *arg), void *arg);

/** jobs_submit - @job, which is idle or came back. */
void jobs_submit(struct jobs_port *port, struct job *job);

/** jobs_cancel - Return: whether @job is its owner's again; else it runs, and will come back. */
bool jobs_cancel(struct job *job) WARN_UNUSED;

/** jobs_next - a job that is done, or NULL. */
struct job *jobs_next(struct jobs_port *port);

/** jobs_port_wait - until none of the port's jobs runs; they are still to be taken by jobs_next(). */
void jobs_port_wait(struct jobs_port *port);

#endif
