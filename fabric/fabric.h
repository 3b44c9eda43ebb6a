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
 * fabric.h - the RDMA contract that fabric/iwarp, fabric/mem (and verbs) implement
 *
 * Reliable, ordered messages plus remote Read and Write over connections, as
 * reliable-connected queue pairs give. A struct fabric is one provider instance
 * of one worker: it, its connections and its events belong to one thread.
 *
 *   fabric_poll()   pulls one event; nothing is ever called back into the user
 *   post ...        take effect no later than the next fabric_flush(), exposures too
 *
 * Receives belong to a connection (fabric_post_recv()), or to all connections of the
 * instance together (fabric_share_receives()). Those of several pieces (.recv_pieces) always
 * belong to their connection.
 *
 * Rules every provider keeps:
 * - Each posted operation (recv, send, read, write, withdraw that returned 0)
 *   completes exactly once: status 0, or an error, or ERR_FLUSHED. Until then its
 *   memory belongs to the provider. Operations of one kind complete in order;
 *   Sends and Writes take effect at the peer in the order posted.
 * - The initiator speaks first: what the acceptor posts may wait until the initiator's
 *   first Send, Write or Read has arrived (RFC 5044 section 7.1.2).
 * - A connection's last event is FABRIC_EV_DISCONNECTED, after the completions of
 *   everything posted. After it, only fabric_destroy() may be called on it (posts
 *   return ERR_CLOSED).
 * - fabric_destroy() may be called at any time: it ends the connection at once,
 *   purges its events, and every posted buffer is the caller's again on return.
 * - All memory named in an operation lies in a range given to fabric_register().
 * - Remote access is checked before an octet is read or written: handle of this
 *   connection (of its domain, where a device has nothing narrower), bounds, direction, life. A breach
 *   ends the connection.
 * - An exposure is its owner's until he withdraws it: whatever ended it before (a message of
 *   the peer's that invalidated it, the end of the connection), it keeps its place among
 *   max_exposures and what is known of it, and its handle is given to no other. The withdrawal
 *   tells what the peer has written there (fabric_withdraw()), and nobody is asked before: a
 *   provider may be far ahead of the events that were polled.
 * - A stream (fabric_stream()) is an exposure with less memory than length: what the peer writes there is the user's as
 *   it comes, in PLACED events, each before the events of all that came after it, until he gives it back.
 *   What finds no room waits, and all that its peer says behind it: .is_full.
 * - No allocation per operation, but for pools that grow to the load: queue depths are fixed
 *   at connect or accept; a post beyond them returns ERR_AGAIN.
 *
 * And where Receives are shared:
 * - Any of them may take the next message of any connection. Messages of one connection are
 *   told in the order sent, by RECV events with .conn.
 * - A message that finds none waits at its sender, and what it sent behind it: nobody's
 *   connection ends, and others' go on as soon as there is one.
 * - A peer with more than max_recvs messages that were not polled has gone too far: its
 *   connection ends. How many it may send at all is the user's to count.
 * - Where the provider shares them out (.shares_out): whoever keeps more than one part in FABRIC_SHARE of
 *   what is left waits, alone, until there is more, or it keeps fewer (fabric_may_keep()). So a crowd that
 *   keeps what it was sent uses up none of the others'. All octets of a stream wait then, and what they keep
 *   may be waiting for these, as answers to Reads are: a SATED event tells, for the user to give back what it
 *   can, and another, once it waits no more, a user that has Reads to post (.behind): its message may not
 *   have come for all that, as long as there is no Receive at all. By turns those have of the last part in
 *   FABRIC_SPARE until they are through, so that many who wait so are not waiting for each other.
 * - Nothing of them comes back with a connection: what it received and was not polled stays
 *   posted. One that comes back without a message (its device is gone, or quiet times need it no
 *   more) is a RECV event with ERR_FLUSHED and no .conn.
 */

struct fabric;
struct fabric_conn;
struct fabric_listener;

enum fabric_access {
	FABRIC_REMOTE_READ = 1,
	FABRIC_REMOTE_WRITE = 2,
};

