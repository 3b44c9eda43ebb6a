/* SPDX-License-Identifier: BSD-2-Clause */
/* Who proves who it is, who does not, and who cannot: through the gateway, in virtual time. */
#include "tests/cmocka_all.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "hostauth/value.h"
#include "tests/hostauth/pair.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

/* A leg_auth, and what it hands out. */
struct policy {
	struct leg_auth auth; /* first member */
	struct hostauth_creds *creds;
};

static struct world w;
static char said[65536]; /* the log */

static const struct peer_spec null_call = {.body = 100, .reply = 24, .segs = 1};

static void keep_line(const char *line)
{
	if (getenv("GW_DEBUG"))
		print_message("%s\n", line);
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", line);
}

static void assert_said(const char *what)
{
	if (!strstr(said, what))
		fail_msg("the log does not say %s:\n%s", what, said);
}

static void assert_not_said(const char *what)
{
	if (strstr(said, what))
		fail_msg("the log says %s:\n%s", what, said);
}

static struct hostauth_creds *creds_of(const struct leg_auth *auth)
{
	return hostauth_creds_get(((const struct policy *)auth)->creds);
}

static int64_t now_of(const struct leg_auth *auth)
{
	(void)auth;
	return PAIR_NOW;
}

static struct policy policy(enum hostauth_role role, const char *name, const char *names,
			    bool required)
{
	return (struct policy){.auth = {.required = required,
					.timeout = 5 * NSEC_PER_SEC,
					.creds = creds_of,
					.now = now_of},
			       .creds = pair_creds(role, name, "ca", NULL, names, NULL)};
}

/* The client's, the gateway's two, the server's; NULL: it has none. */
struct cast {
	const char *client, *listen, *upstream, *server;
	bool listen_allows, upstream_allows; /* others as well */
	const char *listen_names, *upstream_names;
	unsigned client_version, server_version; /* 0: 2 */
	bool raw_client;
	bool unneeded_from; /* where all peers come from */
	bool third;	    /* pair, whose client stays away */
	bool probes;	    /* servers are asked whether they serve */
};

static struct policy policies[5];
static const struct fabric_net everywhere[] = {{.is_v6 = false}, {.is_v6 = true}};

static const struct leg_auth *play(unsigned i, enum hostauth_role role, const char *name,
				   const char *names, bool required)
{
	if (!name)
		return NULL;
	policies[i] = policy(role, name, names, required);
	return &policies[i].auth;
}

static void begin(const struct cast *c)
{
	struct setup s = setup_defaults(c->client_version ? c->client_version : LEG_V2,
					c->server_version ? c->server_version : LEG_V2, 9);

	memset(policies, 0, sizeof(policies));
	s.memory = s.peer_memory = 64 << 20;
	s.pairs = c->third ? 3 : 2;
	s.raw = s.raw_client = c->raw_client;
	s.probes = c->probes ? NSEC_PER_SEC : 0;
	s.client_auth = play(0, HOSTAUTH_INITIATOR, c->client, NULL, true);
	s.listen_auth = play(1, HOSTAUTH_ACCEPTOR, c->listen, c->listen_names, !c->listen_allows);
	s.upstream_auth =
		play(2, HOSTAUTH_INITIATOR, c->upstream, c->upstream_names, !c->upstream_allows);
	s.server_auth = play(3, HOSTAUTH_ACCEPTOR, c->server, NULL, true);
	said[0] = '\0';
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(keep_line);
	world_new(&w, &s);
	/* As daemon/ does. */
	if (c->unneeded_from) {
		w.routes[0].client_unneeded = w.routes[0].client;
		policies[4] = policies[1];
		policies[4].auth.required = false;
		policies[4].creds = hostauth_creds_get(policies[1].creds);
		w.routes[0].client_unneeded.auth = &policies[4].auth;
		w.routes[0].unneeded = everywhere;
		w.routes[0].nunneeded = 2;
	}
	if (s.listen_auth && s.listen_auth->required)
		w.routes[0].client.versions = LEG_V2;
	if (s.upstream_auth && s.upstream_auth->required)
		w.routes[0].server.versions = LEG_V2;
}

