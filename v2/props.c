/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/props.h"

#include "v2/header.h"
#include "v2/rtr.h"

/* Section 5.2. */
static const uint32_t defaults[V2_PROP_NUMBERS + 1] = {
	[V2_PROP_SBSIZ] = V2_DEFAULT_INLINE,
	[V2_PROP_RBSIZ] = V2_DEFAULT_INLINE,
	[V2_PROP_RSSIZ] = V2_DEFAULT_SEGMENT_BYTES,
	[V2_PROP_RCSIZ] = V2_DEFAULT_SEGMENTS,
	[V2_PROP_BRS] = RPC_REV_NONE,
};

static uint32_t bit(uint32_t id)
{
	return (uint32_t)1 << id;
}

void v2_props_set(struct v2_props *props, enum v2_propid id, uint32_t value)
{
	props->present |= bit(id);
	props->value[id] = value;
}

uint32_t v2_props_get(const struct v2_props *props, enum v2_propid id)
{
	return props->present & bit(id) ? props->value[id] : defaults[id];
}

void v2_props_merge(struct v2_props *into, const struct v2_props *from)
{
	for (uint32_t id = 1; id <= V2_PROP_NUMBERS; id++) {
		if (from->present & bit(id))
			into->value[id] = from->value[id];
	}
	if (from->present & bit(V2_PROP_HOSTAUTH))
		into->hostauth = from->hostauth;
	if (from->present & V2_HAS_RTR_SUPPORT)
		into->rtr_support = from->rtr_support;
	if (from->present & V2_HAS_RTR_REQUESTS)
		into->rtr_requests = from->rtr_requests;
	if (from->present & V2_HAS_RTR_RESPONSES)
		into->rtr_responses = from->rtr_responses;
	into->present |= from->present;
}

void v2_props_own(struct v2_props *props, const struct rpc_params *own)
{
	*props = (struct v2_props){0};
	v2_props_set(props, V2_PROP_SBSIZ, own->send_bytes);
	v2_props_set(props, V2_PROP_RBSIZ, own->recv_bytes);
	v2_props_set(props, V2_PROP_RSSIZ, own->segment_bytes);
	v2_props_set(props, V2_PROP_RCSIZ, own->segment_count);
	v2_props_set(props, V2_PROP_BRS, own->reverse);
	if (!own->bulk_bytes)
		return;
	props->present |= V2_HAS_RTR_SUPPORT | V2_HAS_RTR_STRUCTURE | V2_HAS_RTR_RESPONSES;
	props->rtr_support = RTR_TAKES_REQUEST | RTR_TAKES_RESPONSE;
	props->rtr_responses = 1;
	if (own->transmissions > 1) { /* one transmission is the default */
		props->rtr_support |= RTR_TAKES_CONTINUE;
		props->present |= V2_HAS_RTR_REQUESTS;
		props->rtr_requests = props->rtr_responses = own->transmissions;
	}
	props->rtr_own[0] = own->recv_bytes;
	props->rtr_own[1] = own->bulk_bytes;
}

enum {
	NUMBER_BYTES = 12,    /* octets of a property of one word */
	STRUCTURE_BYTES = 40, /* octets of our structure's value: two groups */
	RTR_BYTES = 3 * NUMBER_BYTES + 8 + STRUCTURE_BYTES,
};

_Static_assert((int)V2_PREFIX_BYTES + 4 + NUMBER_BYTES * (int)V2_PROP_NUMBERS + RTR_BYTES <=
		       (int)V2_FIRST_MESSAGE_BYTES,
	       "one message is enough");

size_t v2_props_own_bytes(const struct rpc_params *own)
{
	return (size_t)V2_PROP_NUMBERS * NUMBER_BYTES + (own->bulk_bytes ? RTR_BYTES : 0);
}

