/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_STREAMS_H
#define TESTS_ISOLATION_STREAMS_H

#include "base/list.h"
#include "base/timer.h"
#include "fabric/iwarp/qp.h"
#include "tests/isolation/pipe.h"

/**
 * streams - a provider for tests: the queue pairs of fabric/iwarp, joined by streams within this
 * process, in virtual time (net_streams in net.h)
 *
 * What fabric/iwarp does with sockets is done here with pipes: set-up without MPA, an orderly end
 * and others, bounds on peers that take no octets or do not end what they have begun. All else,
 * every octet of every FPDU, is the queue pairs' own.
 */

enum stream_state {
	STREAM_ASKING,	/* initiator: an answer is awaited */
	STREAM_OFFERED, /* acceptor: the user was asked */
	STREAM_OPEN,
	STREAM_CLOSING, /* the last octets go out, what comes in is thrown away */
	STREAM_LINGER,	/* the peer's end is awaited */
	STREAM_ENDED,
};

struct streams {
	struct rng rng;
	struct net_config cfg;
	const struct net_watcher *watcher;
	nsec_t now;
	struct timer_queue timers;
	struct list fabrics, listeners;
	uint16_t ports;
};

struct stream_fabric {
	struct fabric base;
	struct streams *net;
	struct list link, conns;
	struct list active, dirty, starved; /* as fabric/iwarp has them */
	bool wild;
	struct qp_store store;
	struct recvq recvq;
	struct iwarp_counters counters;
	struct timer period;
};

struct stream_conn {
	struct fabric_conn base;
	struct list link, active, dirty, starved;
	enum stream_state state;
	struct stream_conn *peer;	  /* NULL: gone, or not there yet */
	struct fabric_listener *listener; /* acceptor */
	struct wire wire;
	struct pipe in; /* what comes from the peer */
	struct timer deliver, setup, look;
	bool has_qp, accepted, blocked;
	bool tell_request, tell_connected, asked, told_end;
	struct qp qp;
	uint16_t ird, ord;
	uint8_t pd[256];
	size_t pd_len;
	bool looked_blocked, looked_inside;
	uint64_t looked_taken, looked_octets, looked_messages; /* when .look fired last */
	int status;
	const char *why;
};

static inline struct stream_fabric *stream_fabric_of(const struct fabric *f)
{
	return container_of((struct fabric *)(uintptr_t)f, struct stream_fabric, base);
}

static inline struct stream_conn *stream_of(struct fabric_conn *c)
{
	return container_of(c, struct stream_conn, base);
}

static inline struct stream_fabric *fabric_of_stream(const struct stream_conn *c)
{
	return stream_fabric_of(c->base.fabric);
}

static inline struct streams *net_of_stream(const struct stream_conn *c)
{
	return fabric_of_stream(c)->net;
}

/** streams_soon - when what begins now has come over. */
nsec_t streams_soon(struct streams *net);

/* streams_setup.c: how connections begin; the verbs of fabric.h */

struct stream_conn *streams_conn_new(struct stream_fabric *f, void *owner);
void streams_conn_free(struct stream_conn *c);
int streams_attach(struct fabric *f, struct fabric_listener *l, void *owner);
void streams_detach(struct fabric *f, struct fabric_listener *l);
int streams_connect(struct fabric *f, const struct fabric_addr *to,
		    const struct fabric_conn_params *params, void *owner,
		    struct fabric_conn **conn);
int streams_prepare(struct fabric_conn *c, const struct fabric_conn_params *params);
int streams_accept(struct fabric_conn *c, const struct fabric_conn_params *params, void *owner);
void streams_reject(struct fabric_conn *c, struct view private_data);
struct fabric_listener *streams_listen(struct streams *net, const struct fabric_addr *addr);
void streams_listener_free(struct fabric_listener *l);

/* streams_move.c: how their octets move, and how they end */

/** streams_pump - what the queue pair has to send, as far as there is room. */
void streams_pump(struct stream_conn *c);

/** streams_resume - there may be a Receive for what waited. */
void streams_resume(struct stream_conn *c);

/** streams_try_full - there may be room in a stream for what waited. */
void streams_try_full(struct stream_conn *c);

/** streams_stop - it is over, at once; the peer finds out. */
void streams_stop(struct stream_conn *c, int status, const char *why);

void streams_disconnect(struct stream_conn *c);
void streams_activate(struct stream_conn *c);
void streams_deliver(struct timer *t, nsec_t now);
void streams_look(struct timer *t, nsec_t now);

#endif
