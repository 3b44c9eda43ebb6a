/* SPDX-License-Identifier: BSD-2-Clause */
/* The header sizes of a version (rpc/traits.h), on which plans rely, are those that its codec
 * writes. */
#include "tests/proxy/plan_util.h"
#include "tests/rng.h"
#include "v1/header.h"
#include "v2/message.h"
#include "v2early/traits.h"
#include "v2early/header.h"

/* At least one segment in each chunk, so that none is left out. */
static struct rpc_chunk some(struct rng *r, struct rpc_msg *m)
{
	return chunk_of(m, 1 + rng_below(r, 4), 4096);
}

static void random_chunks(struct rng *r, struct rpc_msg *m, enum rpc_dir dir)
{
	rpc_msg_reset(m, 7, dir);
	for (unsigned n = dir == RPC_CALL ? rng_below(r, 3) : 0; n > 0; n--) {
		m->reads[m->nreads] = some(r, m);
		m->reads[m->nreads].position = 4 * (m->nreads + 1);
		m->nreads++;
	}
	for (unsigned n = rng_below(r, 3); n > 0; n--)
		m->writes[m->nwrites++] = some(r, m);
	m->has_reply = dir == RPC_CALL && rng_below(r, 2);
	if (m->has_reply)
		m->reply = some(r, m);
	m->has_body_chunk = rng_below(r, 2);
	if (m->has_body_chunk)
		m->body_chunk = some(r, m);
}

static size_t header_by(const struct rpc_traits *t, const struct rpc_msg *m)
{
	bool call = m->dir == RPC_CALL;
	size_t len = call ? t->call_header : t->reply_header;

	for (unsigned i = 0; i < m->nreads; i++)
		len += m->reads[i].count * t->read_segment;
	for (unsigned i = 0; i < m->nwrites; i++)
		len += t->write_chunk + m->writes[i].count * t->segment;
	if (m->has_reply)
		len += t->reply_chunk + m->reply.count * t->segment;
	if (m->has_body_chunk && call)
		len += t->call_chunk + m->body_chunk.count * t->read_segment;
	else if (m->has_body_chunk)
		len += t->reply_used + m->body_chunk.count * t->segment;
	return len;
}

static void a_header_is_as_long_as_they_say(void **state)
{
	struct rng r = rng_seeded("traits", 1);
	static struct rpc_msg m;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		random_chunks(&r, &m, rng_below(&r, 2) ? RPC_CALL : RPC_REPLY);
		assert_int_equal(v1_header_len(&m), header_by(&v1_traits, &m));
		assert_int_equal(v2_msg_header_len(&m), header_by(&v2_traits, &m));
		assert_int_equal(early_header_len(&m), header_by(&early_traits, &m));
	}
}

static void a_part_has_a_header_as_long_as_they_say(void **state)
{
	const struct v2_hdr h = {.vers = V2_VERSION, .htype = V2_REPLY_MIDDLE, .remaining = 4};
	static struct rpc_msg m;
	uint8_t octets[64];

	(void)state;
	rpc_msg_reset(&m, 7, RPC_REPLY);
	assert_int_equal(v2_encode(&h, &m, octets, sizeof(octets)), v2_traits.part_header);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_is_as_long_as_they_say),
		cmocka_unit_test(a_part_has_a_header_as_long_as_they_say),
	};

	return cmocka_run_group_tests_name("traits", tests, NULL, NULL);
}
