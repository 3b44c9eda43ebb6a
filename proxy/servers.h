/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SERVERS_H
#define PROXY_SERVERS_H

#include <stdatomic.h>

#include "base/loop.h"
#include "fabric/addr.h"

/**
 * servers - the servers of a route, shared by all workers: their addresses, how their last
 * connections went, and which client is assigned to which server
 *
 *   hosts, as configured --look-up of names--> servers, one for each address
 *                                                |
 *                                                +--choice.h--> the server of a client
 *
 * All connections of a client go to one server:
 * - While the client has a session open at a server, its later sessions go there, even if names,
 *   other servers or the configuration have changed. A client that an operator drains is the
 *   exception.
 * - If a connection to that server fails without an answer, or probes found it down, the whole
 *   client moves: another server is assigned to it, and its sessions at the old one have to leave
 *   (servers_has_moved()).
 *
 * A server is down for a time if its connection set-up failed without an answer, or if it ends
 * connections before it sends anything. The time doubles with each failure. Clients that are not assigned to it go to other servers, as long as one is up. When
 * the time is over one client tries it.
 *
 * Any thread may call any function here, unless its comment names one thread. A lock is held for a
 * few comparisons, when a session begins or ends; no RPC takes the lock.
 */
enum {
	SERVERS_HOSTS = 16,   /* hosts in the configuration */
	SERVERS_OF_HOST = 32, /* addresses taken of one name */
	SERVERS_MOST = 64,    /* servers known at once; struct servers_user has a bit for each */
	SERVERS_HOST_BYTES = 256,
	SERVERS_NONE = UINT32_MAX,
};

/* Time for which a server is down after its first failure, and at most; ns. */
#define SERVERS_BACKOFF (1 * NSEC_PER_SEC)
#define SERVERS_BACKOFF_MOST (60 * NSEC_PER_SEC)

enum { SERVERS_PROBES_FAILED = 2 /* unanswered probes in a row after which a server is down */ };
enum { SERVERS_UNHEARD = 3 /* connections in a row: servers_ended_unheard() */ };

/** struct servers_changes - how relays and the main thread learn of changes; one for all servers
 * of a process. */
struct servers_changes {
	atomic_uint number; /* number of changes that relays have to look at: proxy.c */
	/* Called by any thread when a look-up is requested or something changed; NULL: not
	 * called. */
	void (*notify)(void *arg);
	void *arg;
};

/** struct servers_host - a configured address, or a name to be looked up. */
struct servers_host {
	char name[SERVERS_HOST_BYTES]; /* as configured */
	struct fabric_addr addr;       /* .len 0: .name is to be looked up */
};

struct servers_config {
	struct servers_host hosts[SERVERS_HOSTS];
	unsigned nhosts; /* at least 1 */
	uint16_t port;	 /* port for addresses that a look-up returns */
	/* True: clients are spread over the servers; false: the first server that is up is used. */
	bool by_client;
	bool v4, v6;	/* address families that may be used */
	bool probes;	/* servers are probed */
	nsec_t timeout; /* how long a connection's set-up may take, ns */
};

struct servers;

/** servers_new - @changes is borrowed. Return: owned, with one holder; or NULL. */
struct servers *servers_new(const struct servers_config *cfg, struct servers_changes *changes);

/**
 * servers_hold, servers_put - add a holder; drop one
 *
 * servers_put() takes @s, which may be NULL. When the last holder is dropped no session may be left
 * (asserted).
 */
struct servers *servers_hold(struct servers *s);
void servers_put(struct servers *s);

/** servers_configure - replace the hosts; a server whose address stays keeps its state. Return: 0,
 * or ERR_NOMEM and nothing has changed. */
int servers_configure(struct servers *s, const struct servers_config *cfg) WARN_UNUSED;

/* --- sessions --- */

struct servers_pin;

/** struct servers_user - one session's use of the servers, from the first servers_choose() to
 * servers_leave(); zero at first. */
struct servers_user {
	struct servers_pin *pin; /* of its client; NULL before the first servers_choose() */
	uint64_t tried;		 /* bit mask of servers that failed this session */
	uint64_t rejected;	 /* bit mask: of these, servers that answered */
	uint64_t ticket;	 /* the look-up that it waits for; 0: none */
	uint32_t server;	 /* slot of its server; valid after SERVERS_GO */
	uint32_t epoch;		 /* private */
	/* .server is valid, and the session is one of its users; servers_opened() was called for
	 * .server; servers_heard() was, too. */
	bool has_server, is_open, is_heard;
	/* Set by the caller: the session has waited for a look-up long enough to use older
	 * results. */
	bool has_waited;
};

