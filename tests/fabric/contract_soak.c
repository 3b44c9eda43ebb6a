/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

/*
 * A random request-and-answer protocol that uses the fabric as a session does. Each request exposes
 * a source and a sink. The answerer reads the source, writes it to the sink, and sends an answer
 * that may invalidate one of the handles. An answer may arrive before the request's own Send
 * completes, so memory is used again only when all operations on it have completed.
 */
enum { SLOTS = 8, PIECE = 65536, ROUNDS = 600 };

struct request {
	uint32_t slot, len;
	uint64_t key;
	struct segment source, sink;
};

struct soak {
	struct contract *t;
	struct pair *p;
	struct rng rng;
	bool busy[SLOTS];
	struct request sent[SLOTS];
	int recv_a[SLOTS], recv_b[SLOTS], read_b[SLOTS];
	int send_a[SLOTS], send_b[SLOTS], write_b[SLOTS];
	struct request got[SLOTS]; /* at the answerer, by slot */
	bool reading[SLOTS], answered;
	unsigned next_a, next_b, finished;
};

/* Where things lie in each side's memory. */
static size_t source_at(uint32_t slot)
{
	return (size_t)slot * PIECE;
}

static size_t sink_at(uint32_t slot)
{
	return (size_t)(SLOTS + slot) * PIECE;
}

static size_t recv_at(uint32_t slot)
{
	return (size_t)2 * SLOTS * PIECE + slot * 1024;
}

static size_t send_at(uint32_t slot)
{
	return (size_t)2 * SLOTS * PIECE + (SLOTS + slot) * 1024;
}

static void ask(struct soak *k, uint32_t slot)
{
	struct side *a = &k->p->a;
	struct request *q = &k->sent[slot];

	*q = (struct request){.slot = slot, .len = 1 + rng_below(&k->rng, PIECE)};
	q->key = rng_next(&k->rng);
	fill(a, source_at(slot), q->len, q->key);
	memset(a->mem + sink_at(slot), 0, PIECE);
	q->source = do_expose(a, source_at(slot), q->len, FABRIC_REMOTE_READ);
	q->sink = do_expose(a, sink_at(slot), q->len, FABRIC_REMOTE_WRITE);
	memcpy(a->mem + send_at(slot), q, sizeof(*q));
	k->send_a[slot] = do_send(a, send_at(slot), sizeof(*q));
	assert_true(k->send_a[slot] >= 0);
	k->busy[slot] = true;
}

/* Op @n was never posted, or its completion was seen. */
static bool came_back(const struct side *s, int n)
{
	return n < 0 || s->ops[n].done;
}

/* Requests that arrived are read, in the order of their Receives. */
static void take_requests(struct soak *k)
{
	struct side *b = &k->p->b;

	for (;;) {
		uint32_t i = k->next_b % SLOTS;
		struct request q;

		if (!b->ops[k->recv_b[i]].done)
			return;
		assert_int_equal(b->ops[k->recv_b[i]].len, sizeof(q));
		memcpy(&q, b->mem + recv_at(i), sizeof(q));
		if (!came_back(b, k->write_b[q.slot]) || !came_back(b, k->send_b[q.slot]))
			return;
		k->got[q.slot] = q;
		k->read_b[q.slot] = do_read(b, source_at(q.slot), &q.source);
		assert_true(k->read_b[q.slot] >= 0);
		k->reading[q.slot] = true;
		k->recv_b[i] = do_recv(b, recv_at(i), 1024);
		k->next_b++;
	}
}

static void answer(struct soak *k)
{
	struct side *b = &k->p->b;

	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		struct request *q = &k->got[slot];
		uint32_t inv[] = {0, q->source.handle, q->sink.handle};

		if (!k->reading[slot] || !b->ops[k->read_b[slot]].done)
			continue;
		assert_int_equal(b->ops[k->read_b[slot]].status, 0);
		check(b, source_at(slot), q->len, q->key);
		k->write_b[slot] = do_write(b, source_at(slot), q->len, &q->sink);
		memcpy(b->mem + send_at(slot), q, sizeof(*q));
		k->send_b[slot] =
			do_send_inv(b, send_at(slot), sizeof(*q), inv[rng_below(&k->rng, 3)]);
		assert_true(k->write_b[slot] >= 0 && k->send_b[slot] >= 0);
		k->reading[slot] = false;
	}
}

static void take_answers(struct soak *k)
{
	struct side *a = &k->p->a;

	for (;;) {
		uint32_t i = k->next_a % SLOTS;
		struct request q;

		if (!a->ops[k->recv_a[i]].done)
			return;
		memcpy(&q, a->mem + recv_at(i), sizeof(q));
		if (!came_back(a, k->send_a[q.slot]))
			return;
		assert_memory_equal(&q, &k->sent[q.slot], sizeof(q));
		fence(a, q.source.handle);
		fence(a, q.sink.handle);
		check(a, sink_at(q.slot), q.len, q.key);
		k->busy[q.slot] = false;
		k->finished++;
		k->recv_a[i] = do_recv(a, recv_at(i), 1024);
		k->next_a++;
	}
}

static void requests_and_answers(void **state)
{
	static struct soak k;
	struct contract *t = *state;
	unsigned asked = 0;

	memset(&k, 0, sizeof(k));
	k.t = t;
	k.p = establish(t, 0);
	k.rng = rng_seeded("soak", 42);
	for (uint32_t i = 0; i < SLOTS; i++) {
		k.recv_a[i] = do_recv(&k.p->a, recv_at(i), 1024);
		k.recv_b[i] = do_recv(&k.p->b, recv_at(i), 1024);
		k.send_a[i] = k.send_b[i] = k.write_b[i] = -1;
	}
	while (k.finished < ROUNDS) {
		uint32_t slot = rng_below(&k.rng, SLOTS);

		if (!k.busy[slot] && asked < ROUNDS) {
			ask(&k, slot);
			asked++;
		}
		pump(t);
		take_requests(&k);
		answer(&k);
		take_answers(&k);
		pump(t);
		t->provider->step(t);
		assert_false(k.p->a.disconnected);
		assert_false(k.p->b.disconnected);
	}
	settle(t);
	assert_int_equal(k.p->a.conn->handles_live, 0);
	fabric_disconnect(k.p->a.conn);
	both_end(t, k.p);
	assert_int_equal(k.p->a.status, 0);
}

int contract_run_soak(void)
{
	const struct CMUnitTest tests[] = {
		contract_test(requests_and_answers),
	};
	return cmocka_run_group_tests_name("soak", tests, NULL, NULL);
}
