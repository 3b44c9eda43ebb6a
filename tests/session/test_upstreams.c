/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several servers, in virtual time: two workers with shared state, clients with several
 * connections, and look-ups of names played by the test.
 */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "fabric/mem/mem.h"
#include "tests/rng.h"
#include "tests/session/inside.h"

enum { WORKERS = 2, SERVERS = 3, CLIENTS = 4, ENDS = 24, CALL_OCTETS = 64, MIB = 1 << 20 };
#define S NSEC_PER_SEC

struct node;

/* One connection of a client's, or of a server's. */
struct end {
	struct leg leg; /* first */
	struct node *node;
	bool is_used, is_open, is_closed;
	unsigned replies;
	struct leg_tx tx;
	struct rpc_msg msg;
	uint8_t octets[CALL_OCTETS];
};

/* A client, or a server. */
struct node {
	struct fabric *fabric;
	struct fabric_listener *listener;
	struct fabric_addr addr;
	struct buf_arena arena;
	struct leg_config cfg;
	/* a server: connections end before they are answered; connections are rejected; no answers */
	bool refuses, rejects, hangs;
	unsigned accepted, calls;
	struct end *held; /* a call that was not answered */
	struct end ends[ENDS];
};

static struct memnet *net;
static struct fabric_listener *front;
static struct fabric_addr front_addr;
static struct fabric *fabrics[WORKERS];
static struct proxy *workers[WORKERS];
static struct proxy_route route;
static struct servers *servers;
static struct servers_changes changes;
static struct session_limits *session_limits;
static struct node at[SERVERS], clients[CLIENTS];

static struct leg_config end_config(unsigned versions)
{
	return (struct leg_config){.versions = versions,
				   .inline_bytes = 4096,
				   .credits = 8,
				   .rev_credits = 2,
				   .max_message = MIB,
				   .segment_bytes = MIB,
				   .segment_count = 16,
				   .reverse = RPC_REV_GENL,
				   .setup_timeout = 3 * S};
}

static void node_init(struct node *n, const char *address)
{
	memset(n, 0, sizeof(*n));
	assert_int_equal(fabric_addr_parse(address, 20050, &n->addr), 0);
	n->cfg = end_config(LEG_V1);
	n->fabric = memnet_fabric(net);
	assert_int_equal(buf_arena_init(&n->arena, 32 * MIB), 0);
	assert_int_equal(fabric_register(n->fabric, n->arena.base, n->arena.bytes), 0);
	assert_int_equal(fabric_register(n->fabric, n->ends, sizeof(n->ends)), 0);
}

static struct end *end_new(struct node *n, enum rpc_role role)
{
	for (unsigned i = 0; i < ENDS; i++) {
		struct end *e = &n->ends[i];

		if (e->is_used)
			continue;
		memset(e, 0, sizeof(*e));
		e->is_used = true;
		e->node = n;
		leg_init(&e->leg, role);
		return e;
	}
	fail_msg("more connections than a test has");
	return NULL;
}

static void send_octets(struct end *e, uint32_t xid, enum rpc_dir dir)
{
	assert_null(e->tx.owner); /* one at a time */
	memset(e->octets, 0, sizeof(e->octets));
	for (unsigned i = 0; i < 4; i++)
		e->octets[i] = (uint8_t)(xid >> (24 - 8 * i));
	e->octets[7] = dir == RPC_REPLY;
	e->octets[11] = dir == RPC_REPLY ? 0 : 2;
	rpc_msg_reset(&e->msg, xid, dir);
	e->msg.nbody = 1;
	e->msg.body[0] = view_of(e->octets, dir == RPC_REPLY ? 24 : CALL_OCTETS);
	e->tx = (struct leg_tx){.tx = {.msg = &e->msg}, .owner = e};
	leg_send(&e->leg, &e->tx);
}

static void on_message(struct end *e, struct leg_out *out)
{
	struct node *n = e->node;

	if (out->msg->dir == RPC_REPLY) {
		e->replies++;
	} else {
		n->calls++;
		e->msg.xid = out->msg->xid;
		if (n->hangs)
			n->held = e;
		else if (!e->tx.owner)
			send_octets(e, out->msg->xid, RPC_REPLY);
	}
	leg_put(&e->leg, &out->held);
}