enum servers_answer {
	SERVERS_GO,   /* connect to .server */
	SERVERS_WAIT, /* names are being looked up: call again after the next change */
	SERVERS_OVER, /* no server is known, or each has failed this session */
	SERVERS_SHORT /* no memory */
};

/**
 * servers_choose - choose a server for session @g, whose client has the address @client
 *
 * After servers_failed() it chooses the next one. If names have to be looked up it requests that.
 */
enum servers_answer servers_choose(struct servers *s, struct servers_user *g,
				   const struct fabric_addr *client, nsec_t now) WARN_UNUSED;

/** servers_addr - the address of server @slot, into @out. */
void servers_addr(struct servers *s, unsigned slot, struct fabric_addr *out);

/**
 * servers_opened - the connection to .server is set up
 * @came_up: set if the server was down. Exception: servers_ended_unheard() found it down. Then it is
 *           down until servers_heard().
 *
 * Return: true; or false: the client was assigned another server meanwhile, which has not failed
 * this session: call servers_choose() again.
 */
bool servers_opened(struct servers *s, struct servers_user *g, bool *came_up) WARN_UNUSED;

/** servers_heard - .server has sent its first message to the open session @g. Return: whether the
 * server was down. */
bool servers_heard(struct servers *s, struct servers_user *g);

/**
 * servers_ended_unheard - .server was sent a call of the open session @g, and ended the connection
 * before it sent any message
 *
 * State:  a server of version 1 has no message in set-up. Its connection is set up, and the client is
 *         accepted, before anybody knows whether the server answers calls.
 * Danger: a server that crashes at each first call, or ends each connection, is never down. Its
 *         clients connect again and again, and none gets another server.
 * Rule:   after SERVERS_UNHEARD such connections in a row the server is down, as after
 *         servers_failed(). If any session that is open now has heard the server, the server is not
 *         down: then it ends the connections of one client, for reasons of its own.
 * Pinned: tests/session/test_unheard.c, tests/proxy/test_servers.c:a_server_that_others_hear_is_not_down
 *
 * Return: whether the server was up, and is down now.
 */
bool servers_ended_unheard(struct servers *s, struct servers_user *g, nsec_t now);

/** servers_failed - the connection to .server could not be set up. Return: whether the server was
 * up before. */
bool servers_failed(struct servers *s, struct servers_user *g, nsec_t now);

/**
 * servers_rejected - .server answered, and rejected the connection
 *
 * State:  a server rejects connections of one client: the client is not on its list, has all the
 *         sessions it may have, or named gateways that make the connection look like a loop.
 * Danger: the server counts as down for all clients, or open sessions of the client move.
 * Rule:   nothing changes for other sessions. The session tries the next server. If its client has
 *         sessions open at this one, or gets some meanwhile, it uses no other, because it would
 *         move them.
 * Pinned: tests/proxy/test_servers.c:a_rejection_is_about_one_connection,
 *         tests/session/test_upstreams.c:a_rejection_moves_nobody
 *
 * Return: whether the server was down; it has answered, so it is up.
 */
bool servers_rejected(struct servers *s, struct servers_user *g);

/** servers_has_moved - whether the client of @g is now assigned to another server. */
bool servers_has_moved(struct servers *s, const struct servers_user *g);

/**
 * servers_release - an operator drains the client of @g: the client chooses a server anew
 *
 * The client's sessions alive now count as moved. Nothing happens if the client would choose the
 * same server, or has no server. Return: whether it was released.
 */
bool servers_release(struct servers *s, const struct servers_user *g, nsec_t now);

/** servers_moves - how many clients have moved or were released. When the number has changed,
 * servers_has_moved() may be true for some sessions. */
uint64_t servers_moves(struct servers *s);

/** servers_leave - session @g ends; idempotent. */
void servers_leave(struct servers *s, struct servers_user *g);

/** servers_v1_until, servers_remember_v1 - until when server @slot is believed to speak version 1
 * alone. */
nsec_t servers_v1_until(struct servers *s, unsigned slot);
void servers_remember_v1(struct servers *s, unsigned slot, nsec_t until);

