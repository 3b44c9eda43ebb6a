/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_HOST_TABLE_H
#define FABRIC_HOST_TABLE_H

#include <stddef.h>

#include "base/err.h"
#include "base/list.h"
#include "fabric/addr.h"

/**
 * host_table - a table of fixed size, of client addresses (fabric_addr_key()); a name calls one a
 * host, because servers count in the same way
 *
 * An entry begins with struct host. The first host_table_get() of a client address gives it an
 * entry. The entry stays with the client address after the last host_table_put(), until another one
 * needs an entry: the entry unused longest is reused first. Peers do not know the seed, so they
 * cannot choose addresses that are slow to find.
 */
struct host {
	uint8_t key[FABRIC_ADDR_KEY];
	uint32_t uses;	   /* calls of host_table_get() minus calls of host_table_put() */
	struct host *next; /* in its bucket */
	struct list idle;  /* in .idle of the table while .uses is 0 */
};

/** host_hash - hash of a client address's @key. Peers that do not know @seed cannot choose its
 * value. */
uint64_t host_hash(uint64_t seed, const uint8_t *key);

struct host_table {
	size_t most, made, entry_bytes; /* entries: at most, so far; octets of each */
	uint64_t seed;
	uint8_t *entries;
	struct host **buckets; /* .mask + 1 of them, a power of two */
	size_t mask;
	struct list idle; /* unused entries, the one unused longest first */
};

/** host_table_init - room for @most entries in use at once. @entry_bytes: octets of an entry,
 * struct host included. Return: 0 or ERR_NOMEM. No later call allocates. */
int host_table_init(struct host_table *hosts, size_t most, size_t entry_bytes,
		    uint64_t seed) WARN_UNUSED;

/** host_table_fini - free the entries, also after host_table_init() failed. */
void host_table_fini(struct host_table *hosts);

/** host_table_find - the entry of the client address of @addr, or NULL. */
struct host *host_table_find(const struct host_table *hosts, const struct fabric_addr *addr);

/**
 * host_table_get - begin a use of the entry of the client address of @addr
 *
 * A new entry is zero behind struct host.
 * Return: borrowed until host_table_put(); NULL: there is no room for another entry in use.
 */
struct host *host_table_get(struct host_table *hosts, const struct fabric_addr *addr);

/** host_table_put - ends one use of @host. */
void host_table_put(struct host_table *hosts, struct host *host);

#endif
