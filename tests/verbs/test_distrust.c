/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/verbs/adapter.h"

#include "base/log.h"
#include "base/mem.h"

/*
 * Claims of completions, capabilities and peers, and refusals of a device: none is believed, and no
 * other session's octets or connection are lost because of them.
 */

enum { RECV_LEN = 64 };

static uint8_t memory[4096];
static uint32_t written; /* result of the last withdrawal */

static struct fabric_conn_params params(void)
{
	return (struct fabric_conn_params){.max_recvs = 4, .max_sends = 4, .max_exposures = 4};
}

static void connect_with_memory(void)
{
	struct fabric_conn_params p = params();

	assert_int_equal(memory_register(&adapter.v.base, memory, sizeof(memory)), 0);
	adapter_connect(&p);
}

static struct vshare *connect_sharing(unsigned receives)
{
	assert_int_equal(memory_register(&adapter.v.base, memory, sizeof(memory)), 0);
	adapter_open();
	assert_int_equal(fabric_share_receives(&adapter.v.base, RECV_LEN, &adapter), 0);
	adapter_connect(
		&(struct fabric_conn_params){.max_recvs = 4, .max_sends = 4, .max_exposures = 4});
	for (unsigned i = 0; i < receives; i++)
		assert_int_equal(srq_post(adapter.dev->share, memory + (size_t)RECV_LEN * i, NULL),
				 0);
	srq_flush(adapter.dev->share);
	return adapter.dev->share;
}

static void post_receives(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(post_recv(&adapter.conn->base, memory + (size_t)RECV_LEN * i,
					   RECV_LEN, NULL),
				 0);
	submit_all(&adapter.v);
}

/* The next message there, of @len octets. */
static void arrives(struct vcq *q, uint64_t id, enum ibv_wc_opcode opcode, uint32_t len)
{
	adapter_complete(
		q, &(struct ibv_wc){.wr_id = id, .opcode = opcode, .byte_len = len, .qp_num = 7});
}

static void expect_recv(int status, uint32_t len)
{
	struct fabric_event ev;

	assert_true(complete_event(adapter.conn, &ev));
	assert_int_equal(ev.type, FABRIC_EV_RECV);
	assert_int_equal(ev.status, status);
	assert_int_equal(ev.len, len);
}

static void expect_breach(void)
{
	assert_int_equal(adapter.conn->state, VERBS_LEAVING);
	assert_int_equal(adapter.conn->status, ERR_PROTO);
	assert_int_equal(adapter.v.counters.breaches, 1);
}

static void expect_nothing(void)
{
	struct fabric_event ev;

	assert_false(complete_event(adapter.conn, &ev));
}

/* The message uses a Receive, and reports a length that was written elsewhere. */
static void an_immediate_is_no_message(void **state)
{
	struct vcq *q;

	(void)state;
	connect_with_memory();
	q = &adapter.conn->cq;
	post_receives(3);
	arrives(q, ID_RECV, IBV_WC_RECV, 40);
	arrives(q, ID_RECV | 1, IBV_WC_RECV_RDMA_WITH_IMM, 98260);
	arrives(q, ID_RECV | 2, IBV_WC_RECV, 40);
	drain_look(q);
	expect_breach();
	expect_recv(0, 40);
	expect_recv(ERR_FLUSHED, 0);
	expect_recv(ERR_FLUSHED, 0);
}

/* In the shared Receive lies what another wrote there. */
static void an_immediate_is_no_shared_message(void **state)
{
	struct vshare *s;

	(void)state;
	s = connect_sharing(3);
	arrives(&s->cq, 0, IBV_WC_RECV, 40);
	arrives(&s->cq, 1, IBV_WC_RECV_RDMA_WITH_IMM, 40);
	arrives(&s->cq, 2, IBV_WC_RECV, 40);
	drain_look(&s->cq);
	expect_breach();
	expect_recv(0, 40);
	expect_nothing();
	assert_int_equal(s->npending, 2); /* serve others */
}

static void no_message_is_larger_than_its_receive(void **state)
{
	(void)state;
	connect_with_memory();
	post_receives(2);
	arrives(&adapter.conn->cq, ID_RECV, IBV_WC_RECV, RECV_LEN);
	arrives(&adapter.conn->cq, ID_RECV | 1, IBV_WC_RECV, RECV_LEN + 1);
	drain_look(&adapter.conn->cq);
	expect_breach();
	expect_recv(0, RECV_LEN);
	expect_recv(ERR_FLUSHED, 0);
}

