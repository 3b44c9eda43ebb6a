/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "tests/fuzz/v1/check.h"
#include "v1/header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_chunk(const struct rpc_msg *m, const struct rpc_chunk *c)
{
	uint64_t length = 0;

	CHECK(c->count == 0 || c->first + c->count <= m->nsegs);
	for (unsigned i = 0; i < c->count; i++)
		length += m->segs[c->first + i].length;
	CHECK(length == c->length);
}

static void check(const struct rpc_msg *m, const uint8_t *data, size_t size)
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

/* Input: one received message. What decodes holds together, and what is encoded from it
 * decodes and encodes to the same octets. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t first[65536], second[65536];
	static struct rpc_msg m, again;
	struct v1_header h, h2;
	size_t len, len2;
	bool dir_known;

	if (v1_header_decode(&h, &m, &dir_known, view_of(data, size)) != 0 || h.proc > V1_MSGP)
		return 0;
	CHECK(dir_known);
	check(&m, data, size);
	if (rpc_msg_body_len(&m) > 32768)
		return 0;
	CHECK(v1_header_encode(&m, h.credit, first, sizeof(first) - 32768, &len) == 0);
	CHECK(len == v1_header_len(&m));
	if (m.nbody)
		memcpy(first + len, m.body[0].data, m.body[0].len);
	CHECK(v1_header_decode(&h2, &again, &dir_known,
			       view_of(first, len + rpc_msg_body_len(&m))) == 0);
	CHECK(again.dir == m.dir && h2.credit == h.credit && again.xid == m.xid);
	CHECK(v1_header_encode(&again, h2.credit, second, sizeof(second), &len2) == 0);
	CHECK(len2 == len && memcmp(first, second, len) == 0);
	return 0;
}
