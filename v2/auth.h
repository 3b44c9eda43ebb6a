/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_AUTH_H
#define V2_AUTH_H

#include "base/err.h"
#include "v2/header.h"

/**
 * auth - the interface between a connection and the code that handles property 6 (section 5.2.6,
 * docs/hostauth-profile.md)
 *
 * struct v2_conn carries the values and keeps their order. It does not interpret them.
 *
 * While the verdict is GOING the connection sends only messages that v2_auth_ops.next() provides,
 * and accepts only CONNPROPs, GRANTs and ERRORs.
 */
enum v2_auth_verdict {
	V2_AUTH_GOING,
	V2_AUTH_DONE,
	V2_AUTH_ABSENT, /* the peer does not support host authentication */
	/* this end sends the messages that next() still has, then ends the connection */
	V2_AUTH_FAILED,
};

struct v2_auth;

/** struct v2_auth_out - a value to be sent: in a CONNPROP_FINAL, or a MIDDLE. */
struct v2_auth_out {
	struct view value; /* valid until the next call */
	bool first;	   /* send it with properties 1 to 5; a final one always is */
	bool final;
};

struct v2_auth_ops {
	/* A CONNPROP message arrived: the whole message, and its header. */
	enum v2_auth_verdict (*recv)(struct v2_auth *auth, struct view message,
				     const struct v2_hdr *h);
	/* A message other than CONNPROP came, which means that the peer does not support host
	 * authentication. Return: whether that is possible at this point; the verdict is ABSENT
	 * then. */
	bool (*absent)(struct v2_auth *auth);
	/* The next value to send, of at most @room octets. If properties 1 to 5 are in the same
	 * message, @properties octets less. Return: whether there is one. */
	bool (*next)(struct v2_auth *auth, size_t room, size_t properties, struct v2_auth_out *out);
	/* The message with that value is about to be posted; the value, at @value_at, may still be
	 * changed. */
	enum v2_auth_verdict (*sent)(struct v2_auth *auth, uint8_t *message, size_t len,
				     size_t value_at);
};

struct v2_auth {
	const struct v2_auth_ops *ops;
	bool required;	/* the verdict ABSENT ends the connection */
	bool is_absent; /* the connection ended because of the verdict ABSENT */
	/* FAILED because of a message that is no CONNPROP: the reason in words; otherwise NULL */
	const char *why;
	enum v2_auth_verdict verdict;
};

struct v2_conn;

/** v2_auth_is_going - whether only messages of host authentication may be sent: until it is over,
 * and between a failure and the end of the connection. */
bool v2_auth_is_going(const struct v2_conn *c);

/** v2_auth_send - the next message, as rpc_transport_ops.control(). */
int v2_auth_send(struct v2_conn *c, uint8_t *buf, size_t cap);

/** v2_auth_recv - a CONNPROP message that parses. Return: 0, or ERR_AUTH: close. */
int v2_auth_recv(struct v2_conn *c, struct view in, const struct v2_hdr *h) WARN_UNUSED;

/**
 * v2_auth_broken - a message came that must not be sent before authentication is over
 *
 * State:  the handshake is under way; a message of another version came, or a Report Error.
 * Danger: if processed, a message from a peer that has not proved its identity changes what this
 *         end sends, or how.
 * Rule:   profile section 3.5: the connection ends, nothing is processed or answered.
 * Pinned: tests/v2/test_v2_auth.c:only_properties_grants_and_errors_come_between
 *
 * Return: ERR_AUTH.
 */
int v2_auth_broken(struct v2_conn *c, const char *why) WARN_UNUSED;

/** v2_auth_absent - the peer's first message shows that it does not support host authentication.
 * Return: 0: the connection goes on without it; or ERR_AUTH. */
int v2_auth_absent(struct v2_conn *c) WARN_UNUSED;

#endif