/** struct fabric_tuning - what only RDMA devices (verbs) take, and the last; 0: the provider's default. */
struct fabric_tuning {
	uint8_t retry_count;	 /* of a message nobody acknowledges */
	uint8_t rnr_retry_count; /* what the peer is told: of a Send that found no Receive here */
	uint32_t resolve_ms;	 /* for an address, then for a route */
	uint32_t busy_poll_us;	 /* to look for completions, or octets, before waiting for them */
};

/** struct fabric_conn_params - given with connect and accept. */
struct fabric_conn_params {
	const void *private_data; /* borrowed for the call; may be NULL */
	size_t private_data_len;  /* at most 56 in a request, 196 in an answer (InfiniBand's fields,
				     which also put zeros behind it) */
	uint16_t ird, ord;	  /* Reads served / issued at once; 0: provider's default */
	uint32_t max_recvs;	  /* queue depths; shared Receives: messages received, not polled */
	uint32_t recv_pieces;	  /* above 1: pieces that Receives may have, and they are its own */
	uint32_t max_sends;	  /* Sends, Writes and Reads together */
	uint32_t max_exposures;	  /* regions exposed at once */
	uint32_t domain; /* where a handle cannot be bound to one connection (verbs), it is good for
			  * those of the same domain */
	struct fabric_tuning tuning;
	const struct fabric_addr
		*from; /* connect: from this address of the machine's; NULL: from any;
					 * borrowed for the call */
	bool resets; /* connect: it ends so that its port is free at once, where the provider has ports: what was sent
		      * before arrives as ever */
};

/** struct fabric_use - what an instance will be used for: connections with @domain from @addr, where it
 * is listened on, or to it. */
struct fabric_use {
	struct fabric_addr addr;
	bool listens;
	uint32_t domain;
};

enum fabric_ev_type {
	FABRIC_EV_REQUEST,   /* a new incoming connection; .conn, .private_data: accept or reject */
	FABRIC_EV_CONNECTED, /* connect or accept finished; connect: .private_data of the answer */
	FABRIC_EV_DISCONNECTED, /* .status: 0 orderly, ERR_REJECTED, ERR_REFUSED, ERR_TIMEOUT, ... */
	FABRIC_EV_RECV,		/* a message of .len octets is in the Receive buffer of .cookie;
				 * .conn NULL: a shared one comes back */
	FABRIC_EV_SEND,		/* completion of ... */
	FABRIC_EV_READ,
	FABRIC_EV_WRITE,
	FABRIC_EV_WITHDRAWN,
	FABRIC_EV_PLACED, /* of a stream, with its cookie and .handle: .len octets at .at, which belong at .offset */
	FABRIC_EV_SATED, /* what its peer said next waits, for it keeps too many shared Receives; or no more, for that */
};

struct fabric_event {
	enum fabric_ev_type type;
	struct fabric_conn *conn;
	void *cookie;		  /* the posted operation's */
	int status;		  /* 0 or enum err */
	uint32_t len;		  /* RECV: octets received; PLACED: likewise */
	uint32_t invalidated;	  /* RECV: the handle of ours that the message invalidated, or 0 */
	uint32_t handle;	  /* WITHDRAWN: that is fenced now; PLACED */
	uint32_t written;	  /* WITHDRAWN: as fabric_withdraw() has it */
	uint32_t offset;	  /* PLACED: of those octets in the stream ... */
	const uint8_t *at;	  /* ... and where they lie */
	struct view private_data; /* REQUEST, CONNECTED, rejected: until the next fabric_poll() */
	const char *why;	  /* DISCONNECTED: words for the log, static storage; may be NULL */
};

