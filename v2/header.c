/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/header.h"

/*
 * The rest is the payload stream, whose first word the header types of section 6.3 declare; other
 * types have no rest. Octets after an ERROR are ignored: an ERROR must not be answered with an
 * ERROR, and if this one were dropped, its requester would wait.
 */
static int payload_decode(struct v2_parse *p, const struct v2_type *type, struct rpc_msg *m)
{
	size_t left = xdr_in_left(&p->x);

	if (type->flags & V2_HAS_PAYLOAD) {
		if (left < 4)
			return v2_parse_fail(p, ERR_SHORT, RPC_ERROR_BAD_XDR, 0);
		m->body[0] = xdr_in_rest(&p->x);
		m->nbody = 1;
	} else if (left && type->htype != V2_ERROR) {
		return v2_parse_fail(p, ERR_XDR, RPC_ERROR_BAD_XDR, 0);
	}
	return 0;
}

static int type_decode(struct v2_parse *p, const struct v2_type *type, struct v2_hdr *h,
		       struct rpc_msg *m)
{
	int err;

	rpc_msg_reset(m, h->xid, type->flags & V2_IS_REPLY ? RPC_REPLY : RPC_CALL);
	err = type->decode(p, h, m);
	if (err)
		return err;
	if (p->x.failed)
		return v2_parse_fail(p, ERR_SHORT, RPC_ERROR_BAD_XDR, 0);
	return payload_decode(p, type, m);
}

int v2_decode_rest(const struct v2_type *type, struct v2_hdr *h, struct rpc_msg *m, struct view in,
		   uint32_t max_segments, struct rpc_error *fault)
{
	struct v2_parse p = {.max_segments = max_segments};
	int err;

	xdr_in_init(&p.x, in);
	xdr_skip(&p.x, V2_PREFIX_BYTES);
	err = type_decode(&p, type, h, m);
	if (err)
		*fault = p.fault;
	return err;
}

int v2_decode(struct v2_hdr *h, struct rpc_msg *m, struct view in, uint32_t max_segments,
	      struct rpc_error *fault)
{
	const struct v2_type *type;
	int err = v2_prefix_decode(h, in);

	h->rtr = NULL;
	*fault = (struct rpc_error){.code = RPC_ERROR_BAD_XDR};
	if (err)
		return err;
	if (h->vers != V2_VERSION) {
		fault->code = RPC_ERROR_VERS;
		return ERR_VERS;
	}
	type = v2_type_find(h->htype);
	if (!type) {
		fault->code = RPC_ERROR_INVAL_HTYPE;
		return ERR_TYPE;
	}
	return v2_decode_rest(type, h, m, in, max_segments, fault);
}

int v2_encode(const struct v2_hdr *h, const struct rpc_msg *m, uint8_t *buf, size_t cap)
{
	const struct v2_type *type = v2_type_find(h->htype);
	struct xdr_out x;

	if (!type)
		return ERR_TYPE;
	xdr_out_init(&x, buf, cap);
	xdr_put_prefix(&x, h->xid, h->vers, h->credit, h->htype);
	type->encode(&x, h, m);
	return x.failed ? ERR_NOSPACE : (int)xdr_out_len(&x);
}

int v2_vers_error_encode(const struct v2_hdr *in, const struct rpc_params *own, uint8_t *buf,
			 size_t cap)
{
	const struct v2_hdr h = {
		.xid = in->xid,
		.vers = in->vers,
		.credit = own->credits,
		.htype = V2_ERROR,
		.error = {.code = RPC_ERROR_VERS, .a = own->vers_low, .b = own->vers_high},
	};

	return v2_encode(&h, NULL, buf, cap);
}
