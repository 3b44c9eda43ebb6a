/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * On a fabric that cannot tell what was written, memory is blanked before a responder gets it. A
 * turn blanks no more than a worker has time for, however large the chunks of a small call are.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

enum { MOST = 1 << 20, CHUNK = 4 << 20 };

static struct world w;

/* Octets that are blank by now. */
static uint64_t blanked(void)
{
	uint64_t n = 0;

	for (struct list *it = w.proxy->sessions.next; it != &w.proxy->sessions; it = it->next) {
		const struct session *s = container_of(it, struct session, link);

		for (struct list *jt = s->txns.next; jt != &s->txns; jt = jt->next) {
			const struct txn *t = container_of(jt, struct txn, link);

			n += t->reply.blank;
			for (unsigned i = 0; i < t->in.nwrites; i++)
				n += t->writes[i].blank;
		}
	}
	return n;
}

static void start(unsigned cv, unsigned sv)
{
	struct setup s = setup_defaults(cv, sv, 7);

	s.pairs = 2;
	s.net.no_written = true;
	s.memory = s.peer_memory = 128 << 20;
	world_new(&w, &s);
	world_connect(&w);
}

static void call(unsigned pair, uint32_t room)
{
	struct peer_spec spec = {.body = 100,
				 .reply = 104,
				 .segs = 1,
				 .nwrites = 2,
				 .write_caps = {room, room},
				 .writes = {room / 2, 3},
				 .reply_cap = room};

	assert_true(peer_call(&w.pairs[pair].client, &spec));
	peer_turn(&w.pairs[pair].client);
}

static void no_turn_blanks_more_than_it_has_time_for(void **state)
{
	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		uint64_t before = 0, now = 0, most = 0;

		start(1, sv);
		call(0, CHUNK);
		for (unsigned turns = 0; now < 3 * CHUNK && turns < 1000; turns++) {
			(void)memnet_step(w.net, memnet_now(w.net) + NSEC_PER_MS);
			before = now;
			(void)proxy_turn(w.proxy, memnet_now(w.net));
			now = blanked();
			if (now - before > most)
				most = now - before;
		}
		assert_int_equal(now, 3 * CHUNK);
		assert_in_range(most, 1, MOST);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(w.pairs[0].client.done, 1);
		assert_int_equal(w.pairs[0].client.corrupt + w.pairs[0].client.errors, 0);
		world_quit(&w);
		world_free(&w);
	}
}

/* Each gets its share of a turn, and a session may end meanwhile. */
static void others_go_on_meanwhile(void **state)
{
	(void)state;
	start(1, 2);
	call(0, CHUNK);
	call(0, CHUNK);
	call(1, 1000);
	world_run(&w, 2 * NSEC_PER_MS);
	memnet_cut(w.pairs[0].client.leg.conn);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.pairs[1].client.done, 1);
	world_quit(&w);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_turn_blanks_more_than_it_has_time_for),
		cmocka_unit_test(others_go_on_meanwhile),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("blank", tests, NULL, NULL);
}
