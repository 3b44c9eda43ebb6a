/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_H
#define PROXY_SESSION_H

#include "base/budget_queues.h"
#include "base/mem.h"
#include "base/timer.h"
#include "fabric/lobby.h"
#include "proxy/deadlines.h"
#include "proxy/door.h"
#include "proxy/leg/leg.h"
#include "proxy/plan/hop.h"
#include "proxy/proxy.h"
#include "proxy/servers.h"

/**
 * session - one client leg paired with one server leg, for life
 *
 * Inside of proxy/ only. session_open.c lets clients in, session_route.c finds the route of those who have to
 * prove who they are first, session_address.c what an address decides, session.c pairs the legs and routes
 * what comes out of them; session_server.c finds the server, session_version.c its version, session_hop.c how
 * far the peers are, session_debts.c ends sessions whose peers stand still, session_recvs.c
 * those that keep shared Receives, session_log.c reports.
 */

struct route_state;
struct share;
struct txn;
struct txn_spare;

enum {
	SESSION_OP_DEPTH = BUDGET_OPS, /* Reads and Writes outstanding on one leg */
	SESSION_BUCKETS = 64,	       /* transactions by XID */
	SESSION_NAMED_BITS = 9,
	SESSION_NAMED = 1 << SESSION_NAMED_BITS, /* handles by hash */
	SESSION_ASIDE = 256,			 /* calls of the server set aside */
};

