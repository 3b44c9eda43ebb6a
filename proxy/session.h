/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_H
#define PROXY_SESSION_H

#include "base/budget_queues.h"
#include "base/mem.h"
#include "base/timer.h"
#include "fabric/preauth_queue.h"
#include "proxy/deadlines.h"
#include "proxy/handshake_limit.h"
#include "proxy/leg/leg.h"
#include "proxy/plan/hop.h"
#include "proxy/proxy.h"
#include "proxy/servers.h"

/**
 * session - one client leg paired with one server leg, for life
 *
 * Inside of proxy/ only. The files:
 * - session_open.c admits clients. session_route.c finds the route of clients that have to prove
 *   their name first. session_address.c has what a client's address decides.
 * - session.c pairs the legs and handles what the legs report. session_end.c ends sessions.
 * - session_server.c finds the server, session_version.c its version, session_hop.c the distance of
 *   both peers.
 * - session_handshakes.c and session_auth.c limit handshakes of host authentication.
 * - session_share.c names the accounts for the session's memory.
 * - session_debts.c ends sessions whose peers make no progress. session_recvs.c ends sessions whose
 *   messages hold too many shared Receives.
 * - session_log.c writes the log.
 */

struct route_state;
struct share;
struct txn;
struct txn_spare;

enum {
	SESSION_OP_DEPTH = BUDGET_OPS, /* Reads and Writes outstanding on one leg */
	SESSION_BUCKETS = 64,	       /* transactions by XID */
	SESSION_NAMED_BITS = 9,
	SESSION_NAMED = 1 << SESSION_NAMED_BITS, /* counters of handles, by hash */
	/* A server's calls that may be copied out of their Receives at once. */
	SESSION_ASIDE = 256,
};

/** struct session_reports - error reports of both peers: those logged, and those not. */
struct session_reports {
	unsigned told;
	nsec_t last; /* when the last report was logged */
	uint64_t untold;
};

enum session_state {
	SESSION_CONNECT,
	SESSION_ACCEPT,
	SESSION_PROVE,
	SESSION_JOIN,
	SESSION_OPEN,
	SESSION_CLOSING,
	SESSION_DEAD
};

/** struct session_stat - counters of one leg. */
struct session_stat {
	uint64_t calls, replies, rcalls, rreplies;
	uint64_t bytes_in, bytes_out; /* payload octets: bodies and chunks */
	uint64_t large; /* calls that arrived on this leg and took a block above SESSION_LARGE */
	/* Replies received or sent of which all or a part travelled by RDMA Write. */
	uint64_t written;
};

enum { SESSION_LARGE = 16 << 10 };

/* The debts that a peer may have, and the two budgets of time for it: session_debts.c. */
enum debt_of_leg { DEBT_REPLIES, DEBT_OCTETS, DEBT_READS, DEBT_MESSAGE, DEBTS };
enum debt_budget { DEBT_COMMON, DEBT_WHILE_PRESSED, DEBT_BUDGETS };

/** struct debt - one thing that a peer owes, as of the last look. */
struct debt {
	/* Time left in each budget, ns; the session ends when either is used up. */
	nsec_t left[DEBT_BUDGETS];
	uint64_t moved; /* octets that had moved in all */
	/* Steps (messages or operations) that must be done until the budgets are full again. */
	uint64_t due;
	bool is_owed;
};

/** struct session_flow - the Reads, or the Writes, of one leg. */
struct session_flow {
	unsigned posted;
	uint64_t octets; /* octets of the operations posted */
	uint64_t done;	 /* operations completed, in all */
	uint64_t moved;	 /* octets of the operations completed */
};

/** struct session_proof - forms of calls that a peer has accepted: txn_retry_form.c. */
struct session_proof {
	uint32_t continued; /* longest continued call, octets */
	uint32_t segments;  /* most segments in one call */
	bool body_chunk;
	bool placed; /* a call with its data in the Send was accepted */
	bool asked;  /* a call that asked for the reply's data in its Send was accepted */
};

