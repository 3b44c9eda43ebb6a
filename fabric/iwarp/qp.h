/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_QP_H
#define FABRIC_IWARP_QP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "fabric/fabric.h"
#include "fabric/iwarp/ddp.h"
#include "fabric/iwarp/iwarp.h"
#include "fabric/iwarp/mpa.h"
#include "fabric/iwarp/recvq.h"
#include "fabric/iwarp/stag.h"
#include "fabric/iwarp/sums.h"

/**
 * qp.h - one RDMAP stream as a queue pair, without a socket
 *
 * The owner moves the octets:
 * - In: qp_rx_want() returns where the next octets of the stream go. The owner tells qp_rx_got()
 *   how many came.
 * - Out: qp_tx_want() returns the octets to send. The owner tells qp_tx_took() how many it sent.
 * - qp_next_event() returns the results of posted operations.
 * - Calls may come in any order, but no other call may come between qp_rx_want() and qp_rx_got(),
 *   or between qp_tx_want() and qp_tx_took().
 *
 * A breach by the peer puts the queue pair into QP_TERMINATING: the last octets that qp_tx_want()
 * returns are the Terminate. qp_stop() then gives everything back.
 *
 * Memory that a queue pair needs only while octets or operations are under way comes from the
 * struct qp_store of its instance. An idle queue pair has given it back.
 */

enum qp_state {
	QP_INIT, /* the stream is not open yet; Receives may be posted */
	QP_OPEN,
	QP_DRAINING,	/* orderly end: Sends and Writes are still sent */
	QP_TERMINATING, /* a Terminate is sent; input is ignored */
	QP_DEAD,	/* no more octets either way; only events */
};

enum {
	QP_STAGE_BYTES = 16384, /* size of the read-ahead buffer (stage) */
	/* untagged FPDUs up to this size are processed when the stage has all of their octets */
	QP_WHOLE_BYTES = 8192,
	/* tagged messages of this size or more are read straight to their place */
	QP_BULK_BYTES = 4097,
	QP_AHEAD = 32, /* most FPDUs of a tagged message read ahead behind the current one */
	/* octets of a Read response between two places at which this end sends other messages;
	 * fewer if these octets are more than QP_AHEAD segments (qp_run()) */
	QP_RUN_BYTES = 262144,
	QP_AHEAD_BYTES = QP_RUN_BYTES + 65536, /* most octets of the FPDUs read ahead */
	QP_SMALL_RUN = 16, /* small messages in a row after which no large Write is expected */
	QP_RX_IOV = 2 * QP_AHEAD + 2,
	QP_TX_IOV = 256,
	QP_TX_FPDUS = 128,
	/* a Send up to this size is copied behind its header: one more piece for the kernel costs
	 * more than the copy */
	QP_TX_SHORT = 1024,
	QP_TX_CTL = 24576, /* octets of .ctl of a batch */
	QP_EARLY = 64, /* of an instance: most batches begun before the flush (qp_send_short()) */
	/* octets gathered before the kernel gets them, so that a batch stays in the L2 cache */
	QP_TX_BATCH = 262144,
	QP_DEPTH_MAX = 1 << 20,
	QP_MESSAGE_MAX = 1 << 30,
	/* a queue pair may read ahead 1/QP_SPILL_PART of the octets that may still be set aside
	 * (qp_rx_io.c) */
	QP_SPILL_PART = 8,
	/* of an instance: most octets set aside */
	QP_SPILL_BYTES = QP_SPILL_PART * (QP_AHEAD_BYTES + QP_STAGE_BYTES),
	QP_SPILL_HEADER = 16, /* octets of a block of .scratch before the octets set aside */
};

/** struct qp_store - memory and Receives that the queue pairs of one instance share. */
struct qp_store {
	struct iwarp_counters *counters;
	struct pool stages, batches, ops, exposures;
	struct sums_store sums;
	/* one block, for octets that were read to a wrong place; no connection reads ahead while it
	 * is in use */
	struct pool scratch;
	unsigned trimming; /* index of the pool that qp_store_trim() continues with */
	/* octets of heap for input that was read ahead and set aside, .scratch not included */
	size_t spilled;
	uint32_t early;	     /* batches begun early: QP_EARLY at most */
	struct recvq *recvq; /* NULL: each queue pair has Receives of its own */
};

