/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * One queue, one lock, held for a few list operations. Threads take the job that has waited
 * longest; when it is done it goes to its port's list, and the port's owner is woken.
 *
 *     IDLE --submit--> QUEUED --a thread--> RUNNING --> DONE --next--> IDLE
 *       ^                 |
 *       +-----cancel------+
 */
#include "base/jobs.h"

#include <assert.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"

enum { GIVES_WAY = 5 }; /* nice value of the job threads: threads that serve RPCs have priority */

struct jobs {
	pthread_mutex_t lock;
	pthread_cond_t queued, done;
	struct list queue;
	bool stopping;
	unsigned most, nthreads;
	pthread_t threads[];
};

static void run_one(struct jobs *jobs, struct job *job)
{
	struct jobs_port *port = job->port;

	job->state = JOB_RUNNING;
	port->running++;
	pthread_mutex_unlock(&jobs->lock);
	job->run(job);
	pthread_mutex_lock(&jobs->lock);
	job->state = JOB_DONE;
	list_add_tail(&port->done, &job->link);
	/* Called under the lock, because a thread in jobs_port_wait() may free the port
	 * afterwards. */
	port->wake(port->arg);
	port->running--;
	pthread_cond_broadcast(&jobs->done);
}

static void *thread_main(void *arg)
{
	struct jobs *jobs = arg;
	struct list *item;

	(void)setpriority(PRIO_PROCESS, 0, GIVES_WAY); /* of this thread, on Linux */
	pthread_setname_np(pthread_self(), "jobs");
	pthread_mutex_lock(&jobs->lock);
	while (!jobs->stopping) {
		item = list_pop(&jobs->queue);
		if (item)
			run_one(jobs, container_of(item, struct job, link));
		else
			pthread_cond_wait(&jobs->queued, &jobs->lock);
	}
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

struct jobs *jobs_new(unsigned threads)
{
	struct jobs *jobs = mem_zalloc(sizeof(*jobs) + threads * sizeof(jobs->threads[0]));

	if (!jobs)
		return NULL;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->queued, NULL);
	pthread_cond_init(&jobs->done, NULL);
	list_init(&jobs->queue);
	jobs->most = threads;
	return jobs;
}

int jobs_start(struct jobs *jobs)
{
	for (; jobs->nthreads < jobs->most; jobs->nthreads++)
		if (pthread_create(&jobs->threads[jobs->nthreads], NULL, thread_main, jobs))
			return ERR_NOMEM;
	return 0;
}

void jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	pthread_mutex_lock(&jobs->lock);
	assert(list_is_empty(&jobs->queue));
	jobs->stopping = true;
	pthread_cond_broadcast(&jobs->queued);
	pthread_mutex_unlock(&jobs->lock);
	for (unsigned i = 0; i < jobs->nthreads; i++)
		pthread_join(jobs->threads[i], NULL);
	pthread_cond_destroy(&jobs->done);
	pthread_cond_destroy(&jobs->queued);
	pthread_mutex_destroy(&jobs->lock);
	mem_free(jobs);
}

void jobs_port_init(struct jobs_port *port, struct jobs *jobs, void (*wake)(void *arg), void *arg)
{
	*port = (struct jobs_port){.jobs = jobs, .wake = wake, .arg = arg};
	list_init(&port->done);
}

void jobs_submit(struct jobs_port *port, struct job *job)
{
	struct jobs *jobs = port->jobs;

	assert(job->state == JOB_IDLE);
	pthread_mutex_lock(&jobs->lock);
	job->port = port;
	job->state = JOB_QUEUED;
	list_add_tail(&jobs->queue, &job->link);
	pthread_cond_signal(&jobs->queued);
	pthread_mutex_unlock(&jobs->lock);
}

bool jobs_cancel(struct job *job)
{
	struct jobs *jobs = job->port->jobs;
	bool mine;

	pthread_mutex_lock(&jobs->lock);
	mine = job->state != JOB_RUNNING;
	if (mine && job->state != JOB_IDLE)
		list_del(&job->link);
	if (mine)
		job->state = JOB_IDLE;
	pthread_mutex_unlock(&jobs->lock);
	return mine;
}

struct job *jobs_next(struct jobs_port *port)
{
	struct jobs *jobs = port->jobs;
	struct job *job = NULL;
	struct list *item;

	pthread_mutex_lock(&jobs->lock);
	item = list_pop(&port->done);
	if (item) {
		job = container_of(item, struct job, link);
		job->state = JOB_IDLE;
	}
	pthread_mutex_unlock(&jobs->lock);
	return job;
}

void jobs_port_wait(struct jobs_port *port)
{
	struct jobs *jobs = port->jobs;

	pthread_mutex_lock(&jobs->lock);
	while (port->running)
		pthread_cond_wait(&jobs->done, &jobs->lock);
	pthread_mutex_unlock(&jobs->lock);
}