static void on_out(struct end *e, struct leg_out *out)
{
	e->is_open |= out->kind == LEG_OUT_READY;
	e->is_closed |= out->kind == LEG_OUT_CLOSED;
	if (out->kind == LEG_OUT_SENT)
		e->tx.owner = NULL;
	if (out->kind == LEG_OUT_MSG)
		on_message(e, out);
}

static void end_free(struct end *e)
{
	if (e->is_used)
		leg_fini(&e->leg);
	e->is_used = false;
}

static void node_turn(struct node *n)
{
	struct fabric_event ev;
	struct leg_out out;

	while (fabric_poll(n->fabric, &ev)) {
		struct end *e;

		if (ev.type == FABRIC_EV_REQUEST) {
			if (n->refuses) {
				fabric_destroy(ev.conn);
				continue;
			}
			if (n->rejects) {
				fabric_reject(ev.conn, view_of(NULL, 0));
				continue;
			}
			n->accepted++;
			e = end_new(n, RPC_ACCEPTOR);
			if (leg_accept(&e->leg, &n->cfg, &n->arena, ev.conn, ev.private_data, 1,
				       memnet_now(net)))
				end_free(e); /* an allocation that failed was its own */
			continue;
		}
		e = (struct end *)ev.conn->owner;
		leg_input(&e->leg, &ev, &out);
		on_out(e, &out);
		for (leg_next(&e->leg, &out); out.kind; leg_next(&e->leg, &out))
			on_out(e, &out);
	}
	for (unsigned i = 0; i < ENDS; i++) {
		struct end *e = &n->ends[i];

		if (e->is_used && e->leg.conn && !e->is_closed)
			leg_pump(&e->leg);
		if (e->is_closed && n->listener)
			end_free(e); /* a client's is looked at */
	}
	fabric_flush(n->fabric);
}

static void turn(void)
{
	for (unsigned i = 0; i < SERVERS; i++)
		node_turn(&at[i]);
	for (unsigned i = 0; i < CLIENTS; i++)
		node_turn(&clients[i]);
	for (unsigned i = 0; i < WORKERS; i++)
		for (unsigned n = 0; proxy_turn(workers[i], memnet_now(net)); n++)
			assert_true(n < 1000);
}

static void run(nsec_t limit)
{
	nsec_t end = memnet_now(net) + limit;

	turn();
	while (memnet_now(net) < end) {
		nsec_t due = nsec_min(proxy_deadline(workers[0]), proxy_deadline(workers[1]));

		assert_true(due > memnet_now(net)); /* or a daemon would spin */
		memnet_step(net, nsec_min(end, due));
		turn();
	}
}

/* How a test begins; .names: one name in place of addresses. */
struct how {
	bool by_client, names;
	nsec_t probes;
	uint64_t seed;
};

static void make_servers(const struct how *how)
{
	struct servers_config cfg = {.port = 20050,
				     .by_client = how->by_client,
				     .v4 = true,
				     .v6 = true,
				     .probes = how->probes > 0,
				     .timeout = 3 * S};

	cfg.nhosts = how->names ? 1 : SERVERS;
	for (unsigned i = 0; i < cfg.nhosts; i++) {
		snprintf(cfg.hosts[i].name, sizeof(cfg.hosts[i].name), "server%u", i);
		if (!how->names)
			cfg.hosts[i].addr = at[i].addr;
	}
	atomic_init(&changes.number, 0);
	servers = servers_new(&cfg, &changes);
	assert_non_null(servers);
}

static atomic_uint timeout_s;

static void make_route(const struct how *how)
{
	route = (struct proxy_route){.name = "route",
				     .client = end_config(LEG_V1),
				     .server = end_config(LEG_V1),
				     .servers = servers,
				     .probe_interval = how->probes,
				     .move_timeout_s = &timeout_s,
				     .version_memory = S};
	atomic_store(&timeout_s, 5);
	route.client.setup_timeout = 1000 * S; /* clients are silent for as long as a test takes */
}

static void make_worker(unsigned i)
{
	struct proxy_config cfg = {.routes = &route,
				   .nroutes = 1,
				   .fabrics = &fabrics[i],
				   .nfabrics = 1,
				   .memory_bytes = 64 * MIB,
				   .max_sessions = 100,
				   .session_limits = session_limits,
				   .max_payload = MIB,
				   .continue_max = 64 << 10,
				   .worker = i,
				   .workers = WORKERS,
				   .changes = &changes,
				   .seed = 7 + i};

	fabrics[i] = memnet_fabric(net);
	workers[i] = proxy_new(&cfg);
	assert_non_null(workers[i]);
	assert_int_equal(fabric_attach(fabrics[i], front, proxy_route_owner(workers[i], 0)), 0);
}

