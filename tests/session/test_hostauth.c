/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers that authenticate, that do not, and that cannot: through the gateway, in virtual time. */
#include "tests/cmocka_all.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostauth/value.h"
#include "proxy/routes.h"
#include "tests/session/cast.h"

static void all_ends_prove_their_names(void **state)
{
	const struct cast cast = {.client = "client",
				  .listen = "server",
				  .upstream = "psk",
				  .server = "psk",
				  .listen_names = "*.example"};

	(void)state;
	cast_begin(&cast);
	cast_connect();
	cast_is_served();
	cast_said("route=route0 leg=server ");
	cast_said("name=\"pair-1\"");
	cast_said("leg=client peer=");
	cast_said("name=\"client.example\" suite=TLS_AES_128_GCM_SHA256 messages=4");
	cast_not_said("hostauth.failed");
	cast_end();
}

static void long_chains_within_the_thresholds(void **state)
{
	const struct cast cast = {.client = "long",
				  .listen = "long-server",
				  .upstream = "long",
				  .server = "long-server"};

	(void)state;
	cast_begin(&cast);
	cast_connect();
	cast_is_served();
	cast_end();
}

static void a_peer_that_fails_is_refused(void **state)
{
	static const struct {
		struct cast cast;
		const char *said, *why;
	} cases[] = {
		{{.client = "outsider", .listen = "server"},
		 "leg=client",
		 "unable to get local issuer certificate"},
		{{.client = "expired", .listen = "server"}, "leg=client", "has expired"},
		{{.client = "early", .listen = "server"}, "leg=client", "not yet valid"},
		{{.client = "server-only", .listen = "server"}, "leg=client", "cause=tls"},
		{{.client = "stranger", .listen = "server", .listen_names = "client.example"},
		 "name=\"stranger.example\" cause=name",
		 "not one of those allowed"},
		{{.client = "psk-wrong", .listen = "psk"}, "leg=client", "binder does not verify"},
		{{.listen = "server"}, "cause=absent", "the peer has none"},
		{{.client = "outsider", .listen = "server", .listen_allows = true},
		 "leg=client",
		 "unable to get local issuer certificate"},
		{{.upstream = "client", .server = "outsider"},
		 "leg=server",
		 "unable to get local issuer certificate"},
		{{.upstream = "client", .server = "server", .upstream_names = "other.example"},
		 "name=\"server.example\" cause=name",
		 "not one of those allowed"},
		{{.upstream = "outsider", .server = "server"},
		 "cause=peer",
		 "the peer refused: tlsv1 alert unknown ca"},
		{{.upstream = "client"}, "cause=absent", "the peer has none"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cast_begin(&cases[i].cast);
		cast_connect();
		cast_is_refused();
		cast_is_counted(i < 8 ? PROXY_REFUSED_HOSTAUTH : PROXY_REFUSED_UPSTREAM);
		cast_said("event=hostauth.failed");
		cast_said(cases[i].said);
		cast_said(cases[i].why);
		cast_end();
	}
}

/* No answer in the clear is a reason to do without. */
static void version_1_is_no_way_around(void **state)
{
	const struct cast client = {.listen = "server", .client_version = LEG_V1};
	const struct cast server = {.upstream = "client", .server_version = LEG_V1};

	(void)state;
	cast_begin(&client);
	cast_connect();
	cast_is_refused();
	cast_said("cause=absent why=\"host authentication: the peer speaks version 1, which has "
		  "none\"");
	cast_end();
	cast_begin(&server);
	cast_connect();
	cast_is_refused();
	cast_said("no protocol version in common");
	cast_end();
}

/* Probes authenticate, too: a server that clients could not use counts as down. */
static void probes_have_no_way_around(void **state)
{
	const struct cast cast = {.upstream = "client",
				  .upstream_allows = true,
				  .server = "outsider",
				  .server_version = LEG_V1_OR_V2,
				  .probes = true};

	(void)state;
	cast_begin(&cast);
	for (unsigned probes = 0; probes < SERVERS_PROBES_FAILED; probes++) {
		world_run(&hall, NSEC_PER_SEC + NSEC_PER_SEC / 2);
		peer_end(&hall.pairs[0].server); /* it takes one connection at a time: */
		hall.pairs[0].server.has_leg = false;
	}
	cast_said("event=upstream.down route=route0 server=10.0.0.2:20049 why=\"probes: host "
		  "authentication: ");
	cast_not_said("event=upstream.up ");
	cast_connect();
	cast_is_refused();
	cast_end();
}

/* A client that has sent a message is no longer displaced. */
static void assert_all_have_spoken(void)
{
	assert_int_equal(proxy_sessions(hall.proxy), 2);
	assert_int_equal(hall.proxy->preauth_queue.count, 0);
}

/* Peers of some networks are served by a listener that requires it of others. */
static void exempt_networks_need_no_proof(void **state)
{
	static const struct cast casts[] = {
		{.listen = "server", .unneeded_from = true},
		{.listen = "server", .unneeded_from = true, .client_version = LEG_V1},
		{.listen = "server", .unneeded_from = true, .client = "client"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); i++) {
		cast_begin(&casts[i]);
		cast_connect();
		cast_is_served();
		cast_not_said("hostauth.failed");
		cast_said(casts[i].client ? "name=\"client.example\"" : "event=hostauth.absent");
		assert_all_have_spoken();
		cast_end();
	}
}

static void mode_allow_needs_no_proof(void **state)
{
	static const struct cast casts[] = {
		{.listen = "server", .listen_allows = true},
		{.listen = "server", .listen_allows = true, .client_version = LEG_V1},
		{.upstream = "client", .upstream_allows = true},
		{.upstream = "client", .upstream_allows = true, .server_version = LEG_V1},
		{.listen = "server", .listen_allows = true, .client = "client"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); i++) {
		cast_begin(&casts[i]);
		cast_connect();
		cast_is_served();
		cast_not_said("hostauth.failed");
		if (!casts[i].client) {
			cast_said("event=hostauth.absent");
			cast_not_said("_name=");
		}
		assert_all_have_spoken();
		if (casts[i].client)
			cast_said("name=\"client.example\"");
		cast_end();
	}
}

/* A value as a message of a client that is no struct peer. */
static void say_value(uint32_t htype, const uint8_t *value, uint32_t len)
{
	struct xdr_out x = raw_begin(&hall.raw);

	xdr_put_u32(&x, 0x77);
	xdr_put_u32(&x, 2);
	xdr_put_u32(&x, 1000);
	xdr_put_u32(&x, htype);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, V2_PROP_HOSTAUTH);
	xdr_put_u32(&x, 4 + len + (uint32_t)xdr_pad(len));
	xdr_put_opaque(&x, view_of(value, len));
	raw_end(&hall.raw, &x);
}