/* The announced size: at least what a first message needs, at most what this end handles. */
static uint32_t inline_limit(uint32_t announced, uint32_t own)
{
	if (announced < V2_FIRST_MESSAGE_BYTES)
		announced = V2_FIRST_MESSAGE_BYTES;
	return announced < own ? announced : own;
}

void v2_props_limits(struct rpc_limits *peer, const struct v2_props *props,
		     const struct rpc_params *own)
{
	uint32_t segment_bytes = v2_props_get(props, V2_PROP_RSSIZ);
	uint32_t segments = v2_props_get(props, V2_PROP_RCSIZ);
	uint32_t reverse = v2_props_get(props, V2_PROP_BRS);

	*peer = (struct rpc_limits){.continuation = true, .continue_bytes = UINT32_MAX};
	peer->send_bytes = inline_limit(v2_props_get(props, V2_PROP_RBSIZ), own->send_bytes);
	peer->recv_bytes = inline_limit(v2_props_get(props, V2_PROP_SBSIZ), own->recv_bytes);
	peer->segment_count = segments < RPC_MAX_SEGMENTS ? segments : RPC_MAX_SEGMENTS;
	peer->segment_bytes = segment_bytes;
	if (segment_bytes == 0) {
		peer->segment_bytes = V2_DEFAULT_SEGMENT_BYTES;
		peer->segment_count = 0;
	}
	peer->reverse = reverse <= RPC_REV_GENL ? (enum rpc_reverse)reverse : RPC_REV_NONE;
}

const struct rpc_error v2_bad_propval = {.code = RPC_ERROR_BAD_PROPVAL};

static int bad_propval(struct v2_parse *p)
{
	return v2_parse_fail(p, ERR_PROP, RPC_ERROR_BAD_PROPVAL, 0);
}

/* The data of a known property must have exactly its XDR type; no data means the default. */
static int known_prop_decode(struct v2_parse *p, struct v2_props *props, uint32_t which,
			     struct view data)
{
	struct xdr_in x;

	xdr_in_init(&x, data);
	if (which == V2_PROP_HOSTAUTH) {
		props->hostauth = data.len ? xdr_get_opaque(&x, UINT32_MAX) : view_of(NULL, 0);
		props->hostauth_again = props->present & bit(which);
		props->present |= bit(which);
	} else {
		v2_props_set(props, (enum v2_propid)which,
			     data.len ? xdr_get_u32(&x) : defaults[which]);
	}
	return x.failed || xdr_in_left(&x) ? bad_propval(p) : 0;
}

/* Decodes a property of the round-trip extension. An end without the extension ignores a malformed
 * one (section 5.1). */
static void rtr_number_decode(struct v2_props *props, unsigned has, uint32_t *value,
			      uint32_t otherwise, struct view data)
{
	struct xdr_in x;

	xdr_in_init(&x, data);
	*value = data.len ? xdr_get_u32(&x) : otherwise;
	props->present |= has;
	props->is_rtr_bad |= x.failed || xdr_in_left(&x);
}

static void rtr_prop_decode(struct v2_props *props, uint32_t which, struct view data)
{
	struct rtr_structure s;

	switch (which) {
	case RTR_PROP_SUPPORT:
		rtr_number_decode(props, V2_HAS_RTR_SUPPORT, &props->rtr_support, 0, data);
		break;
	case RTR_PROP_REQUEST_LIMIT:
		rtr_number_decode(props, V2_HAS_RTR_REQUESTS, &props->rtr_requests, 1, data);
		break;
	case RTR_PROP_RESPONSE_LIMIT:
		rtr_number_decode(props, V2_HAS_RTR_RESPONSES, &props->rtr_responses, 1, data);
		break;
	case RTR_PROP_STRUCTURE:
		props->is_rtr_bad |= data.len && rtr_structure_decode(&s, data) == ERR_PROP;
		props->rtr_structure = data;
		props->present |= V2_HAS_RTR_STRUCTURE;
		break;
	default:
		break;
	}
}

