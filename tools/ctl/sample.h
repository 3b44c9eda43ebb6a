/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_SAMPLE_H
#define TOOLS_CTL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

/** sample - what the gateway has counted at one moment: two of them tell what happens between. */
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
	double calls_rate, bytes_rate; /* a second: of who compares */
	char route[SAMPLE_TEXT], client[SAMPLE_TEXT], versions[SAMPLE_TEXT], name[SAMPLE_TEXT];
};

struct sample {
	uint64_t at_ns;
	char version[SAMPLE_TEXT], state[SAMPLE_TEXT];
	double uptime_s;
	uint64_t sessions, max_sessions, memory, memory_limit, resident, refused;
	struct sample_route *routes;
	struct sample_session *list; /* by number */
	size_t nroutes, nlist;
	bool is_short; /* memory was: it is not whole */
};

/** sample_take - one line of an answer: "status", "route" or "session". */
void sample_take(struct sample *s, const char *name, struct json_object *value);

/** sample_end - all lines were taken at @at_ns. */
void sample_end(struct sample *s, uint64_t at_ns);

/** sample_sort - its sessions are by number again, as sample_session_of() needs them. */
void sample_sort(struct sample *s);

/** sample_route_of, sample_session_of - the same in @before; NULL: it was not there. */
const struct sample_route *sample_route_of(const struct sample *before, const char *name);
const struct sample_session *sample_session_of(const struct sample *before, uint64_t id);

/** sample_mean - of @now less @before, which may be NULL, ns; 0: there were none. */
uint64_t sample_mean(const struct sample_latency *now, const struct sample_latency *before);

/** sample_p99 - likewise the bound of the bucket that 99 of 100 are within. */
uint64_t sample_p99(const struct sample_latency *now, const struct sample_latency *before);

/** sample_free - its lists; it may be used anew. */
void sample_free(struct sample *s);

#endif
