/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * If clients are spread, each server has a weight for each client, computed from both addresses,
 * and the heaviest is chosen (rendezvous hashing). The hash has no secret key: a client that can
 * choose its own address can choose its server, and nothing else.
 */
#include "proxy/choice.h"

/* FNV-1a, continued from @hash over the octets of @key. */
static uint64_t add(uint64_t hash, const uint8_t *key)
{
	for (size_t i = 0; i < CHOICE_KEY; i++)
		hash = (hash ^ key[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t weigh(const uint8_t *client, const uint8_t *server)
{
	uint64_t z = add(add(UINT64_C(0xcbf29ce484222325), client), server);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Whether @a is preferred to @b. */
static bool is_before(const struct choice_server *a, const struct choice_server *b,
		      const uint8_t *client)
{
	uint64_t of_a, of_b;

	if (a->is_down != b->is_down)
		return b->is_down;
	if (!client)
		return a->rank < b->rank;
	of_a = weigh(client, a->key);
	of_b = weigh(client, b->key);
	return of_a != of_b ? of_a > of_b : a->rank < b->rank;
}

unsigned choice_pick(const struct choice_server *at, unsigned n, const uint8_t *client)
{
	unsigned best = CHOICE_NONE;

	for (unsigned i = 0; i < n; i++)
		if (!at[i].is_out && (best == CHOICE_NONE || is_before(&at[i], &at[best], client)))
			best = i;
	return best;
}
