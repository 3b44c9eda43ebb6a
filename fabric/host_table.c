/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/host_table.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

int host_table_init(struct host_table *hosts, size_t most, size_t entry_bytes, uint64_t seed)
{
	size_t buckets = 1;

	assert(entry_bytes >= sizeof(struct host));
	while (buckets < most)
		buckets *= 2;
	*hosts = (struct host_table){
		.most = most, .entry_bytes = entry_bytes, .seed = seed, .mask = buckets - 1};
	list_init(&hosts->idle);
	hosts->entries = mem_zalloc(most * entry_bytes);
	hosts->buckets = mem_zalloc(buckets * sizeof(struct host *));
	return hosts->entries && hosts->buckets ? 0 : ERR_NOMEM;
}

void host_table_fini(struct host_table *hosts)
{
	mem_free(hosts->entries);
	mem_free(hosts->buckets);
	hosts->entries = NULL;
	hosts->buckets = NULL;
}

static uint64_t mix_bits(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t host_hash(uint64_t seed, const uint8_t *key)
{
	uint64_t words[2], hash;
	uint32_t scope;

	memcpy(words, key, sizeof(words));
	memcpy(&scope, key + sizeof(words), sizeof(scope));
	hash = mix_bits(seed + words[0]);
	hash = mix_bits(hash ^ (words[1] + seed));
	return mix_bits(hash + scope + seed);
}

static struct host **bucket_of(const struct host_table *hosts, const uint8_t *key)
{
	return &hosts->buckets[host_hash(hosts->seed, key) & hosts->mask];
}

static struct host *find_key(const struct host_table *hosts, const uint8_t *key)
{
	struct host *host = *bucket_of(hosts, key);

	while (host && memcmp(host->key, key, FABRIC_ADDR_KEY) != 0)
		host = host->next;
	return host;
}

struct host *host_table_find(const struct host_table *hosts, const struct fabric_addr *addr)
{
	uint8_t key[FABRIC_ADDR_KEY];

	fabric_addr_key(addr, key);
	return find_key(hosts, key);
}

static void unlink_host(struct host_table *hosts, struct host *host)
{
	struct host **at = bucket_of(hosts, host->key);

	while (*at != host)
		at = &(*at)->next;
	*at = host->next;
}

/* An unused entry: a new one, or the one that was not used longest. */
static struct host *take_entry(struct host_table *hosts)
{
	struct host *host;

	if (hosts->made < hosts->most)
		return (struct host *)(hosts->entries + hosts->made++ * hosts->entry_bytes);
	if (list_is_empty(&hosts->idle))
		return NULL;
	host = list_first(&hosts->idle, struct host, idle);
	list_del(&host->idle);
	unlink_host(hosts, host);
	memset(host, 0, hosts->entry_bytes);
	return host;
}

struct host *host_table_get(struct host_table *hosts, const struct fabric_addr *addr)
{
	uint8_t key[FABRIC_ADDR_KEY];
	struct host *host, **bucket;

	fabric_addr_key(addr, key);
	host = find_key(hosts, key);
	if (host) {
		list_del(&host->idle);
		host->uses++;
		return host;
	}
	host = take_entry(hosts);
	if (!host)
		return NULL;
	memcpy(host->key, key, sizeof(key));
	list_init(&host->idle);
	host->uses = 1;
	bucket = bucket_of(hosts, key);
	host->next = *bucket;
	*bucket = host;
	return host;
}

void host_table_put(struct host_table *hosts, struct host *host)
{
	assert(host->uses > 0);
	if (--host->uses == 0)
		list_add_tail(&hosts->idle, &host->idle);
}