/** struct session_ops - operations and exposures of one leg. */
struct session_ops {
	struct list queue; /* txns with Reads or Writes to post */
	struct session_flow reads, writes;
	struct list
		passers;  /* txns with Writes of cut-through results to post: txn_cut_through.c */
	unsigned exposed; /* exposures reserved for running transactions */
	struct debt debts[DEBTS];
	/* Since when leg_waits() is true with the limit .credits; NSEC_NEVER: it is not true. */
	nsec_t credits_since;
	uint32_t credits;
	/* Total time in which the peer's input was blocked here, and since when it is blocked
	 * now; NSEC_NEVER: it is not. */
	nsec_t behind, behind_since;
};

/** struct session_hop - how far the peer of a leg is: session_hop.c. */
struct session_hop {
	enum hop hop; /* as the route configures it */
	struct hop_times times;
	nsec_t asked; /* when its properties were requested; 0: not, or they have come */
	bool is_far;
	bool is_settled; /* no measurement can change .is_far any more */
};

/**
 * struct session_queue - admission of the calls of one direction, forward or reverse
 *
 * The two queues do not wait for each other, because a server may need the answer to a callback
 * before it continues.
 */
struct session_queue {
	struct session *s;
	/* Calls that wait for a transaction block, in order: txn_alloc.c. */
	struct list kept;
	struct quota_member room; /* quota of transaction blocks; waits for the first of .kept */
	struct txn_spare *spares; /* cached transaction blocks, counted in .room */
	struct list spare_link;	  /* in proxy.spare_queues; self-linked if .spares is empty */
	unsigned nspares;
	struct list waiting;	   /* txns not admitted yet, in order */
	struct quota_member quota; /* quota of payload memory; waits for the first of .waiting */
	size_t taken_bytes;	   /* octets of payload memory that admitted txns hold */
	/* Txns admitted, and the limit of that number, whatever the peers' credits allow. */
	unsigned running, limit;
	unsigned aside;	 /* calls copied out of their Receives */
	uint64_t ended;	 /* txns released */
	struct debt jam; /* the debt of answers without which no other call can proceed */
};

/** struct session_way - the session's choice of a server, of those that its route has:
 * session_server.c. */
struct session_way {
	struct list link; /* route_state.ways */
	struct session *s;
	struct servers_guest guest;
	/* The client was assigned another server: the server leg is closed for that reason. */
	bool is_elsewhere;
	struct via via; /* the gateways that the client came through, then this one */
};

/* Octets of the heap that a session's choice of a server takes, its share of proxy/servers.c
 * included. */
enum { SESSION_WAY_BYTES = sizeof(struct session_way) + 64 };

struct session {
	struct list link; /* in proxy.sessions */
	/* In proxy.dirty (to be pumped) or proxy.dead (to be freed); self-linked when in neither. */
	struct list dirty;
	size_t fixed_bytes; /* octets of Receives and headers of both legs */
	struct proxy *proxy;
	struct route_state *route;
	/* The route at whose listener the client arrived: .route, or the one whose listener .route
	 * shares. */
	struct route_state *listener;
	struct session_way *way; /* owned */
	uint64_t id;
	char host[FABRIC_ADDR_TEXT]; /* the client's address, as limits count clients */
	struct host *place;	     /* the client's entry in the session limits */
	/* The client's account of this worker's memory; NULL: not counted. */
	struct share *share;
	/* Among sessions without a message of the client: until the first message, or until the
	 * session ends. */
	struct preauth_queue_member silent;
	/* Places of the handshakes of host authentication. */
	struct handshake_slot slots[PROXY_SIDES];
	enum session_state state;
	struct leg client, server;
	struct session_stat stat[PROXY_SIDES];
	struct session_reports reports;
	bool speaks[PROXY_SIDES];    /* the route counts the version of that side's peer */
	uint8_t spoken[PROXY_SIDES]; /* the version of that peer: leg_spoken() */
	nsec_t begun;
	/* Armed: the session ends between two RPCs, and at this time in any case. */
	struct timer leave;
	struct timer setup; /* deadline of the legs' set-up */
	/* Next attempt after a device was short of resources: txn_device_busy.c. */
	struct timer shortage;
	struct list short_calls; /* txns that wait for that attempt, without exposures */
	struct list owing;	 /* in proxy.owing; self-linked when nothing is in flight */
	nsec_t looked;		 /* when its debts were last looked at */
	bool owes;		 /* something was in flight then */
	/* The server leg speaks version 1 after version 2 failed, and no message has confirmed
	 * version 1 yet. */
	bool retried_v1;
	/* The server was silent when host authentication was begun; the server leg does without. */
	bool retried_bare;
	/* A remembered verdict about host authentication proved wrong and was dropped. */
	bool retried_anew;
	bool has_version_3; /* the client has called version 3 of NFS */
	uint8_t *request;   /* the client's private data, kept until accept; owned, or NULL */
	size_t request_len;
	struct list txns;
	unsigned ntxns;
	struct session_queue forward, reverse;
	struct session_ops ops[PROXY_SIDES];
	/* Shared Receives that both legs have held since the last look; valid while
	 * session_recvs.c looks. */
	uint32_t sits_on;
	struct session_proof proof[PROXY_SIDES];
	struct session_hop hop[PROXY_SIDES];
	struct txn *buckets[SESSION_BUCKETS];
	/* How many version 1 calls in flight name a handle, by hash: txn_remote_inval.c. */
	uint8_t named[SESSION_NAMED];
};

