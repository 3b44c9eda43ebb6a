/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_LISTEN_H
#define TOOLS_PROBE_LISTEN_H

#include "hostauth/hostauth.h"
#include "rtrext/group.h"
#include "tools/probe/conform.h"
#include "tools/probe/hello.h"

/**
 * listener - plays a server that answers NULL and knows no other procedure, and
 * grades the client that connects: one connection at a time, every message
 * looked at when it arrives.
 */
enum grade {
	GRADE_PDATA,
	GRADE_FIRST_SIZE,
	GRADE_FIRST_ALONE,
	GRADE_VERSION_KEPT,
	GRADE_VERSION_RANGE,
	GRADE_PARSE,
	GRADE_XID,
	GRADE_SIZE,
	GRADE_REPORTS,
	GRADE_V1_CREDITS,
	GRADE_V1_DEPRECATED,
	GRADE_V2_PROPS,
	GRADE_V2_FINAL,
	GRADE_V2_CREDITS,
	GRADE_V2_GRANT_XID,
	GRADE_V2_UNKNOWN_PROP,
	GRADE_V2_HTYPE,
	GRADE_EARLY_CREDITS,
	GRADE_EARLY_DIRECTION,
	GRADE_EARLY_OPTION,
	GRADE_RTR_GROUP,
	GRADE_RTR_ITEMS,
	GRADE_RTR_PADDING,
	GRADE_SILENCE,
	GRADE_AUTH_FIRST,
	GRADE_AUTH_HELLO,
	GRADE_AUTH_TURN,
	GRADE_AUTH_VALUE,
	GRADE_AUTH_SAME,
	GRADE_AUTH_FINAL,
	GRADE_AUTH_CREDIT,
	GRADE_AUTH_EARLY,
	GRADE_AUTH_PROVED,
	GRADE_AUTH_BINDING,
	GRADE_AUTH_FAIL,
	GRADE_AUTH_BELIEF,
	GRADES,
};

/* XIDs of what the listener sends unasked: its properties, then what it provokes with. */
enum { LISTEN_PROPS_XID = 0x70726f61, LISTEN_PROVOKE_XID, LISTEN_PROVOKE_XIDS = 3 };

enum { LISTEN_CREDITS = 8 }; /* few, so that overrunning them shows */

/* In the properties that a client is sent: nobody knows it. */
enum { LISTEN_UNKNOWN_PROPERTY = 0x7fff0001 };

/* The round-trip extension: octets of the placement-targetable segment behind RUN_INLINE ones, and transmissions
 * of a request. */
enum { LISTEN_RTR_BULK = 8192, LISTEN_RTR_MOST = 4 };

/** enum misdeed - what is wrong with the last word of a handshake; with --conformance a connection each. */
enum misdeed {
	MISDEED_NONE,
	MISDEED_ALTERED,
	MISDEED_BINDING,
	MISDEED_SEQUENCE,
	MISDEED_KIND,
	MISDEEDS,
};

struct grade_state {
	unsigned looked; /* how often there was something to judge */
	unsigned breaches;
	char first[RUN_DETAIL];
};

/** struct client_facts - of the first connection. */
struct client_facts {
	uint8_t pdata[WIRE_PDATA];
	size_t pdata_len;
	struct v1_pdata said;
	uint32_t first_version, first_type, first_bytes;
	bool is_early;	  /* ... of the early draft of version 2 */
	uint32_t credits; /* asked for (1) or the first value (2) */
	uint32_t largest; /* message, octets */
	bool has_props;
	struct v2_props props;
	struct proof_facts proof; /* of the last connection that had one, and no misdeed */
};

/** struct listen_auth - host authentication on the connection being served. */
struct listen_auth {
	struct hostauth *h; /* while it is going on */
	bool is_on;	    /* the client has begun it */
	bool is_over;	    /* whatever became of it */
	bool is_due;	    /* it is the client's turn */
	bool is_refused;    /* the client said FAIL */
	bool is_spoilt;	    /* .misdeed was done */
	enum misdeed misdeed;
	struct v2_props first; /* what the client said of itself at first */
	bool has_hello;	       /* its first turn is whole: */
	size_t hello_len;
	uint8_t hello[HELLO_MOST];
	nsec_t began, paused; /* .paused: what of the time since was this end's own idleness */
};

/** struct listen_rtr - Transmit Requests of the connection being served. */
struct listen_rtr {
	/* As they arrive: the group that is open, and its first transmission. */
	unsigned version;
	struct rtr_group group;
	struct rtr_msg first;
	/* As they are served: transmissions of the request, and how many of them are still due. */
	uint32_t count, due;
};

