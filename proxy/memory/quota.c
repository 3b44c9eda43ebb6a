/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * Memory is divided by route first, then by server, client address and session. A member may take x
 * octets if every rule below allows it. "Left" is the free memory that its route could still take,
 * after x.
 *
 * State:  each member holds blocks until its RPCs end. A server that hangs, or a client that reads
 *         nothing, holds them for as long as it likes.
 * Danger: one such server, or one client with many connections, takes all memory, and no RPC of any
 *         other client can start.
 * Rule:
 * - Route: it has a zone of its own that no other route uses. Of the common zones it may hold twice
 *   as much as it leaves free there, or all of them if it holds none yet. So routes that take all
 *   they can and give nothing back leave some of the common zones to the others.
 * - Server, if the route has several: the calls to one server hold at most QUOTA_OF_SERVER times
 *   what they leave. So a server that hangs leaves a quarter to the clients of the others.
 * - Client address: its sessions together hold at most what they leave, or one request if they hold
 *   nothing. So a client with any number of connections leaves half of the payload memory to all
 *   other clients, apart from the last rule. Of transaction blocks and continued messages they hold
 *   at most QUOTA_OF_OTHER times what they leave, because calls without chunks and parts of
 *   messages need no other memory. The servers' calls of a route count as those of one client. A
 *   client's answer to a server's call may be behind calls of that client. If servers' calls could
 *   take all memory, such a call could wait for memory that only the answer behind it frees.
 * - Session: an equal part of what its client may hold, by the number of the client's sessions that
 *   hold some; or one request if it holds nothing.
 * - Turnover, for payload memory: once 1/QUOTA_FIRST_PART is taken, a client may hold as much as it
 *   has given back lately (QUOTA_TURNOVER), plus QUOTA_LITTLE. So if the RPCs of many clients end
 *   slowly, or do not end at all, each of these clients holds only a little. Clients that give
 *   memory back hold as much as they use.
 * - Kept, for payload memory and state of clients' RPCs: a session holds hardly any memory if it
 *   holds at most 1/QUOTA_HARDLY_PART of a little (see below). Any other session takes no more if
 *   its route would then hold more than QUOTA_OF_HOLDERS times what it leaves. So even if many
 *   sessions take all that is permitted, a part is left for sessions that hold nothing, or only a
 *   call that hangs. Blocks are taken at the lowest addresses, so most of this part is in large
 *   blocks.
 * - A little: a session that would hold no more than QUOTA_LITTLE (state of clients' RPCs:
 *   QUOTA_LITTLE_PLACES; other purposes have no such limit) is exempt from the rules of
 *   session and turnover, and its client may hold QUOTA_OF_LITTLE times as much for it. So a small
 *   RPC finds room beside sessions of the same client that hold all they may. A client with any
 *   number of connections that hold a little leaves a quarter.
 * Pinned: tests/proxy/test_quota.c, test_quota_kept.c, tests/isolation/test_same_route.c.
 *
 * Order. The members that have to wait form one line for each route.
 * - When memory of the route has come back, each waiting member is tried once, the longest waiting
 *   first. A member that fails goes to the end. So no member is held up by the larger request of
 *   another.
 * - A new member has to wait while others have not been tried with the memory that came back.
 * - A turn of the relay looks at QUOTA_LOOKS members for each purpose, fewer if some of them try.
 *   The next turn continues, with another route first. So every line is looked at, however long
 *   another one is.
 * - Blocks taken in an attempt that failed for want of the right sizes do not count as memory that
 *   came back.
 *
 * Reservations (claims). Small requests always find something, so a large request might never find
 * its block.
 * - A member that has waited for QUOTA_CLAIM_WAIT reserves memory: one member of a route at a time,
 *   and one route of the common zones at a time.
 * - While the reservation lasts, at most QUOTA_CLAIM, other members of its line get one sixteenth
 *   of what they could take otherwise, and nothing in the second half of the time. Memory that they
 *   give back accumulates. Exception: members that hold hardly any memory are not held back, unless
 *   the reserving member holds hardly any itself.
 * - A member does not reserve if its client holds memory, and would hold more than an equal part of
 *   what the route can have. A member that holds more than a little does not reserve either if the
 *   rules above would keep it waiting even after all other clients had given their memory back. A
 *   reservation never touches other routes' own zones.
 * - If the holders of the memory do not give it back, the reservation fails. The others continue,
 *   and the next reservation of that route waits twice as long, up to QUOTA_PAUSE. So memory is
 *   idle for a small part of the time at most.
 * - After a reservation that was met the next may follow. But no reservation of the common zones
 *   begins for as long as the last one took, so that the others have their turn. Members of other
 *   routes that were held back are tried when a reservation ends.
 *
 * So a member gets what it asks for, whatever other routes do, on two conditions: the member gives
 * back what it holds; and its route's own zone, less what members of that route never give back, is
 * large enough. How long that takes depends on the members that wait before it.
 */