static void connect_both(void)
{
	if (!w.s.raw)
		world_connect_pair(&w, 0);
	world_connect_pair(&w, 1);
	world_run(&w, NSEC_PER_SEC);
	/* Its first words: who says nothing is disconnected. */
	peer_call(&w.pairs[1].client, &null_call);
	world_run(&w, NSEC_PER_SEC);
}

static struct jobs *jobs; /* of some tests */

/* The other route is as it was, and everything comes back. */
static void end(void)
{
	struct peer *other = &w.pairs[1].client;

	assert_true(other->open);
	assert_true(peer_call(other, &null_call));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(other->done, 2);
	probes_end(w.proxy->routes[0]);
	world_quit(&w);
	w.proxy->cfg.jobs = NULL;
	jobs_free(jobs);
	jobs = NULL;
	for (unsigned i = 0; i < 5; i++)
		hostauth_creds_put(policies[i].creds);
	world_free(&w);
	log_set_sink(NULL);
}

static void is_served(void)
{
	struct peer *client = &w.pairs[0].client;
	uint64_t before = client->done;

	assert_true(client->open);
	for (unsigned i = 0; i < 20; i++)
		assert_true(peer_call(client, &null_call));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, before + 20);
	assert_int_equal(client->errors, 0);
}

static void is_refused(void)
{
	struct peer *client = &w.pairs[0].client;

	if (client->open)
		peer_call(client, &null_call);
	world_run(&w, 20 * NSEC_PER_SEC);
	assert_true(client->closed || !client->open);
	assert_int_equal(client->done, 0);
	assert_int_equal(w.pairs[0].server.served, 0);
	assert_int_equal(proxy_sessions(w.proxy), 1);
}

static void all_prove_who_they_are(void **state)
{
	const struct cast cast = {.client = "client",
				  .listen = "server",
				  .upstream = "psk",
				  .server = "psk",
				  .listen_names = "*.example"};

	(void)state;
	begin(&cast);
	connect_both();
	is_served();
	assert_said("route=route0 leg=server ");
	assert_said("name=\"pair-1\"");
	assert_said("leg=client peer=");
	assert_said("name=\"client.example\" suite=TLS_AES_128_GCM_SHA256 messages=4");
	assert_not_said("hostauth.failed");
	end();
}

static void long_chains_within_the_thresholds(void **state)
{
	const struct cast cast = {.client = "long",
				  .listen = "long-server",
				  .upstream = "long",
				  .server = "long-server"};

	(void)state;
	begin(&cast);
	connect_both();
	is_served();
	end();
}

static void who_fails_is_refused(void **state)
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
		begin(&cases[i].cast);
		connect_both();
		is_refused();
		assert_said("event=hostauth.failed");
		assert_said(cases[i].said);
		assert_said(cases[i].why);
		end();
	}
}

/* No answer in the clear is a reason to do without. */
static void version_1_is_no_way_around(void **state)
{
	const struct cast client = {.listen = "server", .client_version = LEG_V1};
	const struct cast server = {.upstream = "client", .server_version = LEG_V1};

	(void)state;
	begin(&client);
	connect_both();
	is_refused();
	assert_said("cause=absent why=\"host authentication: the peer speaks version 1, which has "
		    "none\"");
	end();
	begin(&server);
	connect_both();
	is_refused();
	assert_said("no protocol version in common");
	end();
}

/* Nor for probes: what is no server for clients is none. */
static void probes_have_no_way_around(void **state)
{
	const struct cast cast = {.upstream = "client",
				  .upstream_allows = true,
				  .server = "outsider",
				  .server_version = LEG_V1_OR_V2,
				  .probes = true};

	(void)state;
	begin(&cast);
	for (unsigned probes = 0; probes < SERVERS_PROBES_FAILED; probes++) {
		world_run(&w, NSEC_PER_SEC + NSEC_PER_SEC / 2);
		peer_end(&w.pairs[0].server); /* it takes one connection at a time: */
		w.pairs[0].server.has_leg = false;
	}
	assert_said("event=upstream.down route=route0 server=10.0.0.2:20049 why=\"probes: host "
		    "authentication: ");
	assert_not_said("event=upstream.up ");
	connect_both();
	is_refused();
	end();
}

