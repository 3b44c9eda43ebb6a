/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/view.h"
#include "fabric/addr.h"

/**
 * fabric.h - the RDMA contract that fabric/iwarp, fabric/verbs and fabric/mem implement
 *
 * Connections carry reliable, ordered messages, remote Reads and remote Writes, as
 * reliable-connected queue pairs do. A struct fabric is one provider's instance for one worker. The
 * instance, its connections and its events belong to one thread.
 *
 *   fabric_poll()   returns one event; a provider never calls its user
 *   post ...        takes effect no later than the next fabric_flush(); exposures, too
 *
 * Receives belong to a connection (fabric_post_recv()), or to all connections of the instance
 * together (fabric_share_receives()). Receives of several pieces (.recv_pieces) always belong to
 * their connection.
 *
 * Rules that every provider keeps:
 * - Each posted operation (recv, send, read, write, withdraw that returned 0) completes exactly
 *   once: status 0, or an error, or ERR_FLUSHED. Until then its memory belongs to the provider.
 *   Operations of one kind complete in order. Sends and Writes take effect at the peer in the order
 *   posted.
 * - The initiator speaks first: what the acceptor posts may wait until the initiator's first Send,
 *   Write or Read has arrived (RFC 5044 section 7.1.2).
 * - A connection's last event is FABRIC_EV_DISCONNECTED, after the completions of everything
 *   posted. After it, only fabric_destroy() may be called on it (posts return ERR_CLOSED).
 * - fabric_destroy() may be called at any time. It ends the connection at once and purges its
 *   events. Every posted buffer is the caller's again on return.
 * - All memory named in an operation lies in a range given to fabric_register().
 * - Remote access is checked before an octet is read or written: the handle belongs to this
 *   connection, and the access keeps its bounds, direction and lifetime. On a device without Memory
 *   Windows the handle may belong to the connection's domain. A breach ends the connection.
 * - The user owns an exposure until the user withdraws it. The peer may lose access before: the
 *   peer invalidates the handle, or the connection ends. Until withdrawn, the exposure counts in
 *   max_exposures, its record of octets written stays, and its handle is not reused.
 * - fabric_withdraw() returns how many octets the peer wrote. No other call returns that, because a
 *   provider may be many messages ahead of the events that were polled.
 * - A stream (fabric_stream()) is an exposure that may have less memory than length. PLACED events
 *   report octets as they arrive, each before the events of anything that arrived later.
 * - Operations do not allocate, except from pools that grow with the load. Queue depths are fixed
 *   at connect or accept. A post beyond them returns ERR_AGAIN.
 *
 * And where Receives are shared:
 * - Any Receive may take the next message of any connection. The messages of one connection are
 *   reported in the order sent, by RECV events with .conn.
 * - A message that finds no Receive waits at its sender, with everything sent behind it. The lack
 *   of Receives ends no connection. Connections continue as soon as there are Receives.
 * - A connection ends if its peer has sent more than max_recvs messages that are not polled yet.
 *   The user counts how many messages a peer may send in all.
 * - The end of a connection returns no Receive to the user: a Receive whose message was not polled
 *   stays posted. If a Receive is returned without a message, a RECV event with ERR_FLUSHED and no
 *   .conn reports it. Reasons: its device is gone, or the load has fallen.
 *
 * And where the provider limits what a connection may hold (.shares_out):
 *
 * State:  connection C holds Receives: its user was given their messages and has not called
 *         fabric_gave_back(). Few Receives are left, and C's next message needs one.
 * Danger: one connection, or many whose server hangs, use up all Receives. The replies after
 *         which they would be given back find no Receive.
 * Rule:   - C takes no further Receive while it holds more than fabric_may_hold() allows. C's input
 *           waits until more are left, or C holds fewer. Other connections go on.
 *         - A RECV_LIMITED event reports the wait, and the user gives back what it can. It may need
 *           Read responses before, which may be behind the message that waits.
 *         - A user that holds back Reads (.reads_blocked) gets another RECV_LIMITED event when the
 *           wait ends; a Receive may still be missing then.
 *         - When few are left (FABRIC_RECV_LOW_DIV), connections with Reads get read turns.
 * Pinned: tests/fabric/contract_shared.c, tests/iwarp/test_iwarp_recv_sched.c, decision 81.
 */

struct fabric;
struct fabric_conn;
struct fabric_listener;

enum fabric_access {
	FABRIC_REMOTE_READ = 1,
	FABRIC_REMOTE_WRITE = 2,
	/* With FABRIC_REMOTE_WRITE: until the exposure is withdrawn, octets that the peer has not
	 * written may change. Providers that read from sockets then read more at a time. */
	FABRIC_SCRATCH = 4,
};