/** struct qp_depths - sizes of the queues, fixed at qp_init(). */
struct qp_depths {
	uint32_t max_recvs, max_sends, max_exposures;
	uint32_t pieces; /* above 1: most pieces of a Receive; Receives are its own then */
	uint16_t ird, ord;
};

/** struct qp_op - a posted Send, Write or Read. */
struct qp_op {
	enum fabric_ev_type type;
	uint8_t opcode;
	uint8_t nsge, at_sge;
	uint32_t at_off; /* offset in sge[at_sge] of the next octet to send */
	uint32_t len, done;
	uint32_t stag; /* remote STag, or the STag to invalidate */
	/* Read: this end's STag for the response; the peer learns it from the Read Request */
	uint32_t sink_stag;
	uint64_t offset;
	uint8_t *to; /* Read: where the octets go */
	/* sums of piece .sums_sge of .sge (or of all octets of a Read), whose first octet is octet
	 * .sums_at of the sums; owned by the user; NULL: none */
	struct sums *sums;
	uint32_t sums_at;
	uint8_t sums_sge;
	uint32_t next; /* next operation in its queue */
	struct qp_event end;
	struct fabric_sge sge[FABRIC_MAX_SGE];
};

/** struct qp_fifo - a queue of operations, linked by their numbers (.next). */
struct qp_fifo {
	uint32_t head, tail;
};

/** struct qp_response - a Read of the peer to be answered. */
struct qp_response {
	struct ddp_read read;
	uint32_t done; /* octets of the response that are in batches, or were sent */
};

enum qp_rx_state {
	QP_RX_HEAD,  /* at the start of an FPDU, perhaps with a part of it in the stage */
	QP_RX_PLACE, /* payload octets go to .dst */
	QP_RX_TAIL,  /* pad and CRC */
};

struct qp_rx {
	enum qp_rx_state state;
	uint32_t head, tail; /* of the octets in the stage */
	uint8_t *stage;	     /* NULL: the stage is empty */
	struct ddp_header h; /* header of the current FPDU */
	uint32_t ulpdu_len, payload_len;
	uint8_t *dst;
	uint32_t left;
	uint32_t room; /* octets from .dst to the end of its piece; not 0 while .left is not 0 */
	/* the piece in which .dst is; the next piece is behind it in the array; NULL: one piece */
	const struct fabric_piece *piece;
	uint32_t crc;
	/* sums that record the payload, NULL: none; the octet of the sums at .dst; .crc before the
	 * payload */
	struct sums *sums;
	uint32_t sums_at, head_crc;
	struct exposure *target; /* exposure of the Write being placed */
	uint32_t send_msn, read_msn;
	uint32_t send_done; /* octets received of the message at the head of the Receive queue */
	uint8_t send_opcode;
	uint32_t read_done; /* octets received of the response to the first outstanding Read */
	/* outstanding Reads, and write exposures, of QP_BULK_BYTES or more */
	uint32_t bulk_reads, bulk_writes;
	/* received so far: octets; whole messages; payload octets of whole segments. Messages that
	 * move no octet (empty Writes and Read responses, Requests to read nothing) do not
	 * count. */
	uint64_t octets, messages, payload_octets;
	uint64_t response_octets; /* those of Read responses alone */
	uint32_t small;		  /* messages since the last part of a large tagged message */
	bool swallow; /* the current FPDU is the empty Send that ends the set-up (RFC 6581) */
	bool starved; /* the FPDU at the head of the stage is a Send that found no shared Receive */
	/* the FPDU at the head of the stage is a Write that found no room in the window of a
	 * stream */
	bool sink_blocked;
	struct qp_spill *spill; /* octets set aside that follow those in the stage, or NULL */
	/* of the last qp_rx_want(): octets that go to .dst; FPDUs expected behind them, payload
	 * octets of each and of the last, place of the first payload */
	uint32_t direct;
	uint32_t ahead, ahead_len, ahead_last_len;
	uint8_t *ahead_dst;
	/* how many FPDUs to expect next time: more after success, one after a miss */
	uint32_t ahead_max;
};