struct listener {
	const struct probe_options *o;
	const struct probe_env *env;
	struct wire w;
	struct grade_state grades[GRADES];
	struct client_facts facts;
	unsigned connections;
	uint64_t messages, calls;

	/* Of the connection being served. */
	unsigned version;     /* RUN_EARLY; 0: not known yet */
	bool is_done;	      /* nothing more is taken: it is closed */
	bool refused;	      /* ERR_VERS was sent */
	uint32_t arrived;     /* messages */
	bool answered;	      /* something was sent */
	uint32_t outstanding; /* v1, early: calls arrived and not answered */
	uint32_t granted;     /* v1, early: calls; v2: message count */
	uint32_t sent, limit; /* v2 */
	bool final;	      /* v2: its CONNPROP_FINAL came */
	uint8_t head[64];     /* v2: the beginning of a continued call */
	size_t head_len;
	unsigned replies;
	uint32_t provoked; /* XID of the message of unknown type, or 0 */
	bool provoked_answered;
	struct listen_auth auth;
	struct listen_rtr rtr;

	struct rpc_msg msg, reply, scratch;
};

/** listener_init - to be attached with &l->w as owner. */
int listener_init(struct listener *l, const struct probe_options *o,
		  const struct probe_env *env) WARN_UNUSED;

/** listener_run - until the connections asked for have ended, or the time has. */
void listener_run(struct listener *l);

/** listener_grades - every grade is @told. */
void listener_grades(const struct listener *l,
		     void (*told)(void *arg, const struct probe_case *c,
				  const struct case_result *res),
		     void *arg);

/** listener_failed - how many grades are not passed. */
unsigned listener_failed(const struct listener *l);

void listener_fini(struct listener *l);

/* --- among listen*.c and grade*.c --- */

/** grade_ok - there was something to judge, and nothing to say. */
void grade_ok(struct listener *l, enum grade g);

/** grade_breach - words about a breach. */
void grade_breach(struct listener *l, enum grade g, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** judge - @ok, or else a breach with words. */
#define judge(l, g, ok, ...)                                                                       \
	do {                                                                                       \
		if (ok)                                                                            \
			grade_ok(l, g);                                                            \
		else                                                                               \
			grade_breach(l, g, __VA_ARGS__);                                           \
	} while (0)

/** listener_version_of - which version of those spoken @in, a first message, is; 0: none. */
unsigned listener_version_of(const struct listener *l, struct view in);

/** grade_tap - wire.tap: judge a message at arrival. */
void grade_tap(void *arg, const struct wire_msg *m);

/** grade_auth - the same of one of version 2 that parses, where it concerns host authentication. */
void grade_auth(struct listener *l, const struct v2_hdr *h);

/** listen_rtr_op - which message of the round-trip extension @in is; 0: none. */
enum rtr_op listen_rtr_op(unsigned version, struct view in);

/** grade_rtr - a message of the round-trip extension arrived. */
void grade_rtr(struct listener *l, unsigned version, struct view in);

/** grade_rtr_between - another one did, @what, that may not come between the transmissions of a request. */
void grade_rtr_between(struct listener *l, const char *what);

/**
 * listen_rtr_take - a transmission of a request into l->msg
 * @part: its payload stream
 *
 * Return: how many there were, if this is the last one; else 0.
 */
uint32_t listen_rtr_take(struct listener *l, struct view in, struct view *part);

/** listener_send - a message is sent, whatever it is. */
void listener_send(struct listener *l, const struct xdr_out *x);

/** listener_credit - what the next message of this end says. */
uint32_t listener_credit(struct listener *l);

/** listen_auth_reset - for the connection that comes next; and at the end. */
void listen_auth_reset(struct listener *l);

/** listen_auth_is_going - the client has begun, and it is not over. */
bool listen_auth_is_going(const struct listener *l);

/** listen_auth_waits - the client has something to do within the time of one answer. */
bool listen_auth_waits(const struct listener *l);

/** listen_auth_serve - a message while it is going on. Return: whether the connection is to go on. */
bool listen_auth_serve(struct listener *l, struct view in);

/** listen_auth_end - the connection is over; @is_late: because nothing came in time. */
void listen_auth_end(struct listener *l, bool is_late);

/** misdeed_name - words for it; static storage. */
const char *misdeed_name(enum misdeed m);

#endif