static void begin_raw(void)
{
	const struct cast cast = {.listen = "server", .raw_client = true};

	cast_begin(&cast);
	raw_connect(&hall.raw, &hall.pairs[0].gw_addr);
	cast_connect();
	assert_true(hall.raw.connected);
}

static const uint8_t hello[] = {0x16, 3, 1, 0, 0x2c, 1, 0, 0, 0x28, 3, 3};

static void is_shown_out(void)
{
	world_run(&hall, NSEC_PER_SEC);
	assert_true(hall.raw.closed);
	assert_int_equal(hall.pairs[0].server.served, 0);
	cast_end();
}

/* A client that has not authenticated costs its server neither a connection nor a handshake,
 * however long it is silent. Its time limit is that of hostauth, not that of set-up. */
static void nothing_is_asked_of_the_server_before_the_proof(void **state)
{
	const struct cast cast = {
		.listen = "server", .upstream = "client", .server = "server", .raw_client = true};
	struct servers_view view;

	(void)state;
	cast_begin(&cast);
	raw_connect(&hall.raw, &hall.pairs[0].gw_addr);
	cast_connect();
	assert_true(hall.raw.connected);
	servers_snapshot(hall.proxy->routes[0]->servers, &view);
	assert_int_equal(view.at[0].figures.connects, 0);
	cast_not_said("event=hostauth ");
	world_run(&hall, 5 * NSEC_PER_SEC);
	is_shown_out();
}

static void a_peer_that_falls_silent_is_closed(void **state)
{
	uint8_t first[15] = {1, HOSTAUTH_MORE, 0, 0};

	(void)state;
	begin_raw();
	memcpy(first + 4, hello, sizeof(hello));
	say_value(V2_CONNPROP_MIDDLE, first, sizeof(first));
	world_run(&hall, NSEC_PER_SEC);
	/* The gateway acknowledged that piece. */
	assert_int_equal(raw_last(&hall.raw, 3), V2_CONNPROP_MIDDLE);
	assert_false(hall.raw.closed);
	world_run(&hall, 5 * NSEC_PER_SEC);
	cast_said("host authentication took too long");
	is_shown_out();
}

