/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which session gets memory, and when: routes and sessions in virtual time, without a relay.
 */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/mem.h"
#include "proxy/memory/quota.h"
#include "tests/rng.h"

#define MIB ((size_t)1024 * 1024)

/* Far more is asked for than there is: a request may have to wait for many others. */
#define BOUND (60 * NSEC_PER_SEC)

enum { ROUTES = 4, MEMBERS = 400, FEW = 40 };

/** struct user - a session's queue: it wants, waits, holds, gives back, or does not. */
struct user {
	struct quota_member m;
	void *block;
	size_t wants; /* 0: nothing at present */
	nsec_t asked; /* when */
	nsec_t until; /* holds it until then, or wants more then */
	bool hung;    /* gives nothing back */
	nsec_t worst; /* longest wait */
	unsigned served;
};

static struct scene {
	struct buf_arena arena;
	struct quota quota;
	struct quota_group groups[ROUTES];
	struct user users[ROUTES][MEMBERS];
	unsigned nusers; /* of each route */
	enum buf_purpose purpose;
} s;

static void scene_new(size_t bytes, enum buf_purpose purpose, unsigned nusers)
{
	memset(&s, 0, sizeof(s));
	s.purpose = purpose;
	s.nusers = nusers;
	assert_int_equal(buf_arena_init(&s.arena, bytes), 0);
	assert_int_equal(buf_arena_part(&s.arena, (bytes - s.arena.reserve) / 2, ROUTES), 0);
	quota_init(&s.quota, &s.arena);
	for (unsigned r = 0; r < ROUTES; r++) {
		quota_group_init(&s.groups[r], &s.quota, purpose, r);
		for (unsigned i = 0; i < nusers; i++)
			quota_member_init(&s.users[r][i].m, &s.groups[r]);
	}
}

static void scene_free(void)
{
	for (unsigned r = 0; r < ROUTES; r++)
		for (unsigned i = 0; i < s.nusers; i++) {
			quota_unwait(&s.users[r][i].m);
			quota_give(&s.users[r][i].m, s.users[r][i].block);
			assert_int_equal(s.users[r][i].m.used, 0);
		}
	for (unsigned r = 0; r < ROUTES; r++) {
		assert_int_equal(s.groups[r].used + s.groups[r].common, 0);
		assert_int_equal(s.groups[r].nwaiting, 0);
	}
	buf_arena_fini(&s.arena);
	assert_int_equal(mem_live(), 0);
}

/* As a relay's session does. Return: whether it got it. */
static bool try_to_take(struct user *u)
{
	if (quota_may_take(&u->m, buf_round(u->wants)))
		u->block = quota_take(&u->m, u->wants);
	if (!u->block) {
		quota_wait(&u->m, buf_round(u->wants));
		return false;
	}
	quota_served(&u->m);
	if (s.quota.now - u->asked > u->worst)
		u->worst = s.quota.now - u->asked;
	u->wants = 0;
	u->served++;
	return true;
}

static void ask(struct user *u, size_t bytes)
{
	u->wants = bytes;
	u->asked = s.quota.now;
	(void)try_to_take(u);
}

static void give_back(struct user *u)
{
	quota_give(&u->m, u->block);
	u->block = NULL;
}

/* One turn. */
static void serve(struct rng *r)
{
	struct quota_member *m;

	quota_turn(&s.quota, s.quota.now);
	while ((m = quota_next(&s.quota, s.purpose))) {
		struct user *u = container_of(m, struct user, m);

		if (try_to_take(u))
			u->until = s.quota.now + rng_below(r, 50) * NSEC_PER_MS;
	}
}

static size_t own_bytes(unsigned route)
{
	return s.groups[route].own == BUF_NO_ZONE ? 0
						  : buf_zone_bytes(&s.arena, s.groups[route].own);
}

/* Many sessions of one route take all they can and return nothing. On other routes each request up
 * to the route's own memory is served at once; on the same route a small one is. */
