/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * Which clients would gain from version 2:
 * - Version 2 carries data of some KiB in messages. Version 1 needs RDMA Reads and Writes for them,
 *   each with registrations and a round trip.
 * - Small calls fit into messages of both versions. Large data goes by RDMA in both.
 * - So a version 1 client gains if a fair part of its calls moves data by RDMA that is not large.
 *
 * The gateway counts only replies with RDMA Writes, and octets. So the result is a rule of thumb.
 */
#include "tools/ctl/clients.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "base/err.h"
#include "base/mem.h"
#include "tools/ctl/show.h"

enum {
	TEXT = 128,
	FAIR_PART = 20, /* 1/FAIR_PART of the calls */
	MIDDLING = 128 << 10,
	BUCKETS = 1 << 14,
};

struct client {
	struct client *next; /* in its bucket */
	size_t number;	     /* clients that were added before it */
	char host[TEXT], name[TEXT], version[16];
	uint64_t takes; /* octets inline: the least of its sessions */
	uint64_t sessions, calls, written, bytes;
	uint64_t fixed_bytes, call_bytes; /* memory of the gateway that its sessions hold */
};

struct clients {
	struct client *buckets[BUCKETS];
	struct client **all; /* .room pointers, of which .n are used */
	size_t n, room;
};

struct clients *clients_new(void)
{
	return mem_zalloc(sizeof(struct clients));
}

static uint32_t hash(uint32_t so_far, const char *text)
{
	for (; *text; text++)
		so_far = (so_far ^ (uint8_t)*text) * UINT32_C(0x01000193);
	return so_far;
}

static struct client **bucket_of(struct clients *c, const struct client *like)
{
	uint32_t key =
		hash(hash(hash(UINT32_C(0x811c9dc5), like->host), like->name), like->version);

	return &c->buckets[(key ^ key >> 16) % BUCKETS];
}

static struct client *find(struct client *first, const struct client *like)
{
	for (struct client *one = first; one; one = one->next)
		if (strcmp(one->host, like->host) == 0 && strcmp(one->name, like->name) == 0 &&
		    strcmp(one->version, like->version) == 0)
			return one;
	return NULL;
}

/* Return: a copy of @like, in @bucket; NULL without memory. */
static struct client *add(struct clients *c, struct client **bucket, const struct client *like)
{
	struct client *one = mem_zalloc(sizeof(*one));

	if (one && c->n == c->room) {
		size_t room = 2 * c->room + 64;
		struct client **all = mem_zalloc(room * sizeof(struct client *));

		if (!all) {
			mem_free(one);
			return NULL;
		}
		if (c->n)
			memcpy(all, c->all, c->n * sizeof(struct client *));
		mem_free(c->all);
		c->all = all;
		c->room = room;
	}
	if (!one)
		return NULL;
	*one = *like;
	one->number = c->n;
	one->next = *bucket;
	*bucket = one;
	c->all[c->n++] = one;
	return one;
}

int clients_add(struct clients *c, struct json_object *session)
{
	struct json_object *leg = NULL;
	struct client like = {0}, **bucket, *one;
	uint64_t takes;

	(void)json_object_object_get_ex(session, "client", &leg);
	show_text(session, "client_host", like.host, sizeof(like.host));
	show_text(leg, "name", like.name, sizeof(like.name));
	show_text(leg, "version", like.version, sizeof(like.version));
	takes = show_number(leg, "inline_recv");
	like.takes = takes;
	bucket = bucket_of(c, &like);
	one = find(*bucket, &like);
	if (!one)
		one = add(c, bucket, &like);
	if (!one)
		return ERR_NOMEM;
	one->sessions++;
	one->takes = takes < one->takes ? takes : one->takes;
	one->calls += show_number(leg, "calls");
	one->written += show_number(leg, "written");
	one->bytes += show_number(leg, "bytes_in") + show_number(leg, "bytes_out");
	one->fixed_bytes += show_number(session, "fixed_bytes");
	one->call_bytes += show_number(session, "call_bytes");
	return 0;
}

