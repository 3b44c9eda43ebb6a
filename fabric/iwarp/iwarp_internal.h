/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_IWARP_INTERNAL_H
#define FABRIC_IWARP_IWARP_INTERNAL_H

#include "base/list.h"
#include "base/loop.h"
#include "fabric/iwarp/iwarp.h"
#include "fabric/iwarp/mpa.h"
#include "fabric/iwarp/qp.h"

/** Shared by the socket half: iwarp.c, setup.c, stream.c, listen.c, sock.c. */

enum iwarp_state {
	IWARP_CONNECTING, /* TCP */
	IWARP_REQUESTING, /* initiator: MPA Request goes out, Reply is awaited */
	IWARP_AWAITING,	  /* acceptor: MPA Request is awaited */
	IWARP_OFFERED,	  /* acceptor: the user was asked */
	IWARP_REPLYING,	  /* acceptor: MPA Reply goes out */
	IWARP_OPEN,
	IWARP_CLOSING, /* the last octets go out, what comes in is thrown away */
	IWARP_LINGER,  /* our FIN is out, theirs is awaited */
	IWARP_CLOSED,  /* no socket any more */
};

struct iwarp {
	struct fabric base;
	struct iwarp_config cfg;
	struct loop *loop;
	struct iwarp_counters counters;
	struct list conns;
	struct list active; /* have events for fabric_poll() */
	struct list dirty;  /* have posts for fabric_flush() */
	struct list timed;  /* have a deadline */
	struct list unread; /* stopped reading to let others have their turn */
	struct list probes; /* may have missed the end of the stream */
	struct list setups; /* IWARP_AWAITING, oldest first */
	uint32_t setup_count;
	struct list attachments;
	nsec_t probe_at;
	nsec_t next; /* no deadline is before it */
	uint64_t rng;
};

struct iwarp_conn {
	struct fabric_conn base;
	struct iwarp *iw;
	struct list all, active, dirty, timed, unread, probe, setup;
	struct loop_watch watch;
	int fd;
	enum iwarp_state state;
	nsec_t deadline;
	bool initiator;
	bool watched;
	uint8_t nudges; /* of an initiator: sent while the peer's first FPDU was awaited, and one */
	bool blocked;	/* the kernel takes no more: its edge will tell */
	uint32_t backlog; /* octets it had for the peer when last looked at */
	bool eof;
	bool tell_request, tell_connected, told_end;
	int status; /* of DISCONNECTED */
	const char *why;
	struct view private_data; /* of REQUEST, CONNECTED or the rejection; in in[] */
	struct mpa_local offer;
	struct mpa_agreed agreed;
	struct mpa_frame request; /* acceptor: the peer's */
	size_t in_have, in_need;
	size_t out_len, out_at;
	uint8_t in[MPA_FRAME_MAX], out[MPA_FRAME_MAX];
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

/* iwarp.c: connections of an instance */

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

/* stream.c: from then on */
void stream_open(struct iwarp_conn *c);
void stream_ready(struct iwarp_conn *c, unsigned events);
void stream_expired(struct iwarp_conn *c);
void stream_read(struct iwarp_conn *c);
void stream_write(struct iwarp_conn *c);
void stream_disconnect(struct iwarp_conn *c);

/* listen.c */
int listen_attach(struct fabric *f, struct fabric_listener *l, void *owner) WARN_UNUSED;
void listen_detach(struct fabric *f, struct fabric_listener *l);
void listen_tick(struct iwarp *iw, nsec_t now);
nsec_t listen_deadline(const struct iwarp *iw);

/* sock.c */
void sock_options(int fd, const struct iwarp_config *cfg);
void sock_addresses(int fd, struct fabric_conn *c);
uint32_t sock_emss(int fd);

/** sock_backlog - octets that the peer has not taken yet. */
uint32_t sock_backlog(int fd);

/** sock_error - an errno as enum err. */
int sock_error(int err);

#endif