static void no_message_is_larger_than_a_shared_receive(void **state)
{
	struct vshare *s;

	(void)state;
	s = connect_sharing(1);
	arrives(&s->cq, 0, IBV_WC_RECV, RECV_LEN + 1);
	drain_look(&s->cq);
	expect_breach();
	expect_nothing();
}

/* libirdma puts the first piece of the list into a Write and liberdma into a Read, and libcxgb4 reads
 * the lengths of the first pieces of a Write and the Send behind it, whatever their number is. */
static void what_is_empty_has_no_pieces(void **state)
{
	struct fabric_sge sge = {memory, 100}, none = {memory, 0};
	struct segment nothing = {.handle = 1};

	(void)state;
	connect_with_memory();
	assert_int_equal(post_send(&adapter.conn->base, &sge, 1, 0, NULL), 0);
	submit_all(&adapter.v);
	post_ask(adapter.conn);
	assert_int_equal(post_send(&adapter.conn->base, &none, 1, 0, NULL), 0);
	assert_int_equal(post_write(&adapter.conn->base, &none, 1, &nothing, NULL), 0);
	assert_int_equal(post_read(&adapter.conn->base, memory, &nothing, NULL), 0);
	assert_int_equal(post_recv(&adapter.conn->base, memory, 0, NULL), 0);
	submit_all(&adapter.v);
	assert_int_equal(adapter.v.counters.asked, 1);
	assert_int_equal(adapter.stale, 0);
	assert_int_equal(adapter.listless, 0);
	assert_int_equal(adapter.keyless,
			 0); /* cxgb4 is reported to refuse it, though nothing is written */
}

/* hns at hip08: 256 octets are taken, 32 granted, and a longer message refused when it is sent. */
static void what_is_granted_counts(void **state)
{
	struct fabric_sge sge = {memory, 100};

	(void)state;
	adapter.grants_inline = 32;
	connect_with_memory();
	assert_int_equal(post_send(&adapter.conn->base, &sge, 1, 0, NULL), 0);
	assert_int_equal(adapter.conn->max_inline, 0);
	assert_int_equal(adapter.v.counters.inlines, 0);
}

/* The attribute is the smaller of a Send's pieces and a Receive's. */
static void pieces_are_those_of_sends(void **state)
{
	struct fabric_sge sge[6];

	(void)state;
	adapter.max_send_sge = 6; /* erdma */
	adapter.max_sge = 1;
	connect_with_memory();
	for (unsigned i = 0; i < 6; i++)
		sge[i] = (struct fabric_sge){memory + 64 * (size_t)i, 10};
	assert_int_equal(adapter.conn->max_sge, 6);
	assert_int_equal(post_send(&adapter.conn->base, sge, 6, 0, NULL), 0);
}

/* A header and a call's octets are two. */
static void a_device_with_one_piece_is_refused(void **state)
{
	(void)state;
	adapter.max_send_sge = adapter.max_sge = 1;
	adapter_open();
	assert_null(adapter.dev);
}

/* A message of the peer's that invalidated @key. */
static void invalidates(struct vcq *q, uint64_t id, uint32_t key)
{
	adapter_complete(q, &(struct ibv_wc){.wr_id = id,
					     .opcode = IBV_WC_RECV,
					     .wc_flags = IBV_WC_WITH_INV,
					     .invalidated_rkey = key,
					     .byte_len = 40,
					     .qp_num = 7});
}

static void expose_one(struct segment *seg)
{
	assert_int_equal(expose_add(&adapter.conn->base, memory, 100, FABRIC_REMOTE_WRITE, seg), 0);
	submit_all(&adapter.v);
}

static void what_was_not_given_is_not_invalidated(void **state)
{
	struct segment seg;

	(void)state;
	connect_with_memory();
	post_receives(2);
	expose_one(&seg);
	invalidates(&adapter.conn->cq, ID_RECV, seg.handle + 0x100);
	drain_look(&adapter.conn->cq);
	expect_breach();
	expect_recv(ERR_FLUSHED, 0);
	assert_int_equal(adapter.conn->base.handles_live, 1);
	device_removal_tick(&adapter.v, adapter.v.look);
	assert_false(adapter.dev->closed);
}

static void shared_messages_may_not_invalidate_foreign_handles(void **state)
{
	struct vshare *s;

	(void)state;
	s = connect_sharing(2);
	invalidates(&s->cq, 0, 0x4242);
	drain_look(&s->cq);
	expect_breach();
	expect_nothing();
}