/** struct fabric_tuning - settings of RDMA devices (verbs); .busy_poll_us is for every provider.
 * 0: the provider's default. */
struct fabric_tuning {
	uint8_t retry_count; /* retries of a message that is not acknowledged */
	/* announced to the peer: retries of a Send that finds no Receive here */
	uint8_t rnr_retry_count;
	uint32_t resolve_ms;   /* ms to resolve an address; the same again for a route */
	uint32_t busy_poll_us; /* us to poll for completions or octets before blocking */
};

/** struct fabric_conn_params - given with connect and accept. */
struct fabric_conn_params {
	const void *private_data; /* borrowed for the call; may be NULL */
	/* octets; at most 56 in a request, 196 in an answer. The peer of a verbs connection sees
	 * zeros behind them. */
	size_t private_data_len;
	uint16_t ird, ord;  /* most Reads served, issued at once; 0: the provider's default */
	uint32_t max_recvs; /* most Receives; where they are shared: most messages not polled */
	/* above 1: most pieces of a Receive; Receives are the connection's own then */
	uint32_t recv_pieces;
	uint32_t max_sends;	/* Sends, Writes and Reads together */
	uint32_t max_exposures; /* regions exposed at once */
	/* where a handle cannot be bound to one connection (verbs), it is valid for all connections
	 * of the same domain */
	uint32_t domain;
	struct fabric_tuning tuning;
	/* connect: the local source address, borrowed for the call; NULL: any */
	const struct fabric_addr *from;
	/* connect: the connection ends so that its local port is free at once (iwarp: by a reset).
	 * Octets sent before still arrive. */
	bool resets;
};

/** struct fabric_use - an intended use of an instance: connections of @domain to @addr; if
 * @listens, from a listener at @addr. */
struct fabric_use {
	struct fabric_addr addr;
	bool listens;
	uint32_t domain;
};

enum fabric_ev_type {
	FABRIC_EV_REQUEST,   /* a new incoming connection; .conn, .private_data: accept or reject */
	FABRIC_EV_CONNECTED, /* connect or accept finished; connect: .private_data of the answer */
	/* .status: 0 orderly, ERR_REJECTED, ERR_REFUSED, ERR_TIMEOUT, ... */
	FABRIC_EV_DISCONNECTED,
	/* a message of .len octets is in the Receive of .cookie; .conn NULL: a shared Receive comes
	 * back without a message */
	FABRIC_EV_RECV,
	FABRIC_EV_SEND,	 /* completion of a posted Send */
	FABRIC_EV_READ,	 /* completion of a posted RDMA Read */
	FABRIC_EV_WRITE, /* completion of a posted RDMA Write */
	FABRIC_EV_WITHDRAWN,
	/* of the stream .handle: .len octets at .at, which belong at .offset in it */
	FABRIC_EV_PLACED,
	/* .conn->recv_limited is set: its input waits, because its user holds too many shared
	 * Receives. Not set: this wait is over, and the user may post Reads that it held back */
	FABRIC_EV_RECV_LIMITED,
};

struct fabric_sums;

struct fabric_event {
	enum fabric_ev_type type;
	struct fabric_conn *conn;
	void *cookie;	      /* the posted operation's */
	int status;	      /* 0 or enum err */
	uint32_t len;	      /* RECV: octets received; PLACED: octets placed */
	uint32_t invalidated; /* RECV: the user's handle that the message invalidated, or 0 */
	uint32_t handle;      /* WITHDRAWN: the handle that is fenced now; PLACED: the stream's */
	uint32_t written;     /* WITHDRAWN: octets, as @written of fabric_withdraw() */
	uint32_t offset;      /* PLACED: where the octets belong in the stream */
	const uint8_t *at;    /* PLACED: where the octets are in memory */
	/* RECV: sums of the message, from its first octet on; the user owns them; NULL: none */
	struct fabric_sums *sums;
	struct view private_data; /* REQUEST, CONNECTED, rejected: until the next fabric_poll() */
	const char *why;	  /* DISCONNECTED: words for the log, static storage; may be NULL */
};

/** struct fabric_moved - octets since the connection was made. */
struct fabric_moved {
	uint64_t taken; /* octets sent that the peer's TCP has acknowledged */
	uint64_t read;	/* payload octets received in Read responses */
};

/** struct fabric_sge - one piece of local memory of a gather list. */
struct fabric_sge {
	const void *addr;
	uint32_t len;
};

