/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/auth.h"

#include "v2/conn.h"

/* A property has its number, the length of its data, and the data; the data of property 6 are an
 * opaque<>. */
enum { PROPERTY_BYTES = 12, FIXED_BYTES = V2_PREFIX_BYTES + 4 + PROPERTY_BYTES };

bool v2_auth_is_going(const struct v2_conn *c)
{
	return c->auth && (c->auth->verdict == V2_AUTH_GOING || c->auth->verdict == V2_AUTH_FAILED);
}

/* Profile section 3.4; section 4.3 for the first message. Properties 1 to 5 came with the peer's
 * first message. */
static size_t threshold(const struct v2_conn *c)
{
	struct rpc_limits peer;

	if (c->state == V2_OPENING && c->t.own.role == RPC_INITIATOR)
		return V2_FIRST_MESSAGE_BYTES;
	v2_props_limits(&peer, &c->props, &c->t.own);
	return peer.send_bytes < V2_DEFAULT_INLINE ? peer.send_bytes : V2_DEFAULT_INLINE;
}

int v2_auth_send(struct v2_conn *c, uint8_t *buf, size_t cap)
{
	struct v2_hdr h = {.xid = c->t.own.first_xid, .vers = V2_VERSION};
	size_t max = threshold(c);
	struct v2_auth_out out;
	int len;

	if (max > cap)
		max = cap;
	if (!c->auth->ops->next(c->auth, (max - FIXED_BYTES) & ~(size_t)3,
				v2_props_own_bytes(&c->t.own), &out))
		return 0;
	if (out.first || out.final)
		v2_props_own(&h.props, &c->t.own);
	h.props.present |= 1u << V2_PROP_HOSTAUTH;
	h.props.hostauth = out.value;
	h.htype = out.final ? V2_CONNPROP_FINAL : V2_CONNPROP_MIDDLE;
	h.credit = v2_credit_value(&c->credit);
	len = v2_encode(&h, NULL, buf, max);
	if (len < 0)
		return len;
	v2_credit_sent(&c->credit);
	c->t.count.sends++;
	c->final_sent |= out.final;
	c->auth->verdict = c->auth->ops->sent(c->auth, buf, (size_t)len,
					      (size_t)len - xdr_pad(out.value.len) - out.value.len);
	return len;
}

static int failed(struct v2_conn *c)
{
	c->auth->verdict = V2_AUTH_FAILED;
	return ERR_AUTH;
}

int v2_auth_broken(struct v2_conn *c, const char *why)
{
	c->auth->why = why;
	c->state = V2_CLOSED;
	return failed(c);
}

/* The peer does not authenticate. Profile section 7: local policy decides what follows (5.2.6). */
static int without(struct v2_conn *c)
{
	c->auth->verdict = V2_AUTH_ABSENT;
	c->auth->is_absent = true;
	return c->auth->required ? failed(c) : 0;
}

int v2_auth_recv(struct v2_conn *c, struct view in, const struct v2_hdr *h)
{
	c->auth->verdict = c->auth->ops->recv(c->auth, in, h);
	if (c->auth->verdict == V2_AUTH_ABSENT)
		return without(c);
	return c->auth->verdict == V2_AUTH_FAILED ? failed(c) : 0;
}

int v2_auth_absent(struct v2_conn *c)
{
	if (c->auth->ops->absent(c->auth))
		return without(c);
	c->auth->why = "a message that has no place in it";
	return failed(c);
}
