/* SPDX-License-Identifier: BSD-2-Clause */
/* Set-up and end of a peer, its counts, and its random calls. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "tests/session/peer.h"

enum { FIXED = PEER_FIXED };

static nsec_t virtual_now(void *clock)
{
	return memnet_now(clock);
}

void peer_clear(struct peer *p)
{
	memset(p, 0, offsetof(struct peer, calls));
	for (unsigned i = 0; i < PEER_CALLS; i++)
		p->calls[i].busy = p->serves[i].busy = false;
}

void peer_init(struct peer *p, struct memnet *net, unsigned versions, uint32_t inline_bytes,
	       uint32_t credits, uint32_t first_xid, size_t memory)
{
	peer_init_on(p, memnet_fabric(net), virtual_now, net, versions, inline_bytes, credits,
		     first_xid, memory);
}

void peer_init_on(struct peer *p, struct fabric *fabric, nsec_t (*now)(void *clock), void *clock,
		  unsigned versions, uint32_t inline_bytes, uint32_t credits, uint32_t first_xid,
		  size_t memory)
{
	peer_clear(p);
	p->now = now;
	p->clock = clock;
	p->fabric = fabric;
	assert(p->fabric && buf_arena_init(&p->arena, memory) == 0);
	assert(fabric_register(p->fabric, p->arena.base, p->arena.bytes) == 0);
	p->cfg = (struct leg_config){
		.versions = versions,
		.inline_bytes = inline_bytes,
		.credits = credits,
		.rev_credits = 8,
		.max_message = 8 << 20,
		.segment_bytes = 1 << 20,
		.segment_count = 64,
		.reverse = RPC_REV_GENL,
		.setup_timeout = 60 * NSEC_PER_SEC,
	};
	p->next_xid = first_xid;
	leg_init(&p->leg, RPC_ACCEPTOR);
}

void peer_count(struct peer *p, uint32_t more)
{
	if (p->leg.t->version == 1)
		p->leg.u.v1.calls.in_flight += more;
	else if (peer_is_early(p))
		p->leg.u.early.calls.in_flight += more;
}

void peer_count_late(struct peer *p)
{
	uint64_t late = p->leg.t ? p->leg.t->count.late : 0;

	if (late != p->late)
		peer_count(p, (uint32_t)(late - p->late));
	p->late = late;
}

struct peer_spec peer_read_of(uint32_t length)
{
	return (struct peer_spec){.body = 100,
				  .reply = 24,
				  .segs = 1,
				  .nwrites = 1,
				  .write_caps = {length},
				  .writes = {length}};
}

unsigned peer_busy(const struct peer *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PEER_CALLS; i++)
		n += p->calls[i].busy && !p->calls[i].answered;
	return n;
}

void peer_fini(struct peer *p)
{
	fabric_unregister(p->fabric, p->arena.base);
	fabric_free(p->fabric);
	buf_arena_fini(&p->arena);
}

static uint32_t random_size(struct rng *r, uint32_t inline_bytes)
{
	switch (rng_below(r, 5)) {
	case 0:
		return 1 + rng_below(r, 8);
	case 1:
		return 1 + rng_below(r, 1024);
	case 2:
		return inline_bytes - 64 + rng_below(r, 128);
	case 3:
		return 1 + rng_below(r, 65536);
	default:
		return 1 + rng_below(r, 400000);
	}
}

struct peer_spec peer_random_spec(struct rng *r, unsigned version, bool reverse,
				  uint32_t inline_bytes)
{
	struct peer_spec s = {.segs = 1 + rng_below(r, PEER_SEGS)};
	uint32_t small = inline_bytes - 300;

	s.body = FIXED + 8 * PEER_CHUNKS + 4 * rng_below(r, (small - 200) / 4);
	s.reply = 24 + 4 * rng_below(r, (small - 24) / 4);
	if (reverse)
		return s;
	s.nreads = rng_below(r, 3);
	s.nwrites = rng_below(r, 3);
	for (unsigned i = 0; i < s.nreads; i++)
		s.reads[i] = random_size(r, inline_bytes);
	for (unsigned i = 0; i < s.nwrites; i++) {
		s.write_caps[i] = random_size(r, inline_bytes);
		s.writes[i] = rng_below(r, s.write_caps[i] + 1);
	}
	s.by_chunk = rng_below(r, 4) == 0;
	if (s.by_chunk || version == 2)
		s.body = FIXED + 8 * PEER_CHUNKS + (random_size(r, inline_bytes) & ~3u);
	if (rng_below(r, 3) == 0 || version == 1) {
		s.reply_cap = 1024 + random_size(r, inline_bytes);
		s.reply = 24 + (rng_below(r, s.reply_cap - 24) & ~3u);
	} else if (version == 2) {
		/* Two messages: what any window of these tests covers. */
		s.reply = 24 + (rng_below(r, 7000) & ~3u);
	}
	return s;
}

bool peer_has_rival(const struct peer_call *c)
{
	const struct peer *p = c->peer;

	for (unsigned i = 0; i < PEER_CALLS; i++)
		if (&p->calls[i] != c && p->calls[i].busy &&
		    p->calls[i].xid % EARLY_OPTIONS == c->xid % EARLY_OPTIONS)
			return peer_is_early(p);
	return false;
}