static void begin(const struct how *how)
{
	const struct memnet_config cfg = {
		.seed = how->seed ? how->seed : 1, .latency_min = 1000, .latency_max = 100000};
	char address[32];

	net = memnet_new(&cfg);
	assert_int_equal(fabric_addr_parse("10.0.0.1", 20049, &front_addr), 0);
	front = memnet_listen(net, &front_addr);
	for (unsigned i = 0; i < SERVERS; i++) {
		snprintf(address, sizeof(address), "10.0.0.%u", 11 + i);
		node_init(&at[i], address);
		at[i].listener = memnet_listen(net, &at[i].addr);
		assert_int_equal(fabric_attach(at[i].fabric, at[i].listener, &at[i]), 0);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		snprintf(address, sizeof(address), "10.1.0.%u", 1 + i);
		node_init(&clients[i], address);
	}
	session_limits =
		session_limits_new(&(struct session_limits_config){.max_sessions = 100, .seed = 3});
	make_servers(how);
	make_route(how);
	for (unsigned i = 0; i < WORKERS; i++)
		make_worker(i);
}

static void node_fini(struct node *n)
{
	for (unsigned i = 0; i < ENDS; i++)
		end_free(&n->ends[i]);
	fabric_unregister(n->fabric, n->arena.base);
	fabric_unregister(n->fabric, n->ends);
	fabric_free(n->fabric);
	buf_arena_fini(&n->arena);
	if (n->listener)
		memnet_listener_free(n->listener);
}

/* All hang up; nothing is left of it anywhere. */
static void end(void)
{
	struct memnet_usage usage;

	for (unsigned i = 0; i < CLIENTS; i++)
		for (unsigned k = 0; k < ENDS; k++)
			end_free(&clients[i].ends[k]);
	route.probe_interval = 0;
	for (unsigned i = 0; i < WORKERS; i++)
		probes_end(workers[i]->routes[0]);
	run(20 * S);
	for (unsigned i = 0; i < WORKERS; i++) {
		assert_int_equal(proxy_sessions(workers[i]), 0);
		assert_int_equal(workers[i]->fixed_bytes, 0);
		fabric_detach(fabrics[i], front);
	}
	for (unsigned i = 0; i < SERVERS; i++) {
		fabric_detach(at[i].fabric, at[i].listener);
		for (unsigned k = 0; k < ENDS; k++)
			end_free(&at[i].ends[k]);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		proxy_free(workers[i]);
	session_limits_free(session_limits);
	memnet_usage(net, &usage);
	assert_int_equal(usage.conns, 0);
	assert_int_equal(usage.posted, 0);
	for (unsigned i = 0; i < SERVERS; i++)
		node_fini(&at[i]);
	for (unsigned i = 0; i < CLIENTS; i++)
		node_fini(&clients[i]);
	for (unsigned i = 0; i < WORKERS; i++)
		fabric_free(fabrics[i]);
	memnet_listener_free(front);
	memnet_free(net);
	servers_put(servers); /* nobody is left in there */
	assert_int_equal(mem_live(), 0);
}

/* One more connection of a client's; it may be looked at after run(). */
static struct end *connects(unsigned client)
{
	struct node *n = &clients[client];
	struct leg_target target = {.fabric = n->fabric, .from = &n->addr, .to = &front_addr};
	struct end *e = end_new(n, RPC_INITIATOR);

	assert_int_equal(leg_connect(&e->leg, &n->cfg, &n->arena, &target, 1, memnet_now(net)), 0);
	return e;
}

static struct end *is_served(unsigned client)
{
	struct end *e = connects(client);

	run(S / 2);
	assert_true(e->is_open);
	return e;
}

static unsigned sessions_of(unsigned server)
{
	static struct servers_view view;

	servers_snapshot(servers, &view);
	for (unsigned i = 0; i < view.n; i++)
		if (memcmp(&view.at[i].addr, &at[server].addr, sizeof(at[server].addr)) == 0)
			return (unsigned)view.at[i].figures.sessions;
	return 0;
}

static uint64_t moves(void)
{
	static struct servers_view view;

	servers_snapshot(servers, &view);
	return view.figures.moves;
}

static unsigned sessions(void)
{
	return proxy_sessions(workers[0]) + proxy_sessions(workers[1]);
}

/* --- */

/* Whichever worker has them, and though all come at once. */
static void connections_of_a_client_have_one_server(void **state)
{
	unsigned used = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		begin(&(struct how){.by_client = true, .seed = seed});
		for (unsigned i = 0; i < CLIENTS; i++) {
			unsigned before[SERVERS], grown = 0;

			for (unsigned k = 0; k < SERVERS; k++)
				before[k] = sessions_of(k);
			for (unsigned k = 0; k < 5; k++)
				connects(i);
			run(S);
			for (unsigned k = 0; k < SERVERS; k++) {
				grown += sessions_of(k) == before[k] + 5;
				used |= sessions_of(k) > before[k] ? 1u << k : 0;
			}
			assert_int_equal(grown, 1);
		}
		assert_int_equal(sessions(), 5 * CLIENTS);
		end();
	}
	assert_int_not_equal(used & (used - 1), 0); /* not one for all */
}

