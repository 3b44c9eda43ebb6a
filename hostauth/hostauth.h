/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_HOSTAUTH_H
#define HOSTAUTH_HOSTAUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"
#include "hostauth/creds.h"
#include "hostauth/names.h"
#include "hostauth/role.h"

/**
 * hostauth - one handshake of docs/hostauth-profile.md, either role, as a state machine
 *
 * Messages in, values out; no I/O, no clock, no loop. Its user carries the values in
 * CONNPROP messages and keeps these rules:
 * - every CONNPROP message that arrives goes to hostauth_recv(), once and in order;
 * - then, while hostauth_is_work_due(), hostauth_work(): it may take milliseconds of CPU and may
 *   be run by any one thread, if nobody touches the handshake meanwhile;
 * - what hostauth_next() then gives goes into the next message, and that message, complete,
 *   through hostauth_sent() before it is posted;
 * - whatever is not HOSTAUTH_GOING is final.
 */
struct hostauth;

enum hostauth_status {
	HOSTAUTH_GOING,
	HOSTAUTH_DONE,	 /* the peer is authenticated, and so is what was negotiated */
	HOSTAUTH_ABSENT, /* the peer has not this profile; nothing more is asked or given */
	HOSTAUTH_FAILED, /* after the FAIL that hostauth_next() may still have: close */
};

/** Why it failed. */
enum hostauth_cause {
	HOSTAUTH_CAUSE_NONE,
	HOSTAUTH_CAUSE_VALUE,	/* the peer's value is not what the profile allows */
	HOSTAUTH_CAUSE_TLS,	/* TLS failed here: certificate, key, alert... */
	HOSTAUTH_CAUSE_BINDING, /* what was negotiated was altered on the way */
	HOSTAUTH_CAUSE_NAME,	/* the peer's name is not allowed here */
	HOSTAUTH_CAUSE_LIMIT,
	HOSTAUTH_CAUSE_OWN,  /* of memory, mostly */
	HOSTAUTH_CAUSE_PEER, /* the peer said that it failed */
};

enum {
	HOSTAUTH_NAME_BYTES = 256,
	HOSTAUTH_TEXT_BYTES = 192,
	/* What a peer may send: section 8. */
	HOSTAUTH_MAX_TLS = 24 * 1024,
	HOSTAUTH_MAX_HELLO = 8 * 1024, /* of these an initiator's, before its first TURN is over */
	HOSTAUTH_MAX_VALUES = 256,
	/* The least room for a value in which something of use fits. */
	HOSTAUTH_MIN_ROOM = 64,
};

struct hostauth_params {
	enum hostauth_role role;
	struct hostauth_creds *creds; /* of that role; a holder is added */
	/* Private data of the connection's request and acceptance; borrowed for the call. */
	struct view request_data, accept_data;
	int64_t now; /* seconds since 1970, at which certificates are to be valid */
};

/** hostauth_new - returns owned, or NULL without memory. Cheap: TLS begins with the first message. */
struct hostauth *hostauth_new(const struct hostauth_params *params);

/** hostauth_free - takes @h, which may be NULL; wipes what is secret. */
void hostauth_free(struct hostauth *h);

/** struct hostauth_in - a CONNPROP message that arrived; views into it. */
struct hostauth_in {
	struct view message; /* from rdma_xid on */
	bool has_value;	     /* property 6 is in it */
	struct view value;
	bool final; /* CONNPROP_FINAL */
	bool again; /* property 6 is in it twice */
};

/** hostauth_recv - Return: the status. GOING: see whether work is due. */
enum hostauth_status hostauth_recv(struct hostauth *h, const struct hostauth_in *in);

/** hostauth_absent - something else said that the peer has not this profile (section 7.1). Return:
 * whether it can be so: an initiator's, before the first value came. */
bool hostauth_absent(struct hostauth *h);

bool hostauth_is_work_due(const struct hostauth *h);
void hostauth_work(struct hostauth *h);

/** struct hostauth_out - a value to be sent. */
struct hostauth_out {
	struct view value; /* valid until the next call */
	bool first;	   /* with properties 1 to 5 */
	bool final;	   /* in a CONNPROP_FINAL, with properties 1 to 5; else a CONNPROP_MIDDLE */
};

/**
 * hostauth_next - what this end has to say, if anything
 * @room: octets of value that fit in a message without other properties
 * @properties: how many fewer beside properties 1 to 5; HOSTAUTH_MIN_ROOM at least are left
 */
bool hostauth_next(struct hostauth *h, size_t room, size_t properties, struct hostauth_out *out);

/**
 * hostauth_sent - the message with that value is about to be posted
 * @message, @len: whole; a binding value is written into it here
 * @value_at: where the value begins in it
 *
 * Return: the status.
 */
enum hostauth_status hostauth_sent(struct hostauth *h, uint8_t *message, size_t len,
				   size_t value_at);

enum hostauth_status hostauth_status(const struct hostauth *h);

/** struct hostauth_facts - for logs; texts live as long as the handshake. */
struct hostauth_facts {
	enum hostauth_cause cause;
	const char *why;  /* FAILED: in words */
	const char *peer; /* a name that the peer proved, or shows if it failed; "" unknown */
	enum hostauth_name_kind peer_kind; /* what that is */
	const char *suite;
	unsigned values_in, values_out;
	size_t octets_in, octets_out; /* of values */
};
void hostauth_facts(const struct hostauth *h, struct hostauth_facts *facts);

/** hostauth_cause_name - a word: "tls", "name"... Static storage. */
const char *hostauth_cause_name(enum hostauth_cause cause);

#endif
