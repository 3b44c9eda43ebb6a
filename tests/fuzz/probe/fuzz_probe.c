/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that a peer may send to rpcrdma-probe, each after two octets of length. The first octet
 * chooses the step that waits for them. There is no connection: the messages are in the queue, and
 * then the connection has ended.
 */
#include <string.h>

#include "base/mem.h"
#include "tools/probe/listen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void flush(struct fabric *f)
{
	(void)f;
}

static int poll_nothing(struct fabric *f, struct fabric_event *ev)
{
	(void)f;
	(void)ev;
	return 0;
}

static nsec_t now(void *arg)
{
	(void)arg;
	return 1;
}

static const struct fabric_ops ops = {.flush = flush, .poll = poll_nothing};
static struct fabric fabric = {.ops = &ops};
static const struct probe_env env = {.fabric = &fabric, .now = now};
static const struct probe_options options = {.versions = 1 << 1 | 1 << 2 | 1 << OPTIONS_EARLY,
					     .timeout = 1,
					     .programs = {{100003, 3}},
					     .nprograms = 1};

/* Fills @w with what @data holds; each octet string is its own allocation, so that
 * a read beyond its end is seen. */
static void fill(struct wire *w, const uint8_t *data, size_t size, uint8_t *owned[WIRE_RECVS])
{
	while (size >= 2 && w->count < WIRE_RECVS) {
		size_t len = (size_t)data[0] << 8 | data[1];

		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		owned[w->count] = mem_zalloc(len + (len == 0));
		if (!owned[w->count])
			return;
		if (len > 0)
			memcpy(owned[w->count], data, len);
		w->queue[w->count] = (struct wire_msg){.octets = view_of(owned[w->count], len)};
		w->observe(w->trace_arg, &w->queue[w->count]);
		w->count++;
		data += len;
		size -= len;
	}
}

static void expect(uint8_t who, const uint8_t *data, size_t size, uint8_t *owned[WIRE_RECVS])
{
	static struct run r;
	static uint8_t assembly[RUN_REPLY_MAX], chunk_memory[64];
	static struct facts facts;

	r = (struct run){.o = &options, .env = &env, .assembly = assembly, .facts = &facts};
	r.w = (struct wire){
		.env = &env, .state = WIRE_ENDED, .observe = watch_observe, .trace_arg = &r};
	watch_begin(&r);
	r.version = who & 1 ? 2 : who & 16 ? RUN_EARLY : 1;
	if (who & 2) {
		call_begin(&r);
		r.call.has_reply = true;
		r.call.reply.length = sizeof(chunk_memory);
		r.reply_chunk = chunk_memory;
	}
	fill(&r.w, data, size, owned);
	if (who & 4)
		(void)v2_negotiated(&r);
	while (r.w.count > 0) {
		if (who & 8)
			(void)(r.version == 1 ? expect_v1_error(&r, 0, 0)
					      : expect_v2_error(&r, 0, 0, 0));
		else
			(void)expect_reply(&r, 0);
	}
}

static void grade(uint8_t who, const uint8_t *data, size_t size, uint8_t *owned[WIRE_RECVS])
{
	static struct listener l;

	l = (struct listener){.o = &options, .env = &env, .connections = 1};
	l.w = (struct wire){
		.env = &env, .state = WIRE_ENDED, .observe = grade_observe, .trace_arg = &l};
	l.version = who >> 4 & 3;
	l.answered = who & 2;
	l.refused = who & 4;
	fill(&l.w, data, size, owned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *owned[WIRE_RECVS] = {0};

	if (size < 1)
		return 0;
	if (data[0] & 0x80)
		grade(data[0], data + 1, size - 1, owned);
	else
		expect(data[0], data + 1, size - 1, owned);
	for (unsigned i = 0; i < WIRE_RECVS; i++)
		mem_free(owned[i]);
	return 0;
}
