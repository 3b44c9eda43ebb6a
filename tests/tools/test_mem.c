/* SPDX-License-Identifier: BSD-2-Clause */
/* Client and server of rpcrdma-perf in one process, over fabric/mem in virtual time. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/mem/mem.h"
#include "tests/cmocka_all.h"
#include "tests/rng.h"
#include "tools/perf/options.h"

enum { ARENA_BYTES = 256 << 20, MAX_STEPS = 4000000 };

struct end {
	struct fabric *fabric;
	struct buf_arena arena;
	struct perf_env env;
};

struct lab {
	struct memnet *net;
	struct end c, s;
	struct fabric_listener *listener;
	struct perf_client_config ccfg;
	struct perf_server_config scfg;
	uint32_t sizes[PERF_MAX_SIZES];
	struct perf_client *client;
	struct perf_server *server;
};

static nsec_t clock_of(void *arg)
{
	return memnet_now(arg);
}

static void end_init(struct end *e, struct memnet *net, size_t bytes, uint64_t seed)
{
	e->fabric = memnet_fabric(net);
	assert_non_null(e->fabric);
	assert_int_equal(buf_arena_init(&e->arena, bytes), 0);
	assert_int_equal(fabric_register(e->fabric, e->arena.base, e->arena.bytes), 0);
	e->env = (struct perf_env){e->fabric, &e->arena, clock_of, net, seed};
}

static void end_fini(struct end *e)
{
	assert_int_equal(e->arena.used, 0);
	fabric_unregister(e->fabric, e->arena.base);
	fabric_free(e->fabric);
	buf_arena_fini(&e->arena);
}

static struct leg_config leg_config(unsigned versions, uint32_t credits)
{
	return (struct leg_config){
		.versions = versions,
		.inline_bytes = 4096,
		.credits = credits,
		.max_message = PERF_MAX_DATA + 4096,
		.segment_bytes = 1 << 20,
		.segment_count = 64,
		.setup_timeout = 10 * NSEC_PER_SEC,
	};
}

/* Defaults of a run; the test changes what it is about, then calls lab_run(). */
static void lab_init(struct lab *lab, unsigned version, enum perf_op op, const char *sizes)
{
	int n;

	memset(lab, 0, sizeof(*lab));
	n = perf_sizes_parse(sizes, 4096, lab->sizes);
	assert_true(n > 0);
	lab->ccfg = (struct perf_client_config){
		.leg = leg_config(version, 32),
		.op = op,
		.sizes = lab->sizes,
		.nsizes = (unsigned)n,
		.depth = 3,
		.connections = 1,
		.duration = NSEC_NEVER,
		.count = 4,
		.call_timeout = 30 * NSEC_PER_SEC,
		.reply_chunk = true,
		.verify = true,
		.is_silent = true,
	};
	lab->ccfg.to.len = sizeof(lab->ccfg.to.ss);
	lab->scfg = (struct perf_server_config){.leg = leg_config(LEG_V1_OR_V2 | LEG_V2_EARLY, 16),
						.verify = true,
						.is_silent = true};
}

/* Until the client is done and the server rid of its connections, or for too long. */
static void lab_drive(struct lab *lab)
{
	for (int i = 0; i < MAX_STEPS; i++) {
		nsec_t until;

		while (perf_client_turn(lab->client) | perf_server_turn(lab->server))
			;
		if (perf_client_is_done(lab->client))
			return;
		until = nsec_min(perf_client_deadline(lab->client),
				 perf_server_deadline(lab->server));
		memnet_step(lab->net, until);
	}
	fail_msg("the client does not come to an end");
}

static void lab_run(struct lab *lab, const struct memnet_config *net, size_t server_bytes)
{
	size_t client_bytes = perf_client_memory(&lab->ccfg);

	lab->net = memnet_new(net);
	assert_non_null(lab->net);
	end_init(&lab->c, lab->net, client_bytes, net->seed);
	end_init(&lab->s, lab->net, server_bytes, net->seed + 1);
	lab->listener = memnet_listen(lab->net, &lab->ccfg.to);
	assert_non_null(lab->listener);
	lab->server = perf_server_new(&lab->scfg, &lab->s.env);
	assert_non_null(lab->server);
	assert_int_equal(
		fabric_attach(lab->s.fabric, lab->listener, perf_server_owner(lab->server)), 0);
	lab->client = perf_client_new(&lab->ccfg, &lab->c.env);
	assert_non_null(lab->client);
	lab_drive(lab);
}

