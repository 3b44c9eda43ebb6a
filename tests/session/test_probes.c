/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers that are asked whether they serve, and make something else of it. */
#include "tests/cmocka_all.h"

#include "tests/session/inside.h"
#include "tests/session/world.h"
#include "v2/header.h"

enum { PROMISE = 1 << 20, WORD = 4 };
#define S NSEC_PER_SEC

static struct world w;
static enum v2_htype
	begun_as; /* with what the server answers: the first part of so long a message */
static unsigned probes;

/* A server of version 2. */
static void on_message(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data), type = xdr_peek_u32(in.data + 3 * WORD);
	bool is_call = begun_as == V2_CALL_MIDDLE;

	(void)arg;
	if (type == V2_CONNPROP_FINAL)
		raw_words(r, RAW_V2_PROPS(0x55, 20));
	if (type != V2_CALL_INLINE)
		return;
	probes++;
	raw_words(r, xid, 2, 20, begun_as, PROMISE - 3 * WORD, xid, !is_call, is_call ? 2 : 0);
}

/* What is asked for takes a word to answer: a promise of more takes nothing, of what others' long messages need. */
static void a_promise_takes_no_memory(void **state)
{
	static const enum v2_htype each[] = {V2_REPLY_MIDDLE, V2_CALL_MIDDLE};

	(void)state;
	for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct setup s = setup_defaults(LEG_V1, LEG_V1_OR_V2, 17);

		s.memory = s.peer_memory = 64 << 20;
		s.raw = true;
		s.probes = S;
		begun_as = each[i];
		probes = 0;
		world_new(&w, &s);
		w.raw.on_message = on_message;
		for (unsigned k = 0; k < 40; k++) {
			world_run(&w, S / 4);
			assert_true(world_used(&w) < PROMISE);
		}
		assert_true(probes >= 1);
		probes_end(w.proxy->routes[0]);
		world_quit(&w);
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_promise_takes_no_memory),
	};

	return cmocka_run_group_tests_name("probes", tests, NULL, NULL);
}
