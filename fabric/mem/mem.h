/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_MEM_H
#define FABRIC_MEM_MEM_H

#include "fabric/fabric.h"

/**
 * fabric/mem - the contract within one process, in virtual time, with seeded faults. It is for all
 * end-to-end tests that need no sockets.
 *
 * A struct memnet is a network: its instances can reach each other. Each memnet_step() does the one
 * thing that is due next. Between calls nothing happens.
 *
 * It is stricter than any real fabric, so that code that works here works everywhere:
 * - No post (a Receive and a disconnect included) takes effect before fabric_flush().
 * - What an acceptor posts waits for the initiator's first operation.
 * - These are bugs of the user, and assertions fail: memory outside registered ranges; a Send,
 *   Write or Read before CONNECTED was polled; octets changed while an operation owns them; memory
 *   unregistered while in use; connections left, or Receives still shared, at fabric_free();
 *   fabric_post_recv() while Receives are shared.
 * - Posted Receives and Read sinks are filled with MEMNET_POISON, and are out of bounds under
 *   AddressSanitizer until their completion was polled.
 * - Writes to a stream arrive in segments of any length. Pieces that are given back are poisoned.
 * - Completions of different kinds come in any order. A withdraw is sometimes immediate and
 *   sometimes not. When a connection ends, Sends and Writes may report success although the peer
 *   never saw them, as TCP does.
 * - Any shared Receive may take the next message. A message that finds none waits, with everything
 *   that its end sent behind it.
 * - Handles, offsets in segments, and the instance that gets a request are random.
 */
struct memnet;

enum { MEMNET_POISON = 0xbd };

enum memnet_fault {
	MEMNET_NONE,
	MEMNET_CUT,	    /* lose the connection at the nth delivered operation */
	MEMNET_REFUSE,	    /* the nth connect is refused */
	MEMNET_EXPOSE_FAIL, /* the nth expose fails with ERR_AGAIN */
	MEMNET_STALL,	    /* the nth operation's connection delivers nothing for .fault_delay */
	MEMNET_POST_FAIL,   /* the nth Send, Write or Read fails with ERR_AGAIN */
	MEMNET_VANISH,	    /* from the nth operation on the connection delivers nothing at all */
};

struct memnet_config {
	uint64_t seed;
	nsec_t latency_min, latency_max; /* bounds of each operation's random latency; the order
					  * in each direction of a connection is kept */
	enum memnet_fault fault;
	uint64_t fault_at; /* n, from 1; the fault happens once */
	nsec_t fault_delay;
	bool no_written;      /* withdrawals do not return octets written; no streams */
	bool no_remote_inv;   /* .remote_inv of instances and connections is not set */
	bool shares_receives; /* fabric_share_receives() works */
	/* the number of Receives that a connection holds is not limited (fabric_may_hold()), as on
	 * devices */
	bool shares_blindly;
	uint32_t shared_least, shared_most; /* the queue's bounds (fabric/depth.h); 0: 8, 1024 */
};

/**
 * struct memnet_watcher - .moved is called for all octets that a message (@kind is FABRIC_EV_RECV),
 * an RDMA Write (FABRIC_EV_WRITE) or the response to an RDMA Read (FABRIC_EV_READ) carried to the
 * end @to. @octets: the place to which they were delivered; borrowed for the call.
 */
struct memnet_watcher {
	void (*moved)(void *arg, struct fabric_conn *to, enum fabric_ev_type kind,
		      const uint8_t *octets, uint32_t len);
	void *arg;
};

/** struct memnet_usage - numbers of objects that exist now. All are zero after an orderly end of
 * everything. */
struct memnet_usage {
	uint64_t conns;	    /* not yet destroyed */
	uint64_t posted;    /* operations whose completion was not polled yet */
	uint64_t shared;    /* Receives of all connections together, not polled; 0 when unshared */
	uint64_t exposures; /* not fenced */
	uint64_t exposed_bytes;
};

/** memnet_new - returns owned, or NULL. */
struct memnet *memnet_new(const struct memnet_config *cfg);

