/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/verbs/adapter.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

/* Behaviour of user libraries of real adapters that rxe and siw do not have. */

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

static void send_one(uint32_t inv_handle)
{
	struct fabric_sge sge = {memory, 100};

	assert_int_equal(post_send(&adapter.conn->base, &sge, 1, inv_handle, NULL), 0);
}

/* The kernel's flags promise them, a user library (bnxt_re) does not make them. */
static void windows_are_tried(void **state)
{
	(void)state;
	adapter_open();
	assert_non_null(adapter.dev);
	assert_false(adapter.dev->windows);
}

static void windows_are_used(void **state)
{
	(void)state;
	adapter.has_windows = true;
	adapter_open();
	assert_true(adapter.dev->windows);
	assert_int_equal(adapter.windows, 0);
}

static void a_device_not_in_use_gets_no_memory(void **state)
{
	(void)state;
	adapter.is_full = true;
	adapter_open();
	assert_null(adapter.dev);
	assert_int_equal(memory_register(&adapter.v.base, memory, sizeof(memory)), 0);
	assert_int_equal(adapter.regions, 0);
	adapter.is_full = false;
	adapter_open();
	assert_non_null(adapter.dev);
	assert_int_equal(adapter.regions, 1);
}

/* cxgb4 and qedr tell of messages that invalidate, and have no windows: the handle is fenced. */
static void a_registration_may_be_invalidated(void **state)
{
	struct ibv_wc wc = {.wr_id = ID_RECV,
			    .opcode = IBV_WC_RECV,
			    .wc_flags = IBV_WC_WITH_INV,
			    .byte_len = 40};
	struct fabric_event ev;
	struct segment seg;

	(void)state;
	adapter.flags = IBV_DEVICE_MEM_MGT_EXTENSIONS;
	connect_with_memory();
	assert_int_equal(post_recv(&adapter.conn->base, memory, 64, NULL), 0);
	assert_int_equal(
		expose_add(&adapter.conn->base, memory + 100, 100, FABRIC_REMOTE_READ, &seg), 0);
	submit_all(&adapter.v);
	assert_int_equal(adapter.regions, 2);
	wc.invalidated_rkey = seg.handle;
	adapter_complete(&adapter.conn->cq, &wc);
	drain_look(&adapter.conn->cq);
	assert_true(complete_event(adapter.conn, &ev));
	assert_int_equal(ev.invalidated, seg.handle);
	assert_int_equal(adapter.regions, 2); /* its key must not be another's yet */
	assert_int_equal(adapter.conn->base.handles_live, 0);
	assert_int_equal(adapter.conn->sq_reserved, 0);
	assert_int_equal(expose_withdraw(&adapter.conn->base, seg.handle, NULL, &written), 1);
	assert_int_equal(written, FABRIC_WRITTEN_UNKNOWN);
	assert_int_equal(adapter.regions, 1);
	assert_int_equal(adapter.conn->base.handles_live, 0);
}

/* The whole chain is posted, and a device that refused once is not tried again. */
static void refused_invalidates_are_sent_without(void **state)
{
	(void)state;
	adapter.refuses_inv = true;
	connect_with_memory();
	send_one(0);
	send_one(0x1234);
	send_one(0x2345);
	submit_all(&adapter.v);
	assert_false(adapter.conn->broken);
	assert_int_equal(adapter.sends, 3);
	send_one(0x3456);
	submit_all(&adapter.v);
	assert_int_equal(adapter.sends, 4);
	assert_int_equal(adapter.refused, 1);
}

/* libcxgb4 refuses all work requests, with the same error, once the peer has ended the stream. */
static void an_ended_connection_does_not_stop_invalidates(void **state)
{
	(void)state;
	connect_with_memory();
	adapter.refuses_all = true;
	send_one(0x1234);
	submit_all(&adapter.v);
	assert_true(adapter.conn->broken);
	assert_true(adapter.dev->send_inv);
}

/* The connection's fabric_poll() after a Send that the device refuses, with the queue pair in
 * @pair. */
static void refused_in(enum ibv_qp_state pair)
{
	struct fabric_event ev;

	connect_with_memory();
	adapter.refuses_all = true;
	adapter.qp.state = pair;
	send_one(0);
	submit_all(&adapter.v);
	assert_int_equal(fabric_poll(&adapter.v.base, &ev), 0);
	assert_int_equal(adapter.conn->state, VERBS_LEAVING);
}

/* Libraries of iWARP adapters (cxgb4, erdma, siw) refuse work requests once the peer has ended the
 * stream. The connection manager reports that end. */
