/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_HOST_TABLE_H
#define FABRIC_HOST_TABLE_H

#include <stddef.h>

#include "base/err.h"
#include "base/list.h"
#include "fabric/addr.h"

/**
 * host_table - a table of fixed size, of the hosts that peers are on (fabric_addr_key())
 *
 * An entry begins with struct host. It belongs to a host from the first host_table_get(). It keeps the
 * host after its last host_table_put(), until another host needs the entry: the entry unused longest is
 * reused first. Peers do not know the seed, so they cannot choose addresses that are slow to find.
 */
struct host {
	uint8_t key[FABRIC_ADDR_KEY];
	uint32_t uses; /* calls of host_table_get() minus calls of host_table_put() */
	struct host *next;
	struct list idle;
};

/** host_hash - of a host's @key; peers that do not know @seed cannot choose it. */
uint64_t host_hash(uint64_t seed, const uint8_t *key);

struct host_table {
	size_t most, made, entry_bytes;
	uint64_t seed;
	uint8_t *entries;
	struct host **buckets; /* .mask + 1 of them, a power of two */
	size_t mask;
	struct list idle; /* unused entries, the one unused longest first */
};

/** host_table_init - room for @most hosts in use at once. Return: 0 or ERR_NOMEM. No later call
 * allocates. */
int host_table_init(struct host_table *hosts, size_t most, size_t entry_bytes,
		    uint64_t seed) WARN_UNUSED;

/** host_table_fini - after host_table_init(), whether it failed or not. */
void host_table_fini(struct host_table *hosts);

/** host_table_find - the entry of the host of @addr, or NULL. */
struct host *host_table_find(const struct host_table *hosts, const struct fabric_addr *addr);

/**
 * host_table_get - use the entry of the host of @addr
 *
 * A new entry is zero behind struct host.
 * Return: NULL when as many hosts as there is room for are in use.
 */
struct host *host_table_get(struct host_table *hosts, const struct fabric_addr *addr);

/** host_table_put - ends one use of @host. */
void host_table_put(struct host_table *hosts, struct host *host);

#endif
