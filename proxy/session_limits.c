/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/session_limits.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"

/* The least number of client addresses without a session whose rate is remembered. */
enum { REMEMBERED = 1024 };

/* Tolerances of session_limits_worker_is_overloaded(). A worker may have more sessions than the
 * least loaded worker:
 * - by one part in SLACK_PART of that worker's sessions. If these are few, that is none, so that
 *   the connections of one client are spread over workers;
 * - and by one part in SLACK_COMING of its own connections in set-up, SLACK_MOST at most. Other
 *   workers may sleep and take milliseconds to accept, which is much when hundreds arrive at
 *   once. */
enum { SLACK_PART = 32, SLACK_COMING = 4, SLACK_MOST = 16 };

struct session_limits_client {
	struct host host; /* first member; its uses are sessions */
	nsec_t full_at;	  /* when the client address may again set up .burst sessions at once */
};

struct session_limits {
	struct session_limits_config cfg;
	pthread_mutex_t lock;
	struct host_table clients;
	uint32_t burst; /* sessions that one client address may have, and so may set up at once */
	uint32_t sessions;
	atomic_uint *of_workers; /* load of each worker: session_limits_publish() */
	atomic_uint changes;	 /* number of changes of .of_workers */
};

struct session_limits *session_limits_new(const struct session_limits_config *cfg)
{
	struct session_limits *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->cfg = *cfg;
	c->burst = cfg->max_per_client ? cfg->max_per_client : cfg->max_sessions;
	pthread_mutex_init(&c->lock, NULL);
	c->of_workers = mem_zalloc(cfg->workers * sizeof(*c->of_workers));
	if (!c->of_workers || host_table_init(&c->clients, (size_t)cfg->max_sessions + REMEMBERED,
					      sizeof(struct session_limits_client), cfg->seed)) {
		session_limits_free(c);
		return NULL;
	}
	return c;
}

void session_limits_free(struct session_limits *c)
{
	if (!c)
		return;
	assert(c->sessions == 0);
	host_table_fini(&c->clients);
	pthread_mutex_destroy(&c->lock);
	mem_free(c->of_workers);
	mem_free(c);
}

/* The time after which a client address may set up one more session. Each set-up moves .full_at by
 * this time. */
static nsec_t turn_costs(const struct session_limits *c)
{
	return c->cfg.setups_per_second ? NSEC_PER_SEC / c->cfg.setups_per_second : 0;
}

/* Workers' clocks differ a little, so @now may be before .full_at was last set. */
static bool has_turn(const struct session_limits *c, const struct session_limits_client *client,
		     nsec_t now)
{
	return !c->cfg.setups_per_second || client->full_at <= now ||
	       client->full_at - now <= (c->burst - 1) * turn_costs(c);
}

static void take_turn(const struct session_limits *c, struct session_limits_client *client,
		      nsec_t now)
{
	client->full_at = (client->full_at > now ? client->full_at : now) + turn_costs(c);
}

static enum session_limits_answer
judge_client(const struct session_limits *c, const struct session_limits_client *client, nsec_t now)
{
	if (!has_turn(c, client, now))
		return SESSION_LIMITS_RATE;
	if (c->cfg.max_per_client && client->host.uses > c->cfg.max_per_client)
		return SESSION_LIMITS_CLIENT;
	return c->sessions < c->cfg.max_sessions ? SESSION_LIMITS_OK : SESSION_LIMITS_ALL;
}

static enum session_limits_answer enter_locked(struct session_limits *c,
					       const struct fabric_addr *peer, nsec_t now,
					       struct host **place)
{
	struct session_limits_client *client =
		(struct session_limits_client *)host_table_get(&c->clients, peer);
	enum session_limits_answer answer;

	assert(client); /* the table has room for more client addresses than sessions */
	answer = judge_client(c, client, now);
	if (answer != SESSION_LIMITS_OK) {
		host_table_put(&c->clients, &client->host);
		return answer;
	}
	take_turn(c, client, now);
	c->sessions++;
	*place = &client->host;
	return SESSION_LIMITS_OK;
}

enum session_limits_answer session_limits_enter(struct session_limits *c,
						const struct fabric_addr *peer, nsec_t now,
						struct host **client)
{
	enum session_limits_answer answer;

	pthread_mutex_lock(&c->lock);
	answer = enter_locked(c, peer, now, client);
	pthread_mutex_unlock(&c->lock);
	return answer;
}

void session_limits_leave(struct session_limits *c, struct host *client)
{
	pthread_mutex_lock(&c->lock);
	host_table_put(&c->clients, client);
	c->sessions--;
	pthread_mutex_unlock(&c->lock);
}

void session_limits_publish(struct session_limits *c, unsigned worker, uint32_t sessions)
{
	if (worker >= c->cfg.workers)
		return;
	atomic_store_explicit(&c->of_workers[worker], sessions, memory_order_relaxed);
	atomic_fetch_add_explicit(&c->changes, 1, memory_order_release);
}

unsigned session_limits_changes(const struct session_limits *c)
{
	return atomic_load_explicit(&c->changes, memory_order_acquire);
}

bool session_limits_worker_is_overloaded(const struct session_limits *c, unsigned worker,
					 uint32_t coming)
{
	uint32_t least = UINT32_MAX, slack = coming / SLACK_COMING;

	if (worker >= c->cfg.workers)
		return false;
	for (unsigned i = 0; i < c->cfg.workers; i++) {
		uint32_t n = atomic_load_explicit(&c->of_workers[i], memory_order_relaxed);

		least = n < least ? n : least;
	}
	return atomic_load_explicit(&c->of_workers[worker], memory_order_relaxed) >
	       least + least / SLACK_PART + (slack < SLACK_MOST ? slack : SLACK_MOST);
}

uint32_t session_limits_sessions(struct session_limits *c)
{
	uint32_t n;

	pthread_mutex_lock(&c->lock);
	n = c->sessions;
	pthread_mutex_unlock(&c->lock);
	return n;
}
