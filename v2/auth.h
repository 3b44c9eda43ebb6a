/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_AUTH_H
#define V2_AUTH_H

#include "base/err.h"
#include "v2/header.h"

/**
 * auth - what stands behind property 6 (section 5.2.6, docs/hostauth-profile.md) where a
 * connection has somebody for it: struct v2_conn carries the values and keeps their
 * order, and knows nothing of what is in them.
 *
 * While the verdict is GOING the connection sends nothing but what comes from here,
 * and takes nothing but CONNPROPs, GRANTs and ERRORs.
 */
enum v2_auth_verdict {
	V2_AUTH_GOING,
	V2_AUTH_DONE,
	V2_AUTH_ABSENT, /* the peer has nothing of the kind */
	V2_AUTH_FAILED, /* what next() still has is sent, then the connection ends */
};

struct v2_auth;

/** struct v2_auth_out - a value to be sent: in a CONNPROP_FINAL, or a MIDDLE. */
struct v2_auth_out {
	struct view value; /* valid until the next call */
	bool first;	   /* beside properties 1 to 5, as is a final one */
	bool final;
};

struct v2_auth_ops {
	/* A CONNPROP message, whole, and its header. */
	enum v2_auth_verdict (*recv)(struct v2_auth *auth, struct view message,
				     const struct v2_hdr *h);
	/* Something else came that says that the peer has nothing of the kind. Return: whether that can
	 * be: then the verdict is ABSENT. */
	bool (*absent)(struct v2_auth *auth);
	/* What to say, if anything, in @room octets, or @properties less where they go along. */
	bool (*next)(struct v2_auth *auth, size_t room, size_t properties, struct v2_auth_out *out);
	/* The message with it is about to be posted; it may be changed in the value at @value_at. */
	enum v2_auth_verdict (*sent)(struct v2_auth *auth, uint8_t *message, size_t len,
				     size_t value_at);
};

struct v2_auth {
	const struct v2_auth_ops *ops;
	bool required;	 /* ABSENT ends the connection */
	bool is_absent;	 /* that was the reason */
	const char *why; /* FAILED for a message that is no CONNPROP: in words; else NULL */
	enum v2_auth_verdict verdict;
};

struct v2_conn;

/** v2_auth_is_going - nothing else may be said yet; so too between a failure and the end. */
bool v2_auth_is_going(const struct v2_conn *c);

/** v2_auth_send - the next message, as rpc_transport_ops.control(). */
int v2_auth_send(struct v2_conn *c, uint8_t *buf, size_t cap);

/** v2_auth_recv - a CONNPROP message that parses. Return: 0, or ERR_AUTH: close. */
int v2_auth_recv(struct v2_conn *c, struct view in, const struct v2_hdr *h) WARN_UNUSED;

/**
 * v2_auth_broken - a message came that nobody may send before it is over
 *
 * State:  the handshake is under way; a message of another version came, or a Report Error.
 * Danger: heeded, the message of somebody who has proved nothing changes what this end says, or how.
 * Rule:   profile section 3.5: the connection ends, nothing is processed or answered.
 * Pinned: tests/v2/test_v2_auth.c:only_properties_grants_and_errors_come_between
 *
 * Return: ERR_AUTH.
 */
int v2_auth_broken(struct v2_conn *c, const char *why) WARN_UNUSED;

/** v2_auth_absent - a message came that says so, the peer's first. Return: 0: without it, then; or
 * ERR_AUTH. */
int v2_auth_absent(struct v2_conn *c) WARN_UNUSED;

#endif