static void a_hung_route_leaves_others_theirs(void **state)
{
	(void)state;
	for (unsigned hung = 1; hung < ROUTES; hung++) {
		struct user *small = &s.users[ROUTES - 1][0];

		scene_new(256 * MIB, BUF_TRANSACTION, FEW);
		for (unsigned r = 0; r < hung; r++)
			for (unsigned n = 0; n < 400; n++) {
				struct user *u = &s.users[r][n % FEW];

				if (quota_may_take(&u->m, MIB) &&
				    (u->block = quota_take(&u->m, MIB)))
					u->block = NULL; /* never given back: see the end */
			}
		assert_true(s.groups[0].used > own_bytes(0));
		assert_true(own_bytes(ROUTES - 1) >= 4 * MIB);
		for (size_t size = 4096; size <= own_bytes(ROUTES - 1) && size <= BUF_MAX_BLOCK;
		     size *= 2) {
			ask(small, size);
			assert_non_null(small->block);
			give_back(small);
		}
		assert_true(buf_zone_free(&s.arena, BUF_ZONE_ORDINARY) > 0);
		print_message("%u hung: %zu MiB, %zu of it common; free in common %zu\n", hung,
			      s.groups[0].used / MIB, s.groups[0].common / MIB,
			      buf_zone_free(&s.arena, BUF_ZONE_ORDINARY));
		/* Blocks are returned in order of address. */
		for (unsigned zone = 0; zone < s.arena.nzones; zone++)
			for (size_t at = s.arena.zones[zone].begin; at < s.arena.zones[zone].end;
			     at += BUF_MIN_BLOCK)
				if (s.arena.orders[at / BUF_MIN_BLOCK] & 0x80)
					buf_free(&s.arena, s.arena.base + at);
		buf_arena_fini(&s.arena);
	}
}

/* The head of a line does not hold up those behind it. */
static void a_larger_wish_is_passed_by(void **state)
{
	struct user *first = &s.users[0][0], *large = &s.users[0][1], *little = &s.users[0][2];

	(void)state;
	scene_new(32 * MIB, BUF_TRANSACTION, 4);
	ask(first, 2 * MIB);
	assert_non_null(first->block);
	ask(large, 4 * MIB);
	assert_null(large->block);
	ask(little, 4096);
	assert_non_null(little->block);
	give_back(little);
	assert_null(large->block);
	give_back(first);
	assert_ptr_equal(quota_next(&s.quota, s.purpose), &large->m);
	assert_true(try_to_take(large));
	give_back(large);
	scene_free();
}

/* A route's claim fails and no memory comes back. A waiter that was passed over because of the claim, although there
 * was room for it, is tried as soon as the claim ends, wherever its route stands in line. */
static void a_passed_over_waiter_is_tried(bool before)
{
	struct user *hog = s.users[1], *modest = &s.users[0][0];
	struct rng r = {13};
	size_t third;

	scene_new(256 * MIB, BUF_TXN_REVERSE, 4);
	third = buf_zone_free(&s.arena, BUF_ZONE_TXN_REVERSE) / 3;
	while (buf_round(third) > third)
		third--;
	ask(&hog[0], third);
	ask(&hog[1], 4096);
	assert_non_null(hog[0].block);
	assert_non_null(hog[1].block);
	ask(&hog[2], 4 * third);
	s.quota.now += QUOTA_CLAIM_WAIT;
	give_back(&hog[1]);
	serve(&r);
	assert_ptr_equal(s.quota.pools[BUF_TXN_REVERSE].claimer, &s.groups[1]);
	s.quota.now += QUOTA_CLAIM * 3 / 4;
	ask(modest, 4096);
	assert_null(modest->block);
	if (before) { /* as after a turn of the other's */
		list_del(&s.groups[1].link);
		list_add_tail(&s.quota.pools[BUF_TXN_REVERSE].groups, &s.groups[1].link);
	}
	s.quota.now = quota_deadline(&s.quota);
	assert_int_equal(s.quota.now, QUOTA_CLAIM_WAIT + QUOTA_CLAIM);
	serve(&r);
	assert_non_null(modest->block);
	scene_free();
}

static void a_waiter_passed_over_for_a_claim_is_tried(void **state)
{
	(void)state;
	a_passed_over_waiter_is_tried(false);
	a_passed_over_waiter_is_tried(true);
}

/* Nobody is looked at while nothing comes back, and each once when something does; in one turn a
 * bounded number, however many wait. */