/** memnet_free - takes @net; instances and listeners must be freed before. */
void memnet_free(struct memnet *net);

/** memnet_fabric - an instance on @net. Returns owned, or NULL; to be freed before @net. */
struct fabric *memnet_fabric(struct memnet *net);

/** memnet_listen - a listener at @addr, which may have any value. Returns owned (attach it with
 * fabric_attach()), or NULL: no memory, or another listener has @addr. */
struct fabric_listener *memnet_listen(struct memnet *net, const struct fabric_addr *addr);
void memnet_listener_free(struct fabric_listener *l);

/** memnet_now - virtual time. */
nsec_t memnet_now(const struct memnet *net);

/** memnet_step - advance the time to the next thing due, at most to @until, and do it.
 * Return: 1: something was delivered; 0: nothing is due before @until, and the time is @until, or
 * unchanged for NSEC_NEVER. */
int memnet_step(struct memnet *net, nsec_t until);

/** memnet_ops - number of operations delivered so far, from which a test chooses .fault_at. */
uint64_t memnet_ops(const struct memnet *net);

/** memnet_watch - @w, borrowed, is the watcher from now on; NULL: none. */
void memnet_watch(struct memnet *net, const struct memnet_watcher *w);

/** memnet_set_far - connections to a listener at @addr, if they are made from now on, take @delay
 * more for each operation, in each direction. Only one address can have a delay. */
void memnet_set_far(struct memnet *net, const struct fabric_addr *addr, nsec_t delay);

/** memnet_usage - fills @u. */
void memnet_usage(const struct memnet *net, struct memnet_usage *u);

/** memnet_cut - end the connection of @base now: both ends get DISCONNECTED. */
void memnet_cut(struct fabric_conn *base);

/** memnet_vanish - the connection of @base delivers nothing from now on, and neither end gets an
 * event for that. fabric_disconnect() still ends the side of its caller, in a limited time. */
void memnet_vanish(struct fabric_conn *base);

/** struct memnet_pace - time that an end takes for each operation, and for each of its octets. It
 * processes one operation after the other. */
struct memnet_pace {
	nsec_t take, take_octet;     /* for Sends and Writes that arrive at the end */
	nsec_t answer, answer_octet; /* for Reads that the end answers */
};

/** memnet_pace - operations that arrive at the end @base, and Reads that it answers, take the times
 * of @pace from now on. */
void memnet_pace(struct fabric_conn *base, const struct memnet_pace *pace);

/**
 * memnet_limit_messages - only the next @n messages of the end @base find a Receive
 * @n: UINT32_MAX: all messages do
 * @turn_unused: value that .read_turn_unused of the other end has while a message waits
 *
 * Later messages wait, with everything that @base sends behind them, as if the user of the other
 * end held too many shared Receives (.recv_limited).
 */
void memnet_limit_messages(struct fabric_conn *base, uint32_t n, bool turn_unused);

/** memnet_deny_reads - set .no_reads of the other end of @base, as if @base had said at set-up that
 * it serves no Reads. Call it before the other end posts a Read. */
void memnet_deny_reads(struct fabric_conn *base);

/** memnet_issue_no_reads - set .issues_no_reads of the other end of @base, as if @base had said at
 * set-up that it issues no Reads. */
void memnet_issue_no_reads(struct fabric_conn *base);

/** memnet_starve - set .recv_starving of @base to @starves. */
void memnet_starve(struct fabric *base, bool starves);

/** memnet_short - exposures and Reads of @base fail with ERR_AGAIN from @from to @until, as on a
 * device that is short of windows and registrations. */
void memnet_short(struct fabric *base, nsec_t from, nsec_t until);

/** memnet_limit_exposures - each connection of @base may have @n exposures at once, as on a device
 * that is short of windows for a long time. 0: no limit. */
void memnet_limit_exposures(struct fabric *base, uint32_t n);

/** memnet_flush_shared - all shared Receives of @base that no message has taken are returned
 * without a message, as when a device is removed. They can be posted again. */
void memnet_flush_shared(struct fabric *base);

#endif