static void the_end_of_the_stream_is_the_reason_of_a_refusal(void **state)
{
	(void)state;
	adapter.device.transport_type = IBV_TRANSPORT_IWARP;
	refused_in(IBV_QPS_SQD);
	cm_handle(adapter.conn, &(struct vevent){.type = RDMA_CM_EVENT_DISCONNECTED});
	assert_int_equal(adapter.conn->state, VERBS_ENDED);
	assert_int_equal(adapter.conn->status, 0);
	assert_string_equal(adapter.conn->why, "closed by the peer");
}

static void a_refusal_without_an_end_is_the_devices(void **state)
{
	(void)state;
	adapter.device.transport_type = IBV_TRANSPORT_IWARP;
	refused_in(IBV_QPS_RTS);
	cm_handle(adapter.conn, &(struct vevent){.type = RDMA_CM_EVENT_DISCONNECTED});
	assert_int_equal(adapter.conn->status, ERR_IO);
}

static void invalidates_are_sent(void **state)
{
	(void)state;
	connect_with_memory();
	send_one(0);
	send_one(0x1234);
	submit_all(&adapter.v);
	assert_int_equal(adapter.sends, 1);
	assert_int_equal(adapter.sends_inv, 1);
}

/* Libraries with room for less do not copy all pieces. */
static void inline_is_all_or_none(void **state)
{
	struct fabric_conn_params p = params();

	(void)state;
	adapter.max_inline = 101; /* irdma */
	adapter_connect(&p);
	assert_int_equal(adapter.conn->max_inline, 0);
}

/* Whichever worker reads the event. */
static void the_last_receive_is_reported_to_its_worker(void **state)
{
	struct fabric_conn_params p = params();
	struct verbs_dev other = {.context = &adapter.context};

	(void)state;
	adapter_connect(&p);
	adapter.events[adapter.nevents++] = (struct ibv_async_event){
		.element.qp = &adapter.qp, .event_type = IBV_EVENT_QP_LAST_WQE_REACHED};
	device_async(&other);
	assert_true(atomic_load(&adapter.conn->last));
	assert_true(atomic_load(&adapter.dev->reports_last));
}

/* The Receive that was half written to is flushed; the cause is in the other queue. */
static void what_was_sent_tells_why(void **state)
{
	struct fabric_conn_params p = params();
	struct ibv_wc cause = {.wr_id = 0, .status = IBV_WC_RETRY_EXC_ERR};
	struct ibv_wc flushed = {.wr_id = 0, .status = IBV_WC_WR_FLUSH_ERR, .qp_num = 7};
	struct vshare *s;

	(void)state;
	assert_int_equal(memory_register(&adapter.v.base, memory, sizeof(memory)), 0);
	adapter_open();
	assert_int_equal(fabric_share_receives(&adapter.v.base, 64, &adapter), 0);
	adapter_connect(&p);
	s = adapter.dev->share;
	assert_int_equal(srq_post(s, memory, NULL), 0);
	srq_flush(s);
	send_one(0);
	submit_all(&adapter.v);
	adapter.qp.state = IBV_QPS_ERR;
	adapter_complete(&adapter.conn->cq, &cause);
	adapter_complete(&s->cq, &flushed);
	drain_look(&s->cq);
	assert_int_equal(adapter.conn->status, ERR_TIMEOUT);
	assert_int_equal(adapter.v.counters.breaches, 0);
}

/* Other completions of that poll are lost (mlx5, cxgb4). */
static void a_queue_that_cannot_be_read_is_given_up(void **state)
{
	struct fabric_conn_params p = params();

	(void)state;
	adapter_connect(&p);
	container_of(adapter.conn->cq.cq, struct adapter_cq, cq)->broken = true;
	drain_look(&adapter.conn->cq);
	assert_true(adapter.conn->broken);
}

/* None of its completions will. */
static void a_queue_that_failed_is_noticed(void **state)
{
	struct fabric_conn_params p = params();

	(void)state;
	adapter_connect(&p);
	adapter.events[adapter.nevents++] = (struct ibv_async_event){
		.element.cq = adapter.conn->cq.cq, .event_type = IBV_EVENT_CQ_ERR};
	device_async(adapter.dev);
	alive_begin(&adapter.v);
	alive_tick(&adapter.v, adapter.v.ask);
	assert_int_equal(adapter.conn->state, VERBS_LEAVING);
	assert_int_equal(adapter.conn->status, ERR_IO);
	assert_int_equal(adapter.v.counters.breaches, 0);
}