static void waiting_members_cost_nothing(void **state)
{
	struct rng r = {11};
	struct user *u = s.users[1];
	uint64_t before;

	(void)state;
	scene_new(32 * MIB, BUF_TRANSACTION, MEMBERS);
	ask(&u[0], 4 * MIB);
	ask(&u[1], 16384);
	for (unsigned i = 2; i < MEMBERS; i++)
		ask(&u[i], 4 * MIB);
	assert_non_null(u[0].block);
	assert_non_null(u[1].block);
	assert_int_equal(s.groups[1].nwaiting, MEMBERS - 2);
	before = s.quota.looked;
	for (unsigned i = 0; i < 1000; i++, s.quota.now += 1000)
		serve(&r);
	assert_int_equal(s.quota.looked, before);
	/* Too little for any of them is not worth a look. */
	give_back(&u[1]);
	serve(&r);
	assert_int_equal(s.quota.looked, before);
	give_back(&u[0]);
	serve(&r);
	assert_true(s.quota.looked - before <= QUOTA_LOOKS);
	assert_int_equal(s.groups[1].nwaiting, MEMBERS - 3);
	for (unsigned i = 0; i < 100; i++)
		serve(&r);
	assert_true(s.quota.looked - before <= MEMBERS);
	for (unsigned i = 0; i < MEMBERS; i++)
		if (u[i].block)
			give_back(&u[i]);
	scene_free();
}

/* Sizes that peers ask for: small, any up to @largest, or the largest. */
static size_t random_size(struct rng *r, size_t largest)
{
	size_t size = (size_t)1 << (12 + rng_below(r, 13));

	if (rng_below(r, 8) == 0)
		size = largest;
	return size < largest ? size : largest;
}

/* Put the user in the queue, as after a failed attempt. */
static void stand_in_line(struct user *u, size_t bytes)
{
	u->wants = bytes;
	u->asked = s.quota.now;
	quota_wait(&u->m, bytes);
}

/* As if memory had come back: the members that wait there are to be tried. */
static void stir(const struct quota_member *m)
{
	assert_int_not_equal(m->group->own, BUF_NO_ZONE);
	s.arena.zones[m->group->own].frees++;
}

/* Attempts that fail, for want of blocks, use up the looks of what they are for, and no others. */
static void a_line_uses_up_its_own_looks(void **state)
{
	struct quota_group other;
	struct quota_member m, *next;
	unsigned tried = 0;

	(void)state;
	scene_new(256 * MIB, BUF_TRANSACTION, FEW);
	quota_group_init(&other, &s.quota, BUF_TXN_FORWARD, 2);
	quota_member_init(&m, &other);
	for (unsigned i = 0; i < FEW; i++)
		stand_in_line(&s.users[1][i], 16384);
	quota_wait(&m, 8192);
	stir(&s.users[1][0].m);
	stir(&m);
	quota_turn(&s.quota, s.quota.now);
	while ((next = quota_next(&s.quota, BUF_TRANSACTION))) {
		quota_wait(next, 16384);
		tried++;
	}
	assert_true(tried > 0 && tried < FEW);
	assert_true(quota_is_over_budget(&s.quota));
	assert_ptr_equal(quota_next(&s.quota, BUF_TXN_FORWARD), &m);
	quota_unwait(&m);
	quota_group_fini(&other);
	scene_free();
}

/* One that holds all it may, and @n in line behind it for what there is not. A small wish of its own is the last: nobody
 * would look at large ones alone. */
static struct hoarder {
	struct user *u;
	void *held[64];
	unsigned n;
} hoarder;

static void long_line(unsigned n)
{
	struct user *u = hoarder.u = &s.users[1][0];

	scene_new(128 * MIB, BUF_TRANSACTION, MEMBERS);
	for (hoarder.n = 0; quota_may_take(&u->m, MIB); hoarder.n++)
		if (!(hoarder.held[hoarder.n] = quota_take(&u->m, MIB)))
			break;
	for (unsigned i = 1; i < n; i++)
		stand_in_line(&s.users[1][i], 16 * MIB);
	stand_in_line(u, 4096);
}

static void long_line_ends(void)
{
	while (hoarder.n > 0)
		quota_give(&hoarder.u->m, hoarder.held[--hoarder.n]);
	scene_free();
}

/* Waiters of other routes are served, although a long queue is scanned again and again, or has as
 * many entries as a turn scans. */