static uint64_t memory_of(const struct client *c)
{
	return c->fixed_bytes + c->call_bytes;
}

/* Clients that hold most memory first; clients that hold the same keep their order. */
static int by_memory(const void *left, const void *right)
{
	const struct client *a = *(struct client *const *)left, *b = *(struct client *const *)right;
	uint64_t x = memory_of(a), y = memory_of(b);

	if (x != y)
		return x < y ? 1 : -1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Whether version 2 would help, in one word; @words: why. */
static const char *would_help(const struct client *c, const char **words)
{
	if (strcmp(c->version, "1") != 0) {
		*words = c->version[0] == '-' ? "it has sent no message yet"
			 : strcmp(c->version, "2-early") == 0
				 ? "it speaks an early draft of version 2"
				 : "it speaks version 2 already";
		return c->version[0] == '-' ? "unknown" : "speaks";
	}
	if (c->calls == 0) {
		*words = "it has made no call yet";
		return "unknown";
	}
	if (c->written < c->calls / FAIR_PART + 1) {
		*words = "nearly all of its replies fit its messages";
		return "little";
	}
	if (c->bytes / c->written > MIDDLING) {
		*words = "its data is large, and goes by RDMA in both versions";
		return "little";
	}
	*words = "replies of some KiB come by RDMA, and would fit messages of version 2";
	return "yes";
}

static void show_json(const struct client *c, FILE *to)
{
	struct json_object *line = json_object_new_object(), *o = json_object_new_object();
	const char *words, *help = would_help(c, &words);

	if (!line || !o)
		return;
	json_object_object_add(line, "client", o);
	json_object_object_add(o, "host", json_object_new_string(c->host));
	json_object_object_add(o, "name", json_object_new_string(c->name));
	json_object_object_add(o, "version", json_object_new_string(c->version));
	json_object_object_add(o, "inline_recv", json_object_new_uint64(c->takes));
	json_object_object_add(o, "sessions", json_object_new_uint64(c->sessions));
	json_object_object_add(o, "calls", json_object_new_uint64(c->calls));
	json_object_object_add(o, "written", json_object_new_uint64(c->written));
	json_object_object_add(o, "bytes", json_object_new_uint64(c->bytes));
	json_object_object_add(o, "fixed_bytes", json_object_new_uint64(c->fixed_bytes));
	json_object_object_add(o, "call_bytes", json_object_new_uint64(c->call_bytes));
	json_object_object_add(o, "version_2", json_object_new_string(help));
	fprintf(to, "%s\n",
		json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(line);
}

static void show_row(const struct client *c, FILE *to)
{
	const char *words, *help = would_help(c, &words);
	char bytes[16], memory[16];

	fprintf(to,
		"%-28s %-7s %7" PRIu64 " %8" PRIu64 " %7s %10" PRIu64 " %8s %9" PRIu64
		"  %-8s %s; %s\n",
		c->host, c->version, c->takes, c->sessions, show_size(memory_of(c), memory),
		c->calls, show_size(c->bytes, bytes), c->written, help, c->name, words);
}

void clients_show(struct clients *c, FILE *to, bool json)
{
	if (c->n)
		qsort(c->all, c->n, sizeof(struct client *), by_memory);
	if (!json)
		fprintf(to, "%-28s %-7s %7s %8s %7s %10s %8s %9s  %-8s %s\n", "CLIENT", "VERSION",
			"INLINE", "SESSIONS", "MEMORY", "CALLS", "DATA", "BY RDMA", "V2 HELPS",
			"NAME; WHY");
	for (size_t i = 0; i < c->n; i++) {
		if (json)
			show_json(c->all[i], to);
		else
			show_row(c->all[i], to);
	}
	if (json)
		fputs("{\"done\":{}}\n", to);
}

void clients_free(struct clients *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		mem_free(c->all[i]);
	mem_free(c->all);
	mem_free(c);
}
