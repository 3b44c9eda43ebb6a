/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   configured, or found --> listed in a slot --no host leads there any more--> not listed
 *                                                                                 |
 *                                                        free <--no session is left-+
 *
 * A slot that is not listed keeps what is known of its server until another server needs the slot.
 * So a name that leads to one server after another, and back, does not make the gateway forget
 * which server was down.
 *
 * A session that finds the validity of a name over takes a ticket. The thread that looks names up
 * answers all tickets taken before the look-up began. So even a result without any validity serves
 * the sessions that waited for it. A ticket of an older configuration is void: its session takes
 * another.
 */
#include "proxy/servers_internal.h"
#include "proxy/servers_names.h"

#include <assert.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

/* Slots for one name at least, because it may lead to one address after another. */
enum { SPARE_PLACES = 8 };

void servers_notify(struct servers *s, bool has_changed)
{
	if (!s->changes)
		return;
	if (has_changed)
		atomic_fetch_add(&s->changes->number, 1);
	if (s->changes->notify)
		s->changes->notify(s->changes->arg);
}

void servers_key(const struct fabric_addr *addr, uint8_t *key)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addr->ss;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addr->ss;

	memset(key, 0, CHOICE_KEY);
	if (addr->ss.ss_family == AF_INET) {
		memcpy(key + 12, &v4->sin_addr, 4);
		key[10] = key[11] = 0xff; /* as an address mapped into IPv6 */
	} else if (addr->ss.ss_family == AF_INET6) {
		memcpy(key, &v6->sin6_addr, 16);
		memcpy(key + 16, &v6->sin6_scope_id, sizeof(v6->sin6_scope_id));
	}
}

/* The port lies at the same place in both families. The port is copied as octets, because struct
 * sockaddr_storage is neither of the two types. */
static void set_port(struct fabric_addr *addr, uint16_t port)
{
	_Static_assert(offsetof(struct sockaddr_in, sin_port) ==
			       offsetof(struct sockaddr_in6, sin6_port),
		       "one place");
	port = htons(port);
	memcpy((uint8_t *)&addr->ss + offsetof(struct sockaddr_in, sin_port), &port, sizeof(port));
}

/* Whether an answer is the address of a host. A name server may return anything, such as
 * multicast or unspecified addresses. */
static bool is_usable(const struct servers *s, const struct fabric_addr *addr)
{
	uint8_t key[CHOICE_KEY];
	bool is_v4 = addr->ss.ss_family == AF_INET;
	static const uint8_t none[16];

	servers_key(addr, key);
	if (is_v4)
		return s->cfg.v4 && key[12] != 0 && key[12] < 224;
	if (addr->ss.ss_family != AF_INET6 || !s->cfg.v6)
		return false;
	/* Mapped and compatible addresses belong to IPv4, and come as IPv4 addresses. */
	return memcmp(key, none, 10) != 0 ? key[0] != 0xff && !fabric_addr_lacks_interface(addr)
					  : memcmp(key + 10, none, 5) == 0 && key[15] == 1;
}

bool servers_are_known(const struct servers *s, nsec_t now)
{
	for (unsigned i = 0; i < s->cfg.nhosts; i++)
		if (s->found[i].expires <= now)
			return false;
	return true;
}

uint64_t servers_ask(struct servers *s)
{
	return ++s->asked;
}

/* --- slots --- */

static bool is_free(const struct server *server)
{
	return server->addr.len == 0;
}

static struct server *place_of(struct servers *s, const struct fabric_addr *addr)
{
	for (unsigned i = 0; i < s->nat; i++)
		if (s->at[i].addr.len == addr->len &&
		    memcmp(&s->at[i].addr.ss, &addr->ss, sizeof(addr->ss)) == 0)
			return &s->at[i];
	return NULL;
}

/* A free slot. A slot that was never used is preferred to one that still has what is known of a
 * server. NULL: there is none. */
static struct server *free_place(struct servers *s)
{
	struct server *used = NULL;

	for (unsigned i = 0; i < s->nat; i++) {
		if (is_free(&s->at[i]))
			return &s->at[i];
		if (!s->at[i].is_listed && s->at[i].users == 0)
			used = &s->at[i];
	}
	return used;
}