/* Whoever said something does not make room for others any more. */
static void assert_all_have_spoken(void)
{
	assert_int_equal(proxy_sessions(w.proxy), 2);
	assert_int_equal(w.proxy->lobby.count, 0);
}

/* Peers of some networks are served by a listener that requires it of others. */
static void who_comes_from_there_need_not(void **state)
{
	static const struct cast casts[] = {
		{.listen = "server", .unneeded_from = true},
		{.listen = "server", .unneeded_from = true, .client_version = LEG_V1},
		{.listen = "server", .unneeded_from = true, .client = "client"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); i++) {
		begin(&casts[i]);
		connect_both();
		is_served();
		assert_not_said("hostauth.failed");
		assert_said(casts[i].client ? "name=\"client.example\"" : "event=hostauth.absent");
		assert_all_have_spoken();
		end();
	}
}

static void who_need_not_may_do_without(void **state)
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
		begin(&casts[i]);
		connect_both();
		is_served();
		assert_not_said("hostauth.failed");
		if (!casts[i].client) {
			assert_said("event=hostauth.absent");
			assert_not_said("_name=");
		}
		assert_all_have_spoken();
		if (casts[i].client)
			assert_said("name=\"client.example\"");
		end();
	}
}

/* A value as a message of a client that is no struct peer. */
static void say_value(uint32_t htype, const uint8_t *value, uint32_t len)
{
	struct xdr_out x = raw_begin(&w.raw);

	xdr_put_u32(&x, 0x77);
	xdr_put_u32(&x, 2);
	xdr_put_u32(&x, 1000);
	xdr_put_u32(&x, htype);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, V2_PROP_HOSTAUTH);
	xdr_put_u32(&x, 4 + len + (uint32_t)xdr_pad(len));
	xdr_put_opaque(&x, view_of(value, len));
	raw_end(&w.raw, &x);
}

static void begin_raw(void)
{
	const struct cast cast = {.listen = "server", .raw_client = true};

	begin(&cast);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	connect_both();
	assert_true(w.raw.connected);
}

static const uint8_t hello[] = {0x16, 3, 1, 0, 0x2c, 1, 0, 0, 0x28, 3, 3};

static void is_shown_out(void)
{
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.raw.closed);
	assert_int_equal(w.pairs[0].server.served, 0);
	end();
}

static void who_falls_silent_is_shown_out(void **state)
{
	uint8_t first[15] = {1, HOSTAUTH_MORE, 0, 0};

	(void)state;
	begin_raw();
	memcpy(first + 4, hello, sizeof(hello));
	say_value(V2_CONNPROP_MIDDLE, first, sizeof(first));
	world_run(&w, NSEC_PER_SEC);
	/* Its ACK. */
	assert_int_equal(raw_last(&w.raw, 3), V2_CONNPROP_MIDDLE);
	assert_false(w.raw.closed);
	world_run(&w, 5 * NSEC_PER_SEC);
	assert_said("host authentication took too long");
	is_shown_out();
}

static void who_says_too_much_is_shown_out(void **state)
{
	uint8_t value[1500] = {1, HOSTAUTH_MORE};
	unsigned n = 0;

	(void)state;
	begin_raw();
	memcpy(value + 4, hello, sizeof(hello));
	for (; n < 100 && !w.raw.closed; n++) {
		value[3] = (uint8_t)n;
		say_value(V2_CONNPROP_MIDDLE, value, sizeof(value));
		world_run(&w, 10 * NSEC_PER_MS);
	}
	assert_int_equal(n, HOSTAUTH_MAX_HELLO / (sizeof(value) - 4) + 1);
	assert_said("cause=limit");
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
	world_run(&w, 10 * NSEC_PER_MS);
	for (; n < 300 && !w.raw.closed; n++) {
		next[2] = (uint8_t)(n >> 8);
		next[3] = (uint8_t)n;
		say_value(V2_CONNPROP_MIDDLE, next, sizeof(next));
		world_run(&w, 10 * NSEC_PER_MS);
	}
	assert_int_equal(n, 257);
	assert_said("cause=limit");
	is_shown_out();
}