/** struct fabric_piece - one piece of the memory of a Receive. */
struct fabric_piece {
	void *addr;
	uint32_t len;
};

/* Most pieces of a gather list, and of a Receive. Every provider takes as many, and checks that. */
enum { FABRIC_MAX_SGE = 8, FABRIC_MAX_PIECES = 4 };

/* Streams: most pieces the user may hold at once; least octets of a window, except in tests. */
enum { FABRIC_STREAM_PIECES = 4, FABRIC_STREAM_WINDOW = 65536 };

/**
 * struct fabric_sums - CRCs of octets that arrive on one connection and are sent on another
 *
 * Embedded first in the provider's own structure. Octets are sent with the CRC that was checked
 * when they arrived. So their receiver notices if they changed in the gateway's memory.
 * - A RECV event has the sums of its message. For memory that RDMA fills, the user takes sums.
 * - The user names the sums with each exposure and operation that uses the memory.
 * - The user owns the sums, and gives them back when it gives back the memory, or before.
 * - Before the user itself changes octets, it calls fabric_sums_end().
 */
struct fabric_sums {
	struct fabric *fabric;
};

struct fabric_ops {
	const char *name; /* "iwarp", "mem", "verbs" */

	int (*register_memory)(struct fabric *f, void *base, size_t len);
	void (*unregister_memory)(struct fabric *f, void *base);

	int (*attach)(struct fabric *f, struct fabric_listener *l, void *owner);
	void (*detach)(struct fabric *f, struct fabric_listener *l);

	int (*connect)(struct fabric *f, const struct fabric_addr *to,
		       const struct fabric_conn_params *params, void *owner,
		       struct fabric_conn **conn);
	int (*accept)(struct fabric_conn *c, const struct fabric_conn_params *params, void *owner);
	void (*reject)(struct fabric_conn *c, struct view private_data);
	void (*disconnect)(struct fabric_conn *c);
	void (*destroy)(struct fabric_conn *c);

	int (*prepare)(struct fabric_conn *c, const struct fabric_conn_params *params);
	int (*post_recv)(struct fabric_conn *c, void *buf, uint32_t len, void *cookie);
	int (*post_pieces)(struct fabric_conn *c, const struct fabric_piece *pieces, unsigned n,
			   void *cookie);
	/* NULL: Receives cannot be shared on this provider. */
	int (*share_receives)(struct fabric *f, uint32_t len);
	void (*unshare_receives)(struct fabric *f);
	uint32_t (*receives_wanted)(const struct fabric *f);
	int (*post_shared)(struct fabric *f, void *buf, void *cookie);
	/* Called only for a connection with .recv_limited. */
	void (*gave_back)(struct fabric_conn *c);
	int (*send)(struct fabric_conn *c, const struct fabric_sge *sge, unsigned nsge,
		    uint32_t inv_handle, void *cookie);
	/* NULL: this provider has no copied Sends. */
	bool (*send_short)(struct fabric_conn *c, const struct fabric_sge *sge, unsigned nsge,
			   uint32_t inv_handle);
	int (*write)(struct fabric_conn *c, const struct fabric_sge *sge, unsigned nsge,
		     const struct segment *remote, void *cookie);
	int (*read)(struct fabric_conn *c, void *to, const struct segment *remote, void *cookie);
	int (*expose)(struct fabric_conn *c, void *addr, uint32_t len, unsigned access,
		      struct segment *seg);
	/* NULL, and .went_on too: this provider has no streams. */
	int (*stream)(struct fabric_conn *c, const struct fabric_piece *window, uint32_t len,
		      void *cookie, struct segment *seg);
	void (*went_on)(struct fabric_conn *c, uint32_t handle, uint32_t len);
	int (*withdraw)(struct fabric_conn *c, uint32_t handle, void *cookie, uint32_t *written);

	/* NULL, and the four others too: this provider keeps no sums. */
	struct fabric_sums *(*sums_take)(struct fabric_conn *from, struct fabric_conn *to,
					 uint32_t len, uint32_t period);
	void (*sums_give)(struct fabric_sums *s);
	void (*sums_end)(struct fabric_sums *s);
	void (*sum_exposure)(struct fabric_conn *c, uint32_t handle, struct fabric_sums *s,
			     uint32_t at);
	void (*sum_posted)(struct fabric_conn *c, unsigned piece, struct fabric_sums *s,
			   uint32_t at);