/* session_open.c: admission of clients */

/** session_open - answer a connection request that arrived at @listener; takes @ev->conn. */
void session_open(struct route_state *listener, const struct fabric_event *ev);

/**
 * session_excess - octets by which the fabrics' pools exceed what all sessions may have together
 *
 * Connections take memory of these pools while octets are under way.
 */
size_t session_excess(const struct proxy *p);

/* session_end.c */

/** session_await_setup - a leg's set-up began or ended: arm the timer for the earlier deadline of
 * both legs. */
void session_await_setup(struct session *s);

/** session_leave_preauth_queue - the client has sent a message, or the session ends: it can no longer be
 * displaced; idempotent. */
void session_leave_preauth_queue(struct session *s);

/** session_close - end both legs in order, for @status and @why. */
void session_close(struct session *s, int status, const char *why);

/** session_leave - @s begins no more calls and ends as soon as none is in flight, at @deadline in
 * any case. */
void session_leave(struct session *s, nsec_t deadline);

/** session_breach - a peer of @s broke the protocol: that session ends, and no other. */
void session_breach(struct session *s, const char *why);

/** session_refusal - the reason under which a refused client counts if its server's connection
 * failed with @err. */
static inline enum proxy_refusal session_refusal(int err)
{
	if (err == ERR_NOMEM || err == ERR_AGAIN)
		return PROXY_REFUSED_MEMORY;
	return err == ERR_LOCAL ? PROXY_REFUSED_MACHINE : PROXY_REFUSED_UPSTREAM;
}

/**
 * session_reject_client, session_send_rejection - reject a client that was not accepted yet
 *
 * A rejection tells the client more than silence. Only the first function counts it.
 */
void session_reject_client(struct session *s, enum proxy_refusal why);
void session_send_rejection(struct session *s);

/** session_die - both legs have ended: @s is freed soon. */
void session_die(struct session *s);

/** session_begin_end - one leg of @s has ended or is about to. */
void session_begin_end(struct session *s);

/** session_stop_waiting - @s no longer waits for memory. */
void session_stop_waiting(struct session *s);

/* session.c */

/** session_input - handle one fabric event of @leg. */
void session_input(struct session *s, struct leg *leg, const struct fabric_event *ev);

/** session_pump - after a batch of events: run queued messages, admission and Sends. */
void session_pump(struct session *s);

/** session_resume - memory came free for the first transaction that waits in @q; @room: a
 * transaction block, for the first of q->kept. */
void session_resume(struct session_queue *q, bool room);

/** session_free - takes @s, in any state; gives back all it holds. */
void session_free(struct session *s);

/* session_flow.c: its Reads and Writes */