static void a_peer_that_sends_too_much_is_closed(void **state)
{
	uint8_t value[1500] = {1, HOSTAUTH_MORE};
	unsigned n = 0;

	(void)state;
	begin_raw();
	memcpy(value + 4, hello, sizeof(hello));
	for (; n < 100 && !hall.raw.closed; n++) {
		value[3] = (uint8_t)n;
		say_value(V2_CONNPROP_MIDDLE, value, sizeof(value));
		world_run(&hall, 10 * NSEC_PER_MS);
	}
	assert_int_equal(n, HOSTAUTH_MAX_HELLO / (sizeof(value) - 4) + 1);
	cast_said("cause=limit");
	is_shown_out();
}

static void an_octet_at_a_time(void **state)
{
	uint8_t first[15] = {1, HOSTAUTH_MORE, 0, 0}, next[5] = {1, HOSTAUTH_MORE, 0, 0, 0};
	unsigned n = 1;

	(void)state;
	begin_raw();
	memcpy(first + 4, hello, sizeof(hello));
	say_value(V2_CONNPROP_MIDDLE, first, sizeof(first));
	world_run(&hall, 10 * NSEC_PER_MS);
	for (; n < 300 && !hall.raw.closed; n++) {
		next[2] = (uint8_t)(n >> 8);
		next[3] = (uint8_t)n;
		say_value(V2_CONNPROP_MIDDLE, next, sizeof(next));
		world_run(&hall, 10 * NSEC_PER_MS);
	}
	assert_int_equal(n, 257);
	cast_said("cause=limit");
	is_shown_out();
}

static void calls_before_the_proof_go_nowhere(void **state)
{
	uint8_t first[15] = {1, HOSTAUTH_MORE, 0, 0};

	(void)state;
	begin_raw();
	memcpy(first + 4, hello, sizeof(hello));
	say_value(V2_CONNPROP_MIDDLE, first, sizeof(first));
	world_run(&hall, 10 * NSEC_PER_MS);
	raw_words(&hall.raw, RAW_V2_CALL(0x99, 1000));
	is_shown_out();
	begin_raw();
	raw_words(&hall.raw, RAW_V2_CALL(0x99, 1000));
	world_run(&hall, 10 * NSEC_PER_MS);
	/* The client gets an error in a version that it can be expected to know. */
	assert_int_equal(raw_last(&hall.raw, 3), V2_ERROR);
	assert_int_equal(raw_last(&hall.raw, 4), 100);
	cast_said("cause=absent");
	is_shown_out();
}

/* Profile section 3.5: of another version nothing may come between, whatever it is, and nothing is answered. */
static void another_version_in_the_handshake_ends_it(void **state)
{
	static const uint32_t messages[][16] = {
		{RAW_V1_REPLY(0x99, 8)}, {0x99, 1, 8, 4, 2}, {0x99, 3, 8, 6, 0}};
	static const size_t words[] = {13, 5, 5};
	uint8_t first[15] = {1, HOSTAUTH_MORE, 0, 0};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		begin_raw();
		memcpy(first + 4, hello, sizeof(hello));
		say_value(V2_CONNPROP_MIDDLE, first, sizeof(first));
		world_run(&hall, 10 * NSEC_PER_MS);
		raw_send_words(&hall.raw, messages[i], words[i]);
		world_run(&hall, 10 * NSEC_PER_MS);
		assert_int_equal(raw_last(&hall.raw, 3), V2_CONNPROP_MIDDLE); /* the ACK */
		cast_said("why=\"host authentication: a message of another version\"");
		is_shown_out();
	}
}

/* With threads of its own for what takes long; one of them, which can be kept busy. */
static struct jobs_port port;
static struct job still;
static sem_t begun, go_on;

static void stand_still(struct job *job)
{
	(void)job;
	sem_post(&begun);
	sem_wait(&go_on);
}

static void nobody(void *arg)
{
	(void)arg;
}

static void begin_jobs(const struct cast *cast)
{
	cast_begin(cast);
	cast_jobs = jobs_new(1);
	assert_non_null(cast_jobs);
	assert_int_equal(jobs_start(cast_jobs), 0);
	jobs_port_init(&port, cast_jobs, nobody, NULL);
	proxy_use_jobs(hall.proxy, &port);
}