/** struct fabric_moved - octets since the connection was made. */
struct fabric_moved {
	uint64_t taken; /* of all that was posted: what the peer has acknowledged */
	uint64_t read;	/* of answers to Reads: what came */
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

/* At least this many pieces in one gather list, and in one Receive; each provider checks. */
enum { FABRIC_MAX_SGE = 8, FABRIC_MAX_PIECES = 4 };

/* Of a stream: pieces that are the user's at once; octets that a window has at least, but in tests. */
enum { FABRIC_STREAM_PIECES = 4, FABRIC_STREAM_WINDOW = 65536 };

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
	/* NULL: this provider's connections have Receives of their own, always. */
	int (*share_receives)(struct fabric *f, uint32_t len);
	void (*unshare_receives)(struct fabric *f);
	uint32_t (*receives_wanted)(const struct fabric *f);
	int (*post_shared)(struct fabric *f, void *buf, void *cookie);
	/* A connection that .waits; never else. */
	void (*gave_back)(struct fabric_conn *c);
	int (*send)(struct fabric_conn *c, const struct fabric_sge *sge, unsigned nsge,
		    uint32_t inv_handle, void *cookie);
	/* NULL: this provider copies none. */
	bool (*send_short)(struct fabric_conn *c, const struct fabric_sge *sge, unsigned nsge,
			   uint32_t inv_handle);
	int (*write)(struct fabric_conn *c, const struct fabric_sge *sge, unsigned nsge,
		     const struct segment *remote, void *cookie);
	int (*read)(struct fabric_conn *c, void *to, const struct segment *remote, void *cookie);
	int (*expose)(struct fabric_conn *c, void *addr, uint32_t len, unsigned access,
		      struct segment *seg);
	/* NULL, and the next: this provider never .streams. */
	int (*stream)(struct fabric_conn *c, const struct fabric_piece *window, uint32_t len,
		      void *cookie, struct segment *seg);
	void (*went_on)(struct fabric_conn *c, uint32_t handle, uint32_t len);
	int (*withdraw)(struct fabric_conn *c, uint32_t handle, void *cookie, uint32_t *written);

	void (*flush)(struct fabric *f);
	/* NULL: this provider leaves nothing for a turn's end. Return: whether that took all that one turn may take. */
	bool (*go_on)(struct fabric *f);
	int (*poll)(struct fabric *f, struct fabric_event *ev);
	nsec_t (*deadline)(const struct fabric *f);
	void (*tick)(struct fabric *f, nsec_t now);
	/* NULL: the provider knows of no more than completions. */
	struct fabric_moved (*moved)(const struct fabric_conn *c);
	size_t (*pooled)(const struct fabric *f);      /* NULL: nothing */
	void (*shed)(struct fabric *f, size_t octets); /* with the one before */
	bool (*arriving)(const struct fabric *f);      /* NULL: it cannot tell */
	/* NULL: .conn_bytes, whatever the depths. */
	size_t (*conn_cost)(const struct fabric *f, const struct fabric_conn_params *params);
	void (*free)(struct fabric *f);
};

/** struct fabric - embedded first in each provider's own structure. */
struct fabric {
	const struct fabric_ops *ops;
	void *receives;		/* the user's, from fabric_share_receives(); NULL: not shared */
	uint32_t receives_left; /* the user's: so many more than are posted it could post ... */
	uint32_t receives_most; /* ... of so many in all */
	bool shares_out;	/* connections that keep many Receives wait: fabric_may_keep() */
	bool in_want; /* ... and some of them cannot get on before others give theirs back, of which too few are left */
	bool remote_inv;    /* every connection's handles can be invalidated remotely */
	bool tells_written; /* withdrawals tell what was written */
	bool streams; /* fabric_stream() can be used: a device writes to memory, whatever comes */
	size_t conn_bytes; /* of heap that each connection takes for its life */
	bool fuller; /* the user's: other instances that share a listener are to accept instead, if the
		      * provider has a say in that */
	uint32_t arrived; /* connections that came and have not said yet what they want */
	bool pins;	  /* a device uses registered memory by its pages: they must stay */
};

/** struct fabric_conn - embedded first in each provider's own structure. Read only. */
struct fabric_conn {
	struct fabric *fabric;
	void *owner; /* the user's, from connect, accept or (before accept) attach */
	struct fabric_addr local, peer;
	bool remote_inv;       /* handles exposed on this connection can be invalidated remotely */
	uint32_t handles_live; /* exposures the peer can reach, for statistics and leak tests */
	uint32_t
		kept; /* the user's: shared Receives whose messages it was told, and has not done with */
	bool waits;  /* for fewer of them: fabric_gave_back() */
	bool behind; /* the user's, while it waits: it posts no Reads, whose answers would be behind that. Cleared when it
		      * waits no more, with a SATED event */
	bool is_full; /* what its peer said next waits: a stream has no room for it, for the user has not done with what is there */
	bool idles; /* all that its peer had said was taken, in its turn at the last of them, and no Read was answered then,
		     * nor hardly anything said: it is not for want of these */
};

