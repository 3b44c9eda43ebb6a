/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_LISTEN_H
#define TOOLS_PROBE_LISTEN_H

#include "hostauth/hostauth.h"
#include "rtrext/group.h"
#include "tools/probe/conform.h"
#include "tools/probe/hello.h"

/**
 * listener - a server that answers NULL, knows no other procedure, and grades the client that
 * connects. It serves one connection at a time, and judges every message on arrival.
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

/* XIDs of messages that the listener sends unasked: its properties, then the messages that provoke
 * the client. */
enum { LISTEN_PROPS_XID = 0x70726f61, LISTEN_PROVOKE_XID, LISTEN_PROVOKE_XIDS = 3 };

enum { LISTEN_CREDITS = 8 }; /* few, so that a client that exceeds them shows */

/* An unknown property among the listener's properties. */
enum { LISTEN_UNKNOWN_PROPERTY = 0x7fff0001 };

/* The round-trip extension: octets of the placement-targetable segment behind the RUN_INLINE
 * octets, and the limit of transmissions for a request. */
enum { LISTEN_RTR_BULK = 8192, LISTEN_RTR_MOST = 4 };

/** enum misdeed - a fault that the listener puts into the last message of a handshake. With
 * --conformance each fault has a connection. */
enum misdeed {
	MISDEED_NONE,
	MISDEED_ALTERED,
	MISDEED_BINDING,
	MISDEED_SEQUENCE,
	MISDEED_KIND,
	MISDEEDS,
};

struct grade_state {
	unsigned looked; /* how often the grade was judged */
	unsigned breaches;
	char first[RUN_DETAIL];
};

/** struct client_facts - facts about the first connection. */
struct client_facts {
	uint8_t pdata[WIRE_PDATA];
	size_t pdata_len;
	struct v1_pdata said;
	uint32_t first_version, first_type, first_bytes;
	bool is_early;	  /* the early draft of version 2 */
	uint32_t credits; /* version 1: credits asked for; version 2: the first credit value */
	uint32_t largest; /* octets of the largest message */
	bool has_props;
	struct v2_props props;
	struct proof_facts proof; /* of the last connection that authenticated without a misdeed */
};

/** struct listen_auth - host authentication on the current connection. */
struct listen_auth {
	struct hostauth *h; /* while it is under way */
	bool is_on;	    /* the client has begun it */
	bool is_over;	    /* the handshake has ended, with any result */
	bool is_due;	    /* the next message is the client's */
	bool is_refused;    /* the client sent FAIL */
	bool is_spoilt;	    /* the listener has done .misdeed */
	enum misdeed misdeed;
	struct v2_props first; /* properties of the client's first message */
	bool has_hello;	       /* .hello has the client's whole first turn */
	size_t hello_len;
	uint8_t hello[HELLO_MOST];
	nsec_t began, paused; /* .paused: time since .began in which the listener paused */
};

/** struct listen_rtr - Transmit Requests on the current connection. */
struct listen_rtr {
	/* For judging arrivals: the open group, and its first transmission. */
	unsigned version;
	struct rtr_group group;
	struct rtr_msg first;
	/* For serving: .count is the number of transmissions of the request, .due the number of
	 * those that have not arrived. */
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

	/* State of the current connection. */
	unsigned version;     /* 1, 2 or RUN_EARLY; 0: not known yet */
	bool is_done;	      /* nothing more is accepted: the connection is being closed */
	bool refused;	      /* the listener sent ERR_VERS */
	uint32_t arrived;     /* number of messages that arrived */
	bool answered;	      /* the listener has sent a message */
	uint32_t outstanding; /* version 1, early draft: calls that arrived and are not answered */
	uint32_t granted;     /* version 1, early draft: calls; version 2: message count */
	uint32_t sent, limit; /* version 2: messages sent, and how many may be sent */
	bool final;	      /* version 2: the client's CONNPROP_FINAL has arrived */
	uint8_t head[64];     /* version 2: the beginning of a continued call */
	size_t head_len;
	unsigned replies;
	uint32_t provoked; /* XID of the message of unknown type that was sent, or 0 */
	bool provoked_answered;
	struct listen_auth auth;
	struct listen_rtr rtr;

	struct rpc_msg msg, reply, scratch;
};

/** listener_init - set up @l; attach the listening socket with &l->w as owner. */
int listener_init(struct listener *l, const struct probe_options *o,
		  const struct probe_env *env) WARN_UNUSED;

/** listener_run - serve until the wanted number of connections have ended, or the time is over. */
void listener_run(struct listener *l);

/** listener_grades - call @told with every grade. */
void listener_grades(const struct listener *l,
		     void (*told)(void *arg, const struct probe_case *c,
				  const struct case_result *res),
		     void *arg);

/** listener_failed - number of grades not passed. */
unsigned listener_failed(const struct listener *l);

void listener_fini(struct listener *l);

/* --- shared by listen*.c and grade*.c --- */

/** grade_ok - there was something to judge, and it was right. */
void grade_ok(struct listener *l, enum grade g);

/** grade_breach - record a breach with its text. */
void grade_breach(struct listener *l, enum grade g, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** judge - grade_ok() if @ok, else grade_breach() with the text. */
#define judge(l, g, ok, ...)                                                                       \
	do {                                                                                       \
		if (ok)                                                                            \
			grade_ok(l, g);                                                            \
		else                                                                               \
			grade_breach(l, g, __VA_ARGS__);                                           \
	} while (0)

/** listener_version_of - version of @in, a first message, if it is spoken; 0: none. */
unsigned listener_version_of(const struct listener *l, struct view in);

/** grade_observe - judge a message on arrival; for wire.observe. */
void grade_observe(void *arg, const struct wire_msg *m);

/** grade_auth - judge a version 2 message that was parsed, by the rules of host authentication. */
void grade_auth(struct listener *l, const struct v2_hdr *h);

/** listen_rtr_op - kind of the message @in in the round-trip extension; 0: none. */
enum rtr_op listen_rtr_op(unsigned version, struct view in);

/** grade_rtr - judge a message of the round-trip extension. */
void grade_rtr(struct listener *l, unsigned version, struct view in);

/** grade_rtr_between - another message, @what, arrived between the transmissions of a request,
 * which is not allowed. */
void grade_rtr_between(struct listener *l, const char *what);

/**
 * listen_rtr_take - take a transmission of a request into l->msg
 * @part: its payload stream
 *
 * Return: number of transmissions if this is the last one, else 0.
 */
uint32_t listen_rtr_take(struct listener *l, struct view in, struct view *part);

/** listener_send - send a message of any version. */
void listener_send(struct listener *l, const struct xdr_out *x);

/** listener_credit - credit value for the next message of the listener. */
uint32_t listener_credit(struct listener *l);

/** listen_auth_reset - clear the state before the next connection, and at the end. */
void listen_auth_reset(struct listener *l);

/** listen_auth_is_going - whether the client has begun the handshake, which has not ended. */
bool listen_auth_is_going(const struct listener *l);

/** listen_auth_waits - whether the next message must come from the client, within the time of one
 * answer. */
bool listen_auth_waits(const struct listener *l);

/** listen_auth_serve - answer a message of the handshake. Return: whether the connection
 * continues. */
bool listen_auth_serve(struct listener *l, struct view in);

/** listen_auth_end - the connection is over; @is_late: because nothing arrived in time. */
void listen_auth_end(struct listener *l, bool is_late);

/** misdeed_name - description of @m; static storage. */
const char *misdeed_name(enum misdeed m);

#endif
