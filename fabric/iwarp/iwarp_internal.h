/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_IWARP_INTERNAL_H
#define FABRIC_IWARP_IWARP_INTERNAL_H

#include "base/list.h"
#include "base/loop.h"
#include "base/timer.h"
#include "fabric/iwarp/iwarp.h"
#include "fabric/lobby.h"
#include "fabric/iwarp/mpa.h"
#include "fabric/iwarp/qp.h"

/**
 * Shared by the socket half. Each stands on those before it alone: sock.c, conn.c, stream.c, reject.c, setup.c,
 * receives.c, listen.c, iwarp.c.
 */

enum iwarp_state {
	IWARP_CONNECTING, /* TCP */
	IWARP_REQUESTING, /* initiator: MPA Request goes out, Reply is awaited */
	IWARP_AWAITING,	  /* acceptor: MPA Request is awaited */
	IWARP_OFFERED,	  /* acceptor: the user was asked */
	IWARP_REPLYING,	  /* acceptor: MPA Reply goes out */
	IWARP_REJECTED,	  /* acceptor: the peer's FIN is awaited; the user knows it no more */
	IWARP_OPEN,
	IWARP_CLOSING, /* the last octets go out, what comes in is thrown away */
	IWARP_LINGER,  /* our FIN is out, theirs is awaited */
	IWARP_CLOSED,  /* no socket any more */
};

/** struct iwarp_wake - what a connection's socket and its timers call: the next layer up. */
struct iwarp_wake {
	void (*ready)(struct loop_watch *watch, unsigned events);
	void (*expired)(struct timer *timer, nsec_t now);
	void (*stalled)(struct timer *timer, nsec_t now);
};

#define IWARP_TRIM_INTERVAL (10 * NSEC_PER_SEC)
#define IWARP_PRESS_INTERVAL (250 * NSEC_PER_MS)

struct iwarp {
	struct fabric base;
	struct iwarp_config cfg;
	struct loop *loop;
	struct iwarp_wake wake;
	struct iwarp_counters counters;
	struct list conns;
	struct list active;  /* have events for fabric_poll() */
	struct list dirty;   /* have posts for fabric_flush() */
	struct list resting; /* stopped reading or writing to let others have their turn */
	uint64_t turn_cost;  /* of what this turn moved, in octets */
	struct list mark;    /* among those that rest, while their turn is on */
	struct list starved; /* a message waits for a shared Receive; the longest waiting first */
	struct list
		sated; /* ... for its connection to keep fewer of them, or for more to be left */
	struct list favoured; /* of those that wait, or did: may have of the last ones: lines.c */
	uint32_t favoured_count, favoured_recvs; /* of them, and of all they may send */
	struct {
		uint32_t number;
		uint8_t ranks, before; /* seen so far, and in the round before: one bit each */
		uint32_t looks;	       /* at regular times since a turn was not of the first */
		uint32_t others;       /* such turns */
	} round;
	struct list inside;   /* a message that was begun has a shared Receive */
	struct list probes;   /* may have missed the end of the stream */
	struct list setups;   /* IWARP_AWAITING, oldest first */
	struct lobby lobby;   /* the same, by host */
	struct list rejected; /* IWARP_REJECTED, oldest first */
	uint32_t rejected_count;
	struct list attachments;
	struct qp_store store;
	struct recvq recvq;	    /* in use where the store says so */
	struct iwarp_conn *greeted; /* its frames are of no use after the next poll */
	struct timer_queue timers;
	struct timer period; /* of the recvq */
	struct timer press;  /* while somebody is starved */
	struct timer trim;   /* of the store */
	uint32_t sheds;	     /* looks, from fabric_shed(), at who holds memory */
	struct timer probe;  /* when the list is looked at */
	uint32_t heard_us;   /* octets came since the last tick, to look that long for more */
	nsec_t busy_until;   /* look for more, do not wait for them */
	nsec_t ticked;
	nsec_t haste_until; /* turns are short: stream.c */
	uint64_t rng;
};

/** struct iwarp_frames - of MPA, until set-up is over. */
struct iwarp_frames {
	uint8_t in[MPA_FRAME_MAX], out[MPA_FRAME_MAX];
	size_t in_have, in_need;
	size_t out_len, out_at;
};

