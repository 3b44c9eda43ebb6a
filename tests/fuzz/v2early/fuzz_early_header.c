/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "tests/fuzz/v1/check.h"
#include "v2early/header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_chunk(const struct rpc_msg *m, const struct rpc_chunk *c)
{
	uint64_t length = 0;

	CHECK(c->count == 0 || c->first + c->count <= m->nsegs);
	for (unsigned i = 0; i < c->count; i++)
		length += m->segs[c->first + i].length;
	CHECK(length == c->length);
}

static void check_msg(const struct rpc_msg *m, const uint8_t *data, size_t size)
{
	CHECK(m->nsegs <= RPC_MAX_SEGMENTS);
	CHECK(m->nreads <= RPC_MAX_CHUNKS && m->nwrites <= RPC_MAX_CHUNKS);
	CHECK(m->has_body_chunk == (m->nbody == 0));
	if (m->has_body_chunk)
		check_chunk(m, &m->body_chunk);
	for (unsigned i = 0; i < m->nreads; i++) {
		check_chunk(m, &m->reads[i]);
		CHECK(m->reads[i].position % 4 == 0 && m->reads[i].count > 0);
		CHECK(i == 0 || m->reads[i].position > m->reads[i - 1].position);
	}
	for (unsigned i = 0; i < m->nwrites; i++)
		check_chunk(m, &m->writes[i]);
	if (m->has_reply)
		check_chunk(m, &m->reply);
	for (unsigned i = 0; i < m->nbody; i++)
		CHECK(m->body[i].data >= data && m->body[i].data + m->body[i].len <= data + size);
}

static void check_option(const struct early_header *h, const uint8_t *data, size_t size)
{
	uint8_t *out;
	int len;

	CHECK(h->payload.data >= data && h->payload.data + h->payload.len == data + size);
	CHECK(h->optinfo.data >= data && h->optinfo.data + h->optinfo.len <= h->payload.data);
	out = malloc(size);
	CHECK(out);
	len = early_optional_encode(h, out, size);
	CHECK(len > 0 && (size_t)len == size - h->payload.len);
	CHECK(memcmp(out, data, EARLY_OPTIONAL_BYTES + h->optinfo.len) == 0);
	free(out);
}

static void check_round_trip(const struct rpc_msg *m, const struct early_header *h)
{
	static uint8_t first[65536], second[65536];
	static struct rpc_msg again;
	struct early_header h2;
	enum rpc_dir dir = RPC_CALL;
	size_t len, len2;

	if (rpc_msg_body_len(m) > 32768)
		return;
	CHECK(early_header_encode(m, h->credit, first, sizeof(first) - 32768, &len) == 0);
	CHECK(len == early_header_len(m));
	if (m->nbody)
		memcpy(first + len, m->body[0].data, m->body[0].len);
	CHECK(early_header_decode(&h2, &again, &dir, view_of(first, len + rpc_msg_body_len(m))) ==
	      0);
	CHECK(again.dir == m->dir && dir == m->dir && h2.credit == h->credit &&
	      again.xid == m->xid);
	CHECK(early_header_encode(&again, h2.credit, second, sizeof(second), &len2) == 0);
	CHECK(len2 == len && memcmp(first, second, len) == 0);
}

/* Input: one received message. What decodes holds together, and what is encoded from it
 * decodes and encodes to the same octets. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rpc_msg m;
	struct early_header h;
	enum rpc_dir dir = RPC_REPLY;

	(void)early_is_first(view_of(data, size));
	if (early_header_decode(&h, &m, &dir, view_of(data, size)) != 0 || h.proc == EARLY_ERROR)
		return 0;
	CHECK(early_is_first(view_of(data, size)));
	if (h.proc == EARLY_OPTIONAL) {
		CHECK(h.optdir == dir);
		check_option(&h, data, size);
		return 0;
	}
	CHECK(m.dir == dir);
	check_msg(&m, data, size);
	check_round_trip(&m, &h);
	return 0;
}