static void lab_fini(struct lab *lab)
{
	struct memnet_usage usage;

	fabric_detach(lab->s.fabric, lab->listener);
	perf_client_free(lab->client);
	perf_server_free(lab->server);
	memnet_usage(lab->net, &usage);
	assert_int_equal(usage.conns, 0);
	assert_int_equal(usage.posted, 0);
	assert_int_equal(usage.exposures, 0);
	memnet_listener_free(lab->listener);
	end_fini(&lab->c);
	end_fini(&lab->s);
	memnet_free(lab->net);
}

static struct memnet_config quiet_net(uint64_t seed)
{
	return (struct memnet_config){.seed = seed, .latency_min = 1000, .latency_max = 20000};
}

static void assert_whole(struct lab *lab)
{
	struct perf_step total;

	perf_client_total(lab->client, &total);
	if (perf_client_errors(lab->client)->count)
		fail_msg("client: %s", perf_client_errors(lab->client)->first);
	if (perf_server_errors(lab->server)->count)
		fail_msg("server: %s", perf_server_errors(lab->server)->first);
	assert_int_equal(total.rpcs, lab->ccfg.count * lab->ccfg.nsizes);
	assert_int_equal(perf_server_totals(lab->server)->rpcs, total.rpcs);
	assert_int_equal(perf_server_totals(lab->server)->refused, 0);
}

