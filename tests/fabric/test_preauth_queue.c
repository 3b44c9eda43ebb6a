/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/preauth_queue.h"
#include "tests/rng.h"

static struct fabric_addr addr_of(unsigned host)
{
	struct fabric_addr addr;
	char text[32];

	snprintf(text, sizeof(text), "10.0.%u.%u", host / 256, host % 256);
	assert_int_equal(fabric_addr_parse(text, (uint16_t)(1000 + host), &addr), 0);
	return addr;
}

/* A simple model of the queue of connections in set-up: its entries, in order of
 * arrival. */
enum { MOST = 40, HOSTS = 12, STEPS = 200000 };

struct model {
	struct preauth_queue_member member[MOST];
	unsigned host[MOST], age[MOST];
	bool in[MOST];
	unsigned count, clock;
};

static unsigned host_count(const struct model *m, unsigned host)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MOST; i++)
		n += m->in[i] && m->host[i] == host;
	return n;
}

static unsigned oldest_of(const struct model *m, unsigned host)
{
	unsigned found = MOST;

	for (unsigned i = 0; i < MOST; i++)
		if (m->in[i] && m->host[i] == host && (found == MOST || m->age[i] < m->age[found]))
			found = i;
	return found;
}

/* The first to go is the oldest of a host that no other has more of. */
static void check_first(struct model *m, struct preauth_queue *queue)
{
	struct preauth_queue_member *first = preauth_queue_first(queue);
	unsigned most = 0, i;

	for (unsigned host = 0; host < HOSTS; host++) {
		struct fabric_addr addr = addr_of(host);
		struct preauth_queue_member *own = preauth_queue_first_of(queue, &addr);
		unsigned n = host_count(m, host);

		most = n > most ? n : most;
		assert_ptr_equal(own, n ? &m->member[oldest_of(m, host)] : NULL);
	}
	assert_int_equal(queue->count, m->count);
	if (!most) {
		assert_null(first);
		return;
	}
	i = (unsigned)(first - m->member);
	assert_int_equal(host_count(m, m->host[i]), most);
	assert_int_equal(i, oldest_of(m, m->host[i]));
}

static void members_go_in_the_order_of_the_model(void **state)
{
	struct rng rng = rng_seeded("preauth_queue", 7);
	struct model m = {.count = 0};
	struct preauth_queue queue;

	(void)state;
	assert_int_equal(preauth_queue_init(&queue, MOST, rng_next(&rng)), 0);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = rng_below(&rng, MOST), host = rng_below(&rng, HOSTS);
		struct fabric_addr addr = addr_of(host < 8 ? 0 : host);

		if (m.in[i]) {
			preauth_queue_leave(&queue, &m.member[i]);
			preauth_queue_leave(&queue, &m.member[i]); /* once is enough */
		} else {
			preauth_queue_enter(&queue, &m.member[i], &addr);
			m.host[i] = host < 8 ? 0 : host;
			m.age[i] = m.clock++;
		}
		m.count += m.in[i] ? -1u : 1u;
		m.in[i] = !m.in[i];
		assert_int_equal(preauth_queue_is_full(&queue), m.count == MOST);
		if (step % 16 == 0)
			check_first(&m, &queue);
	}
	preauth_queue_fini(&queue);
	assert_int_equal(mem_live(), 0);
}

/* However many come from one host, the one of another stays: even if it was there before all. */
static void a_host_with_many_displaces_its_own(void **state)
{
	enum { N = 64 };
	struct preauth_queue_member quiet = {.host = NULL}, many[N] = {{.host = NULL}};
	struct fabric_addr one = addr_of(1), two = addr_of(2);
	struct preauth_queue queue;

	(void)state;
	assert_int_equal(preauth_queue_init(&queue, N, 1), 0);
	preauth_queue_enter(&queue, &quiet, &one);
	for (unsigned i = 0; i < 100000; i++) {
		struct preauth_queue_member *m = &many[i % N];

		if (preauth_queue_is_full(&queue)) {
			assert_ptr_not_equal(preauth_queue_first(&queue), &quiet);
			m = preauth_queue_first(&queue);
			preauth_queue_leave(&queue, m);
		}
		preauth_queue_enter(&queue, m, &two);
	}
	assert_non_null(quiet.host);
	preauth_queue_fini(&queue);
}

/* If each host has one member, the oldest member goes first. */
static void among_equals_the_oldest_goes(void **state)
{
	enum { N = 32 };
	struct preauth_queue_member m[N] = {{.host = NULL}};
	struct preauth_queue queue;

	(void)state;
	assert_int_equal(preauth_queue_init(&queue, N, 1), 0);
	for (unsigned i = 0; i < 10000; i++) {
		struct fabric_addr addr = addr_of(i);

		if (preauth_queue_is_full(&queue)) {
			assert_ptr_equal(preauth_queue_first(&queue), &m[i % N]);
			preauth_queue_leave(&queue, &m[i % N]);
		}
		preauth_queue_enter(&queue, &m[i % N], &addr);
	}
	preauth_queue_fini(&queue);
}

static void memory_may_be_short(void **state)
{
	struct preauth_queue queue;
	unsigned nth = 0;
	int err;

	(void)state;
	do {
		mem_fail_at(++nth);
		err = preauth_queue_init(&queue, 8, 1);
		mem_fail_at(0);
		preauth_queue_fini(&queue);
	} while (err);
	assert_int_equal(nth, 4);
	assert_int_equal(mem_live(), 0);
}

struct entry {
	struct host host;
	unsigned note;
};

/* The record of a host is kept until its entry is needed; the entry unused for longest goes
 * first. */
static void hosts_are_remembered_as_long_as_may_be(void **state)
{
	struct fabric_addr addr[4] = {addr_of(0), addr_of(1), addr_of(2), addr_of(3)};
	struct entry *e[4];
	struct host_table hosts;

	(void)state;
	assert_int_equal(host_table_init(&hosts, 3, sizeof(struct entry), 5), 0);
	for (unsigned i = 0; i < 3; i++) {
		e[i] = (struct entry *)host_table_get(&hosts, &addr[i]);
		e[i]->note = 10 + i;
	}
	assert_null(host_table_get(&hosts, &addr[3]));
	assert_ptr_equal(host_table_get(&hosts, &addr[1]), e[1]);
	assert_int_equal(e[1]->host.uses, 2);
	host_table_put(&hosts, &e[1]->host);
	host_table_put(&hosts, &e[1]->host);
	host_table_put(&hosts, &e[0]->host);
	e[3] = (struct entry *)host_table_get(&hosts, &addr[3]);
	assert_ptr_equal(e[3], e[1]);
	assert_int_equal(e[3]->note, 0);
	assert_null(host_table_find(&hosts, &addr[1]));
	e[0] = (struct entry *)host_table_get(&hosts, &addr[0]);
	assert_int_equal(e[0]->note, 10);
	host_table_fini(&hosts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_go_in_the_order_of_the_model),
		cmocka_unit_test(a_host_with_many_displaces_its_own),
		cmocka_unit_test(among_equals_the_oldest_goes),
		cmocka_unit_test(memory_may_be_short),
		cmocka_unit_test(hosts_are_remembered_as_long_as_may_be),
	};

	return cmocka_run_group_tests_name("preauth_queue", tests, NULL, NULL);
}