/**
 * session_posted, session_completed - a Read or Write of @bytes was posted, or the oldest one
 * completed
 *
 * At most SESSION_OP_DEPTH are outstanding on one leg.
 */
void session_posted(struct session_flow *f, uint32_t bytes);
void session_completed(struct session_flow *f);

/* session_recvs.c */

/** session_press_recvs - called at regular intervals: if Receives of @r are scarce, end sessions
 * whose messages hold them. */
void session_press_recvs(struct proxy *p, struct recvs *r);

/* session_debts.c: what peers owe, and the end of sessions whose peers do not deliver */

/** session_debts_init - @s owes nothing yet. */
void session_debts_init(struct session *s);

/** session_debts_begin - something may be in flight on @s, which is not in proxy.owing: look at
 * it from now on. */
void session_debts_begin(struct session *s);

/** session_debts_look - timer callback: look at some sessions of proxy.owing. */
void session_debts_look(struct timer *timer, nsec_t now);

/**
 * session_behind - the total time in which input of @leg's peer was blocked here (leg_is_behind()),
 * ns
 *
 * This time is not the peer's: no time limit of the peer runs meanwhile.
 */
nsec_t session_behind(struct session *s, const struct leg *leg);

static inline unsigned session_ops_posted(const struct session_ops *ops)
{
	return ops->reads.posted + ops->writes.posted;
}

/* session_server.c: which server it is */

/** session_way_new - allocate s->way. Return: 0 or ERR_NOMEM. */
int session_way_new(struct session *s) WARN_UNUSED;

/**
 * session_find_server - choose a server and open the server leg, or wait for the server's address
 *
 * Return: 0; or an error if no server is left to try.
 */
int session_find_server(struct session *s) WARN_UNUSED;

/** session_upstream_strerror - the text for an error of session_find_server(); static storage. */
const char *session_upstream_strerror(int err);

/** session_is_waiting - whether @s waits for the address of its server. */
bool session_is_waiting(const struct session *s);

/**
 * session_lookup_late - the look-up of the server's address takes too long
 *
 * The session continues with addresses known from before, waits longer if there are none, or ends.
 */
void session_lookup_late(struct session *s);

/** session_upstream_ready - the server leg of @s is ready. Return: false if its client was assigned
 * another server meanwhile; the session then connects there. */
bool session_upstream_ready(struct session *s);

/**
 * session_release - as session_leave(), and the client chooses a server anew
 *
 * All sessions of the client follow if the choice is another server.
 */
void session_release(struct session *s, nsec_t deadline);

/** session_fail_over - the server leg ended with @status, for @why, before @s was open. Return:
 * whether another server is being tried. */
bool session_fail_over(struct session *s, int status, const char *why);

/** session_way_end - @s ends: free s->way. */
void session_way_end(struct session *s);

/** sessions_hear_news - act on changes in proxy/servers.h: new addresses, and clients that moved. */
void sessions_hear_news(struct proxy *p);

/* session_version.c: which version the server speaks */

/** session_connect_server - open the server leg to the server that s->way names. Return: as
 * leg_connect(). */
int session_connect_server(struct session *s) WARN_UNUSED;

/**
 * session_retry_as_v1, session_retry_bare - the server leg ended with *@status: connect again, in
 * version 1 or without host authentication, if that may help
 *
 * Return: whether another connection is under way; if not, *@status says why the last one ended or
 * could not begin.
 */
bool session_retry_as_v1(struct session *s, int *status);
bool session_retry_bare(struct session *s, int *status);

/** session_judge_bare - the server leg is ready (@status 0) or ended with @status: if it was
 * begun without host authentication, remember or forget that the server has none. */
void session_judge_bare(struct session *s, int status);

/** session_remember_v1, session_forget_v1 - the verdict "this server speaks only version 1": it
 * is confirmed; or the server leg ended with @status, which may contradict it. */
void session_remember_v1(struct session *s);
void session_forget_v1(struct session *s, int status);

/* session_hop.c: how far its peers are */

/** session_hop_init - the route of @s is known: begin with its configured distances. */
void session_hop_init(struct session *s);

