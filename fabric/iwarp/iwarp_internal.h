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
#define IWARP_PRESS_INTERVAL (250 * NSEC_PER_MS)

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
	struct list resting;
	/* octets that this turn moved, with CALL_OCTETS as the least for a system call
	 * (stream.c) */
	uint64_t turn_cost;
	/* an entry of `resting` while they are served: the end of those that were there at first */
	struct list mark;
	/* connections whose message waits for a shared Receive; the longest waiting first */
	struct list starved;
	/* connections over their share of Receives: they wait to hold fewer, or for more to be
	 * left */
	struct list sated;
	struct list favoured; /* connections that have a turn at the last Receives: lines.c */
	/* how many have a turn, and the messages that they may send together */
	uint32_t favoured_count, favoured_recvs;
	struct {
		uint32_t number;
		/* ranks seen in this round, and in the round before: one bit each */
		uint8_t ranks, before;
		uint32_t looks;	 /* looks since a rank other than the first had a turn */
		uint32_t others; /* turns of ranks other than the first */
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
	struct timer period; /* period of the recvq */
	struct timer press;  /* armed while connections wait for Receives: receives_press() */
	struct timer trim;   /* returns memory of the store */
	uint32_t sheds;	     /* calls of fabric_shed() so far */
	struct timer probe;  /* when `probes` is looked at */
	uint32_t heard_us;   /* octets came since the last tick: poll that long, in us, for more */
	nsec_t busy_until;   /* poll until then, do not block */
	nsec_t ticked;
	nsec_t latency_bound_until; /* turns are short until then: stream.c */
	uint64_t rng;
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
	struct list all, active, dirty, resting, starved, favoured, inside, probe;
	struct list setup; /* in the instance's .setups or .rejected */
	struct loop_watch watch;
	int fd;
	enum iwarp_state state;
	struct timer deadline; /* one wait at a time, by state */
	struct timer stall;    /* the peer's progress inside a message: see stream_stalled() */
	uint64_t stall_octets, stall_messages;
	uint32_t stall_msn;
	uint32_t press_msn; /* the message seen by the last .press_looks looks: receives_press() */
	uint64_t press_octets; /* all octets received at the last look */
	uint32_t press_at;     /* octets of that message received at the first of these looks */
	uint32_t round;	       /* the round in which lines.c last looked at it */
	struct {
		uint16_t looks, idle; /* looks in its turn; looks since its last progress */
		/* value of reads_done when all Reads outstanding at the start of its turn are
		 * answered */
		uint32_t reads;
		/* reads_done at the start and at the last look; fewest Receives held */
		uint32_t began, done, kept;
		uint64_t octets; /* octets received at the start */
	} favour;
	/* the last fabric_shed() that found it holding memory; octets moved until then */
	uint32_t shed_look;
	uint64_t shed_moved;
	nsec_t moved_much; /* when it last moved much: see stream.c */
	bool moves_much;   /* it moved much when it was last served */
	uint8_t press_looks;
	uint8_t told; /* events returned by fabric_poll() in a row */
	bool initiator;
	bool resets; /* as in fabric_conn_params */
	bool watched;
	/* IWARP_LINGER: looks so far for the acknowledgement of the last octets, before a reset */
	uint8_t ack_looks;
	/* initiator: empty Writes sent while the peer's first FPDU is awaited, plus one; 0: not
	 * awaited */
	uint8_t nudges;
	bool blocked;	  /* the kernel takes no more octets; an edge event ends that */
	uint32_t unheard; /* IWARP_REJECTED: octets of the peer discarded */
	uint32_t busy_poll_us;
	bool eof, fin_sent;
	bool orphan; /* the peer has ended, and its last message waits for a Receive */
	bool tell_request, tell_connected, tell_sated, told_end;
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

/* conn.c: connections of an instance */

/** iwarp_conn_new - a connection in @state on @fd (taken, also on failure); NULL without memory. */
struct iwarp_conn *iwarp_conn_new(struct iwarp *iw, int fd, enum iwarp_state state, void *owner);

/** iwarp_conn_free - takes @c; ends everything at once. */
void iwarp_conn_free(struct iwarp_conn *c);

/** iwarp_conn_queues - allocate the queue pair, once. */
int iwarp_conn_queues(struct iwarp_conn *c, const struct fabric_conn_params *params) WARN_UNUSED;

/** iwarp_conn_deadline - wake @c @ms from now; 0: not at all. */
void iwarp_conn_deadline(struct iwarp_conn *c, uint32_t ms);

/** iwarp_conn_activate - there is something for fabric_poll(). */
void iwarp_conn_activate(struct iwarp_conn *c);

/** iwarp_conn_end - to IWARP_CLOSED: no socket any more, everything flushed. */
void iwarp_conn_end(struct iwarp_conn *c, int status, const char *why);

/** iwarp_conn_unfavour - ends the turn of @c at the last Receives (lines.c); idempotent. */
static inline void iwarp_conn_unfavour(struct iwarp_conn *c)
{
	if (!c->qp.is_favoured)
		return;
	c->qp.is_favoured = false;
	list_del(&c->favoured);
	c->iw->favoured_count--;
	c->iw->favoured_recvs -= c->qp.depths.max_recvs;
}

/** iwarp_draw - a random number; with a seed in the configuration, the next of that sequence. */
uint64_t iwarp_draw(struct iwarp *iw);

/** iwarp_now - the monotonic clock; read at set-up, on stalls and at ends, never per message. */
nsec_t iwarp_now(void);

/* setup.c: until the stream is open */
void setup_ready(struct iwarp_conn *c, unsigned events);
void setup_expired(struct iwarp_conn *c);
int setup_connect(struct fabric *f, const struct fabric_addr *to,
		  const struct fabric_conn_params *params, void *owner,
		  struct fabric_conn **conn) WARN_UNUSED;
int setup_accept(struct fabric_conn *fc, const struct fabric_conn_params *params,
		 void *owner) WARN_UNUSED;
void setup_reject(struct fabric_conn *fc, struct view private_data);

/* reject.c: a rejected connection, until it is closed */

/** reject_begin - the Reply Frame is out; takes @c, which is on no list of set-ups. */
void reject_begin(struct iwarp_conn *c);
void reject_ready(struct iwarp_conn *c);

/* stream.c: from the open stream on */
void stream_open(struct iwarp_conn *c);
void stream_ready(struct iwarp_conn *c, unsigned events);
void stream_expired(struct iwarp_conn *c);

/** stream_stalled - checks the progress of a message that the peer began a while ago; ends the
 * connection without any. */
void stream_stalled(struct iwarp_conn *c);
void stream_read(struct iwarp_conn *c);

/** stream_rest - @c continues at the end of a flush (stream_go_on()). */
void stream_rest(struct iwarp_conn *c);

/**
 * stream_go_on - continue with connections in `resting`: at least one, and as many as the turn's
 * budget allows. Then another turn begins.
 * Return: whether the turn that ends used up its budget.
 */
bool stream_go_on(struct iwarp *iw);

/** stream_resume - there may be a Receive for the message of @c that waits. */
void stream_resume(struct iwarp_conn *c);

/** stream_probe - callback of iwarp.probe. */
void stream_probe(struct timer *timer, nsec_t now);

void stream_write(struct iwarp_conn *c);
void stream_disconnect(struct iwarp_conn *c);

/* receives.c: Receives that all connections share */
int receives_share(struct fabric *f, uint32_t len) WARN_UNUSED;
void receives_unshare(struct fabric *f);
uint32_t receives_wanted(const struct fabric *f);
int receives_post(struct fabric *f, void *buf, void *cookie) WARN_UNUSED;

/** receives_feed - resume connections that wait, as far as there are Receives. */
void receives_feed(struct iwarp *iw);

/** receives_back - fills @ev for a Receive that comes back without a message. Return: whether
 * there was one. */
bool receives_back(struct iwarp *iw, struct fabric_event *ev);

/** receives_period - callback of iwarp.period. */
void receives_period(struct timer *timer, nsec_t now);

/** receives_press - callback of iwarp.press: ends connections that hold a Receive for a message
 * that does not progress, while others wait. */
void receives_press(struct timer *timer, nsec_t now);

/* lines.c: which connections get the next shared Receives */

/** lines_await - the message at hand of @c waits for a shared Receive: until one is posted, or
 * @c holds fewer. */
void lines_await(struct iwarp_conn *c);

/** lines_try - @c, which waits, tries again with the next flush. */
void lines_try(struct iwarp_conn *c);

/** lines_gave_back - fabric_ops.gave_back. */
void lines_gave_back(struct fabric_conn *c);

/** lines_look - call every IWARP_PRESS_INTERVAL: connections for which enough are left now try
 * again; looks at a limited number. */
void lines_look(struct iwarp *iw);

/** lines_turn - the same with each flush, for a few connections. */
void lines_turn(struct iwarp *iw);

/* listen.c */
int listen_attach(struct fabric *f, struct fabric_listener *l, void *owner) WARN_UNUSED;
void listen_detach(struct fabric *f, struct fabric_listener *l);
bool listen_arriving(const struct fabric *f);
void listen_tick(struct iwarp *iw, nsec_t now);
nsec_t listen_deadline(const struct iwarp *iw);

/* sock.c */
void sock_options(int fd, const struct iwarp_config *cfg);
void sock_addresses(int fd, struct fabric_conn *c);
uint32_t sock_emss(int fd);

/**
 * sock_unpace, sock_pace - connections within this machine send without pacing
 * @usual: the machine's congestion control; at first "", and filled when it is needed
 *
 * State:  the machine's congestion control is BBR, which paces, and some peers are on this machine, where no link is congested.
 * Danger: pacing sets a timer for every few segments, which takes a tenth of a busy worker's time. Pacing that has begun on a
 *         socket goes on when the socket gets another congestion control.
 * Rule:   a socket has Reno before connect() or listen(). When the connection opens and the peer is on another machine, the
 *         connection gets the machine's congestion control. A machine whose congestion control does not pace is left alone.
 * Pinned: tests/daemon/run.sh:case_pacing, tests/iwarp/test_iwarp_sock.c:test_loopback_is_not_paced
 */
void sock_unpace(int fd);
void sock_pace(int fd, char usual[SOCK_CONGESTION]);

/** sock_backlog - octets sent that the peer has not acknowledged yet. */
uint32_t sock_backlog(int fd);

/** sock_peer_ended - whether the peer has ended: nothing follows what is in the socket. */
bool sock_peer_ended(int fd);

/** sock_has_address_for - whether this machine has any address from which @to can be reached;
 * true where that cannot be found out. */
bool sock_has_address_for(const struct fabric_addr *to);

/**
 * sock_free_port - makes closing @fd, the next step, free its port at once: with a reset instead of
 * a FIN
 *
 * After a FIN the kernel keeps the port for a minute (TIME-WAIT, RFC 9293 3.3.2).
 * Takes effect only if the peer has acknowledged all octets, so none are lost, and has not ended
 * itself: the kernel keeps no port after the peer's FIN. Otherwise closing is not changed.
 */
void sock_free_port(int fd);

/** sock_within - @fd if it is less than @descriptors (0: no limit); otherwise closes it. Return:
 * @fd, or -1 with errno EMFILE; -1 for -1. */
int sock_within(int fd, uint32_t descriptors);

/** sock_error - an errno as enum err. */
int sock_error(int err);

#endif
