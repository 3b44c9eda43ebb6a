/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_IWARP_INTERNAL_H
#define FABRIC_IWARP_IWARP_INTERNAL_H

#include "base/list.h"
#include "base/loop.h"
#include "base/timer.h"
#include "fabric/iwarp/iwarp.h"
#include "fabric/preauth_queue.h"
#include "fabric/iwarp/mpa.h"
#include "fabric/iwarp/qp.h"

/** Shared by the socket half. Each file uses only those before it: sock.c, conn.c, stream.c,
 * reject.c, setup.c, receives.c, listen.c, iwarp.c. */

enum iwarp_state {
	IWARP_CONNECTING, /* TCP */
	IWARP_REQUESTING, /* initiator: MPA Request goes out, Reply is awaited */
	IWARP_AWAITING,	  /* acceptor: MPA Request is awaited */
	IWARP_OFFERED,	  /* acceptor: the user was asked */
	IWARP_REPLYING,	  /* acceptor: MPA Reply goes out */
	/* acceptor: the peer's FIN is awaited; the user has no handle to it any more */
	IWARP_REJECTED,
	IWARP_OPEN,
	IWARP_CLOSING, /* the last octets go out; input is discarded */
	IWARP_LINGER,  /* our FIN is out, theirs is awaited */
	IWARP_CLOSED,  /* no socket any more */
};

/** struct iwarp_wake - what a connection's socket and its timers call: functions of the next
 * layer up. */
struct iwarp_wake {
	void (*ready)(struct loop_watch *watch, unsigned events);
	void (*expired)(struct timer *timer, nsec_t now);
	void (*stalled)(struct timer *timer, nsec_t now);
};

#define IWARP_TRIM_INTERVAL (10 * NSEC_PER_SEC)
#define IWARP_RECLAIM_INTERVAL (250 * NSEC_PER_MS)

enum { SOCK_CONGESTION = 17 }; /* the name of a congestion control, and NUL */

struct iwarp {
	struct fabric base;
	struct iwarp_config cfg;
	struct loop *loop;
	struct iwarp_wake wake;
	struct iwarp_counters counters;
	char congestion[SOCK_CONGESTION]; /* the machine's; "": not asked for yet */
	struct list conns;
	struct list active; /* connections that have events for fabric_poll() */
	struct list dirty;  /* connections that have posts for fabric_flush() */
	/* connections that have used their share of a turn, and continue at its end
	 * (stream_go_on()) */
	struct list yielded;
	/* octets that this turn moved, with CALL_OCTETS as the least for a system call
	 * (stream.c) */
	uint64_t turn_cost;
	/* an entry of `yielded` while they are served: the end of those that were there at first */
	struct list mark;
	/* connections whose message waits for a shared Receive; the longest waiting first */
	struct list recv_waiters;
	/* connections over their share of Receives: they wait to hold fewer, or for more to be
	 * left */
	struct list recv_limited;
	struct list read_turns; /* connections that have a read turn: recv_sched.c */
	/* how many have a read turn, and the messages that they may send together */
	uint32_t read_turn_count, read_turn_recvs;
	/* recv_sched.c: a round is one look at each connection that waits */
	struct {
		uint32_t number; /* of this round */
		/* priorities (enum of recv_sched.c) seen in this round and in the round before, one bit
		 * each */
		uint8_t prios, before;
		uint32_t looks;	 /* looks since a priority other than the first had a turn */
		uint32_t others; /* turns of priorities other than the first */
	} round;
	struct list inside; /* connections inside a message that has a shared Receive */
	/* connections that may have missed the end of the stream (stream_probe()) */
	struct list probes;
	struct list setups;		    /* IWARP_AWAITING, oldest first */
	struct preauth_queue preauth_queue; /* IWARP_AWAITING, by host */
	struct list rejected;		    /* IWARP_REJECTED, oldest first */
	uint32_t rejected_count;
	struct list attachments;
	struct qp_store store;
	struct recvq recvq;	    /* used if store.recvq is set */
	struct iwarp_conn *greeted; /* its MPA frames are freed at the next poll */
	struct timer_queue timers;
	struct timer period;  /* period of the recvq */
	struct timer reclaim; /* armed while connections wait for Receives: receives_reclaim() */
	struct timer trim;    /* returns memory of the store */
	uint32_t sheds;	      /* calls of fabric_shed() so far */
	struct timer probe;   /* when `probes` is looked at */
	uint32_t heard_us;    /* octets came since the last tick: poll that long, in us, for more */
	nsec_t busy_until;    /* poll until then, do not block */
	nsec_t ticked;
	nsec_t latency_bound_until; /* turns are short until then: stream.c */
	uint64_t rng;
	uint64_t hosts_seed; /* of the hashes of hosts: struct sums_store */
};