enum qp_tx_kind { QP_TX_PLAIN, QP_TX_OP, QP_TX_RESPONSE };

/** struct qp_tx_fpdu - an FPDU of the batch, and the operation or exposure that it uses until the
 * kernel has taken its octets. */
struct qp_tx_fpdu {
	uint64_t end; /* stream position after it */
	uint8_t kind; /* enum qp_tx_kind */
	bool last;    /* the operation is complete when the FPDU was taken */
	uint32_t ref; /* place of the operation, or of the exposure that the FPDU reads from */
};

/** struct qp_batch - octets gathered for one or a few system calls. */
struct qp_batch {
	struct iovec iov[QP_TX_IOV];
	struct qp_tx_fpdu fpdus[QP_TX_FPDUS];
	uint8_t ctl[QP_TX_CTL];
};

struct qp_tx {
	uint64_t built, taken;	/* octets of the stream put into batches, taken by the owner */
	struct qp_batch *batch; /* NULL: nothing is under way */
	uint32_t iov_n, iov_at;
	uint32_t fpdu_n, fpdu_at;
	uint32_t ctl_len;
	uint32_t crc;
	uint32_t max_tagged, max_untagged; /* payload of one FPDU */
	uint32_t send_msn, read_msn;
	bool hold;	    /* nothing may be sent yet */
	bool early;	    /* the batch was begun by qp_send_short(), and may be extended */
	bool response_turn; /* a Read response is sent next, not the send queue */
	uint64_t turn_from; /* stream position where the send queue's turn began */
	bool term_built;
	bool nudge; /* an empty Write is due (qp_nudge()) */
	/* operations in the order posted; Reads that wait for read depth */
	struct qp_fifo sq, reads;
};

struct qp {
	enum qp_state state;
	bool crc;
	bool first_done;     /* an FPDU of the peer has come */
	bool hold_for_first; /* acceptor: sends nothing before that (RFC 5044 section 7.1.2) */
	enum mpa_rtr rtr;
	/* for lack of memory octets could not be read or sent; cleared by the owner */
	bool lacks_memory;
	bool has_read_turn; /* the connection has a read turn: recv_sched.c */
	int status;	    /* reason of the end: 0 or enum err */
	const char *why;    /* static storage */
	struct qp_depths depths;
	uint16_t ord; /* the read depth agreed at set-up */
	uint8_t host; /* hash of the peer's address (struct sums_store); set after qp_init() */

	struct qp_recv *recvs; /* own Receives, a ring; NULL: Receives are shared */
	/* pieces of the own Receives, depths.pieces each; NULL: each Receive is one piece */
	struct fabric_piece *pieces;
	uint32_t recv_head, recv_count, recv_owed;
	struct recvq *recvq; /* the shared Receives; NULL: the queue pair has its own */
	/* .recvs_held of the connection: borrowed, set after qp_init(); NULL: not counted */
	const uint32_t *recvs_held;
	struct qp_recv *shared; /* the shared Receive that the message under way fills */
	struct table ops;
	uint32_t reads;	     /* Reads posted and not completed */
	uint32_t reads_done; /* Reads completed, ever */
	uint32_t *orq;	     /* Reads whose request is in a batch or was sent: a ring of places */
	uint32_t orq_head, orq_count;
	struct qp_response *irq;
	uint32_t irq_head, irq_count;
	struct qp_event *ev_first, **ev_end;
	uint32_t ev_count;
	struct stag_table stags;
	uint64_t sink_state; /* state of the generator of sink STags */

	struct ddp_term term;
	uint8_t term_about[DDP_UNTAGGED_BYTES + RDMAP_READ_BYTES];
	uint32_t term_have, term_ulpdu_len;

	struct qp_store *store;
	struct iwarp_counters *counters; /* borrowed from the store */
	struct qp_rx rx;
	struct qp_tx tx;
};