#include "proxy/memory/quota.h"

#include <assert.h>

enum {
	QUOTA_RESERVED = 16, /* 1/QUOTA_RESERVED is left to others during a reservation */
	QUOTA_OF_SERVER = 3, /* a server's calls hold at most this factor times what they leave */
	QUOTA_OF_OTHER = 8,  /* a client's transaction blocks and messages: at most this factor */
	/* Factor: times what a client may hold otherwise, for sessions that hold a little. */
	QUOTA_OF_LITTLE = 3,
	/* A route whose sessions hold more than hardly any memory: at most this factor times what
	 * it leaves. */
	QUOTA_OF_HOLDERS = 15,
	/* Hardly any memory: at most 1/QUOTA_HARDLY_PART of a little. */
	QUOTA_HARDLY_PART = 4,
	/* Turnover does not matter while less than 1/QUOTA_FIRST_PART of the memory is taken. */
	QUOTA_FIRST_PART = 2,
	QUOTA_LITTLE = (1 << 20) + (128 << 10), /* octets: one RPC of 1 MiB and what goes with it */
	/* Octets: eight transaction blocks of the usual size. */
	QUOTA_LITTLE_PLACES = 64 << 10,
	/* A little is at most 1/QUOTA_LITTLE_PART of all memory. */
	QUOTA_LITTLE_PART = 16,
};

void quota_init(struct quota *s, struct buf_arena *arena)
{
	*s = (struct quota){.arena = arena};
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++) {
		struct quota_pool *pool = &s->pools[i];

		*pool = (struct quota_pool){
			.quota = s, .purpose = (enum buf_purpose)i, .looks = QUOTA_LOOKS};
		pool->zones[pool->nzones++] = buf_zone_for(pool->purpose);
		if (i == BUF_REASM_REPLY)
			pool->zones[pool->nzones++] = BUF_ZONE_ORDINARY;
		list_init(&pool->groups);
	}
}

void quota_turn(struct quota *s, nsec_t now)
{
	s->now = now;
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++)
		s->pools[i].looks = QUOTA_LOOKS;
}

bool quota_is_over_budget(const struct quota *s)
{
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++)
		if (s->pools[i].looks == 0)
			return true;
	return false;
}

static size_t own_bytes(const struct quota_group *g)
{
	return g->own == BUF_NO_ZONE ? 0 : buf_zone_bytes(g->pool->quota->arena, g->own);
}

static size_t all_of(const struct quota_group *g)
{
	const struct quota_pool *pool = g->pool;
	size_t all = own_bytes(g);

	for (unsigned i = 0; i < pool->nzones; i++)
		all += buf_zone_bytes(pool->quota->arena, pool->zones[i]);
	return all;
}

static size_t little(const struct quota_group *g)
{
	size_t most = g->pool->purpose == BUF_TRANSACTION   ? QUOTA_LITTLE
		      : g->pool->purpose == BUF_TXN_FORWARD ? QUOTA_LITTLE_PLACES
							    : 0;

	return most < g->all / QUOTA_LITTLE_PART ? most : g->all / QUOTA_LITTLE_PART;
}

void quota_group_init(struct quota_group *g, struct quota *s, enum buf_purpose purpose,
		      unsigned part)
{
	*g = (struct quota_group){
		.pool = &s->pools[purpose],
		.own = buf_own_zone(s->arena, purpose, part),
		.claim_wait = QUOTA_CLAIM_WAIT,
		.least = SIZE_MAX,
	};
	g->all = all_of(g);
	g->little = little(g);
	g->pool->ngroups++;
	list_init(&g->link);
	list_init(&g->waiting);
}

void quota_group_fini(struct quota_group *g)
{
	assert(g->used == 0 && g->nwaiting == 0 && !g->claimer && g->pool->claimer != g);
	g->pool->ngroups--;
	g->pool->ended++;
}