	void (*flush)(struct fabric *f);
	/* NULL: this provider defers no work to the end of a turn. Return: whether the turn's
	 * budget was used up. */
	bool (*go_on)(struct fabric *f);
	int (*poll)(struct fabric *f, struct fabric_event *ev);
	nsec_t (*deadline)(const struct fabric *f);
	void (*tick)(struct fabric *f, nsec_t now);
	/* NULL: the provider cannot tell; it sees only completions. */
	struct fabric_moved (*moved)(const struct fabric_conn *c);
	size_t (*pooled)(const struct fabric *f);      /* NULL: 0 */
	void (*shed)(struct fabric *f, size_t octets); /* set if .pooled is */
	bool (*arriving)(const struct fabric *f);      /* NULL: none are ever reported */
	/* NULL: .conn_bytes for any depths. */
	size_t (*conn_cost)(const struct fabric *f, const struct fabric_conn_params *params);
	void (*free)(struct fabric *f);
};

/** struct fabric - embedded first in each provider's own structure. */
struct fabric {
	const struct fabric_ops *ops;
	/* the owner given to fabric_share_receives(); NULL: Receives are not shared */
	void *receives;
	uint32_t receives_left; /* set by the user: how many Receives it could still post */
	uint32_t receives_most; /* set by the user: most Receives it could ever have posted */
	/* The provider limits how many Receives a connection holds: fabric_may_hold(). */
	bool shares_out;
	/* At most 1/FABRIC_RECV_RESERVE_DIV of all Receives are left, and connections with Reads
	 * wait until other connections give Receives back. */
	bool recv_starving;
	bool remote_inv;      /* the peer can invalidate handles on every connection */
	bool reports_written; /* withdrawals return how many octets were written */
	/* fabric_stream() works; false on devices, because an adapter writes directly to memory */
	bool streams;
	size_t conn_bytes; /* octets of heap that each connection takes for its life */
	/* Set by the user: other instances of the listener are to accept new connections, if the
	 * provider has a choice. */
	bool is_fullest;
	uint32_t arrived; /* incoming connections whose set-up request is not complete yet */
	bool pins;	  /* a device pins the pages of registered memory: they must stay */
};

/** struct fabric_conn - embedded first in each provider's own structure. The user changes only
 * .owner, .recvs_held and .reads_blocked. */
struct fabric_conn {
	struct fabric *fabric;
	void *owner; /* the user's, from connect, accept or (before accept) attach */
	struct fabric_addr local, peer;
	bool remote_inv; /* the peer can invalidate handles exposed on this connection */
	bool no_reads; /* the peer said at set-up that it serves no Reads; not on iWARP adapters */
	bool issues_no_reads; /* the peer said at set-up that it issues no Reads; never on verbs */
	/* exposures that the peer can reach */
	uint32_t handles_live;
	/* Shared Receives that the user holds. The user adds 1 for a RECV event whose Receive it
	 * keeps. */
	uint32_t recvs_held;
	/* The connection's input waits until .recvs_held falls (fabric_gave_back()), or more
	 * Receives are left. */
	bool recv_limited;
	/* Set by the user while .recv_limited: the user holds back Reads, whose responses would be
	 * behind the message that waits. Cleared when the wait ends, with a RECV_LIMITED event. */
	bool reads_blocked;
	/* The connection's input waits: a stream's window is full, because the user has not given
	 * back what is in it (fabric_went_on()). */
	bool sink_blocked;
	/* In its last read turn all input was taken, no Read was answered and few octets came. So
	 * the connection does not wait for Receives. */
	bool read_turn_unused;
};

/*
 * Limits on the shared Receives that a connection may hold (.shares_out). A Receive is left if it
 * is posted or could be posted. Each limit is a fraction (1/FABRIC_RECV_..._DIV):
 * - PER_CONN: a connection that holds more than this part of those left takes no further one.
 * - READER: while more than this part of all are left, connections with Reads outstanding take
 *   more, because the responses may be behind the next message.
 * - LOW: when at most this part of all are left, only connections with a read turn, and connections
 *   that hold none, take one. Read turns are for connections with Reads outstanding or held back.
 * - RESERVE: when at most this part of all are left, only connections that hold none take one.
 */
enum {
	FABRIC_RECV_PER_CONN_DIV = 8,
	FABRIC_RECV_READER_DIV = 2,
	FABRIC_RECV_LOW_DIV = 4,
	FABRIC_RECV_RESERVE_DIV = 32
};

/* The verbs of the contract. They are thin by intent: a provider is its ops table. */

/** fabric_register - make @len octets at @base usable in operations until fabric_unregister(); the
 * memory stays the caller's, and its pages must stay mapped. Return: 0 or ERR_NOMEM. */