/* Otherwise memory of the user library for a removed device (mlx5) is never freed. */
static void libraries_let_go_of_removed_devices(void **state)
{
	char why[VERBS_WHY];

	(void)state;
	(void)!verbs_check(why);
	assert_string_equal(getenv("RDMAV_ALLOW_DISASSOC_DESTROY"), "1");
}

static void withdraw_all(struct segment seg[4])
{
	for (int i = 0; i < 4; i++)
		assert_int_equal(expose_add(&adapter.conn->base, memory + 64 * i, 64,
					    FABRIC_REMOTE_READ, &seg[i]),
				 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			expose_withdraw(&adapter.conn->base, seg[i].handle, &seg[i], &written), 0);
}

static void expect(enum fabric_ev_type type, const void *cookie)
{
	struct fabric_event ev;

	assert_true(complete_event(adapter.conn, &ev));
	assert_int_equal(ev.type, type);
	assert_ptr_equal(ev.cookie, cookie);
}

/* Exposures are free before their completion is polled: queues full of both are reported in
 * full. */
static void withdrawn_twice_before_a_poll(void **state)
{
	struct segment first[4], second[4];

	(void)state;
	adapter.has_windows = true;
	connect_with_memory();
	withdraw_all(first);
	submit_all(&adapter.v);
	for (uint64_t i = 0; i < 4; i++)
		adapter_complete(&adapter.conn->cq, &(struct ibv_wc){.wr_id = i});
	drain_look(&adapter.conn->cq);
	expect(FABRIC_EV_WITHDRAWN, &first[0]);
	for (int i = 0; i < 4; i++)
		send_one(0);
	withdraw_all(second);
	submit_all(&adapter.v);
	for (int i = 1; i < 4; i++)
		expect(FABRIC_EV_WITHDRAWN, &first[i]);
	for (uint64_t i = 7; i < 12; i++)
		adapter_complete(&adapter.conn->cq, &(struct ibv_wc){.wr_id = i});
	drain_look(&adapter.conn->cq);
	for (int i = 0; i < 4; i++)
		expect(FABRIC_EV_SEND, NULL);
	for (int i = 0; i < 4; i++)
		expect(FABRIC_EV_WITHDRAWN, &second[i]);
}

/* The vector of a connection of worker @number, on a device with @vectors. */
static int vector_of(unsigned number, int vectors)
{
	struct fabric_conn_params p = params();
	int vector;

	adapter.context.num_comp_vectors = vectors;
	adapter.v.number = number;
	adapter.vector = -1;
	adapter_connect(&p);
	vector = adapter.vector;
	end_free(adapter.conn);
	return vector;
}

/* One for all would be one processor's interrupts for all. */
static void workers_take_turns_with_vectors(void **state)
{
	struct verbs first = {0}, second = {0};

	(void)state;
	verbs_init(&first, &adapter.v.cfg, adapter.v.loop);
	verbs_init(&second, &adapter.v.cfg, adapter.v.loop);
	assert_int_equal(second.number, first.number + 1);
	for (unsigned number = 0; number < 4; number++)
		assert_int_equal(vector_of(number, 4), number);
	assert_int_equal(vector_of(6, 4), 2);
	assert_int_equal(vector_of(UINT_MAX, 4), 3);
	assert_int_equal(vector_of(3, 1), 0);
	assert_int_equal(vector_of(3, 0), 0);
	assert_int_equal(vector_of(3, -1), 0);
}

/* The queue of shared Receives is the worker's as well. */
static void shared_receives_complete_on_the_workers_vector(void **state)
{
	(void)state;
	adapter.context.num_comp_vectors = 8;
	adapter.v.number = 13;
	adapter_open();
	assert_int_equal(srq_open(adapter.dev), 0);
	assert_int_equal(adapter.vector, 5);
}

/* The bind of a handle that a peer invalidated stays in the queue until something completes: Sends
 * still find room. */
static void binds_leave_sends_their_room(void **state)
{
	struct fabric_sge sge = {memory, 100};
	struct segment seg;
	int bound = 0;

	(void)state;
	adapter.has_windows = true;
	connect_with_memory();
	while (expose_add(&adapter.conn->base, memory, 64, FABRIC_REMOTE_READ, &seg) == 0) {
		expose_invalidated(adapter.conn, seg.handle);
		assert_int_equal(expose_withdraw(&adapter.conn->base, seg.handle, NULL, &written),
				 1);
		assert_in_range(++bound, 1, 100);
	}
	assert_in_range(bound, 4, 100);
	for (int i = 0; i < 4; i++)
		assert_int_equal(post_send(&adapter.conn->base, &sge, 1, 0, NULL), 0);
	submit_all(&adapter.v);
	/* The last one stands for all of it. */
	adapter_complete(&adapter.conn->cq, &(struct ibv_wc){.wr_id = 3});
	drain_look(&adapter.conn->cq);
	assert_int_equal(expose_add(&adapter.conn->base, memory, 64, FABRIC_REMOTE_READ, &seg), 0);
}