/*
 * A connection keeps at most one part in FABRIC_SHARE of the shared Receives that are left; it may have more while it waits
 * for answers to Reads, which may be behind its next message, down to one part in FABRIC_READS of all. Of the last part in
 * FABRIC_SPARE some at a time of those whose Reads are behind, or would be, have their next messages, and who keeps none; of
 * the last in FABRIC_LAST these alone.
 */
enum { FABRIC_SHARE = 8, FABRIC_READS = 2, FABRIC_SPARE = 4, FABRIC_LAST = 32 };

/*
 * The verbs of the contract. Thin by intent: a provider is its ops table.
 */

/** fabric_register - make @len octets at @base usable in operations; pages stay put. */
static inline int fabric_register(struct fabric *f, void *base, size_t len)
{
	return f->ops->register_memory(f, base, len);
}

/** fabric_unregister - takes the range back; nothing may be posted in it. */
static inline void fabric_unregister(struct fabric *f, void *base)
{
	f->ops->unregister_memory(f, base);
}

/**
 * fabric_attach - take part in accepting from @l, which several workers' instances
 * may share; incoming connections arrive as FABRIC_EV_REQUEST with @owner
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

/** fabric_arriving - whether there are connections that came, and FABRIC_EV_REQUEST has not told of. */
static inline bool fabric_arriving(const struct fabric *f)
{
	return f->ops->arriving && f->ops->arriving(f);
}

/**
 * fabric_connect - begin a connection; CONNECTED or DISCONNECTED follows
 * @conn: borrowed handle, the provider's until fabric_destroy()
 *
 * Receives may be posted at once, and should be before CONNECTED.
 */
static inline int fabric_connect(struct fabric *f, const struct fabric_addr *to,
				 const struct fabric_conn_params *params, void *owner,
				 struct fabric_conn **conn)
{
	return f->ops->connect(f, to, params, owner, conn);
}

/** fabric_prepare - size the queues of an incoming connection so that Receives can be
 * posted before fabric_accept(), which then must be given the same depths. */
static inline int fabric_prepare(struct fabric_conn *c, const struct fabric_conn_params *params)
{
	return c->fabric->ops->prepare(c, params);
}

/** fabric_accept - answer FABRIC_EV_REQUEST, after Receives were posted; CONNECTED follows. */
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

/** fabric_disconnect - orderly end: Sends and Writes posted before go out (bounded in time),
 * the rest is flushed, DISCONNECTED follows. */
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
 * @owner: the user's, not NULL: @f->receives, for its users to find what they share
 *
 * Before the first connection, after fabric_register(). Plenty are left until the user sets .receives_left
 * and .receives_most, before a flush. Return: 0; ERR_CONFIG when the provider, or a device of its, cannot:
 * nothing has changed.
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

/** fabric_may_keep - whether who keeps @kept of the shared Receives may have one more while @left of @most are; who
 * keeps none always may. */
static inline bool fabric_may_keep(uint32_t kept, uint64_t left, uint32_t most)
{
	return kept == 0 || (kept <= left / FABRIC_SHARE && left > most / FABRIC_SPARE);
}

/** fabric_gave_back - the user has done with the message of a shared Receive, .kept by then. */
static inline void fabric_gave_back(struct fabric_conn *c)
{
	c->kept--;
	if (c->waits)
		c->fabric->ops->gave_back(c);
}

/** fabric_unshare_receives - once all connections are destroyed: every Receive posted and not
 * polled is the caller's again on return. */
static inline void fabric_unshare_receives(struct fabric *f)
{
	f->ops->unshare_receives(f);
	f->receives = NULL;
}