static inline int fabric_register(struct fabric *f, void *base, size_t len)
{
	return f->ops->register_memory(f, base, len);
}

/** fabric_unregister - ends the registration of the range at @base; nothing may be posted in it. */
static inline void fabric_unregister(struct fabric *f, void *base)
{
	f->ops->unregister_memory(f, base);
}

/**
 * fabric_attach - take part in accepting from @l, which several workers' instances may share
 *
 * Incoming connections arrive as FABRIC_EV_REQUEST with @owner. @l is borrowed until
 * fabric_detach().
 * Return: 0, or an error: nothing has changed.
 */
static inline int fabric_attach(struct fabric *f, struct fabric_listener *l, void *owner)
{
	return f->ops->attach(f, l, owner);
}

/** fabric_detach - no more FABRIC_EV_REQUEST from @l after the call. */
static inline void fabric_detach(struct fabric *f, struct fabric_listener *l)
{
	f->ops->detach(f, l);
}

/** fabric_arriving - whether connections have arrived that no FABRIC_EV_REQUEST has reported
 * yet. */
static inline bool fabric_arriving(const struct fabric *f)
{
	return f->ops->arriving && f->ops->arriving(f);
}

/**
 * fabric_connect - begin a connection; CONNECTED or DISCONNECTED follows
 * @conn: filled; owned by the provider, valid until fabric_destroy()
 *
 * Receives may be posted at once, and should be before CONNECTED.
 * Return: 0, or an error, and then no event follows: ERR_NOMEM; ERR_TOOBIG: private data or depths;
 *         ERR_LOCAL: this machine is short of descriptors or memory; or another error.
 */
static inline int fabric_connect(struct fabric *f, const struct fabric_addr *to,
				 const struct fabric_conn_params *params, void *owner,
				 struct fabric_conn **conn)
{
	return f->ops->connect(f, to, params, owner, conn);
}

/** fabric_prepare - size the queues of an incoming connection so that Receives can be
 * posted before fabric_accept(), which then must be given the same depths. Return: 0, ERR_CLOSED,
 * ERR_NOMEM or ERR_TOOBIG. */
static inline int fabric_prepare(struct fabric_conn *c, const struct fabric_conn_params *params)
{
	return c->fabric->ops->prepare(c, params);
}

/** fabric_accept - answer FABRIC_EV_REQUEST, after Receives were posted; CONNECTED follows.
 * Return: 0, or an error as fabric_prepare(): CONNECTED does not follow. */
static inline int fabric_accept(struct fabric_conn *c, const struct fabric_conn_params *params,
				void *owner)
{
	return c->fabric->ops->accept(c, params, owner);
}

/** fabric_reject - answer FABRIC_EV_REQUEST with a refusal; destroys @c. */
static inline void fabric_reject(struct fabric_conn *c, struct view private_data)
{
	c->fabric->ops->reject(c, private_data);
}

/** fabric_disconnect - orderly end: Sends and Writes posted before are sent, for a limited time.
 * All other operations are flushed. DISCONNECTED follows. */
static inline void fabric_disconnect(struct fabric_conn *c)
{
	c->fabric->ops->disconnect(c);
}

/** fabric_destroy - takes @c; see the rules above. */
static inline void fabric_destroy(struct fabric_conn *c)
{
	c->fabric->ops->destroy(c);
}

/**
 * fabric_share_receives - from now on Receives are for all connections of @f together
 * @len:   octets of each
 * @owner: the user's, not NULL; kept in @f->receives
 *
 * Call it before the first connection and after fabric_register(). The user then sets
 * .receives_left and .receives_most, before a flush; until then the number left counts as
 * unlimited.
 * Return: 0; ERR_CONFIG, and nothing has changed: the provider or a device cannot share Receives.
 */
static inline int fabric_share_receives(struct fabric *f, uint32_t len, void *owner)
{
	int err = f->ops->share_receives ? f->ops->share_receives(f, len) : ERR_CONFIG;

	if (err == 0) {
		f->receives = owner;
		f->receives_left = UINT32_MAX;
	}
	return err;
}

/**
 * fabric_may_hold - whether a connection that holds @held shared Receives may take one more
 * @left: how many are posted or could be
 * @most: how many there are in all
 *
 * A connection that holds none always may.
 */
static inline bool fabric_may_hold(uint32_t held, uint64_t left, uint32_t most)
{
	return held == 0 ||
	       (held <= left / FABRIC_RECV_PER_CONN_DIV && left > most / FABRIC_RECV_LOW_DIV);
}