static void keep_busy(void)
{
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	still = (struct job){.run = stand_still};
	jobs_submit(&port, &still);
	sem_wait(&begun);
}

static void let_go(void)
{
	sem_post(&go_on);
	jobs_port_wait(&port);
	while (!jobs_cancel(&still))
		;
}

/* Work of other threads takes real time, not virtual time. */
static void run_until_open(const struct peer *client)
{
	for (unsigned i = 0; i < 2000 && !client->open; i++) {
		world_run(&hall, NSEC_PER_MS);
		usleep(5000);
	}
	assert_true(client->open);
}

/* The client is open before the server has proved its identity, so this waits for the session. */
static void run_until_joined(const struct session *s)
{
	for (unsigned i = 0; i < 2000 && s->state != SESSION_OPEN; i++) {
		world_run(&hall, NSEC_PER_MS);
		usleep(5000);
	}
	assert_int_equal(s->state, SESSION_OPEN);
}

static void others_may_do_the_work(void **state)
{
	const struct cast cast = {
		.client = "client", .listen = "server", .upstream = "client", .server = "server"};

	(void)state;
	begin_jobs(&cast);
	world_connect_pair(&hall, 0);
	world_connect_pair(&hall, 1);
	run_until_open(&hall.pairs[1].client);
	peer_call(&hall.pairs[1].client, &cast_hello);
	run_until_open(&hall.pairs[0].client);
	run_until_joined(inside_session(hall.proxy, 1));
	cast_is_served();
	cast_said("name=\"client.example\"");
	cast_said("name=\"server.example\"");
	assert_int_equal(hall.proxy->routes[0]->handshakes[PROXY_CLIENT].inside.count, 0);
	assert_int_equal(hall.proxy->routes[0]->handshakes[PROXY_SERVER].inside.count, 0);
	cast_end();
}

static void say_hello(void)
{
	uint8_t first[15] = {1, HOSTAUTH_TURN, 0, 0};

	memcpy(first + 4, hello, sizeof(hello));
	say_value(V2_CONNPROP_MIDDLE, first, sizeof(first));
	world_run(&hall, 10 * NSEC_PER_MS);
}

static void a_peer_that_does_not_wait_for_the_answer_fails(void **state)
{
	const struct cast cast = {.listen = "server", .raw_client = true};
	uint8_t next[5] = {1, HOSTAUTH_TURN, 0, 1, 0};

	(void)state;
	begin_jobs(&cast);
	raw_connect(&hall.raw, &hall.pairs[0].gw_addr);
	cast_connect();
	keep_busy();
	say_hello();
	assert_false(hall.raw.closed);
	assert_int_equal(hall.proxy->routes[0]->handshakes[PROXY_CLIENT].inside.count, 1);
	say_value(V2_CONNPROP_MIDDLE, next, sizeof(next));
	world_run(&hall, NSEC_PER_SEC);
	cast_said(
		"cause=value why=\"host authentication: a message came while an answer was due\"");
	assert_true(hall.raw.closed);
	assert_int_equal(hall.proxy->routes[0]->handshakes[PROXY_CLIENT].inside.count, 0);
	let_go();
	cast_end();
}

/* The time of the handshake is up before any thread has worked on it. */
static void a_handshake_that_waits_too_long_is_closed(void **state)
{
	const struct cast cast = {.listen = "server", .raw_client = true};

	(void)state;
	begin_jobs(&cast);
	raw_connect(&hall.raw, &hall.pairs[0].gw_addr);
	cast_connect();
	keep_busy();
	say_hello();
	world_run(&hall, 6 * NSEC_PER_SEC);
	cast_said("host authentication took too long");
	assert_true(hall.raw.closed);
	let_go();
	cast_end();
}

/* The server is not at fault either. */
static void what_waits_here_is_not_the_servers_fault(void **state)
{
	const struct cast cast = {.upstream = "client",
				  .upstream_allows = true,
				  .server = "server",
				  .server_version = LEG_V1_OR_V2};

	(void)state;
	begin_jobs(&cast);
	keep_busy();
	cast_connect();
	assert_int_equal(hall.proxy->routes[0]->handshakes[PROXY_SERVER].inside.count, 1);
	cast_is_refused();
	cast_said("cause=again why=\"host authentication took too long here\"");
	cast_not_said("event=upstream.");
	let_go();
	cast_end();
}