void quota_member_init(struct quota_member *m, struct quota_group *g)
{
	*m = (struct quota_member){.group = g, .since = NSEC_NEVER, .waiting_since = NSEC_NEVER};
	list_init(&m->link);
}

void quota_count_for(struct quota_member *m, struct quota_account *client,
		     struct quota_account *server)
{
	assert(m->used == 0);
	m->client = client;
	m->server = server;
}

static nsec_t quota_now(const struct quota_group *g)
{
	return g->pool->quota->now;
}

static void try_all(struct quota_group *g)
{
	g->untried = g->nwaiting;
	g->least_scanned = SIZE_MAX;
}

static void end_claim(struct quota_group *g)
{
	nsec_t now = quota_now(g);

	g->claimer = NULL;
	/* The reservation held back members of this route and of others: all are tried again. */
	try_all(g);
	if (g->pool->claimer != g)
		return;
	g->pool->claimer = NULL;
	g->pool->rests_until = now + (now - g->claim_began);
	g->pool->ended++;
}

/* The reservation failed: the others continue, for longer than the last time. */
static void give_up_claim(struct quota_group *g)
{
	g->claimer->since = quota_now(g);
	g->claim_wait = nsec_min(2 * g->claim_wait, QUOTA_PAUSE);
	end_claim(g);
}

static void leave_line(struct quota_member *m)
{
	struct quota_group *g = m->group;

	if (!quota_is_waiting(m))
		return;
	/* The place of @m among the untried members is not known: one member too many is tried. */
	list_del(&m->link);
	g->nwaiting--;
	if (g->untried > g->nwaiting)
		g->untried = g->nwaiting;
	if (g->nwaiting > 0)
		return;
	g->least = SIZE_MAX;
	list_del(&g->link);
}

void quota_unwait(struct quota_member *m)
{
	if (!m->group)
		return;
	leave_line(m);
	if (m->group->claimer == m)
		end_claim(m->group);
	m->since = m->waiting_since = NSEC_NEVER;
}

void quota_served(struct quota_member *m)
{
	m->since = m->waiting_since = NSEC_NEVER;
	if (m->group->claimer != m)
		return;
	m->group->claim_wait = QUOTA_CLAIM_WAIT;
	end_claim(m->group);
}

/* How often more room came for @g. */
static uint64_t times_room_grew(const struct quota_group *g)
{
	const struct buf_arena *a = g->pool->quota->arena;
	uint64_t n = g->pool->ended + (g->own == BUF_NO_ZONE ? 0 : a->zones[g->own].frees);

	for (unsigned i = 0; i < g->pool->nzones; i++)
		n += a->zones[g->pool->zones[i]].frees;
	return n;
}

/* If memory of the group came back, or a reservation ended, each waiting member is untried
 * again. */
static void look_for_memory(struct quota_group *g)
{
	uint64_t grew;

	if (g->claimer && quota_now(g) >= g->claim_ends)
		give_up_claim(g);
	grew = times_room_grew(g);
	if (grew != g->seen)
		try_all(g);
	g->seen = grew;
}

/* Whether the second half of a reservation's time has begun. */
static bool claim_is_late(const struct quota_group *claiming)
{
	return quota_now(claiming) >= claiming->claim_ends - QUOTA_CLAIM / 2;
}

/* Return: the part of @bytes that a reservation of another member leaves. */
static size_t reserved_room(const struct quota_group *claiming, size_t bytes)
{
	return claim_is_late(claiming) ? 0 : bytes / QUOTA_RESERVED;
}

static size_t common_free(const struct quota_group *g)
{
	const struct quota_pool *pool = g->pool;
	size_t left = 0;

	for (unsigned i = 0; i < pool->nzones; i++)
		left += buf_zone_free(pool->quota->arena, pool->zones[i]);
	return left;
}

/* Octets that the route of @g may take of the common zones, reservations apart. */
static size_t common_part(const struct quota_group *g)
{
	size_t left = common_free(g);

	if (g->pool->claimer == g || g->pool->ngroups == 1 || g->common == 0)
		return left;
	return 2 * left > g->common ? (2 * left - g->common) / 3 : 0;
}

