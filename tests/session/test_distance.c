/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two gateways far apart, between a version 1 client and a version 1 server, each near its gateway:
 * how many round trips of the long hop set-up and calls take, in virtual time.
 */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "tests/session/world.h"

#define ONE_WAY (5 * NSEC_PER_MS)

enum { GATEWAYS = 2, LISTENERS = 3, KIB = 1 << 10, MIB = 1 << 20 };

/* The client connects to the first listener, each gateway to the next one. */
static struct {
	struct memnet *net;
	struct fabric_addr addr[LISTENERS];
	struct fabric_listener *at[LISTENERS];
	struct fabric *fabrics[GATEWAYS];
	struct proxy_route routes[GATEWAYS];
	struct proxy *gw[GATEWAYS];
	struct peer client, server;
} chain;

/* Settings of the long hop. */
struct between {
	unsigned version;
	enum hop hop;
	nsec_t one_way;
	uint32_t inline_bytes, credits;
	uint64_t seed;
};

static const struct between far_hop = {
	LEG_V2, HOP_FAR, ONE_WAY, 64 * KIB, 64, 1,
};

static struct leg_config end_of_hop(unsigned versions, uint32_t inline_bytes, uint32_t credits)
{
	return (struct leg_config){
		.versions = versions,
		.inline_bytes = inline_bytes,
		.credits = credits,
		.rev_credits = 8,
		.max_message = 8 * MIB,
		.segment_bytes = 8 * MIB,
		.segment_count = 64,
		.reverse = RPC_REV_SIMPLE,
		.setup_timeout = 10 * NSEC_PER_SEC,
	};
}

static void gateway_new(unsigned i, const struct between *b)
{
	struct proxy_route *r = &chain.routes[i];
	struct proxy_config cfg = {.routes = r,
				   .nroutes = 1,
				   .fabrics = &chain.fabrics[i],
				   .nfabrics = 1,
				   .memory_bytes = 256 << 20,
				   .max_sessions = 4,
				   .max_payload = 8 * MIB,
				   .continue_max = 64 * KIB,
				   .seed = b->seed + i};

	*r = (struct proxy_route){.name = "chain",
				  .client = end_of_hop(LEG_V1_OR_V2, 4096, 64),
				  .server = end_of_hop(LEG_V1, 4096, 64),
				  .upstream = chain.addr[i + 1],
				  .version_memory = NSEC_PER_SEC};
	if (i == 0) {
		r->server = end_of_hop(b->version, b->inline_bytes, b->credits);
		r->server_hop = b->hop;
	} else {
		r->client = end_of_hop(LEG_V1_OR_V2, b->inline_bytes, b->credits);
		r->client_hop = b->hop;
	}
	chain.fabrics[i] = memnet_fabric(chain.net);
	chain.gw[i] = proxy_new(&cfg);
	assert_non_null(chain.gw[i]);
	assert_int_equal(
		fabric_attach(chain.fabrics[i], chain.at[i], proxy_route_owner(chain.gw[i], 0)), 0);
}

static void begin(const struct between *b)
{
	const struct memnet_config net = {
		.seed = b->seed, .latency_min = 1000, .latency_max = 5000};

	memset(&chain, 0, sizeof(chain));
	chain.net = memnet_new(&net);
	for (unsigned i = 0; i < LISTENERS; i++) {
		assert_int_equal(
			fabric_addr_parse("10.0.0.1", (uint16_t)(20049 + i), &chain.addr[i]), 0);
		chain.at[i] = memnet_listen(chain.net, &chain.addr[i]);
	}
	memnet_set_far(chain.net, &chain.addr[1], b->one_way);
	for (unsigned i = 0; i < GATEWAYS; i++)
		gateway_new(i, b);
	peer_init(&chain.client, chain.net, LEG_V1, 4096, 32, 0x1000, 256 << 20);
	peer_init(&chain.server, chain.net, LEG_V1, 4096, 32, 0x900000, 256 << 20);
	assert_int_equal(fabric_attach(chain.server.fabric, chain.at[2], &chain.server), 0);
	peer_connect(&chain.client, &chain.addr[0]);
}

static void turn(void)
{
	peer_turn(&chain.client);
	peer_turn(&chain.server);
	for (unsigned i = 0; i < GATEWAYS; i++)
		while (proxy_turn(chain.gw[i], memnet_now(chain.net)))
			;
}

/* The next thing happens, or somebody's time has come. */
static void step(void)
{
	nsec_t due = nsec_min(proxy_deadline(chain.gw[0]), proxy_deadline(chain.gw[1]));

	memnet_step(chain.net, due);
	turn();
}

static void run_until_done(uint64_t n)
{
	nsec_t timeout = memnet_now(chain.net) + 100 * NSEC_PER_SEC;

	turn();
	while (chain.client.done < n) {
		assert_true(memnet_now(chain.net) < timeout);
		assert_false(chain.client.closed);
		step();
	}
	assert_int_equal(chain.client.corrupt + chain.server.corrupt, 0);
	assert_int_equal(chain.client.errors, 0);
}

