/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

/* Posting, with a record of each operation. */

/* The record of an operation about to be posted. */
static struct op *next_op(struct side *s, enum fabric_ev_type type, uint32_t len)
{
	struct op *op = &s->ops[s->nops];

	assert_true(s->nops < CONTRACT_OPS);
	*op = (struct op){.type = type, .len = len};
	return op;
}

static int posted(struct side *s, int err)
{
	return err ? err : s->nops++;
}

int do_recv(struct side *s, size_t off, uint32_t len)
{
	struct op *op = next_op(s, FABRIC_EV_RECV, len);
	int n = posted(s, fabric_post_recv(s->conn, s->mem + off, len, op));

	fabric_flush(s->f); /* before the peer may count on it */
	return n;
}

int do_send_sge(struct side *s, const struct fabric_sge *sge, unsigned n, uint32_t handle)
{
	struct op *op = next_op(s, FABRIC_EV_SEND, 0);

	return posted(s, fabric_send(s->conn, sge, n, handle, op));
}

int do_send_inv(struct side *s, size_t off, uint32_t len, uint32_t handle)
{
	struct fabric_sge sge = {s->mem + off, len};

	return do_send_sge(s, &sge, 1, handle);
}

int do_send(struct side *s, size_t off, uint32_t len)
{
	return do_send_inv(s, off, len, 0);
}

int do_write_sge(struct side *s, const struct fabric_sge *sge, unsigned n, const struct segment *to)
{
	struct op *op = next_op(s, FABRIC_EV_WRITE, 0);

	return posted(s, fabric_write(s->conn, sge, n, to, op));
}

int do_write(struct side *s, size_t off, uint32_t len, const struct segment *to)
{
	struct fabric_sge sge = {s->mem + off, len};

	return do_write_sge(s, &sge, 1, to);
}

int do_read(struct side *s, size_t off, const struct segment *from)
{
	struct op *op = next_op(s, FABRIC_EV_READ, from->length);

	return posted(s, fabric_read(s->conn, s->mem + off, from, op));
}

int do_withdraw(struct side *s, uint32_t handle)
{
	struct op *op = next_op(s, FABRIC_EV_WITHDRAWN, 0);
	int err = fabric_withdraw(s->conn, handle, op, &s->written);

	op->withdrawn = handle;
	if (handle == s->streamed)
		s->streamed = s->nheld = 0;
	if (err > 0)
		return -1;
	return posted(s, err);
}

struct segment do_expose(struct side *s, size_t off, uint32_t len, unsigned access)
{
	struct segment seg;

	assert_int_equal(fabric_expose(s->conn, s->mem + off, len, access, &seg), 0);
	assert_int_equal(seg.length, len);
	assert_int_not_equal(seg.handle, 0);
	fabric_flush(s->f); /* in force no later than then */
	return seg;
}

struct segment do_stream(struct side *s, size_t off, uint32_t window, uint32_t len, size_t shadow)
{
	const struct fabric_piece memory = {s->mem + off, window};
	struct segment seg;

	assert_int_equal(fabric_stream(s->conn, &memory, len, &s->placed, &seg), 0);
	assert_int_equal(seg.length, len);
	assert_int_not_equal(seg.handle, 0);
	fabric_flush(s->f);
	s->streamed = seg.handle;
	s->stream_len = len;
	s->shadow = shadow;
	s->placed = s->nplaced = s->nheld = 0;
	return seg;
}

/* Memory that was given back may be changed without effect. */
void give_back(struct side *s)
{
	uint32_t len = s->held[0];

	assert_true(s->nheld > 0);
	s->nheld--;
	for (unsigned i = 0; i < s->nheld; i++) {
		s->held[i] = s->held[i + 1];
		s->held_at[i] = s->held_at[i + 1];
	}
	fabric_went_on(s->conn, s->streamed, len);
}