/** struct iwarp_frames - MPA frames of a connection, until its set-up is over. */
struct iwarp_frames {
	uint8_t in[MPA_FRAME_MAX], out[MPA_FRAME_MAX];
	size_t in_have, in_need;
	size_t out_len, out_at;
};

struct iwarp_conn {
	struct fabric_conn base;
	struct iwarp *iw;
	struct preauth_queue_member silent; /* while the connection is IWARP_AWAITING */
	struct list all, active, dirty, yielded, recv_wait, read_turn_link, inside, probe;
	struct list setup; /* in the instance's .setups or .rejected */
	struct loop_watch watch;
	int fd;
	enum iwarp_state state;
	struct timer deadline; /* one wait at a time, by state */
	struct timer stall;    /* the peer's progress inside a message: see stream_stalled() */
	uint64_t stall_octets, stall_messages;
	uint32_t stall_msn;
	uint32_t
		reclaim_msn; /* the message seen by the last .reclaim_looks looks: receives_reclaim() */
	uint64_t reclaim_octets; /* all octets received at the last look */
	uint32_t
		reclaim_at; /* octets of message .reclaim_msn received at the first of the .reclaim_looks looks */
	uint32_t round; /* the round in which recv_sched.c last looked at it */
	struct {
		uint16_t looks, idle; /* looks in its read turn; looks since its last progress */
		/* value of reads_done when all Reads outstanding at the start of its read turn are
		 * answered */
		uint32_t reads;
		/* reads_done at the start and at the last look; fewest Receives held */
		uint32_t began, done, held;
		uint64_t octets; /* octets received at the start */
	} read_turn;
	/* the last fabric_shed() that found it holding memory; octets moved until then */
	uint32_t shed_look;
	uint64_t shed_moved;
	nsec_t bulk_at; /* when it last moved much: see stream.c */
	bool is_bulk;	/* it moved much when it was last served */
	uint8_t reclaim_looks;
	uint8_t events_in_row; /* events returned by fabric_poll() in a row */
	bool initiator;
	bool resets; /* as in fabric_conn_params */
	bool watched;
	/* IWARP_LINGER: looks so far for the acknowledgement of the last octets, before a reset */
	uint8_t ack_looks;
	/* initiator: empty Writes sent while the peer's first FPDU is awaited, plus one; 0: not
	 * awaited */
	uint8_t nudges;
	bool blocked;	  /* the kernel takes no more octets; an edge event ends that */
	bool drained;	  /* the kernel has no more octets; an edge event ends that, or a probe */
	uint32_t unheard; /* IWARP_REJECTED: octets of the peer discarded */
	uint32_t busy_poll_us;
	bool eof, fin_sent;
	bool orphan; /* the peer has ended, and its last message waits for a Receive */
	bool request_due, connected_due, recv_limited_due, end_reported;
	int status; /* status of DISCONNECTED */
	const char *why;
	struct view private_data; /* of REQUEST, CONNECTED or the rejection; points into a frame */
	struct mpa_local offer;
	struct mpa_agreed agreed;
	struct mpa_frame request; /* acceptor: the peer's MPA Request */
	struct iwarp_frames *frames;
	bool has_qp;
	struct qp qp;
};

static inline struct iwarp *iwarp_of(struct fabric *f)
{
	return container_of(f, struct iwarp, base);
}

static inline struct iwarp_conn *conn_of(struct fabric_conn *c)
{
	return container_of(c, struct iwarp_conn, base);
}

/** struct fabric_listener - a listening socket; instances that share it do not change it. */
struct fabric_listener {
	int fd;
	struct fabric_addr addr;
};

#endif