static void run_until_open(void)
{
	nsec_t timeout = memnet_now(chain.net) + 100 * NSEC_PER_SEC;

	turn();
	while (!chain.client.open) {
		assert_true(memnet_now(chain.net) < timeout);
		step();
	}
}

static void end(void)
{
	nsec_t over = memnet_now(chain.net) + 30 * NSEC_PER_SEC;

	leg_close(&chain.client.leg, ERR_CLOSED, "test over");
	turn();
	while (memnet_now(chain.net) < over) {
		nsec_t due = nsec_min(proxy_deadline(chain.gw[0]), proxy_deadline(chain.gw[1]));

		memnet_step(chain.net, nsec_min(over, due));
		turn();
	}
	for (unsigned i = 0; i < GATEWAYS; i++) {
		assert_int_equal(proxy_sessions(chain.gw[i]), 0);
		fabric_detach(chain.fabrics[i], chain.at[i]);
	}
	fabric_detach(chain.server.fabric, chain.at[2]);
	peer_end(&chain.client);
	peer_end(&chain.server);
	for (unsigned i = 0; i < GATEWAYS; i++)
		proxy_free(chain.gw[i]);
	peer_fini(&chain.client);
	peer_fini(&chain.server);
	for (unsigned i = 0; i < LISTENERS; i++)
		memnet_listener_free(chain.at[i]);
	for (unsigned i = 0; i < GATEWAYS; i++)
		fabric_free(chain.fabrics[i]);
	memnet_free(chain.net);
	assert_int_equal(mem_live(), 0);
}

/* Hundredths of a round trip since @since. */
static unsigned trips_since(nsec_t since)
{
	return (unsigned)((memnet_now(chain.net) - since) * 100 / (2 * ONE_WAY));
}

static unsigned trips_of(const struct peer_spec *spec)
{
	nsec_t since = memnet_now(chain.net);

	assert_true(peer_call(&chain.client, spec));
	run_until_done(chain.client.done + 1);
	return trips_since(since);
}

static struct peer_spec a_write(uint32_t bytes)
{
	return (struct peer_spec){
		.body = 160, .reply = 128, .segs = 1, .nreads = 1, .reads = {bytes}};
}

static struct peer_spec a_read(uint32_t bytes)
{
	return (struct peer_spec){.body = 160,
				  .reply = 128,
				  .segs = 1,
				  .nwrites = 1,
				  .write_caps = {bytes},
				  .writes = {bytes}};
}

static struct peer_spec an_echo(uint32_t bytes)
{
	bool is_long = bytes > 3 * KIB;

	return (struct peer_spec){.body = bytes,
				  .by_chunk = is_long,
				  .reply = bytes,
				  .reply_cap = is_long ? bytes : 0,
				  .segs = 1};
}

static const uint32_t sizes[] = {512,	    4 * KIB,   8 * KIB,	       32 * KIB,
				 128 * KIB, 256 * KIB, 1022 * KIB + 1, MIB};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static const struct proxy_counters *counters(unsigned gw)
{
	return proxy_counters(chain.gw[gw]);
}

/* A WRITE of any size takes one round trip, although client and server use Read chunks. */
static void a_write_takes_one_round_trip(void **state)
{
	uint64_t data = 0, copied = 0;

	(void)state;
	begin(&far_hop);
	run_until_open();
	for (unsigned i = 0; i < SIZES; i++) {
		const struct peer_spec spec = a_write(sizes[i]);
		unsigned trips = trips_of(&spec);

		print_message("WRITE of %u octets: %u.%02u round trips\n", sizes[i], trips / 100,
			      trips % 100);
		assert_in_range(trips, 100, 115);
		data += sizes[i];
		if (sizes[i] > 32 * KIB)
			copied += spec.body + sizes[i] + xdr_pad(sizes[i]);
	}
	assert_int_equal(counters(0)->joined, SIZES);
	assert_int_equal(counters(0)->joined_bytes, data);
	assert_int_equal(counters(0)->formed_again, 0);
	/* One copy, at the end that puts the parts together. */
	assert_int_equal(counters(0)->assembled_bytes, 0);
	assert_int_equal(counters(1)->assembled_bytes, copied);
	assert_int_equal(chain.server.joined, SIZES);
	end();
}

static void a_read_takes_one_round_trip(void **state)
{
	(void)state;
	begin(&far_hop);
	run_until_open();
	for (unsigned i = 0; i < SIZES; i++) {
		const struct peer_spec read = a_read(sizes[i]), echo = an_echo(sizes[i] & ~3u);

		assert_in_range(trips_of(&read), 100, 115);
		assert_in_range(trips_of(&echo), 100, 115);
	}
	end();
}