/**
 * fabric_receives_wanted - how many more Receives the load of the last while asks for
 *
 * Ask before each fabric_flush(), and post as many, or what there is memory for. A
 * queue that runs low raises the count, quiet times lower it (fabric/depth.h).
 */
static inline uint32_t fabric_receives_wanted(const struct fabric *f)
{
	return f->ops->receives_wanted(f);
}

/** fabric_post_shared - one of them, of the agreed length at @buf. Return: 0; ERR_AGAIN: more
 * than wanted, the queue is full. */
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
 * fabric_post_pieces - one Receive of @n pieces, at most .recv_pieces of its connection, which was given
 * two or more
 *
 * A message fills them in order, each before the next; .len of its event is that of all of it. @pieces is
 * copied by the call. Return: as fabric_post_recv(); ERR_TOOBIG more pieces, or octets than a message has.
 */
static inline int fabric_post_pieces(struct fabric_conn *c, const struct fabric_piece *pieces,
				     unsigned n, void *cookie)
{
	return c->fabric->ops->post_pieces(c, pieces, n, cookie);
}

/** fabric_pieces_bytes - octets of @n pieces together; UINT64_MAX where those are too many. */
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
 * fabric_send_short - fabric_send() of a message so short that the provider copies its octets: they are the
 * caller's again on return, and no completion tells of it
 *
 * Return: false, and nothing happened, where it is too long for that, others are to go before it, or the
 * provider copies none: fabric_send() it.
 */
static inline bool fabric_send_short(struct fabric_conn *c, const struct fabric_sge *sge,
				     unsigned nsge, uint32_t inv_handle)
{
	return c->fabric->ops->send_short && c->fabric->ops->send_short(c, sge, nsge, inv_handle);
}

/** fabric_write - RDMA Write of the gathered octets to @remote (its length is ignored). */
static inline int fabric_write(struct fabric_conn *c, const struct fabric_sge *sge, unsigned nsge,
			       const struct segment *remote, void *cookie)
{
	return c->fabric->ops->write(c, sge, nsge, remote, cookie);
}

/** fabric_read - RDMA Read of @remote->length octets to @to. Beyond the read depth the
 * provider queues it. ERR_AGAIN as fabric_expose(); ERR_PROTO: the peer said at set-up that it serves no Reads. */
static inline int fabric_read(struct fabric_conn *c, void *to, const struct segment *remote,
			      void *cookie)
{
	return c->fabric->ops->read(c, to, remote, cookie);
}

/**
 * fabric_expose - let the peer access @len octets at @addr
 * @access: FABRIC_REMOTE_READ or FABRIC_REMOTE_WRITE
 * @seg:    filled: unpredictable handle, length, offset
 *
 * Return: 0, ERR_CLOSED, or ERR_AGAIN: at max_exposures, or the device is short of something for a while.
 */
static inline int fabric_expose(struct fabric_conn *c, void *addr, uint32_t len, unsigned access,
				struct segment *seg)
{
	return c->fabric->ops->expose(c, addr, len, access, seg);
}

/**
 * fabric_stream - as fabric_expose(), for FABRIC_REMOTE_WRITE, of @len octets behind which there is only @window
 *
 * Where the fabric .streams. What the peer writes is checked as ever, and told by PLACED events with @cookie: octets that
 * lie in the window, in the order written, wherever in the stream they belong; what it writes a second time comes a second time.
 * They are the user's until fabric_went_on(). While the window has no room for the next ones, or FABRIC_STREAM_PIECES
 * are the user's, nothing more of this connection's peer is looked at (.is_full). What fabric_withdraw() tells as
 * written are octets that PLACED events had told of before it, no others: what is in the window then, and was not told,
 * is nobody's. There is no PLACED event behind a withdrawal.
 */
static inline int fabric_stream(struct fabric_conn *c, const struct fabric_piece *window,
				uint32_t len, void *cookie, struct segment *seg)
{
	return c->fabric->ops->stream(c, window, len, cookie, seg);
}

/** fabric_went_on - the user has done with the oldest of the pieces told and not given back, of @len octets, of
 * the stream @handle, unless that is withdrawn. */
static inline void fabric_went_on(struct fabric_conn *c, uint32_t handle, uint32_t len)
{
	c->fabric->ops->went_on(c, handle, len);
}

