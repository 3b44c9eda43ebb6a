/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SERVERS_H
#define PROXY_SERVERS_H

#include <stdatomic.h>

#include "base/loop.h"
#include "fabric/addr.h"

/**
 * servers - those that a route leads to, as all workers share them: their addresses, how their last
 * connections went, and which client is with which
 *
 *   hosts, as configured --(a name is looked up)--> servers, one an address --choice.h--> a client's
 *
 * A client's connections go to one server. As long as one of them is there, those that come later follow it,
 * whatever became of names, of other servers, or of what was configured, unless an operator drains them.
 * Where its server does not take a connection, or probes found it down, the client moves, whole: its next
 * server is noted for it, and its sessions with the old one hear of it (servers_has_moved()).
 *
 * A server whose connection could not be set up is down for a while, which doubles with each failure: those who are
 * not with it yet go elsewhere, as long as there is one that is not. After that one client tries it.
 *
 * Any thread may call anything here but where it says whose it is; a lock is held for a few comparisons, when a session
 * begins and when it ends, and never while RPCs are carried.
 */
enum {
	SERVERS_HOSTS = 16,   /* configured */
	SERVERS_OF_HOST = 32, /* addresses taken of one name */
	SERVERS_MOST = 64,    /* known at once: a bit for each fits struct servers_guest */
	SERVERS_HOST_BYTES = 256,
	SERVERS_NONE = UINT32_MAX,
};

#define SERVERS_BACKOFF (1 * NSEC_PER_SEC)
#define SERVERS_BACKOFF_MOST (60 * NSEC_PER_SEC)

enum { SERVERS_PROBES_FAILED = 2 /* in a row: then a server is down */ };

/** struct servers_bell - by which those hear of it who have to. One for all servers of a process. */
struct servers_bell {
	atomic_uint news; /* counts what relays have to look at: proxy.c */
	void (*ring)(
		void *arg); /* by any thread: a look-up is asked for, or there are news; NULL: nobody
				  * listens */
	void *arg;
};

/** struct servers_host - an address, or a name that somebody looks up. */
struct servers_host {
	char name[SERVERS_HOST_BYTES]; /* as configured */
	struct fabric_addr addr;       /* .len 0: it is a name */
};

struct servers_config {
	struct servers_host hosts[SERVERS_HOSTS];
	unsigned nhosts; /* at least 1 */
	uint16_t port;	 /* of addresses that names lead to */
	bool by_client;	 /* spread, or the first that serves */
	bool v4, v6;	 /* families that may be connected to */
	bool probes;	 /* somebody does */
	nsec_t patience; /* for a connection to be set up */
};

struct servers;

/** servers_new - @bell: borrowed. Return: owned, by one holder; or NULL. */
struct servers *servers_new(const struct servers_config *cfg, struct servers_bell *bell);

/** servers_hold, servers_put - one holder more; takes @s, NULL too. The last one is followed by no call: no
 * guest is left (asserted). */
struct servers *servers_hold(struct servers *s);
void servers_put(struct servers *s);

/** servers_configure - other hosts from now on; those with the same address keep what is known of them. Return: 0 or
 * ERR_NOMEM: nothing has changed. */
int servers_configure(struct servers *s, const struct servers_config *cfg) WARN_UNUSED;

/* --- sessions --- */

struct servers_pin;

/** struct servers_guest - one session, from the first servers_choose() to servers_leave(); zero at first. */
struct servers_guest {
	struct servers_pin *pin; /* of its client; NULL: none yet */
	uint64_t tried;		 /* servers that failed it */
	uint64_t ticket;	 /* of the look-up it waits for; 0: none */
	uint32_t server;	 /* from SERVERS_GO on */
	uint32_t epoch;		 /* private */
	bool has_server, is_open;
	bool has_waited; /* the caller's: for a look-up, long enough where something is known from before */
};

enum servers_answer {
	SERVERS_GO,   /* .server is the one */
	SERVERS_WAIT, /* for names to be looked up: again at the next news */
	SERVERS_OVER, /* none is left that did not fail it, or none is known */
	SERVERS_SHORT /* of memory */
};

/** servers_choose - a server for the guest, whose client has the address @client; after servers_failed() the next one.
 * Where names have to be looked up somebody is asked to. */
enum servers_answer servers_choose(struct servers *s, struct servers_guest *g,
				   const struct fabric_addr *client, nsec_t now) WARN_UNUSED;

/** servers_addr - where server @slot is, into @out. */
void servers_addr(struct servers *s, unsigned slot, struct fabric_addr *out);