/** servers_bare_until, servers_remember_bare - until when server @slot is believed to be silent
 * if host authentication is begun, and to serve without it. */
nsec_t servers_bare_until(struct servers *s, unsigned slot);
void servers_remember_bare(struct servers *s, unsigned slot, nsec_t until);

/** enum servers_habit - habits of servers (docs/glossary.md). Calls to a server with a habit are
 * formed in another way. */
enum servers_habit {
	SERVERS_NO_MIXED_CHUNKS, /* it ignores Write chunks beside a Reply chunk */
	SERVERS_LARGE_REPLY,	 /* its replies are longer than expected */
	SERVERS_NO_WAY,		 /* directions of the round-trip extension leave it no way */
	SERVERS_HABITS
};

/**
 * servers_habit_until, servers_remember_habit - until when server @slot is believed to have @habit
 *
 * Only for a session that uses the server, so that the slot stays the server's. Takes no lock,
 * because it is called for RPCs.
 */
nsec_t servers_habit_until(const struct servers *s, unsigned slot, enum servers_habit habit);
void servers_remember_habit(struct servers *s, unsigned slot, enum servers_habit habit,
			    nsec_t until);

/* --- probes --- */

/** servers_list - the slots of all servers in use now, into @slots of SERVERS_MOST; requests
 * look-ups that are due. Return: how many. */
unsigned servers_list(struct servers *s, uint32_t *slots, nsec_t now);

/** servers_probe_begin - reserve @slot for its server until servers_probe_end(), and put the
 * server's address into @addr. */
void servers_probe_begin(struct servers *s, unsigned slot, struct fabric_addr *addr);
void servers_probe_end(struct servers *s, unsigned slot);

/** servers_probed - a probe of server @slot was answered or not. Return: whether the result changed
 * the server from up to down, or from down to up. */
bool servers_probed(struct servers *s, unsigned slot, bool answered, nsec_t now);

/* --- names; only the one thread that looks names up, and configures, calls these --- */

/** servers_asked - the ticket of the last look-up that was requested; 0: none since
 * servers_answered(). */
uint64_t servers_asked(struct servers *s);

/** servers_expired - the name of host @i if it has to be looked up again at @now, else NULL.
 * Return: valid until servers_configure(). */
const char *servers_expired(struct servers *s, unsigned i, nsec_t now);

/**
 * servers_lookup_result - the result of a look-up of host @i
 * @addrs:   ports do not matter; addresses that cannot be connected to are left out
 * @expires: sessions that begin after it do not use the result; if it has passed, sessions
 *           that wait now still use it
 */
void servers_lookup_result(struct servers *s, unsigned i, const struct fabric_addr *addrs,
			   unsigned n, nsec_t expires);

/** servers_lookup_failed - the look-up of host @i failed: the previous result stays valid until
 * @again. */
void servers_lookup_failed(struct servers *s, unsigned i, nsec_t again);

/** servers_answered - all look-ups requested up to @ticket are done. */
void servers_answered(struct servers *s, uint64_t ticket);

/* --- statistics --- */

/** struct server_figures - nothing but uint64_t; .up and .sessions are states, all others only
 * rise. */
struct server_figures {
	/* .up: 1: the server is not known to be down, else 0; .sessions: sessions with the
	 * server */
	uint64_t up, sessions;
	/* Connections of sessions that were set up; those that failed or were rejected. */
	uint64_t connects, failures;
	uint64_t probes, probe_failures; /* all probes; unanswered ones */
};

struct server_view {
	struct fabric_addr addr;
	/* As configured; "": no longer configured, but sessions are left. */
	char host[SERVERS_HOST_BYTES];
	struct server_figures figures;
};

/** struct servers_figures - figures of all servers of a route together; nothing but uint64_t. */
struct servers_figures {
	uint64_t servers_up, servers_down; /* states, of servers in use now */
	uint64_t moves;			   /* clients that moved from one server to another */
	uint64_t lookups, lookup_failures;
};

struct servers_view {
	unsigned n;
	bool by_client;
	struct servers_figures figures;
	struct server_view at[SERVERS_MOST];
};

/** servers_figures_add - add @more to @sum. */
void servers_figures_add(struct servers_figures *sum, const struct servers_figures *more);

/** servers_snapshot - a copy of everything, into @view. */
void servers_snapshot(struct servers *s, struct servers_view *view);

#endif