static void a_long_line_does_not_hide_others(void **state)
{
	const unsigned lengths[] = {MEMBERS, QUOTA_LOOKS};
	struct user *small = &s.users[2][0];
	struct rng r = {13};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		long_line(lengths[i]);
		stand_in_line(small, 8192);
		for (unsigned turn = 0; turn < 4; turn++, s.quota.now += 1000) {
			stir(&hoarder.u->m);
			stir(&small->m);
			serve(&r);
		}
		assert_int_equal(small->served, 1);
		long_line_ends();
	}
}

/* A waiter that arrives while others are still to be tried is tried after all of them, even if no
 * memory comes back. */
static void a_waiter_behind_others_is_tried(void **state)
{
	struct user *late = &s.users[1][MEMBERS - 1];
	struct rng r = {17};

	(void)state;
	long_line(2 * QUOTA_LOOKS);
	stir(&hoarder.u->m);
	serve(&r);
	assert_true(s.groups[1].untried > 0);
	ask(late, 4096);
	assert_null(late->block);
	for (unsigned turn = 0; turn < 5; turn++)
		serve(&r);
	assert_int_equal(late->served, 1);
	give_back(late);
	long_line_ends();
}

/* A session that claims common memory, and gets it, leaves it to others for as long before its next
 * claim. */
static void claims_take_turns_with_others(void **state)
{
	enum { CLAIMED_MS = 400 };
	const struct quota_pool *pool = &s.quota.pools[BUF_TRANSACTION];
	struct user *first = &s.users[1][0], *second = &s.users[1][1];
	struct rng r = {17};
	size_t wish;

	(void)state;
	scene_new(256 * MIB, BUF_TRANSACTION, FEW);
	wish = own_bytes(1) + MIB;
	wish = wish < BUF_MAX_BLOCK ? BUF_MAX_BLOCK : wish;
	for (unsigned i = 2; i < FEW; i++) {
		ask(&s.users[0][i], 8 * MIB);
		ask(&s.users[1][i], 4 * MIB);
		quota_unwait(&s.users[0][i].m);
		quota_unwait(&s.users[1][i].m);
	}
	ask(first, wish);
	ask(second, wish);
	assert_null(first->block);
	s.quota.now += 2 * QUOTA_CLAIM_WAIT;
	stir(&first->m);
	serve(&r);
	assert_ptr_equal(pool->claimer, &s.groups[1]);
	s.quota.now += CLAIMED_MS * NSEC_PER_MS;
	quota_served(&first->m); /* as if it had got it */
	assert_null(pool->claimer);
	s.quota.now += CLAIMED_MS * NSEC_PER_MS / 2;
	stir(&second->m);
	serve(&r);
	assert_null(pool->claimer);
	s.quota.now += CLAIMED_MS * NSEC_PER_MS;
	stir(&second->m);
	serve(&r);
	assert_ptr_equal(pool->claimer, &s.groups[1]);
	scene_free();
}

static void user_step(struct user *u, struct rng *r, size_t largest)
{
	nsec_t now = s.quota.now;

	if (u->wants > 0 || now < u->until || (u->hung && u->block))
		return;
	if (u->block) {
		give_back(u);
		u->until = now + rng_below(r, 20) * NSEC_PER_MS;
		return;
	}
	ask(u, random_size(r, largest));
	u->until = now + rng_below(r, 50) * NSEC_PER_MS;
}

static nsec_t run(struct rng *r, const size_t *largest, unsigned seconds)
{
	nsec_t end = s.quota.now + seconds * NSEC_PER_SEC, worst = 0;

	for (; s.quota.now < end; s.quota.now += NSEC_PER_MS) {
		serve(r);
		for (unsigned route = 0; route < ROUTES; route++)
			for (unsigned i = 0; i < s.nusers; i++)
				user_step(&s.users[route][i], r, largest[route]);
	}
	for (unsigned route = 0; route < ROUTES; route++)
		for (unsigned i = 0; i < s.nusers; i++) {
			const struct user *u = &s.users[route][i];

			if (u->hung)
				continue;
			worst = u->worst > worst ? u->worst : worst;
			assert_true(u->wants == 0 || s.quota.now - u->asked < BOUND);
			assert_true(u->served > 0);
		}
	return worst;
}