/**
 * session_hop_asked, session_hop_ready - the server leg may have begun to negotiate; the server leg
 * is ready
 *
 * The time in between is that of the exchange of properties, which is measured.
 */
void session_hop_asked(struct session *s);
void session_hop_ready(struct session *s);

/** session_hop_note - the peer took @took ns to answer. */
void session_hop_note(struct session_hop *h, nsec_t took);

/* session_address.c: what the address of a client decides */

/** session_is_let_in - whether a client at @peer may connect. */
bool session_is_let_in(const struct route_state *listener, const struct fabric_addr *peer);

/** session_is_unneeded - whether a client at @peer may connect without proving its name. */
bool session_is_unneeded(const struct route_state *listener, const struct fabric_addr *peer);

/** session_has_source - false if @rs configures local addresses and none of them is for a client
 * at @peer that proved its name to @proved (NULL: no name). */
bool session_has_source(const struct route_state *rs, const struct fabric_addr *peer,
			const struct leg *proved);

/** session_note_version_3 - the client of @s speaks version 3 of NFS, whose locks are in another
 * protocol. */
void session_note_version_3(struct session *s);

/** session_source - the local address from which to connect for the client of @s, into @out.
 * Return: false if the route configures none. */
bool session_source(const struct session *s, struct fabric_addr *out);

/* session_share.c: which accounts its memory counts for */

/** session_share_client - @s has a new route and holds no memory yet: memory of its client leg is
 * charged to its client's address. */
void session_share_client(struct session *s);

/** session_share_server - the server of @s is chosen and the server leg holds no memory yet:
 * memory of @s is charged to that server as well. */
void session_share_server(struct session *s);

/** session_share_leave - @s holds no memory, and ends or takes another route. */
void session_share_leave(struct session *s);

/* session_route.c: clients whose name chooses the route, or the local address that their server
 * sees */

/**
 * session_route_of - the route of a client at @peer that arrives at @listener
 *
 * If the client has to prove its name first, that is @listener's own. Return: NULL if no route is
 * for it.
 */
struct route_state *session_route_of(struct route_state *listener, const struct fabric_addr *peer);

/** session_goes_by_name - whether the name that a client of @listener proves chooses its route or
 * local address. */
bool session_goes_by_name(const struct route_state *listener);

/**
 * session_has_to_prove - whether a client at @peer has to prove its name to @listener
 *
 * Until it has, nothing is asked of a server for it.
 */
bool session_has_to_prove(const struct route_state *listener, const struct fabric_addr *peer);

/** session_drop_request - free the client's private data. */
static inline void session_drop_request(struct session *s)
{
	mem_free(s->request);
	s->request = NULL;
	s->request_len = 0;
}

/** session_accept - accept the client; from then on it cannot be rejected. */
void session_accept(struct session *s);

/** session_prove - accept the client of @s before any server is connected, so that it can prove
 * its name. */
void session_prove(struct session *s);

/** session_choose - if the client has proved its name, continue with its route, or end @s. */
void session_choose(struct session *s);

/** session_set_route - @s, over which no RPC has passed, belongs to @rs from now on. */
void session_set_route(struct session *s, struct route_state *rs);

/* session_handshakes.c: the session's places among handshakes of host authentication */

/* While handshakes wait for a place, those that have one are checked at this interval. */
#define SESSION_DOORS (NSEC_PER_SEC / 4)

/** session_auth - something happened on @leg: its handshake may need a place, wait for one, or be
 * over. */
void session_auth(struct session *s, struct leg *leg);

/** session_auth_leave - the handshake of @leg is over or given up: it needs no place. */
void session_auth_leave(struct session *s, struct leg *leg);

/** session_auth_end - session_auth_leave() of both legs. */
void session_auth_end(struct session *s);

/** session_drop_server - destroy the server leg; another may follow. */
void session_drop_server(struct session *s);

/* session_auth.c: handshakes of host authentication of all sessions */

/** session_auth_sides - how many sides of @route have host authentication, 0 to 2. */
unsigned session_auth_sides(const struct proxy_route *route);