/* Over a near hop the data is fetched, as without this feature. */
static void near_the_data_are_fetched(void **state)
{
	struct between b = far_hop;

	(void)state;
	b.hop = HOP_NEAR;
	begin(&b);
	run_until_open();
	for (unsigned i = 0; i < SIZES; i++) {
		const struct peer_spec write = a_write(sizes[i]), read = a_read(sizes[i]);

		assert_in_range(trips_of(&write), 200, 215);
		assert_in_range(trips_of(&read), 100, 115);
	}
	assert_int_equal(counters(0)->joined, 0);
	assert_int_equal(counters(1)->assembled_bytes, 0);
	assert_int_equal(chain.server.joined, 0);
	end();
}

/* Version 1 has no messages of several Sends: what fits one goes with the call. */
static void over_version_1_what_fits_a_message(void **state)
{
	struct between b = far_hop;

	(void)state;
	b.version = LEG_V1;
	begin(&b);
	run_until_open();
	for (unsigned i = 0; i < SIZES; i++) {
		const struct peer_spec write = a_write(sizes[i]);

		assert_int_equal(trips_of(&write) / 100, sizes[i] < 64 * KIB ? 1 : 2);
	}
	end();
}

/* Data beyond the credits is fetched, and later calls are not affected. */
static void what_credits_do_not_cover_is_fetched(void **state)
{
	struct between b = far_hop;
	const struct peer_spec small = a_write(20 * KIB), large = a_write(40 * KIB);

	(void)state;
	b.inline_bytes = 4096;
	b.credits = 8;
	begin(&b);
	run_until_open();
	for (unsigned i = 0; i < 10; i++) {
		assert_in_range(trips_of(&small), 100, 115);
		assert_in_range(trips_of(&large), 200, 215);
	}
	assert_int_equal(counters(0)->joined, 10);
	end();
}

static void auto_finds_out(void **state)
{
	const struct peer_spec null = {.body = 100, .reply = 24, .segs = 1};
	const struct peer_spec write = a_write(128 * KIB);
	struct between b = far_hop;

	(void)state;
	b.hop = HOP_AUTO;
	begin(&b);
	run_until_open();
	/* The properties were the first of HOP_TIMES. */
	for (unsigned i = 2; i < HOP_TIMES; i++)
		(void)trips_of(&null);
	assert_in_range(trips_of(&write), 200, 215);
	assert_in_range(trips_of(&write), 100, 115);
	end();

	b.one_way = 0;
	begin(&b);
	run_until_open();
	for (unsigned i = 0; i < 20; i++)
		(void)trips_of(&write);
	assert_int_equal(counters(0)->joined, 0);
	end();
}

/* The connection, the properties, the call: version 2 lets none of these begin before the one before it was
 * answered (4.3), and nothing else comes between. */
static void the_first_reply_comes_after_three(void **state)
{
	const struct peer_spec null = {.body = 100, .reply = 24, .segs = 1};
	struct between b = far_hop;

	(void)state;
	begin(&b);
	run_until_open();
	assert_in_range(trips_since(0), 200, 215);
	(void)trips_of(&null);
	assert_in_range(trips_since(0), 300, 315);
	end();
	b.version = LEG_V1;
	begin(&b);
	run_until_open();
	(void)trips_of(&null);
	assert_in_range(trips_since(0), 200, 215);
	end();
}

/* Any shapes, many at once, with room for few of them and for many: every octet arrives. */
static void payload_is_equal_on_both_sides(void **state)
{
	static const uint32_t credits[] = {8, 20, 64}, inlines[] = {4096, 8192, 65536};
	struct rng r = rng_seeded("distance", 14);

	(void)state;
	for (unsigned round = 0; round < 18; round++) {
		struct between b = {.version = round % 2 ? LEG_V2 : LEG_V1_OR_V2,
				    .hop = round % 3 ? HOP_FAR : HOP_AUTO,
				    .one_way = ONE_WAY,
				    .inline_bytes = inlines[rng_below(&r, 3)],
				    .credits = credits[rng_below(&r, 3)],
				    .seed = rng_next(&r)};
		unsigned made = 0;

		begin(&b);
		run_until_open();
		while (made < 200) {
			while (made < 200 && peer_busy(&chain.client) < 24) {
				struct peer_spec s = peer_random_spec(&r, 1, false, 4096);

				/* Beside results a version 1 server gets a Reply chunk. */
				if (s.nwrites && !s.reply_cap && s.reply > 60000)
					s.reply = 60000;
				assert_true(peer_call(&chain.client, &s));
				made++;
			}
			run_until_done(chain.client.done + 1);
		}
		run_until_done(200);
		assert_true(counters(0)->joined > 10);
		assert_int_equal(counters(0)->replies, 200);
		assert_int_equal(counters(0)->errors_to_requester, 0);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_takes_one_round_trip),
		cmocka_unit_test(a_read_takes_one_round_trip),
		cmocka_unit_test(near_the_data_are_fetched),
		cmocka_unit_test(over_version_1_what_fits_a_message),
		cmocka_unit_test(what_credits_do_not_cover_is_fetched),
		cmocka_unit_test(auto_finds_out),
		cmocka_unit_test(the_first_reply_comes_after_three),
		cmocka_unit_test(payload_is_equal_on_both_sides),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("distance", tests, NULL, NULL);
}
