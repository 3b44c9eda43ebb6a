/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_TO_JSON_TRACE_H
#define DAEMON_CONTROL_TO_JSON_TRACE_H

#include "proxy/trace_ring.h"

/** to_json_trace - records of traces, in JSON; each is owned by the caller, NULL without memory. */
struct json_object;

/** struct to_json_clock - one moment, as time of the relay's clock and as time of day, in ns. Times
 * of records are converted to times of day with it. */
struct to_json_clock {
	nsec_t relay, day;
};

/** to_json_rpc - the object of one finished RPC. */
struct json_object *to_json_rpc(const struct to_json_clock *c, const struct trace_rpc *r);

/** to_json_message - @octets are the first @len octets of the message. */
struct json_object *to_json_message(const struct to_json_clock *c, const struct trace_message *m,
				    const uint8_t *octets, size_t len);

#endif
