/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/verbs/adapter.h"

#include "base/log.h"

/* Which devices are used, for what, and what that pins. Two devices have the addresses 127.0.0.1
 * and 127.0.0.2. */

static uint8_t memory[4096];
static uint32_t written;

static struct fabric_use use(const char *host, bool listens, uint32_t domain)
{
	struct fabric_use u = {.listens = listens, .domain = domain};

	assert_int_equal(fabric_addr_parse(host, 20049, &u.addr), 0);
	return u;
}

static int lead(const struct fabric_use *uses, unsigned n)
{
	struct verbs_config cfg = adapter.v.cfg;

	cfg.uses = uses;
	cfg.nuses = n;
	return device_select_open(&adapter.v, &cfg);
}

static void register_memory(void)
{
	assert_int_equal(memory_register(&adapter.v.base, memory, sizeof(memory)), 0);
}

static bool is_used(const struct ibv_context *context)
{
	for (const struct list *it = adapter.v.devs.next; it != &adapter.v.devs; it = it->next) {
		const struct verbs_dev *dev = container_of(it, const struct verbs_dev, link);

		if (dev->context == context && !dev->closed)
			return true;
	}
	return false;
}

static void expect_used(bool first, bool other)
{
	assert_int_equal(is_used(&adapter.context), first);
	assert_int_equal(is_used(&adapter.other), other);
}

static void a_listener_leads_to_its_device(void **state)
{
	struct fabric_use uses[] = {use("127.0.0.2", true, 0)};

	(void)state;
	adapter_add_other();
	assert_int_equal(lead(uses, 1), 0);
	expect_used(false, true);
	register_memory();
	assert_int_equal(adapter.regions, 1);
	assert_int_equal(memory_pinned(&adapter.v), sizeof(memory));
}

/* By the address that it would be reached from: the loopback interface has that, whatever the server's. */
static void a_server_leads_to_a_device(void **state)
{
	struct fabric_use uses[] = {use("127.0.0.9", false, 0)};

	(void)state;
	adapter_add_other();
	assert_int_equal(lead(uses, 1), 0);
	expect_used(true, false);
}

static void each_side_may_have_its_own_device(void **state)
{
	struct fabric_use uses[] = {use("127.0.0.2", true, 0), use("127.0.0.9", false, 1)};

	(void)state;
	adapter.has_windows = true;
	adapter_add_other();
	assert_int_equal(lead(uses, 2), 0);
	expect_used(true, true);
	assert_int_equal(adapter.pds, 2);
	register_memory();
	assert_int_equal(memory_pinned(&adapter.v), 2 * sizeof(memory));
}

static void all_addresses_lead_to_all_devices(void **state)
{
	struct fabric_use uses[] = {use("0.0.0.0", true, 0)};

	(void)state;
	adapter_add_other();
	assert_int_equal(lead(uses, 1), 0);
	expect_used(true, true);
}

static void an_address_that_leads_nowhere_yet_leads_to_all(void **state)
{
	struct fabric_use uses[] = {use("127.0.0.9", false, 0)};

	(void)state;
	adapter.leads_nowhere = true;
	adapter_add_other();
	assert_int_equal(lead(uses, 1), 0);
	expect_used(true, true);
}

static void an_instance_without_uses_gets_all_devices(void **state)
{
	(void)state;
	adapter_add_other();
	assert_int_equal(lead(NULL, 0), 0);
	expect_used(true, true);
}

/* Whether peers may invalidate handles depends on the devices in use, not on all devices of the
 * machine. */
static void a_device_that_is_not_used_decides_nothing(void **state)
{
	struct fabric_use uses[] = {use("127.0.0.1", true, 0)};

	(void)state;
	adapter.has_windows = adapter.other_has_none = true;
	adapter_add_other();
	assert_int_equal(lead(uses, 1), 0);
	assert_true(adapter.v.base.remote_inv);
}