/*
 * A session that gives back what it takes gets each request within a bound. The number of
 * sessions, the sizes and the hold times are random. Hung sessions take and never give back: all
 * of one route, or one of each route.
 * - Without hung sessions, a request is at most the largest that an RPC may have.
 * - Beside a hung route, it is at most what its own route has of its own.
 * - Beside a hung session of the same route, it is at most a quarter of that.
 */
static void everybody_is_served(void **state)
{
	struct rng r = rng_seeded("served", 4);

	(void)state;
	for (unsigned round = 0; round < 12; round++) {
		size_t largest[ROUTES];
		nsec_t worst;

		scene_new(round % 2 ? 256 * MIB : 128 * MIB, BUF_TRANSACTION,
			  4 + rng_below(&r, FEW - 4));
		for (unsigned route = 0; route < ROUTES; route++) {
			largest[route] = (s.arena.bytes - s.arena.reserve) / 4;
			if (largest[route] > BUF_MAX_BLOCK)
				largest[route] = BUF_MAX_BLOCK;
			for (unsigned i = 0; i < s.nusers; i++)
				s.users[route][i].hung = round % 3 == 1	  ? route == 0
							 : round % 3 == 2 ? i == 0
									  : false;
			if (round % 3 == 1)
				largest[route] = route ? own_bytes(route) : largest[route];
			else if (round % 3 == 2)
				largest[route] = own_bytes(route) / 4;
		}
		worst = run(&r, largest, 150);
		print_message("%zu MiB, %u sessions a route, hung: %s; longest wait %u ms\n",
			      s.arena.bytes / MIB, s.nusers,
			      round % 3 == 0   ? "none"
			      : round % 3 == 1 ? "a route"
					       : "one of each route",
			      (unsigned)(worst / NSEC_PER_MS));
		assert_true(worst < BOUND);
		scene_free();
	}
}

static uint64_t all_frees(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < s.arena.nzones; i++)
		n += s.arena.zones[i].frees;
	return n;
}

/* Two blocks are wanted, one is there, and goes back: nothing came back by that, for nobody. A relay
 * that took it for memory come free tried the same again in each turn, for ever. */
static void an_attempt_that_fails_calls_nobody(void **state)
{
	struct user *u = &s.users[0][1];
	uint64_t before;
	void *first;

	(void)state;
	scene_new(32 * MIB, BUF_TRANSACTION, 4);
	before = all_frees();
	assert_true(quota_may_take(&u->m, 2 * MIB));
	first = quota_take(&u->m, 4096);
	assert_non_null(first);
	quota_undo(&u->m, first);
	assert_int_equal(all_frees(), before);
	assert_int_equal(s.arena.used, 0);
	scene_free();
}

/* Sessions of one client, or calls to one server: they take blocks of @bytes until they get no more, and give none back. */
struct greedy {
	struct quota_member m[12];
	void *blocks[12][512];
	unsigned n[12];
};

static size_t take_all(struct greedy *g, unsigned members, size_t bytes)
{
	size_t taken = 0;

	for (unsigned i = 0; i < members; i++)
		while (g->n[i] < 512 && quota_may_take(&g->m[i], bytes) &&
		       (g->blocks[i][g->n[i]] = quota_take(&g->m[i], bytes))) {
			g->n[i]++;
			taken += bytes;
		}
	return taken;
}

/* The sessions have taken and returned as much as their route can have. */
static void turn_over(struct greedy *g, unsigned members)
{
	for (size_t bytes = 0; bytes < 2 * s.groups[1].all / members; bytes += MIB)
		for (unsigned i = 0; i < members; i++) {
			void *block;

			assert_true(quota_may_take(&g->m[i], MIB));
			block = quota_take(&g->m[i], MIB);
			assert_non_null(block);
			quota_give(&g->m[i], block);
		}
}

static void give_all(struct greedy *g, unsigned members)
{
	for (unsigned i = 0; i < members; i++)
		while (g->n[i] > 0)
			quota_give(&g->m[i], g->blocks[i][--g->n[i]]);
}

/* @g: members of the second route, for @client and @server. */
static void greedy_init(struct greedy *g, unsigned members, struct quota_account *client,
			struct quota_account *server)
{
	memset(g, 0, sizeof(*g));
	for (unsigned i = 0; i < members; i++) {
		quota_member_init(&g->m[i], &s.groups[1]);
		quota_count_for(&g->m[i], client, server);
	}
}