/** fabric_gave_back - the user gave back a shared Receive that it held; lowers .recvs_held. */
static inline void fabric_gave_back(struct fabric_conn *c)
{
	c->recvs_held--;
	if (c->recv_limited)
		c->fabric->ops->gave_back(c);
}

/** fabric_unshare_receives - ends sharing, after all connections are destroyed. Every Receive
 * posted and not polled is the caller's again on return. */
static inline void fabric_unshare_receives(struct fabric *f)
{
	f->ops->unshare_receives(f);
	f->receives = NULL;
}

/**
 * fabric_receives_wanted - how many more Receives the user should post, by the recent load
 *
 * Call it before each fabric_flush(), and post that many, or as many as there is memory for. A
 * queue that runs low raises the number, quiet periods lower it (fabric/depth.h).
 */
static inline uint32_t fabric_receives_wanted(const struct fabric *f)
{
	return f->ops->receives_wanted(f);
}

/** fabric_post_shared - post one shared Receive at @buf, of the length that
 * fabric_share_receives() was given. Return: 0; ERR_AGAIN: the queue is full. */
static inline int fabric_post_shared(struct fabric *f, void *buf, void *cookie)
{
	return f->ops->post_shared(f, buf, cookie);
}

/** fabric_post_recv - one Receive of @len octets at @buf, where they are not shared. Return: 0,
 * ERR_AGAIN, ERR_CLOSED. */
static inline int fabric_post_recv(struct fabric_conn *c, void *buf, uint32_t len, void *cookie)
{
	return c->fabric->ops->post_recv(c, buf, len, cookie);
}

/**
 * fabric_post_pieces - one Receive of @n pieces, on a connection with .recv_pieces of 2 or more
 *
 * A message fills the pieces in order. .len of its event is the length of the whole message.
 * @pieces is copied by the call.
 * Return: as fabric_post_recv(); ERR_TOOBIG: more pieces than .recv_pieces, or more octets than a
 *         message can have.
 */
static inline int fabric_post_pieces(struct fabric_conn *c, const struct fabric_piece *pieces,
				     unsigned n, void *cookie)
{
	return c->fabric->ops->post_pieces(c, pieces, n, cookie);
}

/** fabric_pieces_bytes - octets of @n pieces together; UINT64_MAX if they exceed what a Receive
 * may have. */
static inline uint64_t fabric_pieces_bytes(const struct fabric_piece *pieces, unsigned n)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n && i < FABRIC_MAX_PIECES; i++)
		bytes += pieces[i].len;
	return n <= FABRIC_MAX_PIECES && bytes <= UINT32_MAX ? bytes : UINT64_MAX;
}

/**
 * fabric_send - one message gathered from @sge (copied by the call; the octets are borrowed
 * until completion)
 * @inv_handle: a handle of the peer's to invalidate with it, or 0
 * Return: 0, ERR_AGAIN when the queue is full, ERR_CLOSED, ERR_TOOBIG.
 */
static inline int fabric_send(struct fabric_conn *c, const struct fabric_sge *sge, unsigned nsge,
			      uint32_t inv_handle, void *cookie)
{
	return c->fabric->ops->send(c, sge, nsge, inv_handle, cookie);
}

/**
 * fabric_send_short - fabric_send() of a short message whose octets the provider copies
 *
 * The memory is the caller's again on return. No completion follows.
 * Return: false, and nothing happened: the message is too long, other operations have to go before
 *         it, or the provider copies no Sends. Use fabric_send() then.
 */
static inline bool fabric_send_short(struct fabric_conn *c, const struct fabric_sge *sge,
				     unsigned nsge, uint32_t inv_handle)
{
	return c->fabric->ops->send_short && c->fabric->ops->send_short(c, sge, nsge, inv_handle);
}

/** fabric_write - RDMA Write of the gathered octets to @remote (its length is ignored); @sge as in
 * fabric_send(). Return: 0, ERR_AGAIN when the queue is full, ERR_CLOSED, ERR_TOOBIG. */
static inline int fabric_write(struct fabric_conn *c, const struct fabric_sge *sge, unsigned nsge,
			       const struct segment *remote, void *cookie)
{
	return c->fabric->ops->write(c, sge, nsge, remote, cookie);
}

/**
 * fabric_read - RDMA Read of @remote->length octets to @to
 *
 * The provider queues Reads beyond the read depth. Return: 0, ERR_CLOSED; ERR_AGAIN as
 * fabric_expose(); ERR_PROTO: the peer said at set-up that it serves no Reads.
 */
