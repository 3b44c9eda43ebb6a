/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_GSS_ORDER_H
#define PROXY_GSS_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct rpc_msg;

/** gss_order - how many calls of an RPCSEC_GSS context may pass calls that wait */

/* A hash value of its handle stands for a context. Contexts with the same value count as
 * one. */
enum { GSS_ORDER_SLOTS = 16 };

/** struct gss_order - for one queue of calls; zero-initialise. */
struct gss_order {
	uint8_t passed[GSS_ORDER_SLOTS]; /* calls that passed others in this period */
	/* Slots of the calls that had to wait in this period, and in the period before: bit masks. */
	uint16_t waits, waited;
	/* Calls that were deferred, calls that were taken from the deferred ones, and the last of
	 * them that was deferred when this period began. */
	uint64_t deferred, taken, last;
};

/** gss_order_may_pass - whether @call may pass calls that wait; if so, it is counted. */
bool gss_order_may_pass(struct gss_order *o, const struct rpc_msg *call);

/** gss_order_none_waits - no call waits. */
void gss_order_none_waits(struct gss_order *o);

/** gss_order_waits - @call has to wait. */
void gss_order_waits(struct gss_order *o, const struct rpc_msg *call);

/** gss_order_deferred - gss_order_waits(), and @call is deferred. */
void gss_order_deferred(struct gss_order *o, const struct rpc_msg *call);

/** gss_order_taken - the first of the deferred calls was taken: all calls before it have begun. */
void gss_order_taken(struct gss_order *o);

#endif