static void a_client_refused_by_one_server_gets_the_next(void **state)
{
	struct end *e;

	(void)state;
	begin(&(struct how){.by_client = false});
	at[0].refuses = at[1].refuses = true;
	e = is_served(0);
	send_octets(e, 1, RPC_CALL);
	run(S);
	assert_int_equal(e->replies, 1);
	assert_int_equal(at[2].calls, 1);
	assert_int_equal(at[0].accepted + at[1].accepted, 0);
	/* Clients that connect now get that server at once; clients that connect later get the
	 * first one again. */
	is_served(1);
	run(60 * S);
	at[0].refuses = false;
	is_served(2);
	assert_int_equal(sessions_of(2), 2);
	assert_int_equal(sessions_of(0), 1);
	at[0].refuses = at[2].refuses = true;
	e = connects(3);
	run(5 * S);
	assert_true(e->is_closed && !e->is_open);
	assert_int_equal(sessions(), 3);
	end();
}

/* A client's own data can make a server reject its connection. */
static void a_rejection_moves_nobody(void **state)
{
	struct end *e, *more;

	(void)state;
	begin(&(struct how){.by_client = false});
	e = is_served(0);
	at[0].rejects = true;
	more = connects(0);
	is_served(1);
	run(5 * S);
	assert_true(more->is_closed && !more->is_open && !e->is_closed);
	assert_int_equal(sessions_of(1), 1);
	assert_int_equal(moves(), 0);
	end();
}

/* In both workers; each session moves between two RPCs, or when the time limit (timeout) is
 * over. */
static void a_client_moves_with_all_it_has(void **state)
{
	struct end *busy, *stuck, *idle[4], *other, *late;

	(void)state;
	begin(&(struct how){.by_client = false});
	for (unsigned i = 0; i < 4; i++)
		idle[i] = is_served(0);
	busy = is_served(0);
	stuck = is_served(0);
	other = is_served(1);
	assert_int_equal(sessions_of(0), 7);
	at[0].hangs = true;
	send_octets(stuck, 9, RPC_CALL);
	run(S / 100);
	send_octets(busy, 7, RPC_CALL);
	run(S / 10);
	atomic_store(&timeout_s, 3); /* as a reload does */
	at[0].refuses = true;
	late = is_served(0);
	run(S);
	assert_int_equal(moves(), 1);
	for (unsigned i = 0; i < 4; i++)
		assert_true(idle[i]->is_closed);
	assert_false(busy->is_closed || stuck->is_closed || other->is_closed);
	send_octets(at[0].held, 7, RPC_REPLY);
	run(S);
	assert_int_equal(busy->replies, 1);
	assert_true(busy->is_closed);
	assert_false(stuck->is_closed);
	run(2 * S); /* the time limit of the move */
	assert_true(stuck->is_closed);
	assert_false(other->is_closed || late->is_closed);
	assert_int_equal(sessions_of(0), 1);
	assert_int_equal(sessions_of(1), 1);
	end();
}

/* Worker by worker, as daemon/worker_query.c asks them. */
static void drain_route(void)
{
	for (unsigned i = 0; i < WORKERS; i++) {
		struct snapshot l = {.kind = SNAPSHOT_DRAIN,
				     .want = {.route = SNAPSHOT_ANY_ROUTE},
				     .timeout = 20 * S};

		while (proxy_snapshot(workers[i], &l, memnet_now(net)))
			;
		run(S / 100);
	}
}

/* Sessions that connect again while another is in the middle of an RPC do not follow it, even if
 * the server is no longer configured. */