/* The part of @part, the common_part() of @g, that a reservation of another route leaves. */
static size_t common_room(const struct quota_group *g, size_t part)
{
	const struct quota_group *claiming = g->pool->claimer;

	return claiming && claiming != g ? reserved_room(claiming, part) : part;
}

static size_t client_used(const struct quota_member *m)
{
	return m->client ? m->client->used : m->used;
}

static bool server_fits(const struct quota_member *m, size_t bytes, size_t left)
{
	return !m->server || m->server->used == 0 ||
	       m->server->used + bytes <= QUOTA_OF_SERVER * left;
}

/*
 * Whether the client of @m may hold @bytes more, which leave @left. @more: factor on the rule of
 * the purpose.
 */
static bool client_fits(const struct quota_member *m, size_t bytes, size_t left, size_t more)
{
	const struct quota_group *g = m->group;
	size_t used = client_used(m);
	size_t times = g->pool->purpose == BUF_TRANSACTION ? 1 : QUOTA_OF_OTHER;

	return used == 0 || used + bytes <= more * times * left;
}

/* The most that the route of @g can have, beside other routes that take all they may. */
static size_t most_of(const struct quota_group *g)
{
	size_t own = own_bytes(g);

	return g->pool->ngroups == 1 ? g->all : own + (g->all - own) / 3 * 2;
}

static void age(struct quota_account *a, nsec_t now)
{
	if (now - a->since < QUOTA_TURNOVER)
		return;
	a->gave_then = now - a->since < 2 * QUOTA_TURNOVER ? a->gave : 0;
	a->gave = 0;
	a->since = now;
}

/* Whether @m may hold more than a little once much memory is taken: its client gives back what it
 * takes. */
static bool turns_over(const struct quota_member *m, size_t bytes, size_t left)
{
	const struct quota_group *g = m->group;
	struct quota_account *a = m->client;
	size_t most;

	if (!a || a->used == 0 || g->pool->purpose != BUF_TRANSACTION)
		return true;
	most = most_of(g);
	if (left >= most - most / QUOTA_FIRST_PART)
		return true;
	age(a, quota_now(g));
	return a->used + bytes <= g->little + a->gave + a->gave_then;
}

static bool holds_hardly_any(const struct quota_member *m)
{
	return m->used <= m->group->little / QUOTA_HARDLY_PART;
}

/* Whether @m holds hardly any memory, or its route leaves a part of the memory to those that do.
 * For purposes without a limit of a little, nothing is kept. */
static bool leaves_a_part(const struct quota_member *m, size_t bytes, size_t left)
{
	const struct quota_group *g = m->group;

	return g->little == 0 || holds_hardly_any(m) || g->used + bytes <= QUOTA_OF_HOLDERS * left;
}

/* Whether the session of @m may hold @bytes more, as its part of what its client may hold.
 * @free: free octets that its route could take. */
static bool session_fits_client(const struct quota_member *m, size_t bytes, size_t free)
{
	unsigned n;

	if (!m->client || m->used == 0)
		return true;
	n = m->client->holders;
	return n < 2 || m->used + bytes <= (m->client->used + free) / 2 / n;
}

/*
 * @free: free octets that its route could take. Return: whether the server, the client and the
 *        session of @m may hold @bytes more.
 */
static bool shares_fit(const struct quota_member *m, size_t bytes, size_t free)
{
	bool is_little = m->used + bytes <= m->group->little;

	return bytes <= free && server_fits(m, bytes, free - bytes) &&
	       client_fits(m, bytes, free - bytes, is_little ? QUOTA_OF_LITTLE : 1) &&
	       leaves_a_part(m, bytes, free - bytes) &&
	       (is_little ||
		(turns_over(m, bytes, free - bytes) && session_fits_client(m, bytes, free)));
}

/* Return: the part of @room that a reservation of another member of its route leaves to @m. */
static size_t room_beside_claim(const struct quota_member *m, size_t room)
{
	const struct quota_group *g = m->group;

	if (!g->claimer || g->claimer == m)
		return room;
	if (holds_hardly_any(m) && !holds_hardly_any(g->claimer))
		return room;
	return reserved_room(g, room);
}

/* Whether @m may take @bytes now. @room: octets that its route may take now; @free: the same,
 * reservations of other routes apart. */
static bool member_fits(const struct quota_member *m, size_t bytes, size_t room, size_t free)
{
	return bytes <= room_beside_claim(m, room) && shares_fit(m, bytes, free);
}