/* The withdrawal is in one queue, the message that came before it in the other. */
static void a_late_word_of_an_invalidation_is_none(void **state)
{
	struct segment seg;
	struct vshare *s;

	(void)state;
	s = connect_sharing(1);
	expose_one(&seg);
	assert_int_equal(expose_withdraw(&adapter.conn->base, seg.handle, NULL, &written), 1);
	invalidates(&s->cq, 0, seg.handle);
	drain_look(&s->cq);
	assert_int_equal(adapter.conn->state, VERBS_OPEN);
	expect_recv(0, 40);
}

/* mlx4 and cxgb4 may obey: then nothing can be sent any more, until the device is taken into use anew. */
static void the_key_of_all_memory_is_made_anew(void **state)
{
	struct ibv_mr *arena;

	(void)state;
	connect_with_memory();
	arena = adapter.region;
	post_receives(1);
	invalidates(&adapter.conn->cq, ID_RECV, arena->rkey);
	drain_look(&adapter.conn->cq);
	expect_breach();
	device_removal_tick(&adapter.v, adapter.v.look);
	assert_true(adapter.dev->closed);
	assert_int_equal(adapter.conn->state, VERBS_ENDED);
	end_free(adapter.conn);
	assert_int_equal(adapter.regions, 0);
	adapter_connect(
		&(struct fabric_conn_params){.max_recvs = 4, .max_sends = 4, .max_exposures = 4});
	assert_false(adapter.dev->closed);
	assert_int_equal(adapter.regions, 1);
	device_removal_tick(&adapter.v, adapter.v.look);
	assert_false(adapter.dev->closed);
}

/* Until the queue pair is gone the peer may write there, so nobody else is to have it. */
static void expect_held(const void *cookie)
{
	struct fabric_event ev;

	assert_int_equal(adapter.conn->state, VERBS_LEAVING);
	assert_int_equal(adapter.conn->status, ERR_IO);
	expect_nothing();
	assert_int_equal(adapter.conn->base.handles_live, 1);
	end_finish(adapter.conn, 0, NULL);
	assert_true(complete_event(adapter.conn, &ev));
	assert_int_equal(ev.type, FABRIC_EV_WITHDRAWN);
	assert_int_equal(ev.status, ERR_FLUSHED);
	assert_ptr_equal(ev.cookie, cookie);
	assert_int_equal(adapter.conn->base.handles_live, 0);
	expect_nothing();
}

static void a_registration_that_stays_is_held(void **state)
{
	struct segment seg;

	(void)state;
	connect_with_memory();
	expose_one(&seg);
	adapter.keeps = 1;
	assert_int_equal(expose_withdraw(&adapter.conn->base, seg.handle, &seg, &written), 0);
	expect_held(&seg);
	assert_int_equal(context_failures(adapter.dev), 0);
	assert_int_equal(adapter.regions, 1);
}

static void a_window_that_stays_is_held(void **state)
{
	struct segment seg;

	(void)state;
	adapter.has_windows = true;
	connect_with_memory();
	expose_one(&seg);
	/* No work request will invalidate it, because the device completes what was not posted. */
	adapter_complete(&adapter.conn->cq, &(struct ibv_wc){.wr_id = 3});
	drain_look(&adapter.conn->cq);
	adapter.keeps = 2; /* nor can it be given up before the queue pair */
	assert_int_equal(expose_withdraw(&adapter.conn->base, seg.handle, &seg, &written), 0);
	expect_held(&seg);
	assert_int_equal(context_failures(adapter.dev), 0);
}

/* iWARP's Reads are written by the peer. */
static void a_sink_that_stays_is_held(void **state)
{
	struct segment from = {.handle = 1, .length = 100};
	struct fabric_event ev;

	(void)state;
	adapter.device.transport_type = IBV_TRANSPORT_IWARP;
	connect_with_memory();
	assert_int_equal(post_read(&adapter.conn->base, memory, &from, memory), 0);
	submit_all(&adapter.v);
	adapter.keeps = 1;
	adapter_complete(&adapter.conn->cq, &(struct ibv_wc){.wr_id = 0});
	drain_look(&adapter.conn->cq);
	assert_int_equal(adapter.conn->state, VERBS_LEAVING);
	expect_nothing();
	end_finish(adapter.conn, 0, NULL);
	assert_true(complete_event(adapter.conn, &ev));
	assert_int_equal(ev.type, FABRIC_EV_READ);
	assert_int_equal(ev.status, ERR_FLUSHED);
	assert_ptr_equal(ev.cookie, memory);
	assert_int_equal(adapter.regions, 1);
}

