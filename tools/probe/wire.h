/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_WIRE_H
#define TOOLS_PROBE_WIRE_H

#include "tools/probe/env.h"

/**
 * wire - one connection at a time, without any RPC-over-RDMA: octets are sent and awaited. Every
 * wait has a limit.
 *
 * There are more and larger Receives than are ever announced. So a peer that breaks a limit is seen
 * and reported, and the connection does not end.
 */
enum {
	WIRE_RECVS = 128,
	WIRE_RECV_BYTES = 16384,
	WIRE_SENDS = 64,
	WIRE_SEND_BYTES = 8192,
	WIRE_EXPOSED = 1024 * 1024, /* octets that can be exposed on one connection */
	WIRE_EXPOSURES = 64,
	WIRE_PDATA = 256,
	WIRE_WHY = 96,
};

/** struct wire_msg - a received message; its octets are valid until the next wire_await(). */
struct wire_msg {
	struct view octets;
	uint32_t invalidated; /* handle of the probe that the message invalidated, or 0 */
	nsec_t at;
};

enum wire_state { WIRE_IDLE, WIRE_OPENING, WIRE_OPEN, WIRE_ENDED };

struct wire {
	const struct probe_env *env;
	uint8_t *memory; /* Receives, Sends, exposed octets */
	enum wire_state state;
	struct fabric_conn *conn;
	int status;	    /* ENDED: status of FABRIC_EV_DISCONNECTED */
	char why[WIRE_WHY]; /* ENDED: description */

	uint8_t pdata[WIRE_PDATA]; /* the peer's private data */
	size_t pdata_len;

	struct wire_msg queue[WIRE_RECVS]; /* arrived, and not awaited yet: a ring */
	unsigned head, count;
	const uint8_t *lent; /* the Receive of the message awaited last */

	unsigned sent, sends_done;
	size_t exposed;
	bool op_done; /* a Read or Write of the probe has completed */
	int op_status;

	/* Called on arrival, before the message can be awaited. */
	void (*observe)(void *arg, const struct wire_msg *m);
	void *trace_arg;

	struct fabric_conn *offered; /* acceptor: a connection that waits for wire_accept() */
	uint8_t offered_pdata[WIRE_PDATA];
	size_t offered_len;
};

/** wire_init - allocate its memory. Return: 0 or an error. */
int wire_init(struct wire *w, const struct probe_env *env) WARN_UNUSED;

void wire_fini(struct wire *w);

/**
 * wire_connect - open a connection to @to, with @pdata as private data
 *
 * Return: 0, or an error with the reason in w->why.
 */
int wire_connect(struct wire *w, const struct fabric_addr *to, struct view pdata,
		 nsec_t deadline) WARN_UNUSED;

/** wire_offer - wait for an incoming connection. Return: 0 with w->offered set, or ERR_TIMEOUT. */
int wire_offer(struct wire *w, nsec_t deadline) WARN_UNUSED;

/** wire_accept - accept the offered connection. */
int wire_accept(struct wire *w, struct view pdata, nsec_t deadline) WARN_UNUSED;

/** wire_close - close the connection in order, within a limited time, if there is one. All
 * exposures are withdrawn. */
void wire_close(struct wire *w);

/** wire_send - send a copy of @octets. Return: 0, ERR_CLOSED, ERR_TOOBIG, ERR_AGAIN. */
int wire_send(struct wire *w, struct view octets, uint32_t inv_handle) WARN_UNUSED;

/** wire_await - wait for the next message. Return: 0, ERR_TIMEOUT, ERR_CLOSED (and no message is
 * left). */
int wire_await(struct wire *w, nsec_t deadline, struct wire_msg *m) WARN_UNUSED;

/** wire_unget - let the next wire_await() return the last message again. */
void wire_unget(struct wire *w);

/** wire_turn - process events without waiting. */
void wire_turn(struct wire *w);

/** wire_pause - process events, but deliver no message, until @deadline or the end of the
 * connection. */
void wire_pause(struct wire *w, nsec_t deadline);

/** wire_expose - expose the next @len octets for the peer's @access; *@at is their address. */
int wire_expose(struct wire *w, uint32_t len, unsigned access, struct segment *seg,
		uint8_t **at) WARN_UNUSED;

/** wire_read - RDMA Read of @seg into the area of exposed memory; *@at is the address. */
int wire_read(struct wire *w, const struct segment *seg, nsec_t deadline, uint8_t **at) WARN_UNUSED;

/** wire_status_name - description of an error of this file. */
const char *wire_status_name(int status);

#endif
