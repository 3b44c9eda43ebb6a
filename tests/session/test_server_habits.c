/* SPDX-License-Identifier: BSD-2-Clause */
/* Habits of version 1 servers: what one server of a route does changes no call to another; and what clients get. */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "tests/session/stage.h"

enum { ERR_CHUNK = 2, RDMA_ERROR = 4, LONG_REPLY = 65536 };

static struct world w;
static struct servers *servers;
static uint32_t offered; /* octets of the Reply chunk of the last call */

/* Any server: a call with a Reply chunk has no room for its reply. */
static void on_message(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data);
	struct xdr_in x;

	(void)arg;
	offered = 0;
	xdr_in_init(&x, in);
	xdr_skip(&x, 6 * 4); /* the fixed part, no Read chunks, no Write chunks */
	if (!xdr_get_bool(&x)) {
		raw_words(r, RAW_V1_REPLY(xid, 20));
		return;
	}
	for (uint32_t n = xdr_get_u32(&x); n; n--)
		offered += xdr_get_segment(&x).length;
	assert_false(x.failed);
	raw_words(r, xid, 1, 20, RDMA_ERROR, ERR_CHUNK);
}

/* The servers of the first two pairs are configured, or one of them. */
static struct servers_config config_of(unsigned first, unsigned n)
{
	struct servers_config cfg = {.port = 20049, .v4 = true, .timeout = NSEC_PER_SEC};

	cfg.nhosts = n;
	for (unsigned i = 0; i < n; i++) {
		snprintf(cfg.hosts[i].name, sizeof(cfg.hosts[i].name), "server%u", first + i);
		assert_int_equal(fabric_addr_parse("10.0.0.2", (uint16_t)(20049 + first + i),
						   &cfg.hosts[i].addr),
				 0);
	}
	return cfg;
}

/* A client connects to server @i, and asks where a link leads: nothing bounds the path.
 * Return: octets of the Reply chunk that the server was offered. */
static uint32_t read_link_at(unsigned i)
{
	static const uint32_t words[] = {0, 2, 100003, 3, 5, 0, 0, 0, 0, 4, 0x1234};
	struct servers_config only = config_of(i, 1);
	struct peer *client = &w.pairs[0].client;

	assert_int_equal(servers_configure(servers, &only), 0);
	world_connect_pair(&w, 0);
	world_run(&w, NSEC_PER_SEC);
	assert_true(client->open);
	assert_true(
		peer_call(client, &(struct peer_spec){.body = 64,
						      .reply = 24,
						      .segs = 1,
						      .words = words,
						      .nwords = sizeof(words) / sizeof(words[0])}));
	world_run(&w, NSEC_PER_SEC);
	raw_hang_up(&w.raw);
	(void)peer_forget(client);
	peer_end(client);
	world_run(&w, NSEC_PER_SEC);
	return offered;
}

static void a_reply_longer_than_expected_is_one_server_s(void **state)
{
	struct setup s = setup_defaults(LEG_V2, LEG_V1, 31);
	struct servers_config both = config_of(0, 2);

	(void)state;
	s.pairs = 2;
	s.memory = s.peer_memory = 64 << 20;
	s.raw = true;
	s.upstream_versions = LEG_V1;
	servers = servers_new(&both, NULL);
	s.servers = servers;
	world_new(&w, &s);
	w.raw.on_message = on_message;
	/* The first two pairs' servers are one raw peer. */
	fabric_detach(w.pairs[1].server.fabric, w.pairs[1].server_listener);
	assert_int_equal(fabric_attach(w.raw.fabric, w.pairs[1].server_listener, &w.raw), 0);
	assert_true(read_link_at(0) < LONG_REPLY);
	assert_true(read_link_at(0) >= LONG_REPLY);
	assert_in_range(read_link_at(1), 1, LONG_REPLY - 1);
	assert_true(read_link_at(0) >= LONG_REPLY);
	fabric_detach(w.raw.fabric, w.pairs[1].server_listener);
	assert_int_equal(fabric_attach(w.pairs[1].server.fabric, w.pairs[1].server_listener,
				       &w.pairs[1].server),
			 0);
	world_quit(&w);
	servers_put(servers);
	world_free(&w);
}

enum { DATA = 100 };

/* The server has no Write list, although the call had one. READ data are in the payload stream. */
static void read_inline(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data);
	const uint32_t reply[] = {RAW_V1_REPLY(xid, 20), 0, 0, DATA, 1, DATA};
	bool *has_chunk = arg;
	struct xdr_out x;

	if (xdr_peek_u32(in.data + 4) == 2) {
		raw_words(r, xid, 2, 20, RDMA_ERROR, 1, 1, 1);
		return;
	}
	*has_chunk = xdr_peek_u32(in.data + 20) == 1;
	x = raw_begin(r);
	for (unsigned i = 0; i < sizeof(reply) / sizeof(reply[0]); i++)
		xdr_put_u32(&x, reply[i]);
	for (unsigned i = 0; i < DATA; i += 4)
		xdr_put_u32(&x, i);
	raw_end(r, &x);
}

/* The message that the client received last. */
static struct {
	uint8_t octets[1024];
	uint32_t len;
} last;

static void see(void *arg, struct fabric_conn *to, enum fabric_ev_type kind, const uint8_t *octets,
		uint32_t len)
{
	(void)arg;
	if (kind != FABRIC_EV_RECV || to != stage.pairs[0].client.leg.conn)
		return;
	assert_true(len <= sizeof(last.octets));
	memcpy(last.octets, octets, len);
	last.len = len;
}

/* The client gets what it would get without a gateway: its Write chunk unused, and the data in the payload stream. */
static void read_data_that_ignore_their_chunk_stay_inline(void **state)
{
	static const uint32_t words[] = {0, 2, 100003, 3, 6, 0, 0, 0, 0, 4, 0, 0, 0, DATA};
	const struct peer_spec spec = {.body = 100,
				       .reply = 24,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {DATA},
				       .words = words,
				       .nwords = sizeof(words) / sizeof(words[0])};
	const struct memnet_watcher watcher = {.moved = see};
	struct peer *client = &stage.pairs[0].client;
	bool has_chunk;

	(void)state;
	for (unsigned version = 1; version <= 2; version++) {
		unsigned list = version == 1 ? 20 : 16; /* behind the Read list of version 1 */

		stage_server(version, read_inline, &has_chunk);
		world_connect_pair(&stage, 0);
		stage_run(0);
		memnet_watch(stage.net, &watcher);
		assert_true(peer_call(client, &spec));
		stage_run(0);
		memnet_watch(stage.net, NULL);
		assert_true(has_chunk);
		assert_int_equal(client->done, 1);
		assert_int_equal(client->errors, 0);
		assert_int_equal(xdr_peek_u32(last.octets + list), 1);
		assert_int_equal(xdr_peek_u32(last.octets + list + 4), 1);
		assert_int_equal(xdr_peek_u32(last.octets + list + 12), 0);
		for (unsigned i = 0; i < DATA; i += 4)
			assert_int_equal(xdr_peek_u32(last.octets + last.len - DATA + i), i);
		assert_int_equal(stage_lines("upstream.habit"), 0);
		stage_goes_on();
		stage_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_longer_than_expected_is_one_server_s),
		cmocka_unit_test(read_data_that_ignore_their_chunk_stay_inline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
