/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "base/mem.h"
#include "tools/ctl/show.h"

enum { STEP_FIRST = 16, SHIFT = 17 /* the first bucket holds times up to 2^17 ns */ };

static struct json_object *member(struct json_object *o, const char *name)
{
	struct json_object *value = NULL;

	(void)json_object_object_get_ex(o, name, &value);
	return value;
}

/* Append one zeroed element of @size octets to @n elements. Return: the element, or NULL. */
static void *grow(void **list, size_t n, size_t size)
{
	void *more = *list;

	if (n % STEP_FIRST == 0 && (n & (n - 1)) == 0) {
		more = mem_zalloc((n ? 2 * n : STEP_FIRST) * size);
		if (!more)
			return NULL;
		if (n)
			memcpy(more, *list, n * size);
		mem_free(*list);
		*list = more;
	}
	return (char *)more + n * size;
}

static uint64_t sum_of(struct json_object *o)
{
	uint64_t sum = 0;

	if (json_object_is_type(o, json_type_object)) {
		json_object_object_foreach(o, name, value)
		{
			(void)name;
			sum += json_object_get_uint64(value);
		}
	}
	return sum;
}

static void take_status(struct sample *s, struct json_object *o)
{
	(void)show_text(o, "version", s->version, SAMPLE_TEXT);
	(void)show_text(o, "state", s->state, SAMPLE_TEXT);
	s->uptime_s = json_object_get_double(member(o, "uptime_s"));
	s->sessions = show_number(o, "sessions");
	s->max_sessions = show_number(o, "max_sessions");
	s->memory = show_number(member(o, "memory"), "used_bytes");
	s->memory_limit = show_number(member(o, "memory"), "total_bytes");
	s->resident = show_number(member(o, "process"), "resident_bytes");
	s->refused = sum_of(member(o, "refused"));
}

static void add_latency(struct sample_latency *l, struct json_object *o)
{
	struct json_object *list = member(o, "buckets");

	l->count += show_number(o, "count");
	l->sum_ns += show_number(o, "sum_ns");
	for (size_t i = 0; json_object_is_type(list, json_type_array) && i < SAMPLE_BUCKETS &&
			   i < json_object_array_length(list);
	     i++)
		l->buckets[i] += json_object_get_uint64(json_object_array_get_idx(list, i));
}

static void take_latencies(struct sample_route *r, struct json_object *list)
{
	static const char *const names[SAMPLE_STEPS] = {"call", "responder", "reply"};
	char step[SAMPLE_TEXT];

	if (!json_object_is_type(list, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		(void)show_text(o, "step", step, sizeof(step));
		for (unsigned n = 0; n < SAMPLE_STEPS; n++)
			if (strcmp(step, names[n]) == 0)
				add_latency(&r->steps[n], o);
	}
}

static void take_route(struct sample *s, struct json_object *o)
{
	struct sample_route *r = grow((void **)&s->routes, s->nroutes, sizeof(*r));
	struct json_object *counters = member(o, "counters");

	s->is_short |= !r;
	if (!r)
		return;
	s->nroutes++;
	(void)show_text(o, "name", r->name, SAMPLE_TEXT);
	r->sessions = show_number(o, "sessions");
	r->calls = show_number(counters, "calls") + show_number(counters, "rcalls");
	r->to_server = show_number(counters, "bytes_to_server");
	r->to_client = show_number(counters, "bytes_to_client");
	r->errors = show_number(counters, "errors_to_requester");
	r->servers_up = show_number(member(o, "upstreams"), "servers_up");
	r->servers_down = show_number(member(o, "upstreams"), "servers_down");
	take_latencies(r, member(o, "latency"));
}

static void take_session(struct sample *s, struct json_object *o)
{
	struct sample_session *one = grow((void **)&s->list, s->nlist, sizeof(*one));
	struct json_object *client = member(o, "client");
	char version[2][16];

	s->is_short |= !one;
	if (!one)
		return;
	s->nlist++;
	one->id = show_number(o, "id");
	one->calls = show_number(client, "calls") + show_number(client, "rcalls");
	one->bytes = show_number(client, "bytes_in") + show_number(client, "bytes_out");
	one->in_flight = show_number(o, "in_flight") + show_number(o, "waiting");
	one->memory = show_number(o, "fixed_bytes") + show_number(o, "call_bytes");
	(void)show_text(o, "route", one->route, SAMPLE_TEXT);
	(void)show_text(client, "peer", one->client, SAMPLE_TEXT);
	(void)show_text(client, "name", one->name, SAMPLE_TEXT);
	snprintf(one->versions, SAMPLE_TEXT, "%s-%s", show_text(client, "version", version[0], 16),
		 show_text(member(o, "server"), "version", version[1], 16));
}

void sample_take(struct sample *s, const char *name, struct json_object *value)
{
	if (strcmp(name, "status") == 0)
		take_status(s, value);
	else if (strcmp(name, "route") == 0)
		take_route(s, value);
	else if (strcmp(name, "session") == 0)
		take_session(s, value);
}

static int by_id(const void *a, const void *b)
{
	uint64_t one = ((const struct sample_session *)a)->id;
	uint64_t other = ((const struct sample_session *)b)->id;

	return one < other ? -1 : one > other;
}

void sample_sort(struct sample *s)
{
	if (s->nlist)
		qsort(s->list, s->nlist, sizeof(s->list[0]), by_id);
}

void sample_end(struct sample *s, uint64_t at_ns)
{
	s->at_ns = at_ns;
	sample_sort(s);
}

const struct sample_route *sample_route_of(const struct sample *before, const char *name)
{
	for (size_t i = 0; i < before->nroutes; i++)
		if (strcmp(before->routes[i].name, name) == 0)
			return &before->routes[i];
	return NULL;
}

const struct sample_session *sample_session_of(const struct sample *before, uint64_t id)
{
	const struct sample_session key = {.id = id};

	return before->nlist ? bsearch(&key, before->list, before->nlist, sizeof(key), by_id)
			     : NULL;
}

/* Difference of two counters. The counters of a replaced route may start again from 0. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

uint64_t sample_mean(const struct sample_latency *now, const struct sample_latency *before)
{
	uint64_t n = since(now->count, before ? before->count : 0);

	return n ? since(now->sum_ns, before ? before->sum_ns : 0) / n : 0;
}

uint64_t sample_p99(const struct sample_latency *now, const struct sample_latency *before)
{
	uint64_t n = since(now->count, before ? before->count : 0), left = n / 100;

	for (unsigned i = SAMPLE_BUCKETS; n > 0 && i-- > 0;) {
		uint64_t here = since(now->buckets[i], before ? before->buckets[i] : 0);

		if (here > left)
			return (uint64_t)1 << (SHIFT + i);
		left -= here;
	}
	return 0;
}

void sample_free(struct sample *s)
{
	mem_free(s->routes);
	mem_free(s->list);
	*s = (struct sample){.at_ns = 0};
}