struct iwarp_conn {
	struct fabric_conn base;
	struct iwarp *iw;
	struct lobby_member silent; /* while it is among the set-ups */
	struct list all, active, dirty, resting, starved, favoured, inside, probe;
	struct list setup; /* in the instance's .setups or .rejected */
	struct loop_watch watch;
	int fd;
	enum iwarp_state state;
	struct timer deadline; /* one wait at a time, by state */
	struct timer stall;    /* of the peer's octets inside a message: see stream_stalled() */
	uint64_t stall_octets, stall_messages;
	uint32_t stall_msn;
	uint32_t press_msn;    /* the message seen by so many looks: receives_press() */
	uint64_t press_octets; /* of all that had come */
	uint32_t press_at;     /* octets of it that had come */
	uint32_t round;	       /* of lines.c, that it was looked at in */
	struct {
		uint16_t looks, idle; /* at it; since it last got on */
		uint32_t reads;	      /* of its Reads, when those out when it began are answered */
		uint32_t began, done,
			kept;	 /* of its Reads then, and the last time; the least it kept */
		uint64_t octets; /* that had come then */
	} favour;
	uint32_t shed_look; /* the last that found it holding some; octets moved until then */
	uint64_t shed_moved;
	nsec_t moved_much; /* when it last moved much: see stream.c */
	bool moves_much;   /* it did the last time */
	uint8_t press_looks;
	uint8_t told; /* events, since others had their turn */
	bool initiator;
	bool resets; /* as fabric_conn_params has it */
	bool watched;
	uint8_t ack_looks; /* LINGER: for the acknowledgement of the last octets, before a reset */
	uint8_t nudges; /* of an initiator: sent while the peer's first FPDU was awaited, and one */
	bool blocked;	/* the kernel takes no more: its edge will tell */
	uint32_t backlog; /* octets it had for the peer when last looked at */
	uint32_t unheard; /* rejected: octets of the peer thrown away */
	uint32_t busy_poll_us;
	bool eof, fin_sent;
	bool orphan; /* what waits for a Receive is the last: the peer has ended */
	bool tell_request, tell_connected, tell_sated, told_end;
	int status; /* of DISCONNECTED */
	const char *why;
	struct view private_data; /* of REQUEST, CONNECTED or the rejection; in a frame */
	struct mpa_local offer;
	struct mpa_agreed agreed;
	struct mpa_frame request; /* acceptor: the peer's */
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

/** struct fabric_listener - a listening socket; used, not changed, by many instances. */
struct fabric_listener {
	int fd;
	struct fabric_addr addr;
};

/* conn.c: connections of an instance */

/** iwarp_conn_new - in @state on @fd (taken, also on failure); NULL without memory. */
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

/** iwarp_conn_unfavour - it has no more of the last Receives than others (lines.c); idempotent. */
static inline void iwarp_conn_unfavour(struct iwarp_conn *c)
{
	if (!c->qp.is_favoured)
		return;
	c->qp.is_favoured = false;
	list_del(&c->favoured);
	c->iw->favoured_count--;
	c->iw->favoured_recvs -= c->qp.depths.max_recvs;
}

/** iwarp_draw - a random number; with a seed in the configuration, of its sequence. */
uint64_t iwarp_draw(struct iwarp *iw);

/** iwarp_now - the monotonic clock; read at set-up, on stalls and ends, never per message. */
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

/* reject.c: or until it is closed */

/** reject_begin - the Reply Frame is out; takes @c, which is on no list of set-ups. */
void reject_begin(struct iwarp_conn *c);
void reject_ready(struct iwarp_conn *c);

/* stream.c: from then on */
void stream_open(struct iwarp_conn *c);
void stream_ready(struct iwarp_conn *c, unsigned events);
void stream_expired(struct iwarp_conn *c);

/** stream_stalled - a message of the peer's had begun a while ago: go on if the rest is coming. */
void stream_stalled(struct iwarp_conn *c);
void stream_read(struct iwarp_conn *c);

/** stream_rest - its turn comes with the end of a flush. */
void stream_rest(struct iwarp_conn *c);

/** stream_go_on - with those that rest, as many as a turn has time for: one at least. Another turn begins.
 * Return: whether the one that ends was spent. */
bool stream_go_on(struct iwarp *iw);

/** stream_resume - there may be a Receive for what waits for one. */
void stream_resume(struct iwarp_conn *c);

/** stream_probe - of iwarp.probe. */
void stream_probe(struct timer *timer, nsec_t now);

void stream_write(struct iwarp_conn *c);
void stream_disconnect(struct iwarp_conn *c);

/* receives.c: those that all share */
int receives_share(struct fabric *f, uint32_t len) WARN_UNUSED;
void receives_unshare(struct fabric *f);
uint32_t receives_wanted(const struct fabric *f);
int receives_post(struct fabric *f, void *buf, void *cookie) WARN_UNUSED;

/** receives_feed - what was posted is for those that wait. */
void receives_feed(struct iwarp *iw);

/** receives_back - the event of one that comes back without a message. */
bool receives_back(struct iwarp *iw, struct fabric_event *ev);

/** receives_period - of iwarp.period. */
void receives_period(struct timer *timer, nsec_t now);

/** receives_press - of iwarp.press: whoever holds a Receive that others wait for has to end his message. */
void receives_press(struct timer *timer, nsec_t now);

/* lines.c */

/** lines_await - the message at hand of @c waits for a shared Receive: until there are some, or it keeps fewer. */
void lines_await(struct iwarp_conn *c);

/** lines_try - @c, which waits, tries again with the next flush. */
void lines_try(struct iwarp_conn *c);

/** lines_gave_back - as the contract has it. */
void lines_gave_back(struct fabric_conn *c);

/** lines_look - at regular times: where there came to be more, those they are enough for try again; of many some. */
void lines_look(struct iwarp *iw);

/** lines_turn - likewise with each flush, of a few of them. */
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

/** sock_unpace - a connection to this machine itself sends without pacing; others: as they are. */
void sock_unpace(int fd);

/** sock_backlog - octets that the peer has not taken yet. */
uint32_t sock_backlog(int fd);

/** sock_peer_ended - nothing comes behind what is there. */
bool sock_peer_ended(int fd);

/** sock_has_address_for - whether this machine has any address to reach @to from; true where that cannot be told. */
bool sock_has_address_for(const struct fabric_addr *to);

/**
 * sock_free_port - closing @fd next frees its port at once: with a reset instead of a FIN, behind which the kernel
 * keeps the port for a minute (TIME-WAIT, RFC 9293 3.3.2)
 *
 * Only where the peer has acknowledged all that was sent, so none of that is lost; and has not ended itself, for then
 * nothing is kept here anyway. Else closing is as ever.
 */
void sock_free_port(int fd);

/** sock_within - @fd, if it is less than @descriptors (0: any is), else it is closed. Return: @fd, or -1 with errno EMFILE;
 * @fd of -1 is left as it is. */
int sock_within(int fd, uint32_t descriptors);

/** sock_error - an errno as enum err. */
int sock_error(int err);

#endif
