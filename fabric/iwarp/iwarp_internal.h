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

/** iwarp_internal - structures of the files that use sockets. Each of these files uses only those
 * before it: sock.c, conn.c, stream.c, reject.c, setup.c, receives.c, listen.c, iwarp.c. */

enum iwarp_state {
	IWARP_CONNECTING, /* TCP */
	IWARP_REQUESTING, /* initiator: MPA Request is sent, Reply is awaited */
	IWARP_AWAITING,	  /* acceptor: MPA Request is awaited */
	IWARP_OFFERED,	  /* acceptor: REQUEST is queued or was polled */
	IWARP_REPLYING,	  /* acceptor: MPA Reply is sent */
	/* acceptor: the peer's FIN is awaited; the user no longer knows the connection */
	IWARP_REJECTED,
	IWARP_OPEN,
	IWARP_CLOSING, /* the last octets are sent; input is discarded */
	IWARP_LINGER,  /* this end's FIN was sent, the peer's is awaited */
	IWARP_CLOSED,  /* no socket any more */
};

/** struct iwarp_wake - callbacks of a connection's socket and timers (iwarp.c), so that conn.c need
 * not know the files that use it. */
struct iwarp_wake {
	void (*ready)(struct loop_watch *watch, unsigned events);
	void (*expired)(struct timer *timer, nsec_t now);
	void (*stalled)(struct timer *timer, nsec_t now);
};

#define IWARP_TRIM_INTERVAL (10 * NSEC_PER_SEC)
/* Time for the peer's FIN, and for a Terminate to get out. */
enum { IWARP_LINGER_MS = 1000 };
#define IWARP_RECLAIM_INTERVAL (250 * NSEC_PER_MS)

enum { SOCK_CONGESTION = 17 }; /* the name of a congestion control, and NUL */

struct iwarp {
	struct fabric base;
	struct iwarp_config cfg;
	struct loop *loop;
	struct iwarp_wake wake;
	struct iwarp_counters counters;
	char congestion[SOCK_CONGESTION]; /* the machine's congestion control; "": not read yet */
	struct list conns;
	struct list active; /* connections that have events for fabric_poll() */
	struct list dirty;  /* connections that have posts for fabric_flush() */
	/* connections that have used their share of a turn, and continue at its end
	 * (stream_go_on()) */
	struct list yielded;
	/* octets that this turn moved; each system call counts as CALL_OCTETS (stream.c) at
	 * least */
	uint64_t turn_cost;
	/* an entry of `yielded` while its connections are served: connections behind it came to the
	 * list meanwhile */
	struct list mark;
	/* connections whose message waits for a shared Receive; the longest waiting first */
	struct list recv_waiters;
	/* connections whose user holds too many Receives: they wait until it holds fewer, or more
	 * are left */
	struct list recv_limited;
	struct list read_turns; /* connections that have a read turn: recv_sched.c */
	/* number of connections with a read turn; messages that their peers may send together */
	uint32_t read_turn_count, read_turn_recvs;
	/* recv_sched.c: a round is one look at each connection that waits */
	struct {
		uint32_t number; /* tells this round from others (struct iwarp_conn.round) */
		/* priorities (enum of recv_sched.c) seen in this round, and in the round before:
		 * bits */
		uint8_t prios, before;
		uint32_t looks;	 /* looks since a priority other than the first had a turn */
		uint32_t others; /* turns of priorities other than the first */
	} round;
	struct list inside; /* connections inside a message that has a shared Receive */
	/* connections that may have missed the end of the stream (stream_probe()) */
	struct list probes;
	struct list setups;		    /* IWARP_AWAITING, oldest first */
	struct preauth_queue preauth_queue; /* IWARP_AWAITING, by client address */
	struct list rejected;		    /* IWARP_REJECTED, oldest first */
	uint32_t rejected_count;
	struct list attachments;
	struct qp_store store;
	struct recvq recvq;	    /* used if store.recvq is set */
	struct iwarp_conn *greeted; /* connection whose MPA frames the next poll frees; or NULL */
	struct timer_queue timers;
	struct timer period;  /* period of the recvq */
	struct timer reclaim; /* armed while connections wait for Receives: receives_reclaim() */
	struct timer trim;    /* returns memory of the store */
	uint32_t sheds;	      /* calls of fabric_shed() so far */
	struct timer probe;   /* when `probes` is looked at */
	uint32_t heard_us;    /* octets came since the last tick: us to poll for more octets */
	nsec_t busy_until;    /* until then the worker polls sockets and does not block */
	nsec_t ticked;	      /* time of the last fabric_tick() */
	nsec_t latency_bound_until; /* turns are short until then: stream.c */
	uint64_t rng;
	uint64_t hosts_seed; /* seed of the hash of addresses in struct sums_store */
};

/** struct iwarp_frames - MPA frames of a connection, until its set-up is over. */
struct iwarp_frames {
	uint8_t in[MPA_FRAME_MAX], out[MPA_FRAME_MAX];
	size_t in_have, in_need;
	size_t out_len, out_at;
};

/** struct iwarp_look - what a look at a connection found. */
struct iwarp_look {
	struct qp_rx_mark mark;
	uint64_t received; /* octets in all, at the last look */
};

struct iwarp_conn {
	struct fabric_conn base;
	struct iwarp *iw;
	struct preauth_queue_member silent; /* in .preauth_queue while IWARP_AWAITING */
	struct list all, active, dirty, yielded, recv_wait, read_turn_link, inside, probe;
	struct list setup; /* in the instance's .setups or .rejected */
	struct loop_watch watch;
	int fd;
	enum iwarp_state state;
	struct timer deadline; /* one wait at a time, by state */
	struct timer stall;    /* the next look at .message */
	/* looks at the set-up so far; looks of .stall since the message last moved: base/pause.h */
	uint8_t setup_looks, stall_looks;
	/* The message that the peer has begun (has_moved() of stream.c): at the last look of .stall
	 * that found enough octets; at the last look of stream_press() that found enough octets;
	 * number of looks of stream_press() since. */
	struct iwarp_look message, pressed;
	uint32_t pressed_looks;
	uint32_t round; /* .round.number when recv_sched.c last examined the connection */
	struct {
		uint16_t looks, idle; /* looks in the read turn; looks since the last progress */
		/* value that reads_done has when all Reads that were outstanding at the start of
		 * the read turn are answered */
		uint32_t reads;
		/* reads_done at the start and at the last look; fewest Receives held */
		uint32_t began, done, held;
		uint64_t octets; /* qp_rx_payload() at the start */
	} read_turn;
	/* number of the last fabric_shed() at which the connection held memory; octets moved until
	 * then */
	uint32_t shed_look;
	uint64_t shed_moved;
	nsec_t bulk_at;	       /* when the connection last moved much: see stream.c */
	bool is_bulk;	       /* the connection moved much when it was last served */
	uint8_t events_in_row; /* events that fabric_poll() returned in a row */
	bool initiator;
	bool resets; /* as in fabric_conn_params */
	bool watched;
	/* IWARP_LINGER: looks so far for the acknowledgement of the last octets, before a reset */
	uint8_t ack_looks;
	/* initiator: empty Writes sent while the peer's first FPDU is awaited, plus one; 0: not
	 * awaited */
	uint8_t nudges;
	bool blocked;	  /* the kernel takes no more octets, until an edge event */
	bool drained;	  /* the kernel has no more octets, until an edge event or a probe */
	uint32_t unheard; /* IWARP_REJECTED: octets of the peer that were discarded */
	uint32_t busy_poll_us;
	bool eof, fin_sent;
	bool orphan; /* the peer has ended, and a message of it waits for a Receive */
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
