/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: the four fixed words are those of version 1. Then, by type:
 *
 *   RDMA2_MSG, RDMA2_NOMSG   direction; the three chunk lists of version 1 (rpc/lists.h)
 *   RDMA2_ERROR              code; the range of versions, if that is the code
 *   RDMA2_OPTIONAL           direction, type of option, counted octets
 *
 * The direction in the header has to be that of the RPC message (section 4.2.2), which also decides
 * what the lists mean. A message in which the two differ is malformed. To an acceptor such a
 * message has the direction of its header. To an initiator it is a reply, because otherwise the
 * call that it names would wait for ever.
 */
#include "v2early/header.h"

#include "rpc/lists.h"
#include "xdr/cursor.h"

enum { WORD = 4 };

static int get_direction(struct xdr_in *x, enum rpc_dir *dir)
{
	uint32_t word = xdr_get_u32(x);

	if (x->failed || word > 1)
		return ERR_XDR;
	*dir = word == 0 ? RPC_CALL : RPC_REPLY;
	return 0;
}

static int decode_error(struct early_header *h, struct xdr_in *x, enum rpc_dir *dir)
{
	*dir = RPC_REPLY;
	h->err = xdr_get_u32(x);
	if (h->err == EARLY_ERR_VERS) {
		h->low = xdr_get_u32(x);
		h->high = xdr_get_u32(x);
	}
	return x->failed ? ERR_SHORT : 0;
}

static int decode_optional(struct early_header *h, struct xdr_in *x, enum rpc_dir *dir)
{
	int rc = get_direction(x, dir);

	if (rc)
		return rc;
	h->optdir = *dir;
	h->opttype = xdr_get_u32(x);
	h->optinfo = xdr_get_opaque(x, UINT32_MAX);
	h->payload = xdr_in_rest(x);
	return x->failed ? ERR_XDR : 0;
}

static int decode_msg(const struct early_header *h, struct rpc_msg *m, struct xdr_in *x,
		      enum rpc_dir *dir)
{
	const enum rpc_dir expected = *dir;
	bool is_seen = false;
	int rc = get_direction(x, dir);

	if (rc)
		return rc;
	rpc_msg_reset(m, h->xid, *dir);
	rc = rpc_lists_get(x, m);
	if (rc)
		return rc;
	/* Octets behind the lists of an RDMA2_NOMSG are ignored, as in version 1. */
	rc = h->proc == EARLY_NOMSG ? rpc_lists_external(m, &is_seen)
				    : rpc_lists_inline(m, xdr_in_rest(x), &is_seen);
	/* MUST be the same: section 4.2.2. */
	if (!is_seen || m->dir == *dir)
		return rc;
	if (expected == RPC_REPLY)
		*dir = RPC_REPLY;
	return rc ? rc : ERR_XDR;
}

int early_header_decode(struct early_header *h, struct rpc_msg *m, enum rpc_dir *dir,
			struct view in)
{
	struct xdr_in x;

	*h = (struct early_header){0};
	xdr_in_init(&x, in);
	h->xid = xdr_get_u32(&x);
	h->vers = xdr_get_u32(&x);
	h->credit = xdr_get_u32(&x);
	h->proc = xdr_get_u32(&x);
	if (x.failed)
		return ERR_SHORT;
	if (h->proc == EARLY_ERROR)
		return decode_error(h, &x, dir);
	if (h->vers != EARLY_VERSION)
		return ERR_VERS;
	if (h->proc == EARLY_OPTIONAL)
		return decode_optional(h, &x, dir);
	if (h->proc != EARLY_MSG && h->proc != EARLY_NOMSG)
		return ERR_TYPE;
	return decode_msg(h, m, &x, dir);
}

size_t early_header_len(const struct rpc_msg *m)
{
	return EARLY_FIXED_BYTES + WORD + rpc_lists_len(m);
}

static void put_fixed(struct xdr_out *x, uint32_t xid, uint32_t vers, uint32_t credit,
		      uint32_t proc)
{
	xdr_put_u32(x, xid);
	xdr_put_u32(x, vers);
	xdr_put_u32(x, credit);
	xdr_put_u32(x, proc);
}

int early_header_encode(const struct rpc_msg *m, uint32_t credit, uint8_t *buf, size_t cap,
			size_t *len)
{
	struct xdr_out x;

	xdr_out_init(&x, buf, cap);
	put_fixed(&x, m->xid, EARLY_VERSION, credit, m->has_body_chunk ? EARLY_NOMSG : EARLY_MSG);
	xdr_put_u32(&x, m->dir == RPC_CALL ? 0 : 1);
	rpc_lists_put(&x, m);
	if (x.failed)
		return ERR_NOSPACE;
	*len = xdr_out_len(&x);
	return 0;
}

/* Section 4.2.1: nothing follows the code. The text of section 3.2 wants a direction here as well,
 * but the XDR has none, and it is always the same. */
int early_error_encode(const struct early_header *h, uint8_t *buf, size_t cap)
{
	struct xdr_out x;

	xdr_out_init(&x, buf, cap);
	put_fixed(&x, h->xid, h->vers, h->credit, EARLY_ERROR);
	xdr_put_u32(&x, h->err);
	if (h->err == EARLY_ERR_VERS) {
		xdr_put_u32(&x, h->low);
		xdr_put_u32(&x, h->high);
	}
	return x.failed ? ERR_NOSPACE : (int)xdr_out_len(&x);
}

int early_optional_encode(const struct early_header *h, uint8_t *buf, size_t cap)
{
	struct xdr_out x;

	xdr_out_init(&x, buf, cap);
	put_fixed(&x, h->xid, EARLY_VERSION, h->credit, EARLY_OPTIONAL);
	xdr_put_u32(&x, h->optdir == RPC_CALL ? 0 : 1);
	xdr_put_u32(&x, h->opttype);
	xdr_put_opaque(&x, h->optinfo);
	return x.failed ? ERR_NOSPACE : (int)xdr_out_len(&x);
}

bool early_is_first(struct view in)
{
	uint32_t proc;

	if (in.len < EARLY_FIXED_BYTES || xdr_peek_u32(in.data + WORD) != EARLY_VERSION)
		return false;
	proc = xdr_peek_u32(in.data + 3 * WORD);
	return proc == EARLY_MSG || proc == EARLY_NOMSG ||
	       (proc == EARLY_OPTIONAL && in.len > EARLY_FIXED_BYTES);
}
