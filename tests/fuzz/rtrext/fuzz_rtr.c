/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "rtrext/group.h"
#include "tests/fuzz/v1/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_structure(struct view in)
{
	struct rtr_structure s, again;
	struct rtr_target t;
	uint8_t out[8 + 16 * RTR_MAX_GROUPS];
	struct xdr_out x;

	if (rtr_structure_decode(&s, in) != 0)
		return;
	CHECK(s.targets == 0 || rtr_structure_target(&s, s.targets - 1, &t));
	CHECK(!s.targets || (uint64_t)t.offset + t.length <= s.bytes);
	CHECK(!rtr_structure_target(&s, s.targets, &t));
	CHECK(rtr_structure_free(&s, s.bytes) == s.targets);
	xdr_out_init(&x, out, sizeof(out));
	rtr_structure_encode(&s, &x);
	CHECK(!x.failed);
	CHECK(rtr_structure_decode(&again, view_of(out, xdr_out_len(&x))) == 0);
	CHECK(again.bytes == s.bytes && again.targets == s.targets);
}

static void check_place(const struct rtr_msg *m, const struct rtr_place *p, bool is_direction)
{
	bool numbered = p->type == RTR_TBSN && !is_direction;

	CHECK(p->count == 0 || p->first + p->count <= (numbered ? m->nnumbers : m->nsegs));
}

/* Against a structure that has as many segments as a hostile peer could want. */
static void check_items(const struct rtr_msg *m)
{
	static const struct rtr_structure own = {
		.bytes = 4096 + (1 << 20),
		.targets = 256,
		.groups = {{1, 4096, 1, 0}, {256, 4096, 4096, RTR_TARGETABLE}},
		.ngroups = 2};
	struct rtr_fault fault;

	if (rtr_check_items(m, &own, &fault) != 0)
		return;
	for (unsigned i = 0; i < m->nitems; i++)
		for (unsigned k = 0;
		     m->items[i].place.type == RTR_TBSN && k < m->items[i].place.count; k++)
			CHECK(m->numbers[m->items[i].place.first + k] <
			      (uint64_t)own.targets * m->count);
	for (uint32_t t = 0; t < 3; t++)
		if (rtr_check_taken(m, &own, t, 4096, own.bytes, &fault) != 0)
			abort();
}

static void fuzz_message(enum rtr_op op, struct view in)
{
	static struct rtr_msg m, again;
	static uint8_t out[65536], second[65536];
	struct xdr_in x;
	struct xdr_out o;
	size_t len;

	xdr_in_init(&x, in);
	if (rtr_decode(&m, op, &x) != 0)
		return;
	CHECK(m.nitems <= RTR_MAX_ITEMS && m.nwishes <= RTR_MAX_ITEMS && m.nsets <= RTR_MAX_SETS);
	for (unsigned i = 0; i < m.nitems; i++)
		check_place(&m, &m.items[i].place, false);
	for (unsigned i = 0; i < m.nwishes; i++)
		check_place(&m, &m.wishes[i].place, true);
	len = in.len - xdr_in_left(&x);
	CHECK(rtr_len(&m) == len && len <= sizeof(out));
	xdr_out_init(&o, out, sizeof(out));
	rtr_encode(&m, &o);
	CHECK(!o.failed && xdr_out_len(&o) == len && memcmp(out, in.data, len) == 0);
	xdr_in_init(&x, view_of(out, len));
	CHECK(rtr_decode(&again, op, &x) == 0);
	xdr_out_init(&o, second, sizeof(second));
	rtr_encode(&again, &o);
	CHECK(xdr_out_len(&o) == len && memcmp(out, second, len) == 0);
	if (op == RTR_REQUEST || op == RTR_RESPONSE)
		check_items(&m);
	(void)!rtr_check_response(&m, &again);
}

/* Input: one octet, the kind of message or something else, and a message of that kind, or a structure. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] >= RTR_REQUEST && data[0] <= RTR_REPORT)
		fuzz_message((enum rtr_op)data[0], view_of(data + 1, size - 1));
	else
		fuzz_structure(view_of(data + 1, size - 1));
	return 0;
}