bool quota_may_take(struct quota_member *m, size_t bytes)
{
	struct quota_group *g = m->group;
	size_t own, part;

	look_for_memory(g);
	if (m->since == NSEC_NEVER && g->untried > 0)
		return false;
	own = buf_zone_free(g->pool->quota->arena, g->own);
	part = common_part(g);
	g->may_common = common_room(g, part);
	return member_fits(m, bytes, own + g->may_common, own + part);
}

static void *take_common(struct quota_group *g, size_t bytes)
{
	struct buf_arena *a = g->pool->quota->arena;
	size_t size = buf_round(bytes);
	void *block = NULL;

	if (size > g->may_common)
		return NULL;
	for (unsigned i = 0; i < g->pool->nzones && !block; i++)
		block = buf_alloc_in(a, bytes, g->pool->zones[i]);
	if (!block)
		return NULL;
	g->may_common -= size;
	g->common += size;
	return block;
}

/* Return: whether @a took its first octet, or gave back its last. */
static bool count_in(struct quota_account *a, size_t bytes, bool takes, bool is_first)
{
	bool first = takes ? a->used == 0 : a->used == bytes;

	a->used = takes ? a->used + bytes : a->used - bytes;
	a->holders = takes ? a->holders + is_first : a->holders - is_first;
	return first;
}

/*
 * @takes: true if @m takes @bytes, false if it gives them back.
 */
static void account(struct quota_member *m, size_t bytes, bool takes)
{
	bool is_first = takes ? m->used == 0 : m->used == bytes;
	bool is_holder = m->client ? count_in(m->client, bytes, takes, is_first) : is_first;

	if (m->client && !takes) {
		age(m->client, quota_now(m->group));
		m->client->gave += bytes;
	}
	if (m->server)
		(void)count_in(m->server, bytes, takes, is_first);
	m->group->holders = takes ? m->group->holders + is_holder : m->group->holders - is_holder;
	m->used = takes ? m->used + bytes : m->used - bytes;
	m->group->used = takes ? m->group->used + bytes : m->group->used - bytes;
}

void *quota_take(struct quota_member *m, size_t bytes)
{
	struct quota_group *g = m->group;
	void *block = NULL;

	if (bytes > BUF_MAX_BLOCK)
		return NULL;
	if (g->own != BUF_NO_ZONE)
		block = buf_alloc_in(g->pool->quota->arena, bytes, g->own);
	if (!block)
		block = take_common(g, bytes);
	if (!block)
		return NULL;
	account(m, buf_round(bytes), true);
	return block;
}

void quota_give(struct quota_member *m, void *block)
{
	struct quota_group *g = m->group;
	struct buf_arena *a = g->pool->quota->arena;
	size_t bytes;

	if (!block)
		return;
	bytes = buf_block_bytes(a, block);
	assert(m->used >= bytes && g->used >= bytes);
	account(m, bytes, false);
	if (buf_zone_of(a, block) != g->own)
		g->common -= bytes;
	buf_free(a, block);
}

void quota_undo(struct quota_member *m, void *block)
{
	struct buf_arena *a = m->group->pool->quota->arena;
	size_t bytes;
	unsigned zone;

	if (!block)
		return;
	zone = buf_zone_of(a, block);
	bytes = buf_block_bytes(a, block);
	quota_give(m, block);
	a->zones[zone].frees--;
	if (m->client) /* no RPC has used it, so it is no turnover */
		m->client->gave -= bytes;
}

/* Whether the client of @m, given what @m waits for, would hold no more than an equal part of what
 * its route can have. A session that holds more than a little must also be able to take it once all
 * other clients have given back what they hold. (A reservation also holds back the other sessions
 * of the client. So a session that holds little gets its request once they have given back.) */
static bool is_within_its_part(const struct quota_member *m)
{
	const struct quota_group *g = m->group;
	size_t used = client_used(m), most = most_of(g);

	return used == 0 || (used + m->wanted_bytes <= most / (g->holders + 1) &&
			     (m->used <= g->little || shares_fit(m, m->wanted_bytes, most - used)));
}

