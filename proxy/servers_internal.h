/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SERVERS_INTERNAL_H
#define PROXY_SERVERS_INTERNAL_H

#include <pthread.h>

#include "base/list.h"
#include "proxy/choice.h"
#include "proxy/servers.h"

/** What servers.c and servers_names.c share: the first stands on the second. All of it is guarded by servers.lock. */

/** struct server - one address. It keeps its place for as long as it is listed, or somebody is there. */
struct server {
	struct fabric_addr addr; /* .len 0: the place is free */
	uint8_t key[CHOICE_KEY];
	unsigned rank, host; /* of the one that listed it first */
	bool is_listed;
	bool is_tried;	   /* it is down, and one guest finds out whether it is still */
	unsigned users;	   /* guests, pins, and probes */
	unsigned failures; /* connections that could not be set up, in a row */
	unsigned unprobed; /* probes without an answer, in a row */
	nsec_t down_until; /* with one of these: nobody tries it before */
	nsec_t v1_until;   /* it speaks version 1 alone: believed until then */
	nsec_t bare_until; /* it is silent where host authentication is begun: likewise */
	struct server_figures count;
};

/** struct servers_pin - the server of one client, for as long as it has sessions. */
struct servers_pin {
	uint8_t key[CHOICE_KEY];
	struct servers_pin *next;
	unsigned guests;
	unsigned open;	 /* of these: with .server, in this epoch */
	uint32_t server; /* .has_server */
	uint32_t epoch;	 /* counts its servers */
	bool has_server;
};

enum { SERVERS_BUCKETS = 256 };

struct servers {
	pthread_mutex_t lock;
	unsigned holders;
	struct servers_config cfg;
	struct servers_bell *bell;
	uint64_t seed; /* of .pins */
	struct server *at;
	unsigned nat; /* places there are */
	struct servers_pin *pins[SERVERS_BUCKETS];
	/* What the name of each host led to. */
	struct servers_found {
		nsec_t expires; /* it is looked up after that; NSEC_NEVER: an address */
		unsigned n;
		struct fabric_addr addrs[SERVERS_OF_HOST];
	} * found;
	uint64_t asked, answered;
	uint64_t since;	   /* tickets up to this one are for hosts of another configuration */
	uint64_t released; /* clients that were sent to choose anew */
	struct servers_figures count;
};

/** servers_key - @addr as octets: the whole of it, for a network of hosts is no host here. */
void servers_key(const struct fabric_addr *addr, uint8_t *key);

/** servers_relist - the places, as hosts are configured and were found. Return: 0 or ERR_NOMEM. */
int servers_relist(struct servers *s) WARN_UNUSED;

/** servers_are_known - nobody has to wait for a look-up. */
bool servers_are_known(const struct servers *s, nsec_t now);

/** servers_ask - for one. Return: its ticket. */
uint64_t servers_ask(struct servers *s);

/** servers_ring - by whoever does not hold the lock: @news, or a look-up was asked for. */
void servers_ring(struct servers *s, bool news);

#endif