/**
 * fabric_withdraw - fence an exposure before its memory is used again
 * @written: may be NULL; filled unless the answer is 0, when FABRIC_EV_WITHDRAWN has it. How many
 *           octets from
 *           the start of the exposure the peer has written, all of them, in whatever order: what
 *           lies behind was never its to return. Where Writes left too many gaps some were blanked
 *           with zeros (fabric/runs.h), which are written then. FABRIC_WRITTEN_UNKNOWN from a
 *           provider that does not tell; 0 of a handle that is not the caller's to withdraw.
 *
 * What counts is what was placed before the fence. After it nothing is, and a Write of which
 * only a part had come counts for nothing.
 * A handle already invalidated by the peer, or unknown, is fenced already.
 * Return: 1 fenced now, no event; 0 FABRIC_EV_WITHDRAWN follows; ERR_CLOSED (fenced, too).
 */
#define FABRIC_WRITTEN_UNKNOWN UINT32_MAX
static inline int fabric_withdraw(struct fabric_conn *c, uint32_t handle, void *cookie,
				  uint32_t *written)
{
	uint32_t unasked;

	return c->fabric->ops->withdraw(c, handle, cookie, written ? written : &unasked);
}

/** fabric_flush - put everything posted so far on its way, many operations a system call. */
static inline void fabric_flush(struct fabric *f)
{
	f->ops->flush(f);
	if (f->ops->go_on)
		(void)f->ops->go_on(f);
}

/**
 * fabric_flush_all - fabric_flush() of @n that one thread serves
 * @first: which of them has the next turn's end, kept by the caller; 0 at first
 *
 * What was posted to any of them goes before any goes on with peers that move much: an answer does not wait on one
 * for what is read on another. They do so by turns, and who comes meanwhile waits for one of them and not for all.
 */
static inline void fabric_flush_all(struct fabric *const *fabrics, unsigned n, unsigned *first)
{
	bool spent = false;

	for (unsigned i = 0; i < n; i++)
		fabrics[i]->ops->flush(fabrics[i]);
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

/** fabric_deadline - when fabric_tick() is next needed, or NSEC_NEVER. */
static inline nsec_t fabric_deadline(const struct fabric *f)
{
	return f->ops->deadline(f);
}

/** fabric_tick - tell the time: set-up, stall and linger time-outs. */
static inline void fabric_tick(struct fabric *f, nsec_t now)
{
	f->ops->tick(f, now);
}

/** fabric_conn_bytes - octets that a connection with @params takes for its life, of heap and, for the queues
 * of an RDMA device, of locked memory; of those, as much as the greediest device known takes. */
static inline size_t fabric_conn_bytes(const struct fabric *f,
				       const struct fabric_conn_params *params)
{
	return f->ops && f->ops->conn_cost ? f->ops->conn_cost(f, params) : f->conn_bytes;
}

/** fabric_moved - into @moved: how much has moved on @c so far; costs a system call. Return: false, and @moved is as it was:
 * the provider knows of completions alone. */
static inline bool fabric_moved(const struct fabric_conn *c, struct fabric_moved *moved)
{
	if (!c->fabric->ops->moved)
		return false;
	*moved = c->fabric->ops->moved(c);
	return true;
}

/** fabric_pooled - octets of heap that all connections together have beside .conn_bytes each, and all
 * that those have of which no FABRIC_EV_REQUEST has told yet. */
static inline size_t fabric_pooled(const struct fabric *f)
{
	return f->ops->pooled ? f->ops->pooled(f) : 0;
}

/** fabric_shed - memory is short: connections end that hold some of fabric_pooled(), @octets of it together at most,
 * and have hardly moved since the last call. To be called every some seconds for as long as it is short. */
static inline void fabric_shed(struct fabric *f, size_t octets)
{
	if (f->ops->shed)
		f->ops->shed(f, octets);
}

/** fabric_free - takes @f; all its connections must be destroyed, listeners detached, Receives not
 * be shared any more. */
static inline void fabric_free(struct fabric *f)
{
	f->ops->free(f);
}

#endif