/**
 * servers_opened - the connection to .server is set up
 * @came_up: set where it was down
 *
 * Return: false: meanwhile its client is with another server, which did not fail this guest: servers_choose() again.
 */
bool servers_opened(struct servers *s, struct servers_guest *g, bool *came_up) WARN_UNUSED;

/** servers_failed - it could not be set up. Return: whether the server was not down before. */
bool servers_failed(struct servers *s, struct servers_guest *g, nsec_t now);

/** servers_has_moved - its client has another server by now. */
bool servers_has_moved(struct servers *s, const struct servers_guest *g);

/**
 * servers_release - its client, which is drained, follows its sessions no more, but chooses anew
 *
 * Its sessions that there are yet have moved then. Nothing happens where it would choose the same server, or has none.
 * Return: whether it did.
 */
bool servers_release(struct servers *s, const struct servers_guest *g, nsec_t now);

/** servers_moves - how many clients have, or were released; when it has changed servers_has_moved() may be true of some. */
uint64_t servers_moves(struct servers *s);

/** servers_leave - the session ends; idempotent. */
void servers_leave(struct servers *s, struct servers_guest *g);

/** servers_v1_until, servers_remember_v1 - until when server @slot is believed to speak version 1 alone. */
nsec_t servers_v1_until(struct servers *s, unsigned slot);
void servers_remember_v1(struct servers *s, unsigned slot, nsec_t until);

/** servers_bare_until, servers_remember_bare - until when server @slot is believed to say nothing where host authentication
 * is begun, and to serve without. */
nsec_t servers_bare_until(struct servers *s, unsigned slot);
void servers_remember_bare(struct servers *s, unsigned slot, nsec_t until);

/* --- probes --- */

/** servers_list - slots of those in use now into @slots of SERVERS_MOST; names that have to be looked up are asked for.
 * Return: how many. */
unsigned servers_list(struct servers *s, uint32_t *slots, nsec_t now);

/** servers_probe_begin - @slot stays with its server until servers_probe_end(); @addr: where that server is. */
void servers_probe_begin(struct servers *s, unsigned slot, struct fabric_addr *addr);
void servers_probe_end(struct servers *s, unsigned slot);

/** servers_probed - the server answered, or not. Return: whether that changed what is known. */
bool servers_probed(struct servers *s, unsigned slot, bool answered, nsec_t now);

/* --- names, by the one thread that looks them up, and configures --- */

/** servers_asked - the ticket of the last look-up that somebody asked for; 0: none since servers_answered(). */
uint64_t servers_asked(struct servers *s);

/** servers_expired - the name of host @i, which is to be looked up again at @now; NULL: it need not. Return: valid
 * until servers_configure(). */
const char *servers_expired(struct servers *s, unsigned i, nsec_t now);

/**
 * servers_found - what the name of host @i leads to
 * @addrs:   whatever their ports; such as nobody can be connected to are left out
 * @expires: nobody who comes after that goes by it; at once: those who wait do all the same
 */
void servers_found(struct servers *s, unsigned i, const struct fabric_addr *addrs, unsigned n,
		   nsec_t expires);

/** servers_unfound - it could not be looked up: what it led to before holds until @again. */
void servers_unfound(struct servers *s, unsigned i, nsec_t again);

/** servers_answered - all that was asked for up to @ticket was looked up. */
void servers_answered(struct servers *s, uint64_t ticket);

/* --- figures --- */

/** struct server_figures - nothing but uint64_t; the first are states, the others only rise. */
struct server_figures {
	uint64_t up, sessions; /* up: or not known to be down */
	uint64_t connects, failures;
	uint64_t probes, probe_failures;
};

struct server_view {
	struct fabric_addr addr;
	char host
		[SERVERS_HOST_BYTES]; /* as configured; "": it is so no more, and has sessions yet */
	struct server_figures figures;
};

/** struct servers_figures - of all together, the same way. */
struct servers_figures {
	uint64_t servers_up, servers_down;
	uint64_t moves; /* of clients, from one server to another */
	uint64_t lookups, lookup_failures;
};

struct servers_view {
	unsigned n;
	bool by_client;
	struct servers_figures figures;
	struct server_view at[SERVERS_MOST];
};

/** servers_figures_add - @more to @sum. */
void servers_figures_add(struct servers_figures *sum, const struct servers_figures *more);

/** servers_look - all there is to see, into @view. */
void servers_look(struct servers *s, struct servers_view *view);

#endif