/* The server's time is not reduced either: it has all of it, even after the local threads have used
 * nearly as much. */
static void a_server_has_its_time_behind_that(void **state)
{
	const struct cast cast = {.upstream = "client",
				  .upstream_allows = true,
				  .server = "server",
				  .server_version = LEG_V1_OR_V2};
	const struct leg *leg;

	(void)state;
	begin_jobs(&cast);
	keep_busy();
	cast_connect();
	leg = &inside_session(hall.proxy, 1)->server;
	assert_true(leg_is_worked_on(leg));
	world_run(&hall, leg->setup_end - memnet_now(hall.net) - 1);
	assert_true(leg_is_worked_on(leg));
	let_go();
	while (leg_is_worked_on(leg)) { /* in no virtual time */
		usleep(1000);
		world_turn(&hall);
	}
	run_until_open(&hall.pairs[0].client);
	cast_is_served();
	cast_not_said("event=upstream.");
	cast_end();
}

/* Other handshakes may wait for its place meanwhile. A later handshake of its host comes before it the next time. */
static void a_handshake_under_computation_is_not_closed(void **state)
{
	const struct cast cast = {.listen = "server", .raw_client = true};
	struct handshake_slot others[64], *waiting = others, behind;
	struct route_state *rs;
	struct handshake_limit *d;
	unsigned n = 0;

	(void)state;
	begin_jobs(&cast);
	rs = hall.proxy->routes[0];
	d = &rs->handshakes[PROXY_CLIENT];
	cast_connect();
	raw_connect(&hall.raw, &hall.pairs[0].gw_addr);
	world_run(&hall, 10 * NSEC_PER_MS);
	keep_busy();
	say_hello();
	assert_int_equal(d->inside.count, 1);
	handshake_slot_init(&behind, NULL);
	assert_true(handshake_limit_enter(d, &behind,
					  &inside_session(hall.proxy, 1)->client.conn->peer,
					  hall.proxy->now + 1000 * NSEC_PER_SEC));
	for (bool is_in = true; is_in; n++) {
		struct fabric_addr addr;
		char text[32];

		assert_true(n < 64);
		snprintf(text, sizeof(text), "192.0.2.%u", n + 1);
		assert_int_equal(fabric_addr_parse(text, 1, &addr), 0);
		waiting = &others[n];
		handshake_slot_init(waiting, NULL);
		is_in = handshake_limit_enter(d, waiting, &addr,
					      hall.proxy->now + 1000 * NSEC_PER_SEC);
	}
	timer_arm(&hall.proxy->timers, &rs->slot_timer, hall.proxy->now);
	world_run(&hall, HANDSHAKE_SLOT_TIME + NSEC_PER_SEC / 2);
	assert_false(hall.raw.closed);
	assert_ptr_equal(preauth_queue_first(&d->inside), &behind.member);
	while (n > 0)
		handshake_limit_leave(d, &others[--n]);
	handshake_limit_leave(d, &behind);
	cast_not_said("others wait for theirs");
	raw_hang_up(&hall.raw);
	world_run(&hall, 10 * NSEC_PER_MS);
	let_go();
	cast_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_ends_prove_their_names),
		cmocka_unit_test(long_chains_within_the_thresholds),
		cmocka_unit_test(a_peer_that_fails_is_refused),
		cmocka_unit_test(version_1_is_no_way_around),
		cmocka_unit_test(probes_have_no_way_around),
		cmocka_unit_test(exempt_networks_need_no_proof),
		cmocka_unit_test(mode_allow_needs_no_proof),
		cmocka_unit_test(nothing_is_asked_of_the_server_before_the_proof),
		cmocka_unit_test(a_peer_that_falls_silent_is_closed),
		cmocka_unit_test(a_peer_that_sends_too_much_is_closed),
		cmocka_unit_test(an_octet_at_a_time),
		cmocka_unit_test(calls_before_the_proof_go_nowhere),
		cmocka_unit_test(another_version_in_the_handshake_ends_it),
		cmocka_unit_test(others_may_do_the_work),
		cmocka_unit_test(a_peer_that_does_not_wait_for_the_answer_fails),
		cmocka_unit_test(a_handshake_that_waits_too_long_is_closed),
		cmocka_unit_test(what_waits_here_is_not_the_servers_fault),
		cmocka_unit_test(a_server_has_its_time_behind_that),
		cmocka_unit_test(a_handshake_under_computation_is_not_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
