/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/session/trip.h"

#include <string.h>

#include "tests/cmocka_all.h"

struct world w;
struct trip_moved moved;

const uint32_t trip_sizes[TRIP_SIZES] = {
	1,    3,     4,	    5,	    1000,   4095,	   4096,     4097,
	8192, 12345, 65536, 131072, 524288, TRIP_BULK - 1, TRIP_BULK};

static void count_moved(void *arg, struct fabric_conn *to, enum fabric_ev_type kind,
			const uint8_t *octets, uint32_t len)
{
	(void)arg;
	(void)to;
	(void)octets;
	if (kind == FABRIC_EV_READ)
		moved.read += len;
	else if (kind == FABRIC_EV_WRITE)
		moved.written += len;
	else if (kind == FABRIC_EV_RECV)
		moved.messages += len;
}

void trip_begin(struct setup *s)
{
	static const struct memnet_watcher watcher = {.moved = count_moved};

	s->net.latency_min = s->net.latency_max = NSEC_PER_MS;
	world_new(&w, s);
	memnet_watch(w.net, &watcher);
	world_connect(&w);
	moved = (struct trip_moved){0};
}

nsec_t trip_call(const struct peer_spec *spec)
{
	struct world_pair *p = &w.pairs[0];
	uint64_t done = p->client.done;
	nsec_t began = memnet_now(w.net);

	assert_true(peer_call(&p->client, spec));
	while (p->client.done == done) {
		world_turn(&w);
		assert_true(memnet_step(w.net, began + NSEC_PER_SEC));
		world_turn(&w);
	}
	began = memnet_now(w.net) - began;
	world_run(&w, NSEC_PER_SEC);
	return began;
}

const uint32_t *trip_words(const uint32_t *words, unsigned n)
{
	enum { CALLS = 8, MOST = 32 };
	static uint32_t kept[CALLS][MOST];
	static unsigned next;
	uint32_t *at = kept[next++ % CALLS];

	assert_true(n <= MOST);
	memcpy(at, words, n * sizeof(*at));
	return at;
}

void trip_load(const struct setup *s, const struct load *load)
{
	world_new(&w, s);
	world_connect(&w);
	assert_true(world_load(&w, load));
	assert_int_equal(w.pairs[0].client.done, load->calls);
	assert_int_equal(w.pairs[0].server.done, load->rcalls);
}

void trip_end(void)
{
	const struct world_pair *p = &w.pairs[0];

	assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
	assert_int_equal(p->client.errors + p->server.errors, 0);
	assert_int_equal(p->client.unexpected + p->server.unexpected, 0);
	world_quit(&w);
	world_free(&w);
}
