/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SERVERS_INTERNAL_H
#define PROXY_SERVERS_INTERNAL_H

#include <pthread.h>

#include "base/list.h"
#include "proxy/choice.h"
#include "proxy/servers.h"

/** State that servers.c and servers_names.c share; servers.c uses servers_names.c. All of it is
 * guarded by servers.lock, except servers.habits. */

/** struct server - one address. It keeps its slot while it is listed or has users. */
struct server {
	struct fabric_addr addr; /* .len 0: the slot is free */
	uint8_t key[CHOICE_KEY];
	/* Order in the configuration, and index of the first host that leads to this address. */
	unsigned rank, host;
	bool is_listed;	   /* a configured host leads to the address now */
	bool is_tried;	   /* the server is down and one session tries it now */
	unsigned users;	   /* number of sessions, clients and probes that use it */
	unsigned failures; /* failed set-ups in a row */
	unsigned unprobed; /* unanswered probes in a row */
	unsigned unheard;  /* connections in a row that ended unheard: servers_ended_unheard() */
	unsigned heard;	   /* sessions of .users that have heard the server */
	/* Valid if .failures or .unprobed make the server down: no session tries it before. */
	nsec_t down_until;
	nsec_t v1_until;   /* believed until then to speak version 1 alone */
	nsec_t bare_until; /* believed until then to be silent if host authentication is begun */
	struct server_figures count;
};

/** struct servers_pin - the assignment of one client to a server, as long as the client has
 * sessions. */
struct servers_pin {
	uint8_t key[CHOICE_KEY];  /* of the client's address: servers_key() */
	struct servers_pin *next; /* in a bucket of servers.pins */
	unsigned users;		  /* sessions of the client */
	unsigned open;		  /* sessions of .users that are open at .server, in this epoch */
	uint32_t server;	  /* slot of the server; valid with .has_server */
	uint32_t epoch;		  /* number of assignments so far */
	bool has_server;
};

enum { SERVERS_BUCKETS = 256 };

struct servers {
	pthread_mutex_t lock;
	unsigned holders; /* servers_hold() */
	struct servers_config cfg;
	struct servers_changes *changes;
	uint64_t seed; /* for the hash of .pins */
	struct server *at;
	unsigned nat; /* number of slots */
	/* Until when the server of each slot is believed to have each habit. Not guarded by
	 * .lock. */
	_Atomic(nsec_t) habits[SERVERS_MOST][SERVERS_HABITS];
	struct servers_pin *pins[SERVERS_BUCKETS];
	/* The result of the last look-up of each host. */
	struct servers_lookup_result {
		/* When it has to be looked up again; NSEC_NEVER: the host is an address. */
		nsec_t expires;
		unsigned n;
		struct fabric_addr addrs[SERVERS_OF_HOST];
	} * found;
	uint64_t asked, answered; /* the last tickets that were given out, and answered */
	uint64_t since;		  /* tickets up to this one belong to an older configuration */
	uint64_t released;	  /* clients released to choose anew */
	struct servers_figures count;
};

#endif