static void a_drained_client_goes_to_the_server_chosen_anew(void **state)
{
	struct servers_config others = {.port = 20050, .nhosts = 1, .timeout = 3 * S};
	struct end *idle[4], *busy, *late;

	(void)state;
	begin(&(struct how){.by_client = false});
	for (unsigned i = 0; i < 4; i++)
		idle[i] = is_served(0);
	busy = is_served(0);
	at[0].hangs = true;
	send_octets(busy, 7, RPC_CALL);
	run(S / 10);
	strcpy(others.hosts[0].name, "server1");
	others.hosts[0].addr = at[1].addr;
	assert_int_equal(servers_configure(servers, &others), 0);
	is_served(0);
	assert_int_equal(sessions_of(0), 6); /* nothing is moved without a command */
	drain_route();
	run(S);
	for (unsigned i = 0; i < 4; i++)
		assert_true(idle[i]->is_closed);
	assert_false(busy->is_closed);
	late = is_served(0);
	assert_int_equal(sessions_of(0), 1);
	assert_int_equal(sessions_of(1), 1);
	send_octets(at[0].held, 7, RPC_REPLY);
	run(S);
	assert_int_equal(busy->replies, 1);
	assert_true(busy->is_closed);
	/* Once more: it is where it belongs, and so is what comes while another of its sessions is there. */
	run(30 * S);
	drain_route();
	late = is_served(0);
	assert_false(late->is_closed);
	assert_int_equal(sessions_of(0), 0);
	assert_int_equal(sessions_of(1), 1);
	end();
}

/* Torn from a server that serves, for one that nobody knows? Only once there is another. */
static void a_client_that_nobody_else_takes_stays(void **state)
{
	struct end *e, *late;

	(void)state;
	begin(&(struct how){.by_client = false});
	e = is_served(0);
	at[0].refuses = at[1].refuses = at[2].refuses = true;
	late = connects(0);
	run(10 * S);
	assert_true(late->is_closed);
	assert_false(e->is_closed);
	send_octets(e, 1, RPC_CALL);
	run(S);
	assert_int_equal(e->replies, 1);
	end();
}

static void answer(unsigned server, nsec_t ttl)
{
	uint64_t ticket = servers_asked(servers);

	assert_int_not_equal(ticket, 0);
	servers_lookup_result(servers, 0, &at[server].addr, 1, memnet_now(net) + ttl);
	servers_answered(servers, ticket);
}

static void a_name_is_waited_for(void **state)
{
	struct end *e, *more;

	(void)state;
	begin(&(struct how){.names = true});
	e = connects(0);
	more = connects(1);
	run(S);
	assert_false(e->is_open || e->is_closed);
	answer(1, S);
	run(S / 10);
	assert_true(e->is_open && more->is_open);
	assert_int_equal(sessions_of(1), 2);
	run(2 * S);
	is_served(0); /* it is there, and asks nobody */
	assert_int_equal(servers_asked(servers), 0);
	e = connects(2);
	run(S / 10);
	answer(2, 0);
	run(S / 10);
	assert_true(e->is_open);
	assert_int_equal(sessions_of(2), 1);
	end();
}

static void a_name_that_nobody_knew_is_waited_for_so_long(void **state)
{
	struct end *e;

	(void)state;
	begin(&(struct how){.names = true});
	e = connects(0);
	run(5 * S / 2);
	assert_false(e->is_open || e->is_closed);
	run(S);
	assert_true(e->is_closed && !e->is_open);
	end();
}

static void a_name_that_is_not_answered_holds_up_its_client_alone(void **state)
{
	struct end *e, *there;

	(void)state;
	begin(&(struct how){.names = true});
	there = connects(0);
	run(S / 10);
	answer(0, S);
	run(2 * S);
	assert_true(there->is_open);
	e = connects(1);
	for (unsigned i = 1; i <= 10; i++) {
		send_octets(there, i, RPC_CALL);
		run(S / 10);
		assert_int_equal(there->replies, i);
	}
	assert_true(e->is_open); /* what was known holds on */
	assert_int_equal(sessions_of(0), 2);
	end_free(e);
	run(S / 10);
	/* A client that disconnects meanwhile is gone. */
	e = connects(1);
	run(S / 10);
	assert_int_equal(sessions(), 2);
	end_free(e);
	run(S);
	assert_int_equal(sessions(), 1);
	answer(0, S);
	run(S);
	assert_int_equal(sessions(), 1);
	/* A client that waits when everything ends is gone, too. */
	connects(1);
	run(S / 2);
	for (unsigned i = 0; i < WORKERS; i++)
		proxy_drain(workers[i], memnet_now(net));
	run(S);
	assert_int_equal(sessions(), 0);
	end();
}