/* List an address. If there is no slot left it is ignored; servers with sessions keep theirs. */
static void list(struct servers *s, unsigned host, const struct fabric_addr *addr, unsigned rank)
{
	struct server *server = place_of(s, addr);

	if (!server) {
		server = free_place(s);
		if (!server)
			return;
		*server = (struct server){.addr = *addr};
		for (unsigned i = 0; i < SERVERS_HABITS; i++)
			atomic_store(&s->habits[server - s->at][i], 0);
		servers_key(addr, server->key);
	}
	if (server->is_listed)
		return;
	server->is_listed = true;
	server->host = host;
	server->rank = rank;
}

/* Make more slots. There are never fewer, because sessions know their server by the slot's
 * number. */
static int make_places(struct servers *s)
{
	unsigned n = 0;
	struct server *at;

	for (unsigned i = 0; i < s->cfg.nhosts; i++) {
		bool is_name = !s->cfg.hosts[i].addr.len;

		n += is_name && s->found[i].n < SPARE_PLACES ? SPARE_PLACES : s->found[i].n;
	}
	for (unsigned i = 0; i < s->nat; i++)
		n += s->at[i].users > 0;
	n = n < SERVERS_MOST ? n : SERVERS_MOST;
	if (n <= s->nat)
		return 0;
	at = mem_zalloc(n * sizeof(*at));
	if (!at)
		return ERR_NOMEM;
	if (s->nat)
		memcpy(at, s->at, s->nat * sizeof(*at));
	mem_free(s->at);
	s->at = at;
	s->nat = n;
	return 0;
}

int servers_relist(struct servers *s)
{
	int err = make_places(s);

	if (err)
		return err;
	for (unsigned i = 0; i < s->nat; i++)
		s->at[i].is_listed = false;
	/* Servers that have a slot first: their slots must not be taken by new ones. */
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < s->cfg.nhosts; i++)
			for (unsigned k = 0; k < s->found[i].n; k++) {
				const struct fabric_addr *addr = &s->found[i].addrs[k];

				if (pass == 1 || place_of(s, addr))
					list(s, i, addr, i * SERVERS_OF_HOST + k);
			}
	return 0;
}

/* --- configuration --- */

/* Addresses are found at once; names that were known stay known. */
static void find_hosts(struct servers *s, const struct servers_config *cfg,
		       struct servers_lookup_result *found)
{
	for (unsigned i = 0; i < cfg->nhosts; i++) {
		const struct servers_host *host = &cfg->hosts[i];

		if (host->addr.len) {
			found[i] = (struct servers_lookup_result){
				.expires = NSEC_NEVER, .n = 1, .addrs = {host->addr}};
			continue;
		}
		for (unsigned k = 0; s->found && k < s->cfg.nhosts && s->cfg.port == cfg->port; k++)
			if (!s->cfg.hosts[k].addr.len &&
			    strcmp(s->cfg.hosts[k].name, host->name) == 0)
				found[i] = s->found[k];
		found[i].expires = 0; /* the address families may differ */
	}
}

static int configure(struct servers *s, const struct servers_config *cfg)
{
	struct servers_lookup_result *was = s->found,
				     *found = mem_zalloc(cfg->nhosts * sizeof(*found));
	struct servers_config old = s->cfg;
	int err;

	if (!found)
		return ERR_NOMEM;
	find_hosts(s, cfg, found);
	s->cfg = *cfg;
	s->found = found;
	err = servers_relist(s);
	if (err) {
		s->cfg = old;
		s->found = was;
		mem_free(found);
		return err;
	}
	mem_free(was);
	s->since = s->asked;
	for (unsigned i = 0; i < s->nat && !cfg->probes; i++)
		s->at[i].unprobed = 0;
	return 0;
}

int servers_configure(struct servers *s, const struct servers_config *cfg)
{
	int err;

	assert(cfg->nhosts >= 1 && cfg->nhosts <= SERVERS_HOSTS);
	pthread_mutex_lock(&s->lock);
	err = configure(s, cfg);
	pthread_mutex_unlock(&s->lock);
	if (!err)
		servers_notify(s, true); /* sessions that wait for a name may have an address now */
	return err;
}