/**
 * session_auth_open - set the handshake limits of @rs; all routes together have @sides sides with
 * host authentication
 *
 * Return: 0 or ERR_NOMEM; session_auth_fini() is due.
 */
int session_auth_open(struct route_state *rs, unsigned sides) WARN_UNUSED;
void session_auth_fini(struct route_state *rs);

/** session_auth_back - take back finished jobs of host authentication. */
void session_auth_back(struct proxy *p);

/* session_version.c: statistics */

/** session_count_version - the version that the peer of @leg speaks is known: count it. */
void session_count_version(struct session *s, const struct leg *leg);

/** session_uncount_versions - @s ends: its versions no longer count. */
void session_uncount_versions(struct session *s);

/* session_log.c */

/** session_log_end - log one line: @leg was the first to end, with @status. */
void session_log_end(struct session *s, const struct leg *leg, int status, const char *why);

/** session_log_legs - log one line event=leg for each leg. */
void session_log_legs(const struct session *s);

/** session_log_auth - log one line when host authentication of @leg's peer succeeded or failed. */
void session_log_auth(const struct session *s, struct leg *leg);

/** session_names - " client_name=... server_name=..." with the names that were proved, into @text
 * of SESSION_NAMES_BYTES. */
enum { SESSION_NAMES_BYTES = 2 * (HOSTAUTH_NAME_BYTES + 16) };
const char *session_names(const struct session *s, char *text);

/** session_log_report - the peer of @leg reported an error: log a line, unless there were many. */
void session_log_report(struct session *s, const struct leg *leg, const struct leg_out *out);

/** session_log_untold - at the end of @s: log how many reports had no line since the last one. */
void session_log_untold(const struct session *s);

static inline struct session *session_of(struct leg *leg)
{
	return leg->role == RPC_ACCEPTOR ? container_of(leg, struct session, client)
					 : container_of(leg, struct session, server);
}

static inline enum proxy_side session_side(const struct leg *leg)
{
	return leg->role == RPC_ACCEPTOR ? PROXY_CLIENT : PROXY_SERVER;
}

static inline struct session_ops *session_ops(struct session *s, const struct leg *leg)
{
	return &s->ops[session_side(leg)];
}

static inline struct session_proof *session_proof(struct session *s, const struct leg *leg)
{
	return &s->proof[session_side(leg)];
}

static inline struct session_queue *session_queue(struct session *s, bool reverse)
{
	return reverse ? &s->reverse : &s->forward;
}

/** session_requester, session_responder - the leg that the calls of @q come from, and the leg
 * that they go to. */
static inline struct leg *session_requester(const struct session_queue *q)
{
	return q == &q->s->forward ? &q->s->client : &q->s->server;
}

static inline struct leg *session_responder(const struct session_queue *q)
{
	return q == &q->s->forward ? &q->s->server : &q->s->client;
}

/** session_calls_wait - whether calls wait in @q, for a transaction block or for admission. */
static inline bool session_calls_wait(const struct session_queue *q)
{
	return !list_is_empty(&q->waiting) || !list_is_empty(&q->kept);
}

/** session_awaits_server - whether the server leg of @s is in set-up. */
static inline bool session_awaits_server(const struct session *s)
{
	return s->state == SESSION_CONNECT || s->state == SESSION_JOIN;
}

/** session_is_idle - whether no call of @s is in flight. */
static inline bool session_is_idle(const struct session *s)
{
	return s->ntxns == 0 && list_is_empty(&s->forward.kept) && list_is_empty(&s->reverse.kept);
}

static inline struct session_stat *session_stat(struct session *s, const struct leg *leg)
{
	return &s->stat[session_side(leg)];
}

static inline struct session_hop *session_hop(struct session *s, const struct leg *leg)
{
	return &s->hop[session_side(leg)];
}

/** session_answered - a call on @leg was answered after @took ns. */
static inline void session_answered(struct session *s, const struct leg *leg, nsec_t took)
{
	if (!session_hop(s, leg)->is_settled)
		session_hop_note(session_hop(s, leg), took);
}

#endif