/* A connection is made for a server that hangs as well. */
static void probes_find_a_server_that_hangs(void **state)
{
	size_t before;

	(void)state;
	begin(&(struct how){.by_client = false, .probes = S});
	run(3 * S / 2);
	before = workers[0]->fixed_bytes;
	for (unsigned i = 0; i < SERVERS; i++)
		assert_in_range(at[i].calls, 1, 2);
	is_served(0);
	assert_int_equal(sessions_of(0), 1);
	at[0].hangs = true;
	run(12 * S);
	is_served(1);
	assert_int_equal(sessions_of(1), 1);
	run(100 * S); /* all the time */
	is_served(2);
	assert_int_equal(sessions_of(1), 2);
	at[0].hangs = false;
	run(10 * S);
	is_served(3);
	assert_int_equal(sessions_of(0), 2);
	at[2].refuses = true;
	run(10 * S);
	assert_in_range(at[1].calls, 80, 140); /* one a second, and none is left */
	assert_int_equal(before, 0);
	end();
}

/* Servers that come and go, clients that come and go, answers of any kind: no end is forgotten. */
static void nothing_is_left_of_any_of_it(void **state)
{
	struct rng r = rng_seeded("upstreams", 5);

	(void)state;
	for (unsigned round = 0; round < 12; round++) {
		begin(&(struct how){.by_client = round & 1,
				    .names = round % 3 == 2,
				    .probes = round & 4 ? S : 0,
				    .seed = rng_next(&r)});
		for (unsigned i = 0; i < 150; i++) {
			struct node *server = &at[rng_below(&r, SERVERS)];
			struct node *client = &clients[rng_below(&r, CLIENTS)];
			struct end *e = &client->ends[rng_below(&r, ENDS / 2)];

			server->refuses = rng_below(&r, 2);
			server->hangs = rng_below(&r, 4) == 0;
			if (!e->is_used && sessions() < 18)
				connects((unsigned)(client - clients));
			else if (e->is_open && !e->is_closed && !e->tx.owner && rng_below(&r, 2))
				send_octets(e, i, RPC_CALL);
			else if (e->is_used && rng_below(&r, 2))
				end_free(e);
			if (servers_asked(servers) && rng_below(&r, 2))
				answer(rng_below(&r, SERVERS), rng_below(&r, 3) * S);
			if (rng_below(&r, 20) == 0)
				drain_route();
			run(rng_below(&r, 3000) * NSEC_PER_MS);
		}
		end();
	}
}

static void every_allocation_may_fail(void **state)
{
	unsigned served = 0;

	(void)state;
	for (unsigned nth = 1; nth < 60; nth++) {
		struct end *e;

		begin(&(struct how){.names = true, .probes = S});
		e = connects(0);
		mem_fail_at(nth);
		run(S / 10);
		if (servers_asked(servers))
			answer(0, S);
		run(S);
		mem_fail_at(0);
		run(5 * S);
		served += e->is_open;
		assert_true(e->is_open || e->is_closed);
		/* The next client is served in any case. */
		end_free(e);
		e = connects(1);
		run(S / 10);
		if (servers_asked(servers))
			answer(0, S);
		run(2 * S);
		assert_true(e->is_open);
		end();
	}
	assert_in_range(served, 1, 59);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_of_a_client_have_one_server),
		cmocka_unit_test(a_client_refused_by_one_server_gets_the_next),
		cmocka_unit_test(a_rejection_moves_nobody),
		cmocka_unit_test(a_client_moves_with_all_it_has),
		cmocka_unit_test(a_drained_client_goes_to_the_server_chosen_anew),
		cmocka_unit_test(a_client_that_nobody_else_takes_stays),
		cmocka_unit_test(a_name_is_waited_for),
		cmocka_unit_test(a_name_that_nobody_knew_is_waited_for_so_long),
		cmocka_unit_test(a_name_that_is_not_answered_holds_up_its_client_alone),
		cmocka_unit_test(probes_find_a_server_that_hangs),
		cmocka_unit_test(nothing_is_left_of_any_of_it),
		cmocka_unit_test(every_allocation_may_fail),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("upstreams", tests, NULL, NULL);
}
