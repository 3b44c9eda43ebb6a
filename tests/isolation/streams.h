/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_STREAMS_H
#define TESTS_ISOLATION_STREAMS_H

#include "base/list.h"
#include "base/timer.h"
#include "fabric/iwarp/qp.h"
#include "tests/isolation/pipe.h"

/**
 * streams - a provider for tests: the queue pairs of fabric/iwarp, connected by streams within this
 * process, in virtual time (net_streams in net.h)
 *
 * Pipes take the place of sockets: set-up without MPA, orderly and other ends, limits for peers
 * that read no octets or do not finish what they have begun. All else, every octet of every FPDU,
 * comes from the queue pairs themselves.
 */

enum stream_state {
	STREAM_ASKING,	/* initiator: waits for an answer */
	STREAM_OFFERED, /* acceptor: the user has the request */
	STREAM_OPEN,
	STREAM_CLOSING, /* the last octets leave; arriving octets are discarded */
	STREAM_LINGER,	/* waits for the peer's end */
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
	struct list active, dirty, recv_waiters; /* as in fabric/iwarp */
	bool wild;
	struct qp_store store;
	struct recvq recvq;
	struct iwarp_counters counters;
	struct timer period;
};

struct stream_conn {
	struct fabric_conn base;
	struct list link, active, dirty, recv_wait;
	enum stream_state state;
	struct stream_conn *peer;	  /* NULL: gone, or not connected yet */
	struct fabric_listener *listener; /* acceptor */
	struct wire wire;
	struct pipe in; /* octets from the peer */
	struct timer deliver, setup, look;
	bool has_qp, accepted, blocked;
	bool request_due, connected_due, asked, end_reported;
	struct qp qp;
	uint16_t ird, ord;
	uint8_t pd[256];
	size_t pd_len;
	bool looked_blocked, looked_inside;
	/* values when .look last fired */
	uint64_t looked_taken;
	struct qp_rx_mark looked_mark;
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

/** streams_soon - when something that begins now reaches the other end. */
nsec_t streams_soon(struct streams *net);

/* streams_setup.c: connection set-up; operations of fabric.h */

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

/* streams_move.c: movement of octets, and ends of connections */

/** streams_pump - move what the queue pair has to send, as far as there is room. */
void streams_pump(struct stream_conn *c);

/** streams_resume - try again, because there may be a Receive. */
void streams_resume(struct stream_conn *c);

/** streams_try_full - try again, because there may be room in a stream. */
void streams_try_full(struct stream_conn *c);

/** streams_stop - end the connection at once; the peer notices. */
void streams_stop(struct stream_conn *c, int status, const char *why);

void streams_disconnect(struct stream_conn *c);
void streams_activate(struct stream_conn *c);
void streams_deliver(struct timer *t, nsec_t now);
void streams_look(struct timer *t, nsec_t now);

#endif