static size_t free_of_route(void)
{
	return buf_zone_free(&s.arena, s.groups[1].own) + s.groups[1].all -
	       buf_zone_bytes(&s.arena, s.groups[1].own) - s.groups[1].common;
}

/* Any number of connections of one client leaves half, less a little for each; what they hold is not taken from another client. */
static void a_client_leaves_half_to_others(void **state)
{
	static struct greedy one, other;
	struct quota_account a = {0}, b = {0};

	(void)state;
	scene_new(256 * MIB, BUF_TRANSACTION, 1);
	greedy_init(&one, 12, &a, NULL);
	greedy_init(&other, 1, &b, NULL);
	turn_over(&one, 12);
	turn_over(&other, 1);
	(void)take_all(&one, 12, MIB);
	assert_true(a.used <= s.groups[1].all / 2 + 12 * s.groups[1].little);
	assert_true(a.used <= s.groups[1].all / 4 * 3);
	assert_int_equal(a.holders, 12);
	assert_true(take_all(&other, 1, MIB) >= s.groups[1].all / 16);
	give_all(&one, 12);
	give_all(&other, 1);
	assert_int_equal(a.used + a.holders + b.used + b.holders + s.groups[1].holders, 0);
	scene_free();
}

/* A client's sessions share its part: the first leaves the second as much as it has itself. */
static void sessions_of_a_client_share_its_part(void **state)
{
	static struct greedy g;
	struct quota_account a = {0};

	(void)state;
	scene_new(256 * MIB, BUF_TRANSACTION, 1);
	greedy_init(&g, 2, &a, NULL);
	turn_over(&g, 2);
	while (take_all(&g, 2, MIB) > 0)
		;
	give_all(&g, 1);
	while (take_all(&g, 2, MIB) > 0)
		;
	assert_true(g.n[0] + 2 >= g.n[1] && g.n[1] + 2 >= g.n[0]);
	give_all(&g, 2);
	scene_free();
}

/* Calls to a server that hangs leave a quarter to those to the other. */
static void a_server_leaves_a_quarter_to_others(void **state)
{
	static struct greedy clients[12], other;
	struct quota_account accounts[12] = {0}, last = {0}, hung = {0}, live = {0};

	(void)state;
	scene_new(256 * MIB, BUF_TRANSACTION, 1);
	for (unsigned i = 0; i < 12; i++) {
		greedy_init(&clients[i], 1, &accounts[i], &hung);
		turn_over(&clients[i], 1);
	}
	for (unsigned i = 0; i < 12; i++)
		(void)take_all(&clients[i], 1, MIB);
	assert_true(hung.used > s.groups[1].all / 2 && hung.used <= s.groups[1].all / 4 * 3);
	greedy_init(&other, 1, &last, &live);
	turn_over(&other, 1);
	assert_true(take_all(&other, 1, MIB) >= s.groups[1].all / 16);
	for (unsigned i = 0; i < 12; i++)
		give_all(&clients[i], 1);
	give_all(&other, 1);
	scene_free();
}

/* Many clients that give nothing back hold a little each beside the first: another client's RPC of 1 MiB finds room. */
static void a_client_that_gives_nothing_back_holds_little(void **state)
{
	static struct greedy clients[16], other;
	struct quota_account accounts[16] = {0}, last = {0};

	(void)state;
	scene_new(256 * MIB, BUF_TRANSACTION, 1);
	for (unsigned i = 0; i < 16; i++) {
		greedy_init(&clients[i], 1, &accounts[i], NULL);
		(void)take_all(&clients[i], 1, MIB);
	}
	greedy_init(&other, 1, &last, NULL);
	assert_true(quota_may_take(&other.m[0], MIB));
	for (unsigned i = 0; i < 16; i++)
		give_all(&clients[i], 1);
	scene_free();
}

