/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_WIRE_H
#define TOOLS_PROBE_WIRE_H

#include "tools/probe/env.h"

/**
 * wire - one connection at a time, and nothing of RPC-over-RDMA in it: octets
 * are sent and awaited. Every wait has an end.
 *
 * Receives are more and larger than what is ever announced, so that a peer's
 * breach of a limit is seen and named instead of ending the connection.
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

/** struct wire_msg - a received message; its octets stay until the next wire_await(). */
struct wire_msg {
	struct view octets;
	uint32_t invalidated; /* handle of ours, or 0 */
	nsec_t at;
};

enum wire_state { WIRE_IDLE, WIRE_OPENING, WIRE_OPEN, WIRE_ENDED };

struct wire {
	const struct probe_env *env;
	uint8_t *memory; /* Receives, Sends, exposed octets */
	enum wire_state state;
	struct fabric_conn *conn;
	int status;	    /* ENDED: as FABRIC_EV_DISCONNECTED has it */
	char why[WIRE_WHY]; /* ENDED: words */

	uint8_t pdata[WIRE_PDATA]; /* the peer's private data */
	size_t pdata_len;

	struct wire_msg queue[WIRE_RECVS]; /* arrived, not awaited yet: a ring */
	unsigned head, count;
	const uint8_t *lent; /* the Receive under the message last awaited */

	unsigned sent, sends_done;
	size_t exposed;
	bool op_done; /* a Read or Write of ours */
	int op_status;

	/* Called at arrival, before the message can be awaited. */
	void (*tap)(void *arg, const struct wire_msg *m);
	void *tap_arg;

	struct fabric_conn *offered; /* acceptor: a connection that waits for wire_accept() */
	uint8_t offered_pdata[WIRE_PDATA];
	size_t offered_len;
};

/** wire_init - takes its memory. Return: 0 or an error. */
int wire_init(struct wire *w, const struct probe_env *env) WARN_UNUSED;

void wire_fini(struct wire *w);

/**
 * wire_connect - open the connection to @to, with @pdata as private data
 *
 * Return: 0, or an error with w->why filled.
 */
int wire_connect(struct wire *w, const struct fabric_addr *to, struct view pdata,
		 nsec_t deadline) WARN_UNUSED;

/** wire_offer - wait for an incoming connection. Return: 0 with w->offered set, or ERR_TIMEOUT. */
int wire_offer(struct wire *w, nsec_t deadline) WARN_UNUSED;

/** wire_accept - open the connection offered. */
int wire_accept(struct wire *w, struct view pdata, nsec_t deadline) WARN_UNUSED;

/** wire_close - end it in order, if it is open; bounded. Everything exposed is withdrawn. */
void wire_close(struct wire *w);

/** wire_send - a copy of @octets as one Send. Return: 0, ERR_CLOSED, ERR_TOOBIG, ERR_AGAIN. */
int wire_send(struct wire *w, struct view octets, uint32_t inv_handle) WARN_UNUSED;

/** wire_await - the next message. Return: 0, ERR_TIMEOUT, ERR_CLOSED (and none is left). */
int wire_await(struct wire *w, nsec_t deadline, struct wire_msg *m) WARN_UNUSED;

/** wire_unget - the message last awaited will be awaited again. */
void wire_unget(struct wire *w);

/** wire_turn - take in what has happened, without waiting. */
void wire_turn(struct wire *w);

/** wire_pause - go on with everything but awaiting until @deadline, or the end. */
void wire_pause(struct wire *w, nsec_t deadline);

/** wire_expose - the next @len octets for the peer's @access; @at: where they are. */
int wire_expose(struct wire *w, uint32_t len, unsigned access, struct segment *seg,
		uint8_t **at) WARN_UNUSED;

/** wire_read - RDMA Read of @seg into the exposed-memory area; @at: where it is. */
int wire_read(struct wire *w, const struct segment *seg, nsec_t deadline, uint8_t **at) WARN_UNUSED;

/** wire_status_name - words for an error of this file. */
const char *wire_status_name(int status);

#endif