static inline int fabric_read(struct fabric_conn *c, void *to, const struct segment *remote,
			      void *cookie)
{
	return c->fabric->ops->read(c, to, remote, cookie);
}

/**
 * fabric_expose - let the peer access @len octets at @addr
 * @access: FABRIC_REMOTE_READ or FABRIC_REMOTE_WRITE, perhaps with FABRIC_SCRATCH
 * @seg:    filled: unpredictable handle, length, offset
 *
 * Return: 0, ERR_CLOSED, or ERR_AGAIN: max_exposures is reached, or the device lacks a resource for
 *         a while.
 */
static inline int fabric_expose(struct fabric_conn *c, void *addr, uint32_t len, unsigned access,
				struct segment *seg)
{
	return c->fabric->ops->expose(c, addr, len, access, seg);
}

/**
 * fabric_stream - as fabric_expose(), for FABRIC_REMOTE_WRITE; @window may be shorter than @len
 *
 * Only where the fabric .streams. What the peer writes is checked as for any exposure.
 * - PLACED events with @cookie report octets in the window, in the order written, wherever they
 *   belong in the stream. Octets written twice are reported twice.
 * - The user has at most FABRIC_STREAM_PIECES pieces. If it has so many, an event makes the last of
 *   them longer: its octets continue that piece, in the window and in the stream.
 * - While the window has no room, or octets cannot be reported so, .sink_blocked: no input is read.
 * - If @window is as long as @len, octets behind a gap, and all later ones, are stored: they go to
 *   their own places, and no event reports them. Only octets that were reported, and come again,
 *   wait until the user has no piece.
 * - fabric_withdraw() counts octets that are stored, and those that PLACED events reported before
 *   it. No PLACED event follows a withdrawal.
 *
 * Return: as fabric_expose().
 */
static inline int fabric_stream(struct fabric_conn *c, const struct fabric_piece *window,
				uint32_t len, void *cookie, struct segment *seg)
{
	return c->fabric->ops->stream(c, window, len, cookie, seg);
}

/** fabric_went_on - the user gives back the oldest piece that was reported, of @len octets, of the
 * stream @handle. No effect if the stream is withdrawn. */
static inline void fabric_went_on(struct fabric_conn *c, uint32_t handle, uint32_t len)
{
	c->fabric->ops->went_on(c, handle, len);
}

/**
 * fabric_withdraw - fence an exposure before its memory is used again
 * @written: may be NULL. Filled, unless the return is 0; then FABRIC_EV_WITHDRAWN has the number.
 *           Octets that the peer wrote from the start of the exposure up to the first gap, in any
 *           order. If Writes left too many gaps, some were filled with zeros (fabric/runs.h), which
 *           count as written. FABRIC_WRITTEN_UNKNOWN: the provider cannot tell. 0 for a handle that
 *           the caller does not own.
 *
 * Octets of Writes that arrived completely before the fence count. Nothing is placed after it. A
 * handle that the peer has invalidated, or that is unknown, is fenced already.
 * Return: 1: fenced now, no event follows; 0: FABRIC_EV_WITHDRAWN follows; ERR_CLOSED: fenced, and
 *         the connection has ended.
 */
#define FABRIC_WRITTEN_UNKNOWN UINT32_MAX
static inline int fabric_withdraw(struct fabric_conn *c, uint32_t handle, void *cookie,
				  uint32_t *written)
{
	uint32_t unasked;

	return c->fabric->ops->withdraw(c, handle, cookie, written ? written : &unasked);
}

/**
 * fabric_sums_take - sums for @len octets of memory that are filled on @from and sent on @to
 * @period: octets after which one message on @to ends and the next begins; UINT32_MAX: unknown
 *
 * Return: owned by the caller; NULL if the providers keep no sums, or none are left.
 */
static inline struct fabric_sums *fabric_sums_take(struct fabric_conn *from, struct fabric_conn *to,
						   uint32_t len, uint32_t period)
{
	if (!from || !to || !from->fabric->ops->sums_take || to->fabric->ops != from->fabric->ops)
		return NULL;
	return from->fabric->ops->sums_take(from, to, len, period);
}

/** fabric_sums_give - takes @s, which may be NULL and which no exposure or operation uses now. */
static inline void fabric_sums_give(struct fabric_sums *s)
{
	if (s)
		s->fabric->ops->sums_give(s);
}

/** fabric_sums_end - before the user changes octets: @s, which may be NULL, becomes empty. */
static inline void fabric_sums_end(struct fabric_sums *s)
{
	if (s)
		s->fabric->ops->sums_end(s);
}

