/* SPDX-License-Identifier: BSD-2-Clause */
/* Operation: a call that its user cannot take yet is deferred: the call stays as it came, in its
 * Receive or in a copy of the Receive, and is decoded again when its turn comes. So a waiting call
 * takes no memory but its own octets, and messages behind it, such as replies, are processed. A
 * continued call also keeps its reassembled body. */
#include <string.h>

#include "proxy/leg/leg_defer.h"
#include "proxy/leg/internal.h"
#include "proxy/leg/leg_reasm.h"
#include "proxy/leg/leg_conn.h"

/* Copy @rb. Return: the copy, which replaces the Receive; or @rb itself if there is no memory. */
static struct leg_rbuf *copy_out(struct leg *leg, struct leg_rbuf *rb, bool is_gathered)
{
	struct leg_rbuf *copy = NULL;

	/* Data that came with a call are not copied. */
	if (rb->len <= leg->cfg->inline_bytes && !is_gathered)
		copy = leg_alloc_nowait(leg, sizeof(*copy) + rb->len);

	if (!copy)
		return rb;
	*copy = (struct leg_rbuf){.data = (uint8_t *)(copy + 1),
				  .len = rb->len,
				  .reasm = rb->reasm,
				  .reasm_len = rb->reasm_len,
				  .copied = true};
	memcpy(copy->data, rb->data, rb->len);
	rb->reasm = NULL;
	leg_post_recv(leg, rb);
	return copy;
}

static void append(struct list *queue, struct leg_rbuf *rb, const struct leg_out *out)
{
	rb->reasm = out->held.reasm;
	rb->reasm_len = rb->reasm ? (uint32_t)out->msg->body[0].len : 0;
	if (out->msg->gathered)
		rb->reasm_len = out->msg->gathered;
	list_add_tail(queue, &rb->link);
}

void leg_defer(const struct leg_out *out, struct list *queue)
{
	append(queue, out->held.rbuf, out);
}

bool leg_defer_copy(struct leg *leg, const struct leg_out *out, struct list *queue)
{
	struct leg_rbuf *rb = copy_out(leg, out->held.rbuf, leg->msg->gathered);

	if (!rb->copied)
		return false;
	append(queue, rb, out);
	return true;
}

void leg_copy_out_deferred(struct leg *leg, struct list *queue)
{
	list_for_each_safe(it, tmp, queue)
	{
		struct leg_rbuf *rb = container_of(it, struct leg_rbuf, link), *copy;

		if (rb->copied)
			continue;
		list_del(it);
		copy = copy_out(leg, rb, rb->reasm_len && !rb->reasm);
		list_add_tail(tmp, &copy->link);
	}
}

static struct leg_rbuf *first_deferred(const struct list *queue)
{
	return list_first(queue, struct leg_rbuf, link);
}

void leg_redecode(struct leg *leg, const struct list *queue, struct leg_out *out)
{
	struct leg_rbuf *rb = first_deferred(queue);

	*out = (struct leg_out){.kind = LEG_OUT_MSG,
				.msg = leg->msg,
				.reverse = leg_is_reverse(leg, RPC_CALL),
				.held = {rb, rb->reasm}};
	leg->t->ops->again(leg->t, leg_octets(leg, rb), view_of(rb->reasm, rb->reasm_len));
	if (rb->reasm && !leg->msg->gathered) {
		leg->msg->body[0] = view_of(rb->reasm, rb->reasm_len);
		leg->msg->nbody = 1;
	}
	if (!rb->copied)
		return;
	out->held.rbuf = NULL;
	if (!rb->reasm)
		out->held.reasm = rb;
}

void leg_undefer(struct leg *leg, struct list *queue)
{
	struct leg_rbuf *rb = first_deferred(queue);
	bool is_copy_left = rb->copied && rb->reasm;

	list_del(&rb->link);
	rb->reasm = NULL;
	if (is_copy_left) /* only its header was needed */
		leg_give_block(leg, rb);
}

void leg_drop_deferred(struct leg *leg, struct list *queue)
{
	while (!list_is_empty(queue)) {
		struct leg_rbuf *rb = first_deferred(queue);
		struct leg_held held = {rb->copied ? NULL : rb, rb->reasm};
		void *copy = rb->copied ? rb : NULL;

		list_del(&rb->link);
		rb->reasm = NULL;
		leg_put(leg, &held);
		leg_give_block(leg, copy);
	}
}