struct servers *servers_new(const struct servers_config *cfg, struct servers_changes *changes)
{
	struct servers *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	s->holders = 1;
	if (getrandom(&s->seed, sizeof(s->seed), 0) != (ssize_t)sizeof(s->seed) ||
	    configure(s, cfg)) {
		servers_put(s);
		return NULL;
	}
	s->changes = changes;
	return s;
}

struct servers *servers_hold(struct servers *s)
{
	pthread_mutex_lock(&s->lock);
	s->holders++;
	pthread_mutex_unlock(&s->lock);
	return s;
}

void servers_put(struct servers *s)
{
	unsigned left;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	left = --s->holders;
	pthread_mutex_unlock(&s->lock);
	if (left > 0)
		return;
	for (unsigned i = 0; i < SERVERS_BUCKETS; i++)
		assert(!s->pins[i]);
	pthread_mutex_destroy(&s->lock);
	mem_free(s->found);
	mem_free(s->at);
	mem_free(s);
}

/* --- for the thread that looks names up --- */

uint64_t servers_asked(struct servers *s)
{
	uint64_t asked;

	pthread_mutex_lock(&s->lock);
	asked = s->asked > s->answered ? s->asked : 0;
	pthread_mutex_unlock(&s->lock);
	return asked;
}

const char *servers_expired(struct servers *s, unsigned i, nsec_t now)
{
	bool is_over;

	if (i >= s->cfg.nhosts) /* only this thread configures */
		return NULL;
	pthread_mutex_lock(&s->lock);
	is_over = s->found[i].expires <= now;
	pthread_mutex_unlock(&s->lock);
	return is_over ? s->cfg.hosts[i].name : NULL;
}

static int by_octets(const struct fabric_addr *a, const struct fabric_addr *b)
{
	uint8_t x[CHOICE_KEY], y[CHOICE_KEY];

	if (a->ss.ss_family != b->ss.ss_family)
		return a->ss.ss_family == AF_INET6 ? -1 : 1;
	servers_key(a, x);
	servers_key(b, y);
	return memcmp(x, y, sizeof(x));
}

/* Insert in an order of our own, because the order of answers changes: IPv6 first, each address
 * once. */
static void insert(struct servers_lookup_result *found, const struct fabric_addr *addr)
{
	unsigned at = 0;

	while (at < found->n && by_octets(&found->addrs[at], addr) < 0)
		at++;
	if (at == SERVERS_OF_HOST || (at < found->n && by_octets(&found->addrs[at], addr) == 0))
		return;
	found->n -= found->n == SERVERS_OF_HOST;
	memmove(&found->addrs[at + 1], &found->addrs[at],
		(found->n - at) * sizeof(found->addrs[0]));
	found->addrs[at] = *addr;
	found->n++;
}

void servers_lookup_result(struct servers *s, unsigned i, const struct fabric_addr *addrs,
			   unsigned n, nsec_t expires)
{
	struct servers_lookup_result *found = &s->found[i];

	pthread_mutex_lock(&s->lock);
	found->n = 0;
	found->expires = expires;
	for (unsigned k = 0; k < n; k++)
		if (is_usable(s, &addrs[k])) {
			struct fabric_addr addr = addrs[k];

			set_port(&addr, s->cfg.port);
			insert(found, &addr);
		}
	s->count.lookups++;
	s->count.lookup_failures += found->n == 0;
	/* Without memory for more slots the list stays as it was; a later result is listed when
	 * there is memory. */
	(void)!servers_relist(s);
	pthread_mutex_unlock(&s->lock);
}

void servers_lookup_failed(struct servers *s, unsigned i, nsec_t again)
{
	pthread_mutex_lock(&s->lock);
	s->found[i].expires = again;
	s->count.lookups++;
	s->count.lookup_failures++;
	pthread_mutex_unlock(&s->lock);
}

void servers_answered(struct servers *s, uint64_t ticket)
{
	pthread_mutex_lock(&s->lock);
	if (ticket > s->answered)
		s->answered = ticket;
	pthread_mutex_unlock(&s->lock);
	servers_notify(s, true);
}