static void calls_before_the_proof_go_nowhere(void **state)
{
	uint8_t first[15] = {1, HOSTAUTH_MORE, 0, 0};

	(void)state;
	begin_raw();
	memcpy(first + 4, hello, sizeof(hello));
	say_value(V2_CONNPROP_MIDDLE, first, sizeof(first));
	world_run(&w, 10 * NSEC_PER_MS);
	raw_words(&w.raw, RAW_V2_CALL(0x99, 1000));
	is_shown_out();
	begin_raw();
	raw_words(&w.raw, RAW_V2_CALL(0x99, 1000));
	world_run(&w, 10 * NSEC_PER_MS);
	/* It is told, in what it can be expected to know. */
	assert_int_equal(raw_last(&w.raw, 3), V2_ERROR);
	assert_int_equal(raw_last(&w.raw, 4), 100);
	assert_said("cause=absent");
	is_shown_out();
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
	begin(cast);
	jobs = jobs_new(1);
	assert_non_null(jobs);
	assert_int_equal(jobs_start(jobs), 0);
	jobs_port_init(&port, jobs, nobody, NULL);
	w.proxy->cfg.jobs = &port;
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

/* What other threads do takes time that is not virtual. */
static void run_until_open(const struct peer *client)
{
	for (unsigned i = 0; i < 2000 && !client->open; i++) {
		world_run(&w, NSEC_PER_MS);
		usleep(5000);
	}
	assert_true(client->open);
}

static void others_may_do_the_work(void **state)
{
	const struct cast cast = {
		.client = "client", .listen = "server", .upstream = "client", .server = "server"};

	(void)state;
	begin_jobs(&cast);
	world_connect_pair(&w, 0);
	world_connect_pair(&w, 1);
	run_until_open(&w.pairs[1].client);
	peer_call(&w.pairs[1].client, &null_call);
	run_until_open(&w.pairs[0].client);
	is_served();
	assert_said("name=\"client.example\"");
	assert_said("name=\"server.example\"");
	assert_int_equal(w.proxy->routes[0]->client_door.inside.count, 0);
	assert_int_equal(w.proxy->routes[0]->server_door.inside.count, 0);
	end();
}

static void say_hello(void)
{
	uint8_t first[15] = {1, HOSTAUTH_TURN, 0, 0};

	memcpy(first + 4, hello, sizeof(hello));
	say_value(V2_CONNPROP_MIDDLE, first, sizeof(first));
	world_run(&w, 10 * NSEC_PER_MS);
}

static void who_does_not_wait_for_the_answer_fails(void **state)
{
	const struct cast cast = {.listen = "server", .raw_client = true};
	uint8_t next[5] = {1, HOSTAUTH_TURN, 0, 1, 0};

	(void)state;
	begin_jobs(&cast);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	connect_both();
	keep_busy();
	say_hello();
	assert_false(w.raw.closed);
	assert_int_equal(w.proxy->routes[0]->client_door.inside.count, 1);
	say_value(V2_CONNPROP_MIDDLE, next, sizeof(next));
	world_run(&w, NSEC_PER_SEC);
	assert_said(
		"cause=value why=\"host authentication: a message came while an answer was due\"");
	assert_true(w.raw.closed);
	assert_int_equal(w.proxy->routes[0]->client_door.inside.count, 0);
	let_go();
	end();
}

/* Its time is up before anybody has looked at it. */
static void who_waits_too_long_is_shown_out(void **state)
{
	const struct cast cast = {.listen = "server", .raw_client = true};

	(void)state;
	begin_jobs(&cast);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	connect_both();
	keep_busy();
	say_hello();
	world_run(&w, 6 * NSEC_PER_SEC);
	assert_said("host authentication took too long");
	assert_true(w.raw.closed);
	let_go();
	end();
}

/* All places are taken: the first message waits, and is looked at when there is one. */
static void who_finds_no_place_waits(void **state)
{
	const struct cast cast = {.client = "client", .listen = "server"};
	struct door_guest others[64];
	struct fabric_addr addr;
	struct session *s;
	struct door *d;
	unsigned n;

	(void)state;
	begin(&cast);
	d = &w.proxy->routes[0]->client_door;
	assert_in_range(d->inside.most, 2, 64);
	for (n = 0; !lobby_is_full(&d->inside); n++) {
		char text[32];

		snprintf(text, sizeof(text), "192.0.2.%u", n + 1);
		assert_int_equal(fabric_addr_parse(text, 1, &addr), 0);
		door_guest_init(&others[n]);
		assert_true(door_enter(d, &others[n], &addr, w.proxy->now));
	}
	connect_both();
	/* Not as long as those inside have. */
	assert_int_equal(w.pairs[0].client.done, 0);
	assert_true(door_has_waiting(d));
	assert_not_said("event=hostauth ");
	while (n > 0)
		door_leave(d, &others[--n]);
	/* Another's leave would have called it: here nobody does. */
	s = container_of(door_next(d, w.proxy->now), struct session, client_guest);
	leg_admit(&s->client);
	session_touch(s);
	world_turn(&w);
	world_run(&w, NSEC_PER_SEC);
	assert_said("name=\"client.example\"");
	assert_int_equal(d->inside.count, 0);
	is_served();
	end();
}

/* The listener of route 0 is that of route 2 as well, which is for the rest. */
static void begin_shared(const char *const *names, unsigned nnames, bool both)
{
	const struct cast cast = {.client = "client", .listen = "server", .third = true};

	begin(&cast);
	w.routes[0].names = names;
	w.routes[0].nnames = nnames;
	if (both)
		w.routes[2].shares = &w.routes[0];
}

static void the_name_chooses_the_route(void **state)
{
	static const char *const clients[] = {"other.example", "*.example"};
	static const char *const others[] = {"other.example", "*.client.example", "nfs://*"};

	(void)state;
	begin_shared(clients, 2, true);
	connect_both();
	is_served();
	assert_int_equal(w.pairs[0].server.served, 20);
	assert_said("event=session.open session=2 route=route0 ");
	end();

	begin_shared(others, 3, true);
	connect_both();
	is_served();
	assert_int_equal(w.pairs[0].server.served, 0);
	assert_int_equal(w.pairs[2].server.served, 20);
	assert_said("event=session.open session=2 route=route2 ");
	assert_said("event=hostauth session=2 route=route2 leg=client ");
	end();
}

static void a_name_without_a_route_is_refused(void **state)
{
	static const char *const names[] = {"other.example"};

	(void)state;
	begin_shared(names, 1, false);
	connect_both();
	is_refused();
	assert_said("event=hostauth session=2 route=route0 leg=client ");
	assert_said("event=hostauth.unrouted session=2 route=route0 ");
	assert_not_said("event=session.open session=2 ");
	end();
}

static const char *seen_by(unsigned pair)
{
	static char text[FABRIC_ADDR_TEXT];

	return fabric_addr_host(&w.pairs[pair].server.leg.conn->peer, text);
}

#define ADDRESS(last)                                                                              \
	{                                                                                          \
		.bits = 32, .octets = { 10, 9, 8, last }                                           \
	}

/* Once it is known who it is, whichever route that leads to: those of the listener's are not all there are. */
static void the_name_chooses_the_source(void **state)
{
	static const struct proxy_source own[] = {
		{.everywhere = true, .name = "other.example", .addresses = ADDRESS(7)},
		{.clients = {.is_v6 = true}, .name = "*.example", .addresses = ADDRESS(7)},
		{.everywhere = true, .name = "*.example", .addresses = ADDRESS(8)},
		{.addresses = ADDRESS(7)},
	};
	static const char *const others[] = {"other.example"};

	(void)state;
	for (unsigned shared = 0; shared < 2; shared++) {
		begin_shared(others, shared, shared);
		w.routes[0].sources = own;
		w.routes[0].nsources = shared ? 1 : 4;
		w.routes[2].sources = own + 2;
		w.routes[2].nsources = shared;
		connect_both();
		is_served();
		assert_string_equal(seen_by(2 * shared), "10.9.8.8");
		end();
	}
}

static void a_name_without_a_source_is_refused(void **state)
{
	static const struct proxy_source others[] = {
		{.everywhere = true, .name = "other.example", .addresses = {.bits = 32}}};

	(void)state;
	begin_shared(NULL, 0, false);
	w.routes[0].sources = others;
	w.routes[0].nsources = 1;
	connect_both();
	is_refused();
	assert_said("event=session.end session=2 ");
	assert_said("why=\"no source address is for it\"");
	end();
}

/* Who need not prove a name has none. */
static void who_need_not_has_no_name(void **state)
{
	static const struct proxy_source mixed[] = {
		{.everywhere = true,
		 .name = "*.example",
		 .addresses = {.bits = 32, .octets = {10, 9, 8, 7}}},
		{.everywhere = true, .addresses = {.bits = 32, .octets = {10, 9, 8, 8}}}};
	const struct cast cast = {.listen = "server", .unneeded_from = true};

	(void)state;
	begin(&cast);
	w.routes[0].sources = mixed;
	w.routes[0].nsources = 2;
	connect_both();
	is_served();
	assert_string_equal(seen_by(0), "10.9.8.8");
	end();

	begin(&cast);
	w.routes[0].sources = mixed;
	w.routes[0].nsources = 1;
	connect_both();
	is_refused();
	assert_int_equal(proxy_counters(w.proxy)->refused[PROXY_REFUSED_SOURCE], 1);
	end();
}

/* What the client says while its server is still to come waits for it, within the server's time. */
static void calls_wait_for_the_server(void **state)
{
	static const char *const names[] = {"client.example"};
	struct peer *client = &w.pairs[0].client;

	(void)state;
	for (unsigned comes = 0; comes < 2; comes++) {
		begin_shared(names, 1, false);
		w.servers_sleep = true;
		world_connect_pair(&w, 0);
		world_run(&w, NSEC_PER_SEC);
		assert_true(client->open);
		for (unsigned i = 0; i < 20; i++)
			assert_true(peer_call(client, &null_call));
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(client->done, 0);
		if (!comes)
			world_run(&w, 60 * NSEC_PER_SEC);
		w.servers_sleep = false;
		world_connect_pair(&w, 1);
		world_run(&w, NSEC_PER_SEC);
		peer_call(&w.pairs[1].client, &null_call);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(client->done, comes ? 20 : 0);
		assert_int_equal(client->closed, !comes);
		assert_int_equal(w.pairs[0].server.served, comes ? 20 : 0);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_prove_who_they_are),
		cmocka_unit_test(long_chains_within_the_thresholds),
		cmocka_unit_test(who_fails_is_refused),
		cmocka_unit_test(version_1_is_no_way_around),
		cmocka_unit_test(probes_have_no_way_around),
		cmocka_unit_test(who_comes_from_there_need_not),
		cmocka_unit_test(who_need_not_may_do_without),
		cmocka_unit_test(who_falls_silent_is_shown_out),
		cmocka_unit_test(who_says_too_much_is_shown_out),
		cmocka_unit_test(an_octet_at_a_time),
		cmocka_unit_test(calls_before_the_proof_go_nowhere),
		cmocka_unit_test(others_may_do_the_work),
		cmocka_unit_test(who_does_not_wait_for_the_answer_fails),
		cmocka_unit_test(who_waits_too_long_is_shown_out),
		cmocka_unit_test(who_finds_no_place_waits),
		cmocka_unit_test(the_name_chooses_the_route),
		cmocka_unit_test(a_name_without_a_route_is_refused),
		cmocka_unit_test(the_name_chooses_the_source),
		cmocka_unit_test(a_name_without_a_source_is_refused),
		cmocka_unit_test(who_need_not_has_no_name),
		cmocka_unit_test(calls_wait_for_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
