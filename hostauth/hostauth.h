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
 * Messages go in, and values come out. The handshake has no I/O, no clock and no loop. Its user
 * carries the values in CONNPROP messages, and keeps these rules:
 * - Every CONNPROP message that arrives goes to hostauth_recv(), once and in order.
 * - Then, while hostauth_is_work_due(), the user calls hostauth_work(). The call may take
 *   milliseconds of CPU. It may run in any one thread, if no other thread touches the handshake
 *   meanwhile.
 * - The value from hostauth_next() goes into the next message. That message, complete, goes through
 *   hostauth_sent() before it is posted.
 * - A status other than HOSTAUTH_GOING is final.
 */
struct hostauth;

enum hostauth_status {
	HOSTAUTH_GOING,
	HOSTAUTH_DONE, /* the peer and the negotiated values are authenticated */
	/* the peer does not implement the profile; nothing more is expected or sent */
	HOSTAUTH_ABSENT,
	HOSTAUTH_FAILED, /* failed: close after the FAIL that hostauth_next() may still have */
};

/** Cause of a failure. */
enum hostauth_cause {
	HOSTAUTH_CAUSE_NONE,
	HOSTAUTH_CAUSE_VALUE,	/* the peer's value breaks the profile */
	HOSTAUTH_CAUSE_TLS,	/* TLS failed here: certificate, key, alert... */
	HOSTAUTH_CAUSE_BINDING, /* what was negotiated was altered on the way */
	HOSTAUTH_CAUSE_NAME,	/* the peer's name is not allowed here */
	HOSTAUTH_CAUSE_LIMIT,
	HOSTAUTH_CAUSE_OWN,  /* a failure of this end, mostly memory */
	HOSTAUTH_CAUSE_PEER, /* the peer reported a failure */
};

enum {
	HOSTAUTH_NAME_BYTES = 256,
	HOSTAUTH_TEXT_BYTES = 192,
	/* Limits for a peer: section 8. Octets of TLS; values. */
	HOSTAUTH_MAX_TLS = 24 * 1024,
	HOSTAUTH_MAX_HELLO = 8 * 1024, /* octets from an initiator before its first TURN ends */
	HOSTAUTH_MAX_VALUES = 256,
	/* The least room for a value that makes progress. */
	HOSTAUTH_MIN_ROOM = 64,
};

struct hostauth_params {
	enum hostauth_role role;
	struct hostauth_creds *creds; /* of that role; a reference is taken */
	/* Private data of the connection's request and acceptance; borrowed for the call. */
	struct view request_data, accept_data;
	int64_t now; /* time at which certificates must be valid, seconds since 1970 */
};

/** hostauth_new - returns owned, or NULL without memory. The call is cheap: TLS begins with the
 * first message. */
struct hostauth *hostauth_new(const struct hostauth_params *params);

/** hostauth_free - takes @h, which may be NULL; wipes what is secret. */
void hostauth_free(struct hostauth *h);

/** struct hostauth_in - a CONNPROP message that arrived. The views point into it. */
struct hostauth_in {
	struct view message; /* the whole message, from rdma_xid on */
	bool has_value;	     /* property 6 is in it */
	struct view value;
	bool final; /* the message is a CONNPROP_FINAL */
	bool again; /* property 6 is in it twice */
};

/** hostauth_recv - Return: the status. GOING: see whether work is due. */
enum hostauth_status hostauth_recv(struct hostauth *h, const struct hostauth_in *in);

/** hostauth_absent - a message other than CONNPROP shows that the peer does not implement the
 * profile (section 7.1). Return: whether that is possible: only for an initiator, before the first
 * value came. */
bool hostauth_absent(struct hostauth *h);

bool hostauth_is_work_due(const struct hostauth *h);
void hostauth_work(struct hostauth *h);

/** struct hostauth_out - a value to be sent. */
struct hostauth_out {
	struct view value; /* valid until the next call */
	bool first;	   /* send it with properties 1 to 5 */
	/* send it in a CONNPROP_FINAL with properties 1 to 5; if false, in a CONNPROP_MIDDLE */
	bool final;
};

/**
 * hostauth_next - the next value to send. Return: whether there is one.
 * @room: octets of value that fit in a message without other properties
 * @properties: how many octets fewer in a message with properties 1 to 5; at least
 *              HOSTAUTH_MIN_ROOM are left
 */
bool hostauth_next(struct hostauth *h, size_t room, size_t properties, struct hostauth_out *out);

/**
 * hostauth_sent - the message with that value is about to be posted
 * @message, @len: the whole message; a binding value is written into it here
 * @value_at: offset of the value in it
 *
 * Return: the status.
 */
enum hostauth_status hostauth_sent(struct hostauth *h, uint8_t *message, size_t len,
				   size_t value_at);

enum hostauth_status hostauth_status(const struct hostauth *h);

/** struct hostauth_facts - facts for logs; texts live as long as the handshake. */
struct hostauth_facts {
	enum hostauth_cause cause;
	const char *why; /* FAILED: the cause in words */
	/* the name that the peer proved; after a failure the name it claimed; "": unknown */
	const char *peer;
	enum hostauth_name_kind peer_kind; /* kind of that name */
	const char *suite;
	unsigned values_in, values_out;
	size_t octets_in, octets_out; /* octets of values received and sent */
};
void hostauth_facts(const struct hostauth *h, struct hostauth_facts *facts);

/** hostauth_cause_name - a word for logs: "tls", "name"... Static storage. */
const char *hostauth_cause_name(enum hostauth_cause cause);

#endif