/** struct session_reports - of errors by its peers: those in the log, and those not. */
struct session_reports {
	unsigned told;
	nsec_t last; /* when */
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

/** struct session_stat - what is counted of one leg. */
struct session_stat {
	uint64_t calls, replies, rcalls, rreplies;
	uint64_t bytes_in, bytes_out; /* payload octets: bodies and chunks */
	uint64_t large;	  /* calls that came there, and took a block above SESSION_LARGE */
	uint64_t written; /* replies that came, or went, by RDMA Write, all or in part */
};

enum { SESSION_LARGE = 16 << 10 };

/* What a peer may owe: session_debts.c. */
enum debt_of_leg { DEBT_REPLIES, DEBT_OCTETS, DEBT_READS, DEBT_MESSAGE, DEBTS };
enum debt_budget { DEBT_COMMON, DEBT_WHILE_PRESSED, DEBT_BUDGETS };

/** struct debt - one of these, as of the last look. */
struct debt {
	nsec_t left[DEBT_BUDGETS]; /* time; the session ends when one of them is used up */
	uint64_t moved;		   /* octets that had moved */
	uint64_t due;		   /* steps: the budgets are full again when so many are done */
	bool is_owed;
};

/** struct session_flow - the Reads, or the Writes, of one leg. */
struct session_flow {
	unsigned posted;
	uint64_t octets; /* of those posted */
	uint64_t done;	 /* operations completed, since ever */
	uint64_t moved;	 /* octets of these */
};

/** struct session_proof - forms of calls that a peer was seen to take: txn_again.c. */
struct session_proof {
	uint32_t continued; /* the longest, in octets */
	uint32_t segments;  /* most of them */
	bool body_chunk;
	bool placed; /* data in the call's Send */
	bool asked;  /* wishes for those of the reply */
};

/** struct session_ops - operations and exposures of one leg. */
struct session_ops {
	struct list queue; /* txns with Reads or Writes to post */
	struct session_flow reads, writes;
	struct list
		passers;  /* txns with Writes of what came of their results to post: txn_pass.c */
	unsigned exposed; /* promised to transactions that run */
	struct debt debts[DEBTS];
	nsec_t credits_since; /* leg_waits() since, for more than: NSEC_NEVER: it does not */
	uint32_t credits;
	nsec_t behind, behind_since; /* session_behind(); NSEC_NEVER: it is not */
};

/** struct session_hop - how far the peer of a leg is: session_hop.c. */
struct session_hop {
	enum hop hop; /* as the route has it */
	struct hop_times times;
	nsec_t asked; /* when its properties were asked for; 0: not, or they came */
	bool is_far;
	bool is_settled; /* nothing need be measured any more */
};

/** struct session_queue - admission of the calls of one direction: forward, reverse. They do not
 * wait for each other, for a server may need a callback's answer before it goes on. */
struct session_queue {
	struct session *s;
	struct list kept;	  /* calls that wait to become txns, in order: txn_room.c */
	struct quota_member room; /* of txns; waits for the first of these */
	struct txn_spare *spares; /* of that: places without a txn, kept for the next ones */
	struct list spare_link;	  /* proxy's queues with some; self-linked when it has none */
	unsigned nspares;
	struct list waiting;	   /* txns not admitted yet, in order */
	struct quota_member quota; /* of those admitted; waits for the first that is not */
	size_t taken_bytes;	   /* by those admitted */
	unsigned running, limit;   /* txns admitted: a bound on their number, whatever peers send */
	unsigned aside;		   /* txns whose calls were set aside */
	uint64_t ended;		   /* txns released */
	struct debt jam;	   /* answers without which no other call can go on */
};

/** struct session_way - to its server, of those that its route has: session_server.c. */
struct session_way {
	struct list link; /* route_state.ways */
	struct session *s;
	struct servers_guest guest;
	bool is_elsewhere; /* its client has another server: the leg ends for that */
	struct via via;	   /* the gateways that the client came through, and then this one */
};

/* For a session's place among its client's, in proxy/servers.c. */
enum { SESSION_WAY_BYTES = sizeof(struct session_way) + 64 };

struct session {
	struct list link;   /* proxy's sessions */
	struct list dirty;  /* proxy's sessions to pump, or to free; self-linked when neither */
	size_t fixed_bytes; /* Receives and headers of both legs */
	struct proxy *proxy;
	struct route_state *route;
	struct route_state *listener; /* where its client came in: .route, or one that shares it */
	struct session_way *way;      /* owned */
	uint64_t id;
	char host[FABRIC_ADDR_TEXT]; /* the client, as it is counted */
	struct host *place;	     /* in the crowd */
	struct share *share;	     /* of its client in this worker's memory; NULL: not counted */
	struct lobby_member silent;  /* until the client's first message, or the end begins */
	struct door_guest client_guest, server_guest; /* while they prove who they are */
	enum session_state state;
	struct leg client, server;
	struct session_stat cstat, sstat;
	struct session_reports reports;
	bool speaks[PROXY_SIDES];    /* its route counts the version of that side */
	uint8_t spoken[PROXY_SIDES]; /* which one: leg_spoken() */
	nsec_t begun;
	struct timer leave;	 /* armed: it ends between two RPCs, and by then in any case */
	struct timer setup;	 /* when a leg's set-up takes too long */
	struct timer shortage;	 /* what a fabric was short of is tried again: txn_short.c */
	struct list short_calls; /* txns that wait for that, without exposures */
	struct list owing;  /* proxy's sessions with something in flight; self-linked when not */
	nsec_t looked;	    /* at its debts, the last time */
	bool owes;	    /* ... and there was something in flight */
	bool retried_v1;    /* the server has not proved yet that it speaks that */
	bool retried_bare;  /* it was silent where host authentication was begun */
	bool retried_anew;  /* what was remembered of that did not hold */
	bool has_version_3; /* of NFS */
	uint8_t *request;   /* the client's private data, until accept; owned, or NULL */
	size_t request_len;
	struct list txns;
	unsigned ntxns;
	struct session_queue forward, reverse;
	struct session_ops cops, sops;
	uint32_t sits_on; /* shared Receives of both legs: session_recvs.c, while it looks */
	struct session_proof cproof, sproof;
	struct session_hop chop, shop;
	struct txn *buckets[SESSION_BUCKETS];
	uint8_t named[SESSION_NAMED]; /* handles in calls of version 1 in flight: txn_inv.c */
};

/* session_open.c: who comes in */

/** session_open - answer an incoming connection; takes @ev->conn. */
void session_open(struct route_state *listener, const struct fabric_event *ev);

/** session_excess - how much of the fabrics' pools, which connections have while octets are under way, is beyond what
 * sessions may have all together. */
size_t session_excess(const struct proxy *p);

/* session_end.c */

/** session_await_setup - a leg's set-up began, or is over: the earlier deadline of both counts. */
void session_await_setup(struct session *s);

/** session_leave_lobby - its client has said something, or it is over; idempotent. */
void session_leave_lobby(struct session *s);

/** session_close - orderly end of both legs. */
void session_close(struct session *s, int status, const char *why);

/** session_leave - it is to end as soon as no call is in flight, by @deadline in any case. */
void session_leave(struct session *s, nsec_t deadline);

/** session_breach - a peer of @s broke the protocol: that session ends, nobody else's. */
void session_breach(struct session *s, const char *why);

/** session_refusal - how a client counts that is refused because its server's connection failed with @err. */
static inline enum proxy_refusal session_refusal(int err)
{
	if (err == ERR_NOMEM || err == ERR_AGAIN)
		return PROXY_REFUSED_MEMORY;
	return err == ERR_LOCAL ? PROXY_REFUSED_MACHINE : PROXY_REFUSED_UPSTREAM;
}

/** session_reject_client, session_send_rejection - the client was never answered: a refusal tells it
 * more than silence. The first is counted. */
void session_reject_client(struct session *s, enum proxy_refusal why);
void session_send_rejection(struct session *s);

/** session_die - both legs have ended: it is freed soon. */
void session_die(struct session *s);

/** session_begin_end - one of its legs has ended, or is about to. */
void session_begin_end(struct session *s);

/** session_stop_waiting - for memory. */
void session_stop_waiting(struct session *s);

/* session.c */

/** session_input - one fabric event of one of its legs. */
void session_input(struct session *s, struct leg *leg, const struct fabric_event *ev);

/** session_pump - after a batch: queued messages, admission, Sends. */
void session_pump(struct session *s);

/** session_resume - memory came free for the first transaction waiting in @q; @room: for the first of
 * the calls kept there. */
void session_resume(struct session_queue *q, bool room);

/** session_free - takes @s, in any state; gives back everything. */
void session_free(struct session *s);

/* session_flow.c: its Reads and Writes */

/** session_posted, session_completed - a Read or Write of @bytes was posted on @leg, which has
 * fewer than SESSION_OP_DEPTH of them; one completed. */
void session_posted(struct session_flow *f, uint32_t bytes);
void session_completed(struct session_flow *f);

/* session_recvs.c */

/** session_press_recvs - at regular times: end who sits on Receives of @r where they are scarce. */
void session_press_recvs(struct proxy *p, struct recvs *r);

/* session_debts.c: what peers owe, and the end of those that do not pay */

/** session_debts_init - nothing is owed. */
void session_debts_init(struct session *s);

/** session_debts_begin - something may be in flight: @s is looked at from now on. It is on no list yet. */
void session_debts_begin(struct session *s);

/** session_debts_look - a timer's: look at the sessions of proxy.owing, some in a turn. */
void session_debts_look(struct timer *timer, nsec_t now);

/** session_behind - how long in all what the peer of @leg says may have had to wait here (leg_is_behind()): no time of its. */
nsec_t session_behind(struct session *s, const struct leg *leg);

static inline unsigned session_ops_posted(const struct session_ops *ops)
{
	return ops->reads.posted + ops->writes.posted;
}

/* session_server.c: which server it is */

/** session_way_new - of a session without one. Return: 0 or ERR_NOMEM. */
int session_way_new(struct session *s) WARN_UNUSED;

/** session_find_server - choose one, and open the server leg; or wait for its address. Return: 0; or an error, and no
 * server is left to be tried. */
int session_find_server(struct session *s) WARN_UNUSED;

/** session_unserved - why session_find_server() failed; static storage. */
const char *session_unserved(int err);

/** session_is_waiting - for the address of its server. */
bool session_is_waiting(const struct session *s);

/** session_unfound - that takes too long: on with what is known from before, or a longer wait, or the end. */
void session_unfound(struct session *s);

/** session_found - its server leg is ready. Return: false: its client is with another server by now, to which
 * it is on its way. */
bool session_found(struct session *s);

/** session_release - as session_leave(); and its client, with all its sessions, goes where it would go if it came now. */
void session_release(struct session *s, nsec_t deadline);

/** session_fail_over - the server leg ended with @status, for @why. Return: whether another server is tried. */
bool session_fail_over(struct session *s, int status, const char *why);

/** session_way_end - it ends, or takes another route. */
void session_way_end(struct session *s);

/** sessions_hear_news - of addresses, and of clients that moved. */
void sessions_hear_news(struct proxy *p);

/* session_version.c: which version the server speaks */

/** session_connect_server - open the server leg to .way's server. Return: as leg_connect(). */
int session_connect_server(struct session *s) WARN_UNUSED;

/** session_retry_as_v1, session_retry_bare - the server leg ended with *@status: another one, in version 1 or without host
 * authentication, where that may help. Return: whether another is under way; *@status: why the last one ended, or could not begin. */
bool session_retry_as_v1(struct session *s, int *status);
bool session_retry_bare(struct session *s, int *status);

/** session_judge_bare - the server leg, begun without host authentication, is ready, or ended with @status. */
void session_judge_bare(struct session *s, int status);

/** session_remember_v1, session_forget_v1 - the verdict "speaks only version 1": it was proved; the
 * server leg ended with @status, which may be against it. */
void session_remember_v1(struct session *s);
void session_forget_v1(struct session *s, int status);

/* session_hop.c: how far its peers are */

/** session_hop_init - its route is known. */
void session_hop_init(struct session *s);

/** session_hop_asked, session_hop_ready - the server leg was looked at; it is ready. */
void session_hop_asked(struct session *s);
void session_hop_ready(struct session *s);

/** session_hop_note - the peer took @took to answer. */
void session_hop_note(struct session_hop *h, nsec_t took);

/* session_address.c: what the address of a client decides */

/** session_is_let_in - who comes from @peer may connect. */
bool session_is_let_in(const struct route_state *listener, const struct fabric_addr *peer);

/** session_is_unneeded - who comes from @peer need not prove who it is. */
bool session_is_unneeded(const struct route_state *listener, const struct fabric_addr *peer);

/** session_has_source - unless @rs says from which addresses to connect, and none is for @peer, which
 * proved its name to @proved; NULL: none. */
bool session_has_source(const struct route_state *rs, const struct fabric_addr *peer,
			const struct leg *proved);

/** session_note_version_3 - its client speaks version 3 of NFS, whose locks are another protocol's. */
void session_note_version_3(struct session *s);

/** session_source - the address from which to connect for the client of @s, into @out. Return: false:
 * the route does not say. */
bool session_source(const struct session *s, struct fabric_addr *out);

/* session_share.c: which accounts its memory counts for */

/** session_share_client - it has a new route, and holds nothing yet: what its client's leg takes counts for its client's address. */
void session_share_client(struct session *s);

/** session_share_server - its server is chosen, and it holds nothing yet: what it takes counts for that server as well. */
void session_share_server(struct session *s);

/** session_share_leave - it holds nothing any more, or takes another route. */
void session_share_leave(struct session *s);

/* session_route.c: whose name chooses a route, or the address that its server sees */

/** session_route_of - the route of @peer, that comes to @listener; that of @listener itself, where it
 * has to prove its name first. NULL: none. */
struct route_state *session_route_of(struct route_state *listener, const struct fabric_addr *peer);

/** session_goes_by_name - whoever comes to @listener, and has to prove who it is, is told apart by that. */
bool session_goes_by_name(const struct route_state *listener);

/** session_has_to_prove - @peer, that comes to @listener, is no client before it has proved who it is: until then
 * nothing is asked of a server for it. */
bool session_has_to_prove(const struct route_state *listener, const struct fabric_addr *peer);

/** session_drop_request - its private data are of no use any more. */
static inline void session_drop_request(struct session *s)
{
	mem_free(s->request);
	s->request = NULL;
	s->request_len = 0;
}

/** session_accept - the client leg, which can be turned away no longer. */
void session_accept(struct session *s);

/** session_prove - accept the client of @s, whose name will choose the route. */
void session_prove(struct session *s);

/** session_choose - where a client has proved its name: on with its route, or the end. */
void session_choose(struct session *s);

/** session_set_route - @s, of which nothing has passed yet, is one of @rs. */
void session_set_route(struct session *s, struct route_state *rs);

/* session_door.c: its place among those that prove who they are */

/* For those whose time is up, while others wait: they are looked at again after that. */
#define SESSION_DOORS (NSEC_PER_SEC / 4)

/** session_auth - something happened on @leg: it may have to wait at the door, or be through. */
void session_auth(struct session *s, struct leg *leg);

/** session_auth_leave - @leg needs no place any more: it is over, whatever comes in its stead. */
void session_auth_leave(struct session *s, struct leg *leg);

/** session_auth_end - neither leg does. */
void session_auth_end(struct session *s);

/** session_drop_server - its server leg is over, and another may follow. */
void session_drop_server(struct session *s);

/* session_auth.c: handshakes of host authentication, of all sessions */

/** session_auth_sides - how many sides of @route have host authentication. */
unsigned session_auth_sides(const struct proxy_route *route);

/** session_auth_open - the doors of @rs, one of routes with so many @sides together. Return: 0 or ERR_NOMEM;
 * session_auth_fini() is due. */
int session_auth_open(struct route_state *rs, unsigned sides) WARN_UNUSED;
void session_auth_fini(struct route_state *rs);

/** session_auth_back - jobs that are done. */
void session_auth_back(struct proxy *p);

/* session_version.c, too */

/** session_count_version - the peer of @leg has said which version it speaks. */
void session_count_version(struct session *s, const struct leg *leg);

/** session_uncount_versions - it ends. */
void session_uncount_versions(struct session *s);

/* session_log.c */

/** session_log_end - one line: @leg was the first to end, for @status. */
void session_log_end(struct session *s, const struct leg *leg, int status, const char *why);

/** session_log_legs - one line event=leg for each leg. */
void session_log_legs(const struct session *s);

/** session_log_auth - one line when the peer of @leg has proved who it is, or has not. */
void session_log_auth(const struct session *s, struct leg *leg);

/** session_names - " client_name=... server_name=..." of those that were proved, into @text of
 * SESSION_NAMES_BYTES. */
enum { SESSION_NAMES_BYTES = 2 * (HOSTAUTH_NAME_BYTES + 16) };
const char *session_names(const struct session *s, char *text);

/** session_log_report - the peer of @leg reports an error; a line, unless there were many. */
void session_log_report(struct session *s, const struct leg *leg, const struct leg_out *out);

/** session_log_untold - at the end: how many had none since the last. */
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
	return leg == &s->client ? &s->cops : &s->sops;
}

