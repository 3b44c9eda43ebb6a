/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_TELL_TRACE_H
#define DAEMON_CONTROL_TELL_TRACE_H

#include "proxy/trace_ring.h"

/** tell_trace - records of traces, in JSON; each is owned by the caller, NULL without memory. */
struct json_object;

/** struct tell_clock - one moment on the relay's clock and as time of day, ns, to convert times of
 * records. */
struct tell_clock {
	nsec_t relay, day;
};

/** tell_rpc - the object of one finished RPC. */
struct json_object *tell_rpc(const struct tell_clock *c, const struct trace_rpc *r);

/** tell_message - @octets are the first @len octets of the message. */
struct json_object *tell_message(const struct tell_clock *c, const struct trace_message *m,
				 const uint8_t *octets, size_t len);

#endif