/** fabric_sum_exposure - right after fabric_expose() or fabric_stream(): its first octet is octet
 * @at of @s, which may be NULL. With FABRIC_REMOTE_WRITE @s is emptied, and @at is 0. */
static inline void fabric_sum_exposure(struct fabric_conn *c, uint32_t handle,
				       struct fabric_sums *s, uint32_t at)
{
	if (s && c->fabric->ops->sum_exposure)
		c->fabric->ops->sum_exposure(c, handle, s, at);
}

/** fabric_sum_posted - right after a fabric_read(), fabric_write() or fabric_send() returned 0: its
 * piece number @piece (from 0; empty ones do not count; 0 for a Read) begins at octet @at of @s,
 * which may be NULL. Other pieces have no sums. */
static inline void fabric_sum_posted(struct fabric_conn *c, unsigned piece, struct fabric_sums *s,
				     uint32_t at)
{
	if (s && c->fabric->ops->sum_posted)
		c->fabric->ops->sum_posted(c, piece, s, at);
}

/** fabric_flush - start everything posted so far, with as few system calls as possible. */
static inline void fabric_flush(struct fabric *f)
{
	f->ops->flush(f);
	if (f->ops->go_on)
		(void)f->ops->go_on(f);
}

/**
 * fabric_flush_posts - fabric_flush() of the @n instances of a thread, without deferred work
 *
 * The caller then calls fabric_go_on(). So all posts start before an instance continues with
 * connections that move much data: a reply does not wait for bulk input on another instance.
 */
static inline void fabric_flush_posts(struct fabric *const *fabrics, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fabrics[i]->ops->flush(fabrics[i]);
}

/**
 * fabric_go_on - deferred work of the @n instances, round-robin until the turn's budget is used up
 * @first: index of the instance that goes next; kept by the caller, 0 at first
 */
static inline void fabric_go_on(struct fabric *const *fabrics, unsigned n, unsigned *first)
{
	bool spent = false;

	for (unsigned i = 0; i < n && !spent; i++) {
		struct fabric *f = fabrics[*first];

		*first = (*first + 1) % n;
		spent = f->ops->go_on && f->ops->go_on(f);
	}
}

/** fabric_poll - next event. Return: 1 with @ev filled, 0 when there is none. */
static inline int fabric_poll(struct fabric *f, struct fabric_event *ev)
{
	return f->ops->poll(f, ev);
}

/** fabric_deadline - when fabric_tick() is needed next, or NSEC_NEVER. */
static inline nsec_t fabric_deadline(const struct fabric *f)
{
	return f->ops->deadline(f);
}

/** fabric_tick - acts on time-outs (of set-up, stall, linger) that are due at @now. */
static inline void fabric_tick(struct fabric *f, nsec_t now)
{
	f->ops->tick(f, now);
}

/**
 * fabric_conn_bytes - octets that a connection with @params takes for its life
 *
 * These are heap and, for the queues of an RDMA device, locked memory (the most that any known
 * device takes).
 */
static inline size_t fabric_conn_bytes(const struct fabric *f,
				       const struct fabric_conn_params *params)
{
	return f->ops && f->ops->conn_cost ? f->ops->conn_cost(f, params) : f->conn_bytes;
}

/** fabric_moved - into @moved: octets moved on @c so far; costs a system call. Return: false,
 * and @moved is unchanged: the provider sees only completions. */
static inline bool fabric_moved(const struct fabric_conn *c, struct fabric_moved *moved)
{
	if (!c->fabric->ops->moved)
		return false;
	*moved = c->fabric->ops->moved(c);
	return true;
}

/** fabric_pooled - octets of heap that all connections together use beside .conn_bytes each,
 * plus all heap of connections that no FABRIC_EV_REQUEST has reported yet. */
static inline size_t fabric_pooled(const struct fabric *f)
{
	return f->ops->pooled ? f->ops->pooled(f) : 0;
}

/**
 * fabric_shed - memory is short: end connections that hold some of fabric_pooled() and have moved
 * few octets since the last call, until @octets of that memory are free
 *
 * Call it every few seconds while memory is short. A connection that held none of that memory at
 * the call before does not end.
 */
static inline void fabric_shed(struct fabric *f, size_t octets)
{
	if (f->ops->shed)
		f->ops->shed(f, octets);
}

/** fabric_free - takes @f. All its connections must be destroyed, its listeners detached, and
 * Receives no longer shared. */
static inline void fabric_free(struct fabric *f)
{
	f->ops->free(f);
}

#endif