static void need_windows(void)
{
	struct verbs_config cfg;

	verbs_config_default(&cfg);
	cfg.needs_windows = true;
	adapter_restart(&cfg);
}

static void insecure_handles_are_refused(void **state)
{
	struct fabric_use uses[] = {use("127.0.0.1", true, 0)};

	(void)state;
	need_windows();
	assert_int_equal(lead(uses, 1), ERR_IO);
	expect_used(false, false);
	assert_int_equal(adapter.pds, 0);
	/* The device is not opened later either. */
	adapter_open();
	assert_null(adapter.dev);
}

static void windows_are_not_refused(void **state)
{
	struct fabric_use uses[] = {use("127.0.0.1", true, 0)};

	(void)state;
	need_windows();
	adapter.has_windows = true;
	assert_int_equal(lead(uses, 1), 0);
	expect_used(true, false);
}

static struct verbs_conn *connect_in(uint32_t domain)
{
	adapter_connect(&(struct fabric_conn_params){
		.max_recvs = 4, .max_sends = 4, .max_exposures = 4, .domain = domain});
	return adapter.conn;
}

/* A handle of one domain is nothing to a queue pair of another. */
static void without_windows_each_domain_has_its_own(void **state)
{
	struct fabric_use uses[] = {use("127.0.0.1", true, 6), use("127.0.0.9", false, 7)};
	struct verbs_conn *client, *client2, *server;

	(void)state;
	assert_int_equal(lead(uses, 2), 0);
	assert_int_equal(adapter.pds, 2);
	register_memory();
	assert_int_equal(memory_pinned(&adapter.v), 2 * sizeof(memory));
	client = connect_in(6);
	client2 = connect_in(6);
	server = connect_in(7);
	assert_int_equal(adapter.pds, 2);
	assert_ptr_equal(client->dev->pd, client2->dev->pd);
	assert_ptr_not_equal(client->dev->pd, server->dev->pd);
	assert_ptr_equal(adapter.qp.pd, server->dev->pd);
	/* A device that was not announced is set up when it is needed, memory included. */
	assert_ptr_not_equal(connect_in(8)->dev->pd, server->dev->pd);
	assert_int_equal(memory_pinned(&adapter.v), 3 * sizeof(memory));
}

static void with_windows_all_domains_are_one(void **state)
{
	struct fabric_use uses[] = {use("127.0.0.1", true, 6), use("127.0.0.9", false, 7)};

	(void)state;
	adapter.has_windows = true;
	assert_int_equal(lead(uses, 2), 0);
	assert_ptr_equal(connect_in(6)->dev, connect_in(7)->dev);
	assert_int_equal(adapter.pds, 1);
}

static uint64_t expose_once(struct verbs_conn *c)
{
	struct segment seg;

	assert_int_equal(expose_add(&c->base, memory + 100, 100, FABRIC_REMOTE_WRITE, &seg), 0);
	assert_int_equal(adapter.iova, seg.offset);
	assert_int_equal(expose_withdraw(&c->base, seg.handle, NULL, &written), 1);
	return seg.offset;
}

/* The driver may give the same key again (hns does): what was known of the last one leads nowhere. */
static void offsets_of_registrations_are_random(void **state)
{
	const uint64_t kept = (1 << 21) - 1;
	struct verbs_conn *c;
	uint64_t at[16];

	(void)state;
	register_memory();
	c = connect_in(0);
	for (int i = 0; i < 16; i++) {
		at[i] = expose_once(c);
		assert_int_equal(at[i] & kept, (uintptr_t)(memory + 100) & kept);
		assert_int_equal(at[i] >> 62, 0);
		for (int k = 0; k < i; k++)
			assert_true(at[i] != at[k]);
	}
}

