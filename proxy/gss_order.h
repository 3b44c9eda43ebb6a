/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_GSS_ORDER_H
#define PROXY_GSS_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct rpc_msg;

/** gss_order - how many calls of an RPCSEC_GSS context may pass calls that wait */

/* A slot is a hash value of a context's handle. Contexts in the same slot count as one. */
enum { GSS_ORDER_SLOTS = 16 };

/** struct gss_order - for one queue of calls; zero-initialise. */
struct gss_order {
	uint8_t passed[GSS_ORDER_SLOTS]; /* calls that passed others in this period */
	/* Slots of the calls that had to wait in this period, and in the period before: bit
	 * masks. */
	uint16_t waits, waited;
	/* Numbers of calls: deferred so far; taken from the deferred ones so far; and .deferred at
	 * the beginning of this period. */
	uint64_t deferred, taken, last;
};

/** gss_order_may_pass - whether @call may pass calls that wait; if so, it is counted. */
bool gss_order_may_pass(struct gss_order *o, const struct rpc_msg *call);

/** gss_order_none_waits - to be called when no call waits: the period ends. */
void gss_order_none_waits(struct gss_order *o);

/** gss_order_waits - note that @call has to wait. */
void gss_order_waits(struct gss_order *o, const struct rpc_msg *call);

/** gss_order_deferred - as gss_order_waits(), for a call that is deferred. */
void gss_order_deferred(struct gss_order *o, const struct rpc_msg *call);

/** gss_order_is_behind - whether calls of the context of @call wait. */
bool gss_order_is_behind(const struct gss_order *o, const struct rpc_msg *call);

/** gss_order_taken - note that the first of the deferred calls was taken. @have_begun: all calls
 * before it have begun. */
void gss_order_taken(struct gss_order *o, bool have_begun);

#endif