/** struct qp_stream - result of the set-up. */
struct qp_stream {
	bool initiator;
	bool crc;
	bool hold; /* initiator: qp_release() allows the first FPDU */
	uint16_t ord;
	enum mpa_rtr rtr;
	uint32_t fpdu_max;
};

/** qp_store_init - a store without shared Receives; @counters is borrowed. */
void qp_store_init(struct qp_store *store, struct iwarp_counters *counters);

/** qp_store_fini - call after all queue pairs are gone. */
void qp_store_fini(struct qp_store *store);

/** qp_store_bytes - octets of heap of the pools of @store, and of input that was set aside. */
size_t qp_store_bytes(const struct qp_store *store);

/** qp_holds - octets of heap that @qp has from its store for octets under way. */
size_t qp_holds(const struct qp *qp);

/** qp_store_trim - frees memory that was not needed since the last call; call it every few seconds.
 * Return: whether there is more to free: call it again soon. */
bool qp_store_trim(struct qp_store *store);

/** qp_idle_bytes - octets of heap of a queue pair of those depths, without struct qp itself. */
size_t qp_idle_bytes(const struct qp_depths *depths);

/**
 * qp_init - allocate the queues; @store is borrowed, @seed random
 * Return: 0, ERR_NOMEM, or ERR_TOOBIG for depths beyond QP_DEPTH_MAX.
 */
int qp_init(struct qp *qp, const struct qp_depths *depths, const uint64_t seed[5],
	    struct qp_store *store) WARN_UNUSED;

/** qp_fini - frees the queues. Events that were not returned are dropped, and posted buffers are
 * the owner's again. Idempotent. */
void qp_fini(struct qp *qp);

/** qp_start - the set-up is complete: moves @qp from QP_INIT to QP_OPEN. */
void qp_start(struct qp *qp, const struct qp_stream *stream);

/** qp_release - ends .hold of struct qp_stream: the initiator may send. */
void qp_release(struct qp *qp);

/**
 * qp_nudge - send an empty Write when nothing else is under way
 *
 * For a peer that overlooked octets until more come (stream.c). An empty Write has no effect: its
 * STag is not checked (RFC 5040 section 5.1).
 */
void qp_nudge(struct qp *qp);

/* Posting: as the functions of the same names in fabric.h. */
int qp_post_recv(struct qp *qp, void *buf, uint32_t len, void *cookie) WARN_UNUSED;
int qp_post_pieces(struct qp *qp, const struct fabric_piece *pieces, unsigned n,
		   void *cookie) WARN_UNUSED;
int qp_send(struct qp *qp, const struct fabric_sge *sge, unsigned nsge, uint32_t inv_handle,
	    void *cookie) WARN_UNUSED;
bool qp_send_short(struct qp *qp, const struct fabric_sge *sge, unsigned nsge,
		   uint32_t inv_handle) WARN_UNUSED;
int qp_write(struct qp *qp, const struct fabric_sge *sge, unsigned nsge,
	     const struct segment *remote, void *cookie) WARN_UNUSED;
int qp_read(struct qp *qp, void *to, const struct segment *remote, void *cookie) WARN_UNUSED;
int qp_expose(struct qp *qp, void *addr, uint32_t len, unsigned access,
	      struct segment *seg) WARN_UNUSED;
int qp_stream(struct qp *qp, const struct fabric_piece *window, uint32_t len, void *cookie,
	      struct segment *seg) WARN_UNUSED;
void qp_went_on(struct qp *qp, uint32_t handle, uint32_t len);
int qp_withdraw(struct qp *qp, uint32_t handle, void *cookie, uint32_t *written) WARN_UNUSED;
void qp_sum_exposure(struct qp *qp, uint32_t handle, struct sums *sums, uint32_t at);
void qp_sum_posted(struct qp *qp, unsigned piece, struct sums *sums, uint32_t at);

/** qp_rx_want - fill @iov with the memory for the next octets. Return: pieces in @iov; 0: no octets
 * are wanted, because the stream has ended, a message waits (qp_is_starved(),
 * qp_sink_is_blocked()), or memory is missing. */
