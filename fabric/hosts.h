/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_HOSTS_H
#define FABRIC_HOSTS_H

#include <stddef.h>

#include "base/err.h"
#include "base/list.h"
#include "fabric/addr.h"

/**
 * hosts - a table of fixed size, of the hosts that peers are on (fabric_addr_key())
 *
 * An entry begins with struct host. It belongs to a host from the first hosts_get(). It keeps the
 * host after its last hosts_put(), until another host needs the entry: the entry unused longest is
 * reused first. Peers do not know the seed, so they cannot choose addresses that are slow to find.
 */
struct host {
	uint8_t key[FABRIC_ADDR_KEY];
	uint32_t uses; /* calls of hosts_get() minus calls of hosts_put() */
	struct host *next;
	struct list idle;
};

struct hosts {
	size_t most, made, entry_bytes;
	uint64_t seed;
	uint8_t *entries;
	struct host **buckets; /* .mask + 1 of them, a power of two */
	size_t mask;
	struct list idle; /* unused entries, the one unused longest first */
};

/** hosts_init - room for @most hosts in use at once. Return: 0 or ERR_NOMEM. No later call
 * allocates. */
int hosts_init(struct hosts *hosts, size_t most, size_t entry_bytes, uint64_t seed) WARN_UNUSED;

/** hosts_fini - after hosts_init(), whether it failed or not. */
void hosts_fini(struct hosts *hosts);

/** hosts_find - the entry of the host of @addr, or NULL. */
struct host *hosts_find(const struct hosts *hosts, const struct fabric_addr *addr);

/**
 * hosts_get - use the entry of the host of @addr
 *
 * A new entry is zero behind struct host.
 * Return: NULL when as many hosts as there is room for are in use.
 */
struct host *hosts_get(struct hosts *hosts, const struct fabric_addr *addr);

/** hosts_put - ends one use of @host. */
void hosts_put(struct hosts *hosts, struct host *host);

#endif
