/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State:  a client's call waits for memory, for a place, or for a device. Calls without chunks of
 *         the same client pass it (txn_admit.c). Calls with RPCSEC_GSS have sequence numbers: each
 *         context numbers its calls in the order in which the client sends them.
 * Danger: the call has waited, and its number is behind the window of its context. The server drops
 *         such a call and sends no answer (RFC 2203 5.3.3.1). The client waits until its own time
 *         limit, 60 s in Linux, and then ends the connection. Windows have 32 numbers (ntirpc) to
 *         128 (Linux). The gateway does not see the window: a context may be set up over TCP.
 * Rule:   while calls of a context wait, GSS_MAY_PASS of its calls pass others in a period. Further
 *         calls of the context wait in their order. A period ends when all calls that
 *         waited at its beginning have begun. So a call waits in two periods at most, and at most
 *         16 calls of its context pass it. Calls of other contexts pass without limit, for example
 *         calls that renew a lease. If a call that waits is in a chunk, its context is not known.
 *         Then the rule holds for all contexts. While a call waits for a device
 *         (txn_device_busy.c), no period ends.
 * Pinned: tests/session/test_gss_window.c:a_call_that_waits_stays_in_its_window, decision 162.
 */
#include <string.h>

#include "proxy/gss_order.h"
#include "rpc/msg.h"
#include "xdr/cursor.h"

enum {
	GSS_MAY_PASS = 8,
	CALL_HEADER = 24, /* octets before the credential */
	/* RFC 5531 8.2, RFC 2203 5 */
	RPCSEC_GSS = 6,
	GSS_DATA = 0,
	MAX_AUTH_OCTETS = 400,
};

/* Find the slot of the context of @call. Return: false if the call has no sequence number. */
static bool slot_of(const struct rpc_msg *call, unsigned *slot)
{
	uint32_t hash = 2166136261; /* FNV-1a */
	struct xdr_in x, cred;
	struct view handle;

	if (call->nbody == 0)
		return false;
	xdr_in_init(&x, call->body[0]);
	xdr_skip(&x, CALL_HEADER);
	if (xdr_get_u32(&x) != RPCSEC_GSS)
		return false;
	xdr_in_init(&cred, xdr_get_opaque(&x, MAX_AUTH_OCTETS));
	xdr_skip(&cred, 4); /* version */
	if (xdr_get_u32(&cred) != GSS_DATA)
		return false;
	xdr_skip(&cred, 2 * 4); /* sequence number, service */
	handle = xdr_get_opaque(&cred, MAX_AUTH_OCTETS);
	for (size_t i = 0; i < handle.len; i++)
		hash = (hash ^ handle.data[i]) * 16777619;
	*slot = (hash ^ hash >> 16) % GSS_ORDER_SLOTS;
	return !x.failed && !cred.failed;
}

static void begin_period(struct gss_order *o)
{
	memset(o->passed, 0, sizeof(o->passed));
	o->waited = o->waits;
	o->waits = 0;
	o->last = o->deferred;
}

bool gss_order_is_behind(const struct gss_order *o, const struct rpc_msg *call)
{
	unsigned slot;

	return slot_of(call, &slot) && ((o->waits | o->waited) >> slot & 1);
}

bool gss_order_may_pass(struct gss_order *o, const struct rpc_msg *call)
{
	unsigned slot;

	if (!slot_of(call, &slot) || !((o->waits | o->waited) >> slot & 1))
		return true;
	if (o->passed[slot] >= GSS_MAY_PASS)
		return false;
	o->passed[slot]++;
	return true;
}

void gss_order_none_waits(struct gss_order *o)
{
	if (!(o->waits | o->waited)) /* the usual case */
		return;
	begin_period(o);
	o->waited = 0;
}

void gss_order_waits(struct gss_order *o, const struct rpc_msg *call)
{
	unsigned slot;

	if (call->nbody == 0)
		o->waits = UINT16_MAX;
	else if (slot_of(call, &slot))
		o->waits |= (uint16_t)(1u << slot);
}

void gss_order_deferred(struct gss_order *o, const struct rpc_msg *call)
{
	o->deferred++;
	gss_order_waits(o, call);
}

void gss_order_taken(struct gss_order *o, bool have_begun)
{
	if (++o->taken > o->last && have_begun)
		begin_period(o);
}
