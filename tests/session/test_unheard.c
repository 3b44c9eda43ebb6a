/* SPDX-License-Identifier: BSD-2-Clause */
/* A server of version 1 accepts each connection, and ends it when the first call comes. Another server has the same files. */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "tests/session/world.h"

#define S NSEC_PER_SEC

static struct world w;
static struct servers *servers;
static struct peer *client = &w.pairs[0].client;
static bool crashes;
static char said[8192];

static void keep_line(const char *line)
{
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", line);
}

static void on_message(struct raw *r, struct view in, void *arg)
{
	(void)arg;
	if (crashes)
		raw_hang_up(r);
	else
		raw_words(r, RAW_V1_REPLY(xdr_peek_u32(in.data), 20));
}

static void begin(void)
{
	struct setup s = setup_defaults(LEG_V1, LEG_V1, 31);
	struct servers_config cfg = {.port = 20049, .v4 = true, .timeout = S, .nhosts = 2};

	for (unsigned i = 0; i < cfg.nhosts; i++) {
		snprintf(cfg.hosts[i].name, sizeof(cfg.hosts[i].name), "server%u", i);
		assert_int_equal(
			fabric_addr_parse("10.0.0.2", (uint16_t)(20049 + i), &cfg.hosts[i].addr),
			0);
	}
	said[0] = '\0';
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(keep_line);
	s.pairs = 2;
	s.raw = true;
	s.upstream_versions = LEG_V1;
	s.servers = servers = servers_new(&cfg, NULL);
	assert_non_null(servers);
	world_new(&w, &s);
	w.raw.on_message = on_message;
}

static void end(void)
{
	world_quit(&w);
	servers_put(servers);
	world_free(&w);
	log_set_sink(NULL);
}

/* The client connects, and makes a call if @calls. Return: whether the connection stays. */
static bool comes(bool calls)
{
	const struct peer_spec plain = {.body = 64, .reply = 24, .segs = 1};

	world_connect_pair(&w, 0);
	world_run(&w, S / 10);
	if (calls && client->open)
		assert_true(peer_call(client, &plain));
	world_run(&w, S / 10);
	return !client->closed;
}

static void leaves(void)
{
	peer_end(client);
	world_run(&w, S / 10);
}

static void a_server_that_ends_each_connection_loses_its_clients(void **state)
{
	(void)state;
	begin();
	crashes = true;
	for (unsigned i = 0; i < SERVERS_UNHEARD; i++) {
		assert_null(strstr(said, "event=upstream.down"));
		assert_false(comes(true));
		leaves();
	}
	assert_non_null(strstr(said, "event=upstream.down"));
	assert_true(comes(true));
	assert_int_equal(client->done, 1);
	assert_int_equal(w.pairs[1].server.served, 1);
	/* When it is repaired, a client that connects anew finds that. */
	leaves();
	crashes = false;
	world_run(&w, 2 * SERVERS_BACKOFF);
	assert_null(strstr(said, "event=upstream.up"));
	assert_true(comes(true));
	assert_int_equal(client->done, 2);
	assert_int_equal(w.pairs[1].server.served, 1);
	assert_non_null(strstr(said, "event=upstream.up"));
	leaves();
	end();
}

/* A server that is a gateway may end them to make room (docs/resources.md, E13). */
static void connections_without_a_call_do_not_count(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < 2 * SERVERS_UNHEARD; i++) {
		assert_true(comes(false));
		raw_hang_up(&w.raw);
		world_run(&w, S / 10);
		assert_true(client->closed);
		leaves();
	}
	assert_null(strstr(said, "event=upstream.down"));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_ends_each_connection_loses_its_clients),
		cmocka_unit_test(connections_without_a_call_do_not_count),
	};

	return cmocka_run_group_tests_name("unheard", tests, NULL, NULL);
}