static inline struct session_proof *session_proof(struct session *s, const struct leg *leg)
{
	return leg == &s->client ? &s->cproof : &s->sproof;
}

static inline struct session_queue *session_queue(struct session *s, bool reverse)
{
	return reverse ? &s->reverse : &s->forward;
}

/** session_requester, session_responder - the legs that the calls of @q come from, and go to. */
static inline struct leg *session_requester(const struct session_queue *q)
{
	return q == &q->s->forward ? &q->s->client : &q->s->server;
}

static inline struct leg *session_responder(const struct session_queue *q)
{
	return q == &q->s->forward ? &q->s->server : &q->s->client;
}

/** session_calls_wait - for their turn, in @q. */
static inline bool session_calls_wait(const struct session_queue *q)
{
	return !list_is_empty(&q->waiting) || !list_is_empty(&q->kept);
}

/** session_awaits_server - its server leg is on its way. */
static inline bool session_awaits_server(const struct session *s)
{
	return s->state == SESSION_CONNECT || s->state == SESSION_JOIN;
}

/** session_is_idle - no call is in flight. */
static inline bool session_is_idle(const struct session *s)
{
	return s->ntxns == 0 && list_is_empty(&s->forward.kept) && list_is_empty(&s->reverse.kept);
}

static inline struct session_stat *session_stat(struct session *s, const struct leg *leg)
{
	return leg == &s->client ? &s->cstat : &s->sstat;
}

static inline struct session_hop *session_hop(struct session *s, const struct leg *leg)
{
	return leg == &s->client ? &s->chop : &s->shop;
}

/** session_answered - a call on @leg was, after @took. */
static inline void session_answered(struct session *s, const struct leg *leg, nsec_t took)
{
	if (!session_hop(s, leg)->is_settled)
		session_hop_note(session_hop(s, leg), took);
}

#endif
