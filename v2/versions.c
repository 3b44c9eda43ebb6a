/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/versions.h"

#include "v2/error_queue.h"
#include "v2/auth.h"
#include "v2/error.h"

int v2_versions_other(struct v2_conn *c, const struct v2_hdr *h)
{
	const struct rpc_params *own = &c->t.own;
	struct rpc_error e = {.code = RPC_ERROR_VERS, .a = own->vers_low, .b = own->vers_high};

	if (v2_auth_is_going(c))
		return v2_auth_broken(c, "a message of another version");
	/* The type ERROR has this number in both versions. */
	if (h->htype == V2_ERROR) {
		c->t.count.dropped++;
		return 0;
	}
	if (c->state != V2_OPENING && h->vers >= own->vers_low && h->vers <= own->vers_high)
		e = (struct rpc_error){.code = RPC_ERROR_VERS_MISMATCH};
	return v2_queue_error(c, h, h->xid, &e);
}

/* No other message was sent, so the report can be about no other. */
bool v2_versions_is_verdict(struct v2_conn *c, struct v2_hdr *h, struct view in)
{
	struct v2_parse p = {0};

	if (c->state != V2_OPENING || c->t.count.sends == 0 || c->t.own.role != RPC_INITIATOR ||
	    h->htype != V2_ERROR || (h->vers != 1 && h->vers != V2_VERSION))
		return false;
	xdr_in_init(&p.x, in);
	xdr_skip(&p.x, V2_PREFIX_BYTES);
	v2_error_decode(&p, h, NULL);
	return !p.x.failed && h->error_known && h->error.code == RPC_ERROR_VERS;
}

int v2_versions_verdict(struct v2_conn *c, const struct v2_hdr *h, struct rpc_rx *rx)
{
	c->state = V2_CLOSED;
	c->t.count.errors_received++;
	if (h->error.a > h->error.b)
		return ERR_PROTO;
	rx->kind = RPC_RX_OTHER_VERSION;
	rx->xid = h->xid;
	rx->error = h->error;
	return 0;
}
