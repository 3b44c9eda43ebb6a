/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/verbs/world.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"

static uint8_t *slot(const struct end *e, unsigned i)
{
	return e->memory + (size_t)i * WORLD_MESSAGE;
}

static void received(struct end *e, const struct fabric_event *ev)
{
	bool *posted = ev->cookie;

	if (!e->fabric->receives)
		return;
	assert_true(*posted);
	*posted = false;
	e->nposted--;
	e->came_back += !ev->conn;
}

static void note(struct end *e, const struct fabric_event *ev)
{
	switch (ev->type) {
	case FABRIC_EV_REQUEST:
		e->requests++;
		e->conn = ev->conn;
		break;
	case FABRIC_EV_CONNECTED:
		e->connected++;
		break;
	case FABRIC_EV_DISCONNECTED:
		e->ended++;
		e->status = ev->status;
		e->why = ev->why;
		e->ended_conn = ev->conn;
		break;
	case FABRIC_EV_RECV:
		received(e, ev);
		/* fall through */
	default:
		e->done[ev->type]++;
		e->failed += ev->status != 0;
	}
}

static void refill(struct end *e)
{
	uint32_t n = fabric_receives_wanted(e->fabric);

	for (unsigned i = 0; i < WORLD_POOL && n; i++) {
		if (e->posted[i])
			continue;
		assert_int_equal(
			fabric_post_shared(e->fabric, slot(e, 2 * WORLD_DEPTH + i), &e->posted[i]),
			0);
		e->posted[i] = true;
		e->nposted++;
		n--;
	}
}

void world_turn(struct world *w)
{
	struct fabric_event ev;
	nsec_t due = NSEC_NEVER;

	for (int i = 0; i < 2; i++) {
		struct end *e = &w->end[i];

		if (w->shares)
			refill(e);
		fabric_flush(e->fabric);
		while (!e->deaf && fabric_poll(e->fabric, &ev))
			note(e, &ev);
		fabric_tick(e->fabric, poll_loop_now());
		if (!e->deaf)
			due = nsec_min(due, fabric_deadline(e->fabric));
	}
	poll_loop_step(&w->loop, poll_loop_timeout(due, 5));
}

static void start_end(struct world *w, struct end *e, const struct verbs_config *cfg)
{
	const size_t octets = (size_t)WORLD_SLOTS * WORLD_MESSAGE;

	e->fabric = verbs_new(cfg, &w->loop.loop);
	assert_non_null(e->fabric);
	e->memory = mem_zalloc(octets);
	assert_int_equal(fabric_register(e->fabric, e->memory, octets), 0);
	if (w->shares)
		assert_int_equal(fabric_share_receives(e->fabric, WORLD_MESSAGE, e), 0);
}

int world_start(void **state, const struct verbs_config *cfg, bool shares)
{
	struct world *w = mem_zalloc(sizeof(*w));
	struct fabric_addr addr;
	int err;

	w->shares = shares;
	assert_int_equal(poll_loop_init(&w->loop), 0);
	for (int i = 0; i < 2; i++)
		start_end(w, &w->end[i], cfg);
	assert_int_equal(fabric_addr_parse(getenv("VERBS_ADDRESS"), 0, &addr), 0);
	w->listener = verbs_listen(&addr, &err);
	assert_non_null(w->listener);
	assert_int_equal(fabric_attach(w->end[1].fabric, w->listener, NULL), 0);
	*state = w;
	return 0;
}

int world_stop(void **state)
{
	struct world *w = *state;

	fabric_detach(w->end[1].fabric, w->listener);
	for (int i = 0; i < 2; i++) {
		if (w->end[i].conn)
			fabric_destroy(w->end[i].conn);
		if (w->shares)
			fabric_unshare_receives(w->end[i].fabric);
		fabric_free(w->end[i].fabric);
		mem_free(w->end[i].memory);
	}
	verbs_listener_free(w->listener);
	poll_loop_fini(&w->loop);
	mem_free(w);
	assert_int_equal(mem_live(), 0);
	return 0;
}

struct fabric_conn_params world_params(void)
{
	return (struct fabric_conn_params){
		.max_recvs = WORLD_DEPTH, .max_sends = WORLD_DEPTH, .max_exposures = 4};
}

void world_establish(struct world *w, const struct fabric_conn_params *a,
		     const struct fabric_conn_params *b)
{
	struct end *from = &w->end[0], *to = &w->end[1];
	unsigned requests = to->requests, connected = to->connected;
	struct fabric_addr addr;

	verbs_listener_addr(w->listener, &addr);
	assert_int_equal(fabric_connect(from->fabric, &addr, a, NULL, &from->conn), 0);
	UNTIL(w, to->requests == requests + 1);
	assert_int_equal(fabric_prepare(to->conn, b), 0);
	for (unsigned i = 0; i < WORLD_DEPTH && !w->shares; i++)
		assert_int_equal(fabric_post_recv(to->conn, slot(to, i), WORLD_MESSAGE, NULL), 0);
	assert_int_equal(fabric_accept(to->conn, b, NULL), 0);
	UNTIL(w, from->connected == connected + 1 && to->connected == connected + 1);
}

void world_send(struct world *w, struct fabric_conn *c, unsigned n, uint32_t len)
{
	for (unsigned i = 0; i < n; i++) {
		struct fabric_sge sge = {slot(&w->end[0], WORLD_DEPTH + i % WORLD_DEPTH), len};

		assert_int_equal(fabric_send(c, &sge, 1, 0, NULL), 0);
	}
}

bool world_has_device(void)
{
	char why[VERBS_WHY] = "VERBS_ADDRESS is not set to an address of an RDMA device";

	log_set_level(LOG_LEVEL_WARN);
	if (getenv("VERBS_ADDRESS") && verbs_check(why) == 0)
		return true;
	printf("skipped: %s\n", why);
	return false;
}