/* Section 5.1: data longer than the message is a bad property value, whichever property it is; an
 * unknown property is skipped. */
static int prop_decode(struct v2_parse *p, struct v2_props *props)
{
	uint32_t which = xdr_get_u32(&p->x);
	struct xdr_in at_length = p->x;
	struct view data;

	xdr_get_u32(&at_length);
	if (at_length.failed)
		return v2_parse_fail(p, ERR_SHORT, RPC_ERROR_BAD_XDR, 0);
	data = xdr_get_opaque(&p->x, UINT32_MAX);
	if (p->x.failed)
		return bad_propval(p);
	if (which >> 16 == RTR_PROP_SUPPORT >> 16)
		rtr_prop_decode(props, which, data);
	if (which < V2_PROP_SBSIZ || which > V2_PROP_HOSTAUTH)
		return 0;
	return known_prop_decode(p, props, which, data);
}

int v2_connprop_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m)
{
	uint32_t count = xdr_get_u32(&p->x);

	(void)m;
	h->props = (struct v2_props){0};
	if (count > xdr_in_left(&p->x) / 8)
		return v2_parse_fail(p, ERR_SHORT, RPC_ERROR_BAD_XDR, 0);
	for (uint32_t i = 0; i < count; i++) {
		int err = prop_decode(p, &h->props);

		if (err)
			return err;
	}
	return 0;
}

static uint32_t props_count(const struct v2_props *props)
{
	uint32_t count = 0;

	for (uint32_t id = V2_PROP_SBSIZ; id <= V2_PROP_HOSTAUTH; id++)
		count += (props->present & bit(id)) != 0;
	for (unsigned has = V2_HAS_RTR_SUPPORT; has <= V2_HAS_RTR_RESPONSES; has <<= 1)
		count += (props->present & has) != 0;
	return count;
}

static void put_number(struct xdr_out *x, uint32_t id, uint32_t value)
{
	xdr_put_u32(x, id);
	xdr_put_u32(x, 4);
	xdr_put_u32(x, value);
}

static void put_structure(struct xdr_out *x, const struct v2_props *props)
{
	const struct rpc_params own = {.recv_bytes = props->rtr_own[0],
				       .bulk_bytes = props->rtr_own[1]};
	struct rtr_structure s;

	rtr_call_own(&own, &s);
	xdr_put_u32(x, RTR_PROP_STRUCTURE);
	xdr_put_u32(x, STRUCTURE_BYTES);
	rtr_structure_encode(&s, x);
}

/* The properties of the extension come before property 6, because auth.c expects the octets of
 * property 6 at the end. */
static void put_rtr(struct xdr_out *x, const struct v2_props *props)
{
	if (props->present & V2_HAS_RTR_SUPPORT)
		put_number(x, RTR_PROP_SUPPORT, props->rtr_support);
	if (props->present & V2_HAS_RTR_STRUCTURE)
		put_structure(x, props);
	if (props->present & V2_HAS_RTR_REQUESTS)
		put_number(x, RTR_PROP_REQUEST_LIMIT, props->rtr_requests);
	if (props->present & V2_HAS_RTR_RESPONSES)
		put_number(x, RTR_PROP_RESPONSE_LIMIT, props->rtr_responses);
}

void v2_connprop_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m)
{
	const struct v2_props *props = &h->props;

	(void)m;
	xdr_put_u32(x, props_count(props));
	for (uint32_t id = V2_PROP_SBSIZ; id <= V2_PROP_NUMBERS; id++) {
		if (!(props->present & bit(id)))
			continue;
		put_number(x, id, props->value[id]);
	}
	put_rtr(x, props);
	if (props->present & bit(V2_PROP_HOSTAUTH)) {
		xdr_put_u32(x, V2_PROP_HOSTAUTH);
		xdr_put_u32(x, (uint32_t)(4 + props->hostauth.len + xdr_pad(props->hostauth.len)));
		xdr_put_opaque(x, props->hostauth);
	}
}