/* The region's key stays valid, for other connections as well. */
static void a_device_that_gives_up_nothing_has_failed(void **state)
{
	struct segment seg;

	(void)state;
	connect_with_memory();
	expose_one(&seg);
	adapter.keeps = 3;
	assert_int_equal(expose_withdraw(&adapter.conn->base, seg.handle, &seg, &written), 0);
	expect_held(&seg);
	assert_int_equal(context_failures(adapter.dev), 1);
	adapter.regions--; /* it has it for ever */
	mem_free(adapter.region);
}

/* Shortage passes: nothing is lost by asking again. */
static void shortage_is_no_failure(void **state)
{
	struct segment seg, from = {.handle = 1, .length = 100};

	(void)state;
	adapter.device.transport_type = IBV_TRANSPORT_IWARP;
	connect_with_memory();
	adapter.short_of_regions = 2;
	assert_int_equal(expose_add(&adapter.conn->base, memory, 100, FABRIC_REMOTE_READ, &seg),
			 ERR_AGAIN);
	assert_int_equal(post_read(&adapter.conn->base, memory, &from, NULL), ERR_AGAIN);
	assert_int_equal(expose_add(&adapter.conn->base, memory, 100, FABRIC_REMOTE_READ, &seg), 0);
	assert_int_equal(post_read(&adapter.conn->base, memory, &from, NULL), 0);
	assert_int_equal(adapter.conn->state, VERBS_OPEN);
}

/* The flushed Receive is polled before the event, which is there already. */
static void an_event_not_read_yet_tells_why(void **state)
{
	(void)state;
	connect_with_memory();
	post_receives(1);
	adapter.qp.state = IBV_QPS_ERR;
	adapter.events[adapter.nevents++] = (struct ibv_async_event){
		.element.qp = &adapter.qp, .event_type = IBV_EVENT_QP_FATAL};
	adapter_complete(&adapter.conn->cq,
			 &(struct ibv_wc){.wr_id = ID_RECV, .status = IBV_WC_WR_FLUSH_ERR});
	drain_look(&adapter.conn->cq);
	assert_int_equal(adapter.conn->status, ERR_IO);
	assert_int_equal(adapter.v.counters.breaches, 0);
}

/* The event SRQ_ERR about the shared queue, on a device of @vendor. Return: whether the connection is
 * still open. */
static bool survives_srq_err(unsigned vendor)
{
	struct fabric_event ev;
	struct vshare *s;

	adapter.vendor = vendor;
	s = connect_sharing(1);
	adapter.events[adapter.nevents++] =
		(struct ibv_async_event){.element.srq = s->srq, .event_type = IBV_EVENT_SRQ_ERR};
	device_async(adapter.dev);
	while (fabric_poll(&adapter.v.base, &ev))
		;
	return adapter.conn->state == VERBS_OPEN;
}

/* Linux's qedr reports with it that the queue has no Receive left. */
static void an_empty_queue_of_qedr_has_not_failed(void **state)
{
	(void)state;
	assert_true(survives_srq_err(0x1077));
	assert_int_equal(adapter.v.counters.receives_low, 1);
}

static void a_shared_queue_that_failed_is_given_up(void **state)
{
	(void)state;
	assert_false(survives_srq_err(0x15b3));
	assert_int_equal(adapter.conn->status, ERR_LOCAL);
}

#define adapter_test(f) cmocka_unit_test_setup_teardown(f, adapter_start, adapter_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		adapter_test(an_immediate_is_no_message),
		adapter_test(an_immediate_is_no_shared_message),
		adapter_test(no_message_is_larger_than_its_receive),
		adapter_test(no_message_is_larger_than_a_shared_receive),
		adapter_test(what_is_empty_has_no_pieces),
		adapter_test(what_is_granted_counts),
		adapter_test(pieces_are_those_of_sends),
		adapter_test(a_device_with_one_piece_is_refused),
		adapter_test(what_was_not_given_is_not_invalidated),
		adapter_test(shared_messages_may_not_invalidate_foreign_handles),
		adapter_test(a_late_word_of_an_invalidation_is_none),
		adapter_test(the_key_of_all_memory_is_made_anew),
		adapter_test(a_registration_that_stays_is_held),
		adapter_test(a_window_that_stays_is_held),
		adapter_test(a_sink_that_stays_is_held),
		adapter_test(a_device_that_gives_up_nothing_has_failed),
		adapter_test(shortage_is_no_failure),
		adapter_test(an_event_not_read_yet_tells_why),
		adapter_test(an_empty_queue_of_qedr_has_not_failed),
		adapter_test(a_shared_queue_that_failed_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