/* Every way a message can travel, at every size where something changes. */
static const struct {
	const char *name;
	unsigned version;
	enum perf_op op;
	bool no_reply_chunk, call_chunk, inline_data;
	uint32_t slack, segment;
} ways[] = {
	{"v1 null", 1, PERF_NULL, false, false, false, 0, 0},
	{"v1 echo", 1, PERF_ECHO, false, false, false, 0, 0},
	{"v1 read", 1, PERF_READ, false, false, false, 0, 0},
	{"v1 read, unused room", 1, PERF_READ, false, false, false, 5000, 1 << 19},
	{"v1 read, inline", 1, PERF_READ, false, false, true, 0, 0},
	{"v1 write", 1, PERF_WRITE, false, false, false, 0, 0},
	{"v1 write, inline", 1, PERF_WRITE, false, false, true, 0, 1 << 19},
	{"v2 null", 2, PERF_NULL, false, false, false, 0, 0},
	{"v2 echo", 2, PERF_ECHO, false, false, false, 0, 0},
	{"v2 echo, continued reply", 2, PERF_ECHO, true, false, false, 0, 0},
	{"v2 echo, call chunk", 2, PERF_ECHO, false, true, false, 0, 1 << 19},
	{"v2 echo, call chunk, continued reply", 2, PERF_ECHO, true, true, false, 0, 0},
	{"v2 read", 2, PERF_READ, false, false, false, 0, 0},
	{"v2 read, unused room", 2, PERF_READ, false, false, false, 5000, 1 << 19},
	{"v2 read, inline", 2, PERF_READ, false, false, true, 0, 0},
	{"v2 write", 2, PERF_WRITE, false, false, false, 0, 1 << 19},
	{"v2 write, inline", 2, PERF_WRITE, false, false, true, 0, 0},
	{"v2-early null", LEG_V2_EARLY, PERF_NULL, false, false, false, 0, 0},
	{"v2-early echo", LEG_V2_EARLY, PERF_ECHO, false, false, false, 0, 0},
	{"v2-early read, unused room", LEG_V2_EARLY, PERF_READ, false, false, false, 5000, 1 << 19},
	{"v2-early read, inline", LEG_V2_EARLY, PERF_READ, false, false, true, 0, 0},
	{"v2-early write", LEG_V2_EARLY, PERF_WRITE, false, false, false, 0, 0},
	{"v2-early write, inline", LEG_V2_EARLY, PERF_WRITE, false, false, true, 0, 1 << 19},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static void set_way(struct lab *lab, unsigned i, const char *sizes)
{
	lab_init(lab, ways[i].version, ways[i].op, ways[i].op == PERF_NULL ? "0" : sizes);
	lab->ccfg.reply_chunk = !ways[i].no_reply_chunk;
	lab->ccfg.call_chunk = ways[i].call_chunk;
	lab->ccfg.inline_data = ways[i].inline_data;
	lab->ccfg.slack = ways[i].slack;
	if (ways[i].segment)
		lab->ccfg.leg.segment_bytes = ways[i].segment;
}

static void test_ladder(void **state)
{
	static struct lab lab;
	struct rng rng = rng_seeded("ladder", 2024);

	(void)state;
	for (unsigned i = 0; i < WAYS; i++) {
		struct memnet_config net = quiet_net(rng_next(&rng));

		print_message("%s\n", ways[i].name);
		set_way(&lab, i, "ladder");
		lab_run(&lab, &net, ARENA_BYTES);
		assert_whole(&lab);
		lab_fini(&lab);
	}
}

static void test_many_connections(void **state)
{
	static struct lab lab;
	struct memnet_config net = quiet_net(7);

	(void)state;
	for (unsigned version = 1; version <= 2; version++) {
		lab_init(&lab, version, PERF_READ, "1,5000");
		lab.ccfg.connections = 12;
		lab.ccfg.depth = 40; /* more than the server grants */
		lab.ccfg.count = 2000;
		lab_run(&lab, &net, ARENA_BYTES);
		assert_whole(&lab);
		assert_int_equal(perf_server_totals(lab.server)->connections, 12);
		lab_fini(&lab);
	}
}

/* With a rate calls are so far apart, of all connections together; a step that waits for its next call ends in time. */
static void test_rate(void **state)
{
	static struct lab lab;
	struct memnet_config net = quiet_net(11);
	const struct perf_step *step;
	unsigned n;

	(void)state;
	lab_init(&lab, 2, PERF_READ, "5000");
	lab.ccfg.connections = 3;
	lab.ccfg.rate = 100;
	lab.ccfg.count = 41;
	lab_run(&lab, &net, ARENA_BYTES);
	assert_whole(&lab);
	step = perf_client_steps(lab.client, &n);
	assert_in_range(step->took, 400 * (NSEC_PER_SEC / 1000), 401 * (NSEC_PER_SEC / 1000));
	lab_fini(&lab);

	lab_init(&lab, 1, PERF_NULL, "0");
	lab.ccfg.rate = 2;
	lab.ccfg.count = UINT64_MAX;
	lab.ccfg.duration = 10 * NSEC_PER_SEC + NSEC_PER_SEC / 4;
	lab_run(&lab, &net, ARENA_BYTES);
	assert_int_equal(perf_client_errors(lab.client)->count, 0);
	assert_int_equal(perf_client_steps(lab.client, &n)->rpcs, 21);
	assert_in_range(memnet_now(lab.net), lab.ccfg.duration,
			lab.ccfg.duration + NSEC_PER_SEC / 10);
	lab_fini(&lab);
}

/* Calls wait for memory at the server, and all are answered. */
static void test_short_memory(void **state)
{
	static struct lab lab;
	struct memnet_config net = quiet_net(8);
	uint64_t waits = 0;

	(void)state;
	for (unsigned i = 0; i < WAYS; i++) {
		set_way(&lab, i, "4m,1m");
		lab.ccfg.depth = 12;
		lab.ccfg.count = 24;
		lab_run(&lab, &net, 3 * BUF_MAX_BLOCK);
		assert_whole(&lab);
		waits += perf_server_totals(lab.server)->waits;
		lab_fini(&lab);
	}
	/* Not in every way: continued calls come one after the other. */
	assert_true(waits > WAYS);
}

/* A server that speaks only the other version, or lies about nothing but is not there. */
static void test_no_common_version(void **state)
{
	static struct lab lab;
	struct memnet_config net = quiet_net(9);

	(void)state;
	lab_init(&lab, 2, PERF_NULL, "0");
	lab.scfg.leg.versions = LEG_V1;
	lab_run(&lab, &net, ARENA_BYTES);
	assert_int_equal(perf_client_errors(lab.client)->count, 1);
	assert_non_null(strstr(perf_client_errors(lab.client)->first, "cannot connect"));
	lab_fini(&lab);
}

/* Two drafts with one number: each end hears that the other speaks another, and ends. A server of the early draft
 * alone knows nothing of properties, which draft -07 lets it do; its answer to a call is an error. */
static void test_no_common_draft(void **state)
{
	static const unsigned rows[][2] = {{LEG_V2, LEG_V2_EARLY},
					   {LEG_V1, LEG_V2_EARLY},
					   {LEG_V2_EARLY, LEG_V1},
					   {LEG_V2_EARLY, LEG_V2},
					   {LEG_V2_EARLY, LEG_V1_OR_V2}};
	static struct lab lab;
	struct memnet_config net = quiet_net(10);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		lab_init(&lab, rows[i][0], PERF_NULL, "0");
		lab.scfg.leg.versions = rows[i][1];
		lab_run(&lab, &net, ARENA_BYTES);
		assert_true(perf_client_errors(lab.client)->count > 0);
		assert_int_equal(perf_server_totals(lab.server)->rpcs, 0);
		lab_fini(&lab);
	}
}

/* After any fault of the connection both ends finish with everything returned, and the client
 * reports it: no fault goes unnoticed. */