/* Begin a reservation for @m if its request has waited for long and the shares allow it. */
static void consider_claim(struct quota_member *m)
{
	struct quota_group *g = m->group;
	struct quota_pool *pool = g->pool;
	bool beyond = m->used + m->wanted_bytes > own_bytes(g);

	if (g->claimer || quota_now(g) - m->since < g->claim_wait || !is_within_its_part(m))
		return;
	if (beyond && (pool->claimer || quota_now(g) < pool->rests_until))
		return;
	g->claimer = m;
	g->claim_began = quota_now(g);
	g->claim_ends = quota_now(g) + QUOTA_CLAIM;
	if (beyond)
		pool->claimer = g;
}

void quota_wait(struct quota_member *m, size_t bytes)
{
	struct quota_group *g = m->group;
	bool all = false;

	if (quota_is_waiting(m))
		return;
	m->wanted_bytes = bytes;
	if (m->since == NSEC_NEVER) {
		m->since = m->waiting_since = quota_now(g);
		g->pool->quota->waits++;
		/* If members before this one are untried, it counts as untried, too. The untried
		 * members are the first .untried of the line, so then all count as untried. */
		all = g->untried > 0;
	}
	if (g->nwaiting++ == 0)
		list_add_tail(&g->pool->groups, &g->link);
	if (bytes < g->least)
		g->least = bytes;
	if (bytes < g->least_scanned)
		g->least_scanned = bytes;
	if (all)
		try_all(g);
	list_add_tail(&g->waiting, &m->link);
	consider_claim(m);
}

/* Take @m, the first of its line, which is being looked at, out of the line. */
static void leave_first(struct quota_member *m)
{
	struct quota_group *g = m->group;
	unsigned untried = g->untried - 1;

	leave_line(m);
	g->untried = untried;
}

/* @m, the first of its line, goes to the end. When none is left untried all have been looked at. */
static void pass_by(struct quota_member *m)
{
	struct quota_group *g = m->group;

	list_del(&m->link);
	list_add_tail(&g->waiting, &m->link);
	if (m->wanted_bytes < g->least_scanned)
		g->least_scanned = m->wanted_bytes;
	if (--g->untried == 0)
		g->least = g->least_scanned;
	consider_claim(m);
}

/* The first waiting member of @g for which there is room by octets; those before it go to the end
 * of the line. */
static struct quota_member *first_that_fits(struct quota_group *g)
{
	struct quota_pool *pool = g->pool;
	size_t own = buf_zone_free(pool->quota->arena, g->own), part = common_part(g);
	size_t room = own + common_room(g, part);

	/* A route that may take nothing costs one look, however many members wait. */
	if (room < g->least) {
		consider_claim(list_first(&g->waiting, struct quota_member, link));
		g->untried = 0;
	}
	while (g->untried > 0 && pool->looks > 0) {
		struct quota_member *m = list_first(&g->waiting, struct quota_member, link);

		pool->looks--;
		pool->quota->looked++;
		if (member_fits(m, m->wanted_bytes, room, own + part)) {
			leave_first(m);
			pool->looks -= pool->looks < QUOTA_TRY ? pool->looks : QUOTA_TRY;
			return m;
		}
		pass_by(m);
	}
	return NULL;
}

static void goes_last(struct quota_group *g)
{
	list_del(&g->link);
	list_add_tail(&g->pool->groups, &g->link);
}

/* Routes take turns: the route whose member was taken goes to the end of the line, and so does
 * one that used up the turn's looks. */
struct quota_member *quota_look(struct quota_pool *pool)
{
	if (pool->looks == 0)
		return NULL;
	/* If the claiming route's reservation ends now, routes that come before it in the list may
	 * use the memory in this call. */
	if (pool->claimer)
		look_for_memory(pool->claimer);
	list_for_each_safe(it, tmp, &pool->groups)
	{
		struct quota_group *g = container_of(it, struct quota_group, link);
		struct quota_member *m;

		look_for_memory(g);
		m = first_that_fits(g);
		if (g->nwaiting > 0 && (m || pool->looks == 0))
			goes_last(g);
		if (m || pool->looks == 0)
			return m;
	}
	return NULL;
}

nsec_t quota_deadline(const struct quota *s)
{
	nsec_t at = NSEC_NEVER;

	for (unsigned i = 0; i < QUOTA_PURPOSES; i++) {
		const struct list *groups = &s->pools[i].groups;

		for (const struct list *it = groups->next; it != groups; it = it->next) {
			const struct quota_group *g = container_of(it, struct quota_group, link);

			if (g->claimer)
				at = nsec_min(at, g->claim_ends);
		}
	}
	return at;
}
