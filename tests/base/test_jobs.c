/* SPDX-License-Identifier: BSD-2-Clause */
/* Work in other threads: each job comes back once, to the port that gave it. */
#include "tests/cmocka_all.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "base/jobs.h"
#include "base/mem.h"

enum { PORTS = 3, JOBS = 200, ROUNDS = 5 };

struct work {
	struct job job;
	unsigned done; /* written by the thread that has the job: no lock */
	unsigned port;
};

struct end {
	struct jobs_port port;
	sem_t woken;
};

static sem_t begun, go_on;

static void add_one(struct job *job)
{
	container_of(job, struct work, job)->done++;
}

static void stand_still(struct job *job)
{
	sem_post(&begun);
	sem_wait(&go_on);
	add_one(job);
}

static void wake(void *arg)
{
	sem_post(&((struct end *)arg)->woken);
}

static void open_end(struct end *e, struct jobs *jobs)
{
	sem_init(&e->woken, 0, 0);
	jobs_port_init(&e->port, jobs, wake, e);
}

static struct work *await(struct end *e)
{
	struct job *job = NULL;

	while (!job) {
		sem_wait(&e->woken);
		job = jobs_next(&e->port);
	}
	return container_of(job, struct work, job);
}

static void each_comes_back_to_its_own(void **state)
{
	static struct work work[PORTS][JOBS];
	struct jobs *jobs = jobs_new(3);
	struct end ends[PORTS];

	(void)state;
	assert_non_null(jobs);
	assert_int_equal(jobs_start(jobs), 0);
	for (unsigned p = 0; p < PORTS; p++)
		open_end(&ends[p], jobs);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		for (unsigned i = 0; i < JOBS; i++)
			for (unsigned p = 0; p < PORTS; p++) {
				work[p][i].job.run = add_one;
				work[p][i].port = p;
				jobs_submit(&ends[p].port, &work[p][i].job);
			}
		for (unsigned p = 0; p < PORTS; p++)
			for (unsigned i = 0; i < JOBS; i++) {
				struct work *w = await(&ends[p]);

				assert_int_equal(w->port, p);
				assert_int_equal(w->done, round);
			}
		for (unsigned p = 0; p < PORTS; p++)
			assert_null(jobs_next(&ends[p].port));
	}
	jobs_free(jobs);
}

/* One thread: the first stands still, so that the others have to wait. */
static void what_waits_can_be_taken_back(void **state)
{
	struct work still = {.job = {.run = stand_still}}, waits = {.job = {.run = add_one}};
	struct jobs *jobs = jobs_new(1);
	struct end e;

	(void)state;
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	assert_int_equal(jobs_start(jobs), 0);
	open_end(&e, jobs);
	jobs_submit(&e.port, &still.job);
	jobs_submit(&e.port, &waits.job);
	sem_wait(&begun);
	assert_true(jobs_cancel(&waits.job));
	assert_false(jobs_cancel(&still.job)); /* it runs */
	sem_post(&go_on);
	assert_ptr_equal(await(&e), &still);
	assert_int_equal(still.done, 1);
	assert_int_equal(waits.done, 0);
	assert_null(jobs_next(&e.port));
	/* Again; done, and nobody has looked yet. */
	jobs_submit(&e.port, &waits.job);
	sem_wait(&e.woken);
	jobs_port_wait(&e.port);
	assert_true(jobs_cancel(&waits.job));
	assert_null(jobs_next(&e.port));
	assert_int_equal(waits.done, 1);
	jobs_free(jobs);
}

static void a_port_waits_for_its_running_job(void **state)
{
	struct work still = {.job = {.run = stand_still}};
	struct jobs *jobs = jobs_new(1);
	struct end e;

	(void)state;
	open_end(&e, jobs);
	jobs_submit(&e.port, &still.job); /* before there is a thread */
	assert_int_equal(jobs_start(jobs), 0);
	assert_int_equal(jobs_start(jobs), 0);
	sem_wait(&begun);
	sem_post(&go_on);
	jobs_port_wait(&e.port);
	assert_int_equal(still.done, 1);
	assert_ptr_equal(jobs_next(&e.port), &still.job);
	jobs_free(jobs);
}

static void no_memory_no_threads(void **state)
{
	uint64_t live = mem_live();

	(void)state;
	mem_fail_at(1);
	assert_null(jobs_new(2));
	mem_fail_at(0);
	jobs_free(NULL);
	assert_int_equal(mem_live(), live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_comes_back_to_its_own),
		cmocka_unit_test(what_waits_can_be_taken_back),
		cmocka_unit_test(a_port_waits_for_its_running_job),
		cmocka_unit_test(no_memory_no_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