unsigned qp_rx_want(struct qp *qp, struct iovec iov[QP_RX_IOV]);

/** qp_rx_got - the owner has read @n octets into the pieces of the last qp_rx_want(), in order. */
void qp_rx_got(struct qp *qp, size_t n);

/** qp_rx_pause - the owner has no more octets for now: gives the stage back if it is empty. */
void qp_rx_pause(struct qp *qp);

/** qp_recvs_held - number of shared Receives that the user of @qp holds, or whose messages the user
 * has not polled yet. */
uint32_t qp_recvs_held(const struct qp *qp);

/** qp_may_hold - whether @qp may take one more shared Receive. */
bool qp_may_hold(const struct qp *qp);

/** qp_is_starved - a message waits for a shared Receive, and all octets behind it wait. */
static inline bool qp_is_starved(const struct qp *qp)
{
	return qp->rx.starved;
}

/** qp_rx_is_inside_send - a Send has begun, perhaps without payload yet, and is not complete. */
bool qp_rx_is_inside_send(const struct qp *qp);

/** qp_rx_is_inside - a message has begun, and octets of it are still to come. */
bool qp_rx_is_inside(const struct qp *qp);

/** qp_rx_payload - payload octets received so far, with those of a segment that is not complete.
 * Messages that move nothing add nothing, however many octets they take. A Read Request adds its
 * own octets. */
uint64_t qp_rx_payload(const struct qp *qp);

/** struct qp_rx_mark - how far a message has come. */
struct qp_rx_mark {
	uint64_t message; /* tells the message under way from others of its connection */
	uint64_t octets;  /* of its payload; outside a Send, qp_rx_payload() */
};

/** qp_rx_mark - of the message under way. Other messages may come within a Send, as many as the
 * peer likes: they neither end it nor count as its octets. */
struct qp_rx_mark qp_rx_mark(const struct qp *qp);

/** qp_sink_is_blocked - a Write waits for room in the window of a stream, and all octets behind it
 * wait. */
static inline bool qp_sink_is_blocked(const struct qp *qp)
{
	return qp->rx.sink_blocked;
}

/** qp_rx_resume - try again to process a message that waits for a Receive, or for room in a
 * window. */
void qp_rx_resume(struct qp *qp);

/** qp_rx_end - the peer has ended the stream: moves @qp to QP_DEAD, unless it is QP_TERMINATING. If
 * that was inside a message, .why is set. */
void qp_rx_end(struct qp *qp);

/** qp_tx_want - set *@iov to the octets to send next. Return: pieces at *@iov; 0: nothing is to be
 * sent now. */
unsigned qp_tx_want(struct qp *qp, struct iovec **iov);

/**
 * qp_tx_whole - octets of the last qp_tx_want() up to the end of the last FPDU that ends within
 * @most octets, or of the first FPDU if that ends later
 *
 * Short Sends count as part of the FPDU behind them. Together they have at most QP_TX_CTL octets.
 */
size_t qp_tx_whole(const struct qp *qp, size_t most);

/** qp_tx_took - the kernel has taken the first @n octets of the last qp_tx_want(). */
void qp_tx_took(struct qp *qp, size_t n);

/** qp_disconnect - begin the orderly end, QP_DRAINING: posts fail from now on. */
void qp_disconnect(struct qp *qp);

/** qp_is_drained - QP_DRAINING or QP_TERMINATING has nothing more to send. */
bool qp_is_drained(const struct qp *qp);

/**
 * qp_stop - moves @qp to QP_DEAD: everything posted completes with ERR_FLUSHED, and every exposure
 * ends
 * @status, @why: reason of the end, if @qp has none yet
 */
void qp_stop(struct qp *qp, int status, const char *why);

/** qp_next_event - the next event. Return: 1, with @ev filled except .conn; 0: there is none. */
int qp_next_event(struct qp *qp, struct fabric_event *ev);

static inline bool qp_has_events(const struct qp *qp)
{
	return qp->ev_count > 0;
}

static inline struct qp_op *qp_op(const struct qp *qp, uint32_t place)
{
	return table_at(&qp->ops, place);
}

#endif
