/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_CLIENT_PRIV_H
#define TOOLS_PERF_CLIENT_PRIV_H

#include "base/list.h"
#include "tools/perf/client.h"

/* Shared by client.c (connections, steps), reconnect.c (connections that ended), call.c (forming a
 * call) and reply.c (checking its reply); private to these files. */

enum client_state { CLIENT_CONNECTING, CLIENT_RUNNING, CLIENT_CLOSING, CLIENT_DONE };

struct perf_client {
	const struct perf_client_config *cfg;
	struct perf_env env;
	enum client_state state;
	struct client_conn *conns; /* cfg->connections entries */
	unsigned nready, nclosed, nflying;
	unsigned turn;	     /* index of the connection that calls next */
	struct list dirty;   /* connections to be pumped at the end of the turn */
	struct list stalled; /* connections whose reply waits for memory, in order */
	bool stopped, in_step;

	unsigned step;
	uint64_t started; /* number of calls of this step */
	nsec_t step_began, step_last;
	struct perf_step now; /* this step so far */
	struct latency times, all_times;
	struct perf_step *steps;
	unsigned nsteps;
	nsec_t close_by;
	struct perf_again again;
	struct perf_errors errors;
};

struct client_conn {
	struct perf_client *client;
	struct leg leg;
	struct list dirty, stalled;
	struct list idle, flying; /* lists of slots; .flying has the oldest call first */
	struct slot *slots;	  /* cfg->depth entries */
	/* the stride is a power of two; XID modulo stride is the index of the slot */
	uint32_t xid_base, xid_stride;
	bool is_ready, is_closed;
	nsec_t connected, took; /* time to negotiate the version, including host authentication */
	nsec_t lost; /* when the connection ended; NSEC_NEVER: it is up, or was never up */
	nsec_t retry_at, wait; /* time of the next attempt (NSEC_NEVER: none); back-off before it */
};

/** client_connect - open a connection, the first one or a replacement. Return: 0 or an error. */
int client_connect(struct client_conn *conn) WARN_UNUSED;

/** client_is_up - whether calls can be sent on @conn. */
static inline bool client_is_up(const struct client_conn *conn)
{
	return conn->is_ready && conn->leg.state == LEG_OPEN && !conn->leg.closing;
}

/** reconnect_begin - @conn ended while the run continues. Return: true: it will be made again;
 * false: it is given up, and the caller reports an error. */
bool reconnect_begin(struct client_conn *conn);

/** reconnect_deadline - when reconnect_tick() is due. */
nsec_t reconnect_deadline(const struct client_conn *conn);

/** reconnect_tick - try again to connect, if that is due. Return: 0, or the reason for giving
 * up. */
int reconnect_tick(struct client_conn *conn, nsec_t now) WARN_UNUSED;

/** reconnect_done - @conn is ready, for the first time or again: send its calls in flight again.
 * Return: 0, or the error of slot_resend() for one of them. */
int reconnect_done(struct client_conn *conn) WARN_UNUSED;

/** client_measure_step - compute the results of the step under way. */
void client_measure_step(const struct perf_client *c, struct perf_step *step);

enum { SLOT_HANDLES = 3, HEAD_AT = PERF_HEAD_MAX };

/**
 * struct slot - room for one call and its reply. The block of a slot has the head of the message,
 * the data with room for a pad, and the reply area. The head ends where the data begins, so head
 * and data are one region.
 */
struct slot {
	struct list link; /* in .idle or .flying */
	struct client_conn *conn;
	struct leg_tx tx;
	struct rpc_msg msg;
	struct perf_call rpc;
	uint32_t seq;
	nsec_t began;
	uint8_t *block, *data, *reply;
	/* handles of exposed memory that is not known to be fenced */
	uint32_t handles[SLOT_HANDLES];
	unsigned nhandles, fencing; /* number of withdrawals under way */
	bool sent, answered, failed;

	struct leg_held held; /* the reply, until it is checked */
	struct view body;     /* payload stream of the reply, in the reply area or in @held */
	uint64_t reduced;     /* octets of data that arrived in the Write chunk */
	bool is_reduced;
};

/** slot_data_room - octets of the data part of a slot's block. */
size_t slot_data_room(const struct perf_client_config *cfg);

/** slot_reply_room - octets of the reply area; 0: the operation needs none. */
size_t slot_reply_room(const struct perf_client_config *cfg);

/** slot_bytes - octets of a slot's block. */
size_t slot_bytes(const struct perf_client_config *cfg);

/**
 * slot_call - form the next call of @slot with @size octets of data and hand it to the leg
 *
 * Return: 0, or an error when it cannot be expressed; what was exposed is in slot->handles.
 */
int slot_call(struct slot *slot, uint32_t size, nsec_t now) WARN_UNUSED;

/** slot_resend - send the call of @slot again, on a new connection: as slot_call(). The memory for
 * data is blanked first, so that data of an earlier reply cannot be taken for data of the next
 * reply. */
int slot_resend(struct slot *slot) WARN_UNUSED;

/** slot_take_reply - store body and lengths of the reply in @out. Return: 0, or ERR_PROTO
 * (reported). */
int slot_take_reply(struct slot *slot, const struct leg_out *out) WARN_UNUSED;

/** slot_judge - check the reply, whose memory is fenced, against the call. Reports each difference.
 * Return: whether it is right. */
bool slot_judge(struct slot *slot);

#endif
