/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_SAMPLE_H
#define TOOLS_CTL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

/** sample - the gateway's counters at one moment. The difference of two samples shows what happened
 * between them. */
enum sample_step { SAMPLE_CALL, SAMPLE_RESPONDER, SAMPLE_REPLY, SAMPLE_STEPS };

enum { SAMPLE_TEXT = 80, SAMPLE_BUCKETS = 32 };

struct sample_latency {
	uint64_t count, sum_ns, buckets[SAMPLE_BUCKETS];
};

struct sample_route {
	char name[SAMPLE_TEXT];
	uint64_t sessions, calls, to_server, to_client, errors;
	uint64_t servers_up, servers_down;
	struct sample_latency steps[SAMPLE_STEPS];
};

struct sample_session {
	uint64_t id, calls, bytes, in_flight, memory;
	double calls_rate, bytes_rate; /* calls and octets per second; set by top_view() */
	char route[SAMPLE_TEXT], client[SAMPLE_TEXT], versions[SAMPLE_TEXT], name[SAMPLE_TEXT];
};

struct sample {
	uint64_t at_ns;
	char version[SAMPLE_TEXT], state[SAMPLE_TEXT];
	double uptime_s;
	uint64_t sessions, max_sessions, memory, memory_limit, resident, refused;
	struct sample_route *routes;
	struct sample_session *list; /* sorted by session number */
	size_t nroutes, nlist;
	bool is_short; /* memory was short, so the sample is incomplete */
};

/** sample_take - add one line of an answer: "status", "route" or "session". */
void sample_take(struct sample *s, const char *name, struct json_object *value);

/** sample_end - the sample is complete, at @at_ns. */
void sample_end(struct sample *s, uint64_t at_ns);

/** sample_sort - sort the sessions by number again, as sample_session_of() needs them. */
void sample_sort(struct sample *s);

/** sample_route_of, sample_session_of - the same route or session in @before; NULL: absent. */
const struct sample_route *sample_route_of(const struct sample *before, const char *name);
const struct sample_session *sample_session_of(const struct sample *before, uint64_t id);

/** sample_mean - mean time between @before, which may be NULL, and @now, in ns; 0: no events. */
uint64_t sample_mean(const struct sample_latency *now, const struct sample_latency *before);

/** sample_p99 - upper bound of the bucket below which 99 of 100 events between @before and @now
 * are, in ns. */
uint64_t sample_p99(const struct sample_latency *now, const struct sample_latency *before);

/** sample_free - free the lists; the sample may be used again. */
void sample_free(struct sample *s);

#endif