static void test_faults(void **state)
{
	static const enum memnet_fault faults[] = {MEMNET_CUT, MEMNET_EXPOSE_FAIL, MEMNET_POST_FAIL,
						   MEMNET_VANISH, MEMNET_REFUSE};
	struct rng rng = rng_seeded("faults", 5);
	static struct lab lab;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct memnet_config net = quiet_net(rng_next(&rng));
		struct perf_step total;

		set_way(&lab, rng_below(&rng, WAYS), "3,4500,70001");
		net.fault = faults[rng_below(&rng, sizeof(faults) / sizeof(faults[0]))];
		net.fault_at = net.fault == MEMNET_REFUSE ? 1 : 1 + rng_below(&rng, 120);
		lab_run(&lab, &net, ARENA_BYTES);
		perf_client_total(lab.client, &total);
		assert_true(total.errors > 0 || total.rpcs == lab.ccfg.count * lab.ccfg.nsizes);
		lab_fini(&lab);
	}
}

/* A connection that ends in the middle is made again, and every call is answered once, with the octets that it asked for,
 * however much of an earlier answer had come. */
static void test_reconnect(void **state)
{
	struct rng rng = rng_seeded("reconnect", 6);
	static struct lab lab;
	uint64_t reconnects = 0, resent = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct memnet_config net = quiet_net(rng_next(&rng));
		struct perf_again again;
		struct perf_step total;

		set_way(&lab, rng_below(&rng, WAYS), "3,4500,70001");
		lab.ccfg.reconnects = true;
		lab.ccfg.connections = 1 + rng_below(&rng, 3);
		lab.ccfg.rate = rng_below(&rng, 2) * 1000;
		net.fault = MEMNET_CUT;
		net.fault_at = 1 + rng_below(&rng, 120);
		lab_run(&lab, &net, ARENA_BYTES);
		perf_client_total(lab.client, &total);
		again = perf_client_again(lab.client);
		/* A first connection that does not come about is an error, as ever. */
		if (total.errors == 0)
			assert_int_equal(total.rpcs, lab.ccfg.count * lab.ccfg.nsizes);
		else
			assert_true(again.reconnects == 0 && total.rpcs == 0);
		assert_true(again.reconnects <= 1 && again.resent <= lab.ccfg.depth);
		assert_true(perf_server_totals(lab.server)->rpcs >= total.rpcs);
		reconnects += again.reconnects;
		resent += again.resent;
		lab_fini(&lab);
	}
	print_message("%llu reconnects, %llu calls sent again\n", (unsigned long long)reconnects,
		      (unsigned long long)resent);
	assert_true(reconnects > 200 && resent > 200);
}

/* With a server that is gone for good the client gives up when the time for a call is over. */
static void test_reconnect_in_vain(void **state)
{
	static struct lab lab;
	struct memnet_config net = quiet_net(12);

	(void)state;
	net.fault = MEMNET_VANISH;
	net.fault_at = 40;
	lab_init(&lab, 2, PERF_READ, "5000");
	lab.ccfg.reconnects = true;
	lab.ccfg.count = 100;
	lab.ccfg.call_timeout = 3 * NSEC_PER_SEC;
	lab_run(&lab, &net, ARENA_BYTES);
	assert_int_equal(perf_client_errors(lab.client)->count, 1);
	assert_non_null(strstr(perf_client_errors(lab.client)->first, "no reply within 3 s"));
	assert_in_range(memnet_now(lab.net), lab.ccfg.call_timeout, 2 * lab.ccfg.call_timeout);
	lab_fini(&lab);
}

/* Once all is set up, RPCs cost no allocation at either end: four times as many take no more than
 * a slab or two of the pool, when by chance more calls meet at the server. */
static void test_steady_state_allocates_nothing(void **state)
{
	static struct lab lab;
	struct memnet_config net = quiet_net(10);
	uint64_t allocs[2];

	(void)state;
	for (unsigned i = 0; i < WAYS; i++) {
		for (unsigned k = 0; k < 2; k++) {
			uint64_t before = mem_allocs();

			set_way(&lab, i, "5000");
			lab.ccfg.count = k ? 400 : 100;
			lab_run(&lab, &net, ARENA_BYTES);
			assert_whole(&lab);
			allocs[k] = mem_allocs() - before;
			lab_fini(&lab);
		}
		assert_in_range(allocs[1], allocs[0], allocs[0] + 2);
	}
}

static void test_nothing_leaks(void **state)
{
	(void)state;
	assert_int_equal(mem_live(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ladder),
		cmocka_unit_test(test_many_connections),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_short_memory),
		cmocka_unit_test(test_no_common_version),
		cmocka_unit_test(test_no_common_draft),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_reconnect),
		cmocka_unit_test(test_reconnect_in_vain),
		cmocka_unit_test(test_steady_state_allocates_nothing),
		cmocka_unit_test(test_nothing_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