/* The sink of a Read is then written by its own address, which the peer gets, too. */
static void so_are_those_of_sinks(void **state)
{
	struct segment from = {.handle = 1, .length = 100};

	(void)state;
	adapter.device.transport_type = IBV_TRANSPORT_IWARP;
	register_memory();
	assert_int_equal(post_read(&connect_in(0)->base, memory + 100, &from, NULL), 0);
	assert_true(adapter.iova != (uintptr_t)(memory + 100));
	assert_int_equal(adapter.conn->chain->sg_list[0].addr, adapter.iova);
	assert_int_equal(adapter.conn->chain->sg_list[0].lkey, adapter.region->lkey);
}

static void siw_knows_one_address_alone(void **state)
{
	(void)state;
	adapter.vendor = 0x626d74;
	register_memory();
	assert_int_equal(expose_once(connect_in(0)), (uintptr_t)(memory + 100));
}

static struct fabric_listener *listen_at(const char *host)
{
	struct fabric_addr addr;
	struct fabric_listener *l;
	int err;

	assert_int_equal(fabric_addr_parse(host, 20049, &addr), 0);
	l = verbs_listen(&addr, &err);
	assert_non_null(l);
	assert_int_equal(verbs_listen_attach(&adapter.v.base, l, NULL), 0);
	return l;
}

/* A bond of IPoIB interfaces: the address is now that of the other adapter. */
static void a_listener_moves_with_its_address(void **state)
{
	struct fabric_listener *l;

	(void)state;
	adapter_add_other();
	l = listen_at("127.0.0.1");
	assert_ptr_equal(adapter.ids[0]->verbs, &adapter.context);
	adapter.moved = 1;
	adapter_cm_event(RDMA_CM_EVENT_ADDR_CHANGE, adapter.ids[0]);
	adapter.watch->ready(adapter.watch, LOOP_READ);
	assert_true(verbs_listen_deadline(&adapter.v) == 0);
	verbs_listen_tick(&adapter.v, wake_now());
	assert_non_null(adapter.ids[0]);
	assert_ptr_equal(adapter.ids[0]->verbs, &adapter.other);
	assert_true(verbs_listen_deadline(&adapter.v) == NSEC_NEVER);
	expect_used(false, true);
	verbs_listen_detach(&adapter.v.base, l);
	verbs_listener_free(l);
}

/* An event of a request that was not accepted yet, or of a connection: neither belongs to the
 * listener. */
static void others_addresses_move_no_listener(void **state)
{
	struct rdma_cm_id *before;
	struct fabric_listener *l;

	(void)state;
	l = listen_at("127.0.0.1");
	before = adapter.ids[0];
	adapter_cm_event(RDMA_CM_EVENT_ADDR_CHANGE, &adapter.id);
	adapter.watch->ready(adapter.watch, LOOP_READ);
	assert_ptr_equal(adapter.ids[0], before);
	assert_true(verbs_listen_deadline(&adapter.v) == NSEC_NEVER);
	verbs_listen_detach(&adapter.v.base, l);
	verbs_listener_free(l);
}

#define adapter_test(f) cmocka_unit_test_setup_teardown(f, adapter_start, adapter_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		adapter_test(a_listener_leads_to_its_device),
		adapter_test(a_server_leads_to_a_device),
		adapter_test(each_side_may_have_its_own_device),
		adapter_test(all_addresses_lead_to_all_devices),
		adapter_test(an_address_that_leads_nowhere_yet_leads_to_all),
		adapter_test(an_instance_without_uses_gets_all_devices),
		adapter_test(a_device_that_is_not_used_decides_nothing),
		adapter_test(insecure_handles_are_refused),
		adapter_test(windows_are_not_refused),
		adapter_test(without_windows_each_domain_has_its_own),
		adapter_test(with_windows_all_domains_are_one),
		adapter_test(offsets_of_registrations_are_random),
		adapter_test(so_are_those_of_sinks),
		adapter_test(siw_knows_one_address_alone),
		adapter_test(a_listener_moves_with_its_address),
		adapter_test(others_addresses_move_no_listener),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
