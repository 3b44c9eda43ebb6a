/* SPDX-License-Identifier: BSD-2-Clause */
/* The gateway's process is stopped (base/pause.h) while peers have something to do in time. */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"
#include "v2/header.h"

#define S NSEC_PER_SEC

enum { WORD = 4, PAUSE = 100 }; /* PAUSE: seconds; ten times what peers have for set-up */

static struct world w;
static struct peer *client = &w.pairs[0].client;
static char said[8192];

static void keep_line(const char *line)
{
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", line);
}

static void begin(const struct setup *s)
{
	said[0] = '\0';
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(keep_line);
	world_new(&w, s);
}

static void end(void)
{
	probes_end(w.proxy->routes[0]);
	world_quit(&w);
	servers_put(w.s.servers);
	world_free(&w);
	log_set_sink(NULL);
}

static void pause_for(nsec_t time)
{
	nsec_t until = memnet_now(w.net) + time;

	while (memnet_now(w.net) < until)
		memnet_step(w.net, until);
}

static void pause_process(void)
{
	pause_for(PAUSE * S);
}

/* The process runs for @seconds in all, one at a time, with a pause after each. */
static void run_with_pauses(unsigned seconds)
{
	while (seconds-- > 0) {
		world_run(&w, S);
		pause_for(3 * S);
	}
	world_run(&w, S / 10);
}

/* A server of version 2. It answers the types of messages for which it has time. */
static bool knows_properties, knows_calls;
static uint32_t xid;

static void on_message(struct raw *r, struct view in, void *arg)
{
	uint32_t type = xdr_peek_u32(in.data + 3 * WORD);

	(void)arg;
	xid = xdr_peek_u32(in.data);
	if (type == V2_CONNPROP_FINAL && knows_properties)
		raw_words(r, RAW_V2_PROPS(0x55, 20));
	if (type == V2_CALL_INLINE && knows_calls)
		raw_words(r, RAW_V2_REPLY(xid, 21));
}

static struct setup with_raw_server(void)
{
	struct setup s = setup_defaults(LEG_V2, LEG_V2, 41);

	s.raw = true;
	s.pairs = 1;
	s.upstream_versions = LEG_V2;
	return s;
}

/* The server answers a second after the pause, first the connection, and then the properties. */
static void a_pause_is_not_the_servers(void **state)
{
	const struct setup s = with_raw_server();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		begin(&s);
		w.raw.on_message = on_message;
		w.raw.mute = i == 0;
		knows_properties = i == 0;
		world_connect_pair(&w, 0);
		world_run(&w, S / 10);
		pause_process();
		world_run(&w, S);
		w.raw.mute = false;
		if (i == 0)
			raw_accept(&w.raw);
		else
			raw_words(&w.raw, RAW_V2_PROPS(0x55, 20));
		world_run(&w, S);
		assert_true(client->open);
		assert_null(strstr(said, "event=upstream.down"));
		end();
	}
}

/* A server that answers nothing has the rest of its time, all but one look's at most. */
static void after_a_pause_a_server_has_the_rest_of_its_time(void **state)
{
	const struct setup s = with_raw_server();

	(void)state;
	begin(&s);
	w.raw.mute = true;
	world_connect_pair(&w, 0);
	world_run(&w, S / 10);
	pause_process();
	world_run(&w, 8 * S);
	assert_null(strstr(said, "event=upstream.down"));
	world_run(&w, 2 * S);
	assert_non_null(strstr(said, "event=upstream.down"));
	end();
}

static void pauses_that_recur_do_not_keep_a_dead_server(void **state)
{
	const struct setup s = with_raw_server();

	(void)state;
	begin(&s);
	w.raw.mute = true;
	world_connect_pair(&w, 0);
	run_with_pauses(12);
	assert_non_null(strstr(said, "event=upstream.down"));
	assert_int_equal(proxy_sessions(w.proxy), 0);
	end();
}

/* The pause is longer than the whole time for set-up, and shorter than two seconds. */
static void a_short_time_survives_a_short_pause(void **state)
{
	const struct setup s = with_raw_server();

	(void)state;
	begin(&s);
	w.routes[0].server.setup_timeout = S;
	w.raw.on_message = on_message;
	w.raw.mute = true;
	knows_properties = true;
	world_connect_pair(&w, 0);
	world_run(&w, S / 10);
	pause_for(3 * S / 2);
	world_run(&w, S / 2);
	raw_accept(&w.raw);
	world_run(&w, S);
	assert_true(client->open);
	assert_null(strstr(said, "event=upstream.down"));
	end();
}

