/* SPDX-License-Identifier: BSD-2-Clause */
#include "v2/types.h"

#include "v2/error.h"
#include "v2/header.h"
#include "v2/message.h"
#include "v2/rtr.h"

static int grant_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m)
{
	(void)p;
	(void)h;
	(void)m;
	return 0;
}

static void grant_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m)
{
	(void)x;
	(void)h;
	(void)m;
}

/* Section 6.1. A number without a row is an unknown type. */
static const struct v2_type types[] = {
	[V2_ERROR] = {V2_ERROR, V2_IS_CONTROL | V2_IS_ANYWHERE, "error", v2_error_decode,
		      v2_error_encode},
	[V2_GRANT] = {V2_GRANT, V2_IS_CONTROL | V2_IS_ANYWHERE, "grant", grant_decode,
		      grant_encode},
	[V2_CONNPROP_MIDDLE] = {V2_CONNPROP_MIDDLE, V2_IS_CONTROL | V2_IS_MIDDLE | V2_IS_CONNPROP,
				"connprop_middle", v2_connprop_decode, v2_connprop_encode},
	[V2_CONNPROP_FINAL] = {V2_CONNPROP_FINAL, V2_IS_CONTROL | V2_IS_CONNPROP, "connprop_final",
			       v2_connprop_decode, v2_connprop_encode},
	[V2_CALL_EXTERNAL] = {V2_CALL_EXTERNAL, V2_IS_CALL, "call_external",
			      v2_call_external_decode, v2_call_external_encode},
	[V2_CALL_MIDDLE] = {V2_CALL_MIDDLE, V2_IS_CALL | V2_HAS_PAYLOAD | V2_IS_MIDDLE,
			    "call_middle", v2_middle_decode, v2_middle_encode},
	[V2_CALL_INLINE] = {V2_CALL_INLINE, V2_IS_CALL | V2_HAS_PAYLOAD, "call_inline",
			    v2_call_inline_decode, v2_call_inline_encode},
	[V2_REPLY_EXTERNAL] = {V2_REPLY_EXTERNAL, V2_IS_REPLY, "reply_external",
			       v2_reply_external_decode, v2_reply_external_encode},
	[V2_REPLY_MIDDLE] = {V2_REPLY_MIDDLE, V2_IS_REPLY | V2_HAS_PAYLOAD | V2_IS_MIDDLE,
			     "reply_middle", v2_middle_decode, v2_middle_encode},
	[V2_REPLY_INLINE] = {V2_REPLY_INLINE, V2_IS_REPLY | V2_HAS_PAYLOAD, "reply_inline",
			     v2_reply_inline_decode, v2_reply_inline_encode},
};

static const struct v2_type rtr_types[] = {
	{V2_RTR_REQUEST, V2_IS_CALL | V2_IS_RTR | V2_IS_TRANSMIT, "rtr_request",
	 v2_rtr_transmit_decode, v2_rtr_encode},
	{V2_RTR_RESPONSE, V2_IS_REPLY | V2_IS_RTR | V2_IS_TRANSMIT, "rtr_response",
	 v2_rtr_transmit_decode, v2_rtr_encode},
	{V2_RTR_CONTINUE, V2_IS_CONTROL | V2_IS_RTR | V2_IS_TRANSMIT, "rtr_continue",
	 v2_rtr_control_decode, v2_rtr_encode},
	{V2_RTR_REPORT, V2_IS_CONTROL | V2_IS_RTR | V2_IS_ANYWHERE, "rtr_report",
	 v2_rtr_control_decode, v2_rtr_encode},
};

static const struct v2_type *rtr_type_find(uint32_t htype)
{
	for (unsigned i = 0; i < sizeof(rtr_types) / sizeof(rtr_types[0]); i++)
		if (rtr_types[i].htype == htype)
			return &rtr_types[i];
	return NULL;
}

const struct v2_type *v2_type_find(uint32_t htype)
{
	if (htype >> 16 == RTR_HEADER_TYPES >> 16)
		return rtr_type_find(htype);
	if (htype >= sizeof(types) / sizeof(types[0]) || !types[htype].name)
		return NULL;
	return &types[htype];
}