/* An attempt that fails is no turnover: a client with many of them holds no more than one without. */
static void attempts_that_fail_are_no_turnover(void **state)
{
	static struct greedy clients[2];
	struct quota_account accounts[2] = {0};

	(void)state;
	scene_new(256 * MIB, BUF_TRANSACTION, 1);
	for (unsigned i = 0; i < 2; i++)
		greedy_init(&clients[i], 1, &accounts[i], NULL);
	for (unsigned i = 0; i < 500; i++) {
		assert_true(quota_may_take(&clients[1].m[0], MIB));
		quota_undo(&clients[1].m[0], quota_take(&clients[1].m[0], MIB));
	}
	(void)take_all(&clients[0], 1, MIB);
	assert_true(take_all(&clients[1], 1, MIB) <= s.groups[1].little);
	for (unsigned i = 0; i < 2; i++)
		give_all(&clients[i], 1);
	scene_free();
}

static void take_one(struct greedy *g, unsigned i, size_t bytes)
{
	assert_true(quota_may_take(&g->m[i], bytes));
	g->blocks[i][g->n[i]] = quota_take(&g->m[i], bytes);
	assert_non_null(g->blocks[i][g->n[i]++]);
}

/* @m waits for @bytes, and others of its route find memory meanwhile. */
static void claims_nothing(struct quota_member *m, size_t bytes, struct user *other)
{
	quota_wait(m, bytes);
	for (unsigned i = 0; i < 100; i++) {
		s.quota.now += NSEC_PER_SEC / 10;
		quota_turn(&s.quota, s.quota.now);
		stir(m);
		assert_null(quota_next(&s.quota, BUF_TRANSACTION));
		assert_null(s.groups[1].claimer);
		assert_true(free_of_route() > 8 * MIB);
		ask(other, MIB);
		assert_non_null(other->block);
		give_back(other);
	}
	quota_unwait(m);
}

/* A client that holds its part does not claim the rest: memory is there for others meanwhile. */
static void a_client_that_holds_its_part_claims_nothing(void **state)
{
	static struct greedy g;
	struct user *u;
	struct quota_account a = {0}, b = {0};

	(void)state;
	scene_new(256 * MIB, BUF_TRANSACTION, 1);
	u = &s.users[1][0];
	quota_count_for(&u->m, &b, NULL);
	greedy_init(&g, 2, &a, NULL);
	turn_over(&g, 2);
	(void)take_all(&g, 2, 8 * MIB);
	claims_nothing(&g.m[0], 8 * MIB, u);
	give_all(&g, 2);
	scene_free();
}

/* A session that holds more than its part of what its client may hold claims nothing: memory that came
 * free would not be for it. */
static void a_session_that_holds_its_part_claims_nothing(void **state)
{
	static struct greedy g;
	struct user *u;
	struct quota_account a = {0}, b = {0};

	(void)state;
	scene_new(256 * MIB, BUF_TRANSACTION, 1);
	u = &s.users[1][0];
	quota_count_for(&u->m, &b, NULL);
	greedy_init(&g, 12, &a, NULL);
	while (g.m[0].used < s.groups[1].all / 8)
		take_one(&g, 0, MIB);
	for (unsigned i = 1; i < 12; i++)
		take_one(&g, i, 4096);
	claims_nothing(&g.m[0], 64 << 10, u);
	give_all(&g, 12);
	scene_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hung_route_leaves_others_theirs),
		cmocka_unit_test(a_larger_wish_is_passed_by),
		cmocka_unit_test(a_waiter_passed_over_for_a_claim_is_tried),
		cmocka_unit_test(waiting_members_cost_nothing),
		cmocka_unit_test(a_line_uses_up_its_own_looks),
		cmocka_unit_test(a_long_line_does_not_hide_others),
		cmocka_unit_test(a_waiter_behind_others_is_tried),
		cmocka_unit_test(claims_take_turns_with_others),
		cmocka_unit_test(an_attempt_that_fails_calls_nobody),
		cmocka_unit_test(everybody_is_served),
		cmocka_unit_test(a_client_leaves_half_to_others),
		cmocka_unit_test(sessions_of_a_client_share_its_part),
		cmocka_unit_test(a_server_leaves_a_quarter_to_others),
		cmocka_unit_test(a_client_that_gives_nothing_back_holds_little),
		cmocka_unit_test(attempts_that_fail_are_no_turnover),
		cmocka_unit_test(a_client_that_holds_its_part_claims_nothing),
		cmocka_unit_test(a_session_that_holds_its_part_claims_nothing),
	};

	return cmocka_run_group_tests_name("quota", tests, NULL, NULL);
}