static void a_pause_is_not_the_clients(void **state)
{
	struct setup s = with_raw_server();

	(void)state;
	s.raw_client = true;
	s.listen_versions = LEG_V2;
	begin(&s);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, S);
	assert_true(w.raw.connected);
	pause_process();
	world_run(&w, S);
	assert_false(w.raw.closed);
	raw_words(&w.raw, RAW_V2_PROPS(0x66, 20));
	world_run(&w, 20 * S);
	assert_false(w.raw.closed);
	end();
}

static uint64_t probe_failures(void)
{
	static struct servers_view view;

	servers_snapshot(w.proxy->routes[0]->servers, &view);
	return view.at[0].figures.probe_failures;
}

/* The server answers a second after the pause, first the connection, and then the call. */
static void a_pause_is_not_the_fault_of_a_server_that_is_probed(void **state)
{
	struct setup s = with_raw_server();

	(void)state;
	s.probes = S;
	for (unsigned i = 0; i < 2; i++) {
		begin(&s);
		w.raw.on_message = on_message;
		w.raw.mute = i == 0;
		knows_properties = true;
		knows_calls = i == 0;
		world_run(&w, 3 * S / 2);
		pause_process();
		world_run(&w, S);
		w.raw.mute = false;
		knows_calls = true;
		if (i == 0)
			raw_accept(&w.raw);
		else
			raw_words(&w.raw, RAW_V2_REPLY(xid, 21));
		world_run(&w, S / 2);
		assert_int_equal(probe_failures(), 0);
		end();
	}
}

static void pauses_that_recur_do_not_keep_a_dead_server_up(void **state)
{
	struct setup s = with_raw_server();

	(void)state;
	s.probes = S;
	for (unsigned i = 0; i < 2; i++) {
		begin(&s);
		w.raw.on_message = on_message;
		w.raw.mute = i == 0; /* else it does not answer the call */
		knows_properties = true;
		knows_calls = false;
		run_with_pauses(14);
		assert_int_not_equal(probe_failures(), 0);
		end();
	}
}

static void await_a_name(void)
{
	const struct servers_config cfg = {
		.hosts = {{.name = "filer.example"}}, .nhosts = 1, .v4 = true, .timeout = 10 * S};
	struct setup s = with_raw_server();

	s.servers = servers_new(&cfg, NULL);
	assert_non_null(s.servers);
	begin(&s);
	world_connect_pair(&w, 0);
}

/* The pause is in the second part of the wait, after which the client would be refused. */
static void a_pause_is_not_the_name_servers(void **state)
{
	(void)state;
	await_a_name();
	world_run(&w, 4 * S);
	pause_process();
	world_run(&w, 9 * S / 2);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	world_run(&w, S);
	assert_int_equal(proxy_sessions(w.proxy), 0);
	assert_non_null(strstr(said, "the name of its server took too long to look up"));
	end();
}

static void pauses_that_recur_do_not_keep_a_client_waiting(void **state)
{
	(void)state;
	await_a_name();
	run_with_pauses(10);
	assert_int_equal(proxy_sessions(w.proxy), 0);
	assert_non_null(strstr(said, "the name of its server took too long to look up"));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_is_not_the_servers),
		cmocka_unit_test(after_a_pause_a_server_has_the_rest_of_its_time),
		cmocka_unit_test(pauses_that_recur_do_not_keep_a_dead_server),
		cmocka_unit_test(a_short_time_survives_a_short_pause),
		cmocka_unit_test(a_pause_is_not_the_clients),
		cmocka_unit_test(a_pause_is_not_the_fault_of_a_server_that_is_probed),
		cmocka_unit_test(pauses_that_recur_do_not_keep_a_dead_server_up),
		cmocka_unit_test(a_pause_is_not_the_name_servers),
		cmocka_unit_test(pauses_that_recur_do_not_keep_a_client_waiting),
	};

	return cmocka_run_group_tests_name("pauses", tests, NULL, NULL);
}