/* A server for which this machine's device has no queue pair. Return: status of the end. */
static int no_queue_pair(int *knob, int value)
{
	struct fabric_conn_params p = params();
	struct rdma_cm_id *id;
	struct verbs_conn *c;
	int status;

	*knob = value;
	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	id->verbs = &adapter.context;
	c = conn_new(&adapter.v, id, VERBS_RESOLVING, NULL);
	assert_int_equal(queue_depths(c, &p), 0);
	cm_handle(c, &(struct vevent){.type = RDMA_CM_EVENT_ROUTE_RESOLVED});
	assert_int_equal(c->state, VERBS_ENDED);
	status = c->status;
	end_free(c);
	*knob = 0;
	return status;
}

/* A lack of memory is reported only if the device reported it. The server is not the reason. */
static void without_a_queue_pair_the_machine_is_the_reason(void **state)
{
	int full = 0;

	(void)state;
	adapter.is_full = true;
	assert_int_equal(no_queue_pair(&full, 0), ERR_LOCAL);
	adapter.is_full = false;
	adapter_open();
	assert_int_equal(no_queue_pair(&adapter.pair_errno, EINVAL), ERR_LOCAL);
	assert_int_equal(no_queue_pair(&adapter.pair_errno, ENOMEM), ERR_NOMEM);
	assert_int_equal(no_queue_pair(&adapter.cq_errno, EINVAL), ERR_LOCAL);
	assert_int_equal(no_queue_pair(&adapter.cq_errno, ENOMEM), ERR_NOMEM);
	assert_int_equal(no_queue_pair(&adapter.arm_errno, EIO), ERR_LOCAL);
}

static size_t asked_for(void)
{
	return adapter.cap.max_send_wr * (192 + 16 * FABRIC_MAX_SGE) + (size_t)adapter.cqe * 64;
}

/* The size that mlx5 would give to the queues that a connection really has. */
static void queues_count_as_memory(void **state)
{
	struct fabric_conn_params p = {.max_recvs = 82, .max_sends = 96, .max_exposures = 128};
	const struct fabric *f = &adapter.v.base;
	size_t server;

	(void)state;
	adapter.has_windows = true;
	assert_int_equal(memory_register(&adapter.v.base, memory, sizeof(memory)), 0);
	adapter_connect(&p);
	server = queue_cost(f, &p);
	assert_in_range(asked_for(), 100 * 1024, server);
	assert_in_range(server, 0, 320 * 1024);
	p.max_exposures = 48; /* of a client's connection */
	assert_in_range(queue_cost(f, &p), 0, server / 2 + 64 * 1024);
	assert_in_range(queue_cost(f, &p), 64 * 1024, server);
}

#define adapter_test(f) cmocka_unit_test_setup_teardown(f, adapter_start, adapter_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		adapter_test(windows_are_tried),
		adapter_test(windows_are_used),
		adapter_test(a_device_not_in_use_gets_no_memory),
		adapter_test(a_registration_may_be_invalidated),
		adapter_test(refused_invalidates_are_sent_without),
		adapter_test(an_ended_connection_does_not_stop_invalidates),
		adapter_test(the_end_of_the_stream_is_the_reason_of_a_refusal),
		adapter_test(a_refusal_without_an_end_is_the_devices),
		adapter_test(invalidates_are_sent),
		adapter_test(inline_is_all_or_none),
		adapter_test(the_last_receive_is_reported_to_its_worker),
		adapter_test(what_was_sent_tells_why),
		adapter_test(a_queue_that_cannot_be_read_is_given_up),
		adapter_test(a_queue_that_failed_is_noticed),
		adapter_test(libraries_let_go_of_removed_devices),
		adapter_test(withdrawn_twice_before_a_poll),
		adapter_test(binds_leave_sends_their_room),
		adapter_test(without_a_queue_pair_the_machine_is_the_reason),
		adapter_test(queues_count_as_memory),
		adapter_test(workers_take_turns_with_vectors),
		adapter_test(shared_receives_complete_on_the_workers_vector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
