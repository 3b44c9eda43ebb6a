/* SPDX-License-Identifier: BSD-2-Clause */
/* Set-up and end of the client: memory, connections, results. */
#include "base/mem.h"
#include "tools/perf/client_priv.h"

enum { SPARE_OPS = 4 };

const uint32_t perf_spread_at[PERF_SPREAD] = {10000,  100000, 250000, 500000, 750000,
					      900000, 950000, 990000, 995000, 999000};

static void measure_times(struct perf_step *step, const struct latency *times)
{
	step->p50 = latency_quantile(times, 500000);
	step->p99 = latency_quantile(times, 990000);
	step->p999 = latency_quantile(times, 999000);
	step->max = times->max;
	for (unsigned i = 0; i < PERF_SPREAD; i++)
		step->spread[i] = latency_quantile(times, perf_spread_at[i]);
}

void client_measure_step(const struct perf_client *c, struct perf_step *step)
{
	*step = c->now;
	step->errors = c->errors.count - c->now.errors;
	step->took = c->step_last - c->step_began;
	measure_times(step, &c->times);
}

const struct perf_step *perf_client_steps(const struct perf_client *c, unsigned *n)
{
	*n = c->nsteps;
	return c->steps;
}

void perf_client_total(const struct perf_client *c, struct perf_step *total)
{
	struct latency all = c->all_times;

	*total = (struct perf_step){.errors = c->errors.count};
	if (c->in_step) {
		client_measure_step(c, total);
		total->errors = c->errors.count;
		latency_merge(&all, &c->times);
	}
	for (unsigned i = 0; i < c->nsteps; i++) {
		total->rpcs += c->steps[i].rpcs;
		total->bytes += c->steps[i].bytes;
		total->took += c->steps[i].took;
	}
	measure_times(total, &all);
}

struct perf_again perf_client_again(const struct perf_client *c)
{
	return c->again;
}

const struct perf_errors *perf_client_errors(const struct perf_client *c)
{
	return &c->errors;
}

const struct leg_proof *perf_client_proof(const struct perf_client *c, nsec_t *took)
{
	const struct client_conn *conn = &c->conns[0];

	*took = conn->took;
	return conn->is_ready && *leg_peer_name(&conn->leg) ? conn->leg.proof : NULL;
}

size_t perf_client_memory(const struct perf_client_config *cfg)
{
	size_t leg = ((size_t)cfg->leg.credits + 64) * cfg->leg.inline_bytes + 4 * BUF_MIN_BLOCK;
	size_t slot = buf_round(slot_bytes(cfg));

	/* Half as much again, because blocks are powers of two and a part is reserved. */
	return (leg * 2 + slot * cfg->depth) * cfg->connections * 3 / 2 + 3 * (size_t)BUF_MAX_BLOCK;
}

static int init_slots(struct client_conn *conn)
{
	const struct perf_client *c = conn->client;

	conn->slots = mem_zalloc(c->cfg->depth * sizeof(*conn->slots));
	if (!conn->slots)
		return ERR_NOMEM;
	for (unsigned i = 0; i < c->cfg->depth; i++) {
		struct slot *slot = &conn->slots[i];

		slot->conn = conn;
		slot->block = buf_alloc(c->env.arena, slot_bytes(c->cfg), BUF_TRANSACTION);
		if (!slot->block)
			return ERR_NOMEM;
		slot->data = slot->block + HEAD_AT;
		slot->reply = slot->data + slot_data_room(c->cfg);
		list_add_tail(&conn->idle, &slot->link);
	}
	return 0;
}

int client_connect(struct client_conn *conn)
{
	const struct perf_client *c = conn->client;
	const struct leg_target target = {.fabric = c->env.fabric,
					  .from = c->cfg->from.len ? &c->cfg->from : NULL,
					  .to = &c->cfg->to};

	conn->leg.first_xid = conn->xid_base - 1;
	return leg_connect(&conn->leg, &c->cfg->leg, c->env.arena, &target,
			   c->cfg->depth * SLOT_HANDLES + SPARE_OPS, perf_now(&c->env));
}

static int init_conn(struct perf_client *c, struct client_conn *conn)
{
	uint64_t random = c->env.seed + (uint64_t)(conn - c->conns) * UINT64_C(0x9e3779b97f4a7c15);
	int err;

	conn->xid_base = (uint32_t)(random >> 32);
	for (conn->xid_stride = 1; conn->xid_stride < c->cfg->depth; conn->xid_stride *= 2)
		;
	err = init_slots(conn);
	if (err == 0)
		err = client_connect(conn);
	if (err < 0)
		perf_error(&c->errors, "cannot begin a connection: %s", err_name(err));
	return err;
}

struct perf_client *perf_client_new(const struct perf_client_config *cfg,
				    const struct perf_env *env)
{
	struct perf_client *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->cfg = cfg;
	c->env = *env;
	c->errors.is_silent = cfg->is_silent;
	list_init(&c->dirty);
	list_init(&c->stalled);
	c->conns = mem_zalloc(cfg->connections * sizeof(*c->conns));
	c->steps = mem_zalloc(cfg->nsizes * sizeof(*c->steps));
	for (unsigned i = 0; c->conns && i < cfg->connections; i++) {
		struct client_conn *conn = &c->conns[i];

		conn->client = c;
		conn->lost = conn->retry_at = NSEC_NEVER;
		list_init(&conn->dirty);
		list_init(&conn->stalled);
		list_init(&conn->idle);
		list_init(&conn->flying);
		leg_init(&conn->leg, RPC_INITIATOR);
	}
	for (unsigned i = 0; i < cfg->connections; i++) {
		if (!c->conns || !c->steps || init_conn(c, &c->conns[i]) < 0) {
			perf_client_free(c);
			return NULL;
		}
	}
	return c;
}

static void conn_fini(struct client_conn *conn)
{
	struct buf_arena *arena = conn->client->env.arena;

	for (unsigned i = 0; conn->slots && i < conn->client->cfg->depth; i++)
		leg_put(&conn->leg, &conn->slots[i].held);
	leg_fini(&conn->leg);
	for (unsigned i = 0; conn->slots && i < conn->client->cfg->depth; i++)
		buf_free(arena, conn->slots[i].block);
	mem_free(conn->slots);
}

void perf_client_free(struct perf_client *c)
{
	if (!c)
		return;
	for (unsigned i = 0; c->conns && i < c->cfg->connections; i++)
		conn_fini(&c->conns[i]);
	mem_free(c->conns);
	mem_free(c->steps);
	mem_free(c);
}
