/* SPDX-License-Identifier: BSD-2-Clause */
/* The provider over loopback sockets, through its public header. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/cmocka_all.h"
#include "tests/iwarp/sock_pair.h"

enum { BIG = 1 << 20 };

static struct sock_pair pair;
static uint8_t recv_a[4096], recv_b[4096];
static uint8_t source[BIG + 8], target[BIG + 8];

static void fill(uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(seed + i * 7 + (i >> 9));
}

static void start(const char *host, bool crc)
{
	struct iwarp_config cfg;

	iwarp_config_default(&cfg);
	cfg.crc = crc;
	sock_pair_init(&pair, &cfg, host);
}

static void post_server_recv(struct sock_pair *p, struct fabric_conn *c)
{
	(void)p;
	assert_int_equal(fabric_post_recv(c, recv_b, sizeof(recv_b), recv_b), 0);
}

static void ping(void)
{
	struct fabric_sge sge[2] = {{"hello, ", 7}, {"world", 5}};
	struct fabric_event *ev;

	assert_int_equal(fabric_send(pair.client, sge, 2, 0, source), 0);
	ev = sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 1);
	assert_int_equal(ev->len, 12);
	assert_ptr_equal(ev->cookie, recv_b);
	assert_memory_equal(recv_b, "hello, world", 12);
	assert_int_equal(sock_pair_wait(&pair, pair.client, FABRIC_EV_SEND, 1)->status, 0);
}

static void all_kinds(const char *host, bool crc)
{
	struct fabric_sge sge = {source, BIG};
	struct segment seg, rseg;
	struct fabric_event *ev;

	start(host, crc);
	pair.before_accept = post_server_recv;
	pair.params.private_data = "private";
	pair.params.private_data_len = 7;
	sock_pair_connect(&pair);
	assert_int_equal(pair.private_len, 7);
	assert_memory_equal(pair.private_data, "private", 7);
	ping();

	/* Write and Read of 1 MiB, the Write followed by a Send that invalidates. */
	fill(source, BIG, 1);
	assert_int_equal(fabric_expose(pair.client, target, BIG, FABRIC_REMOTE_WRITE, &seg), 0);
	assert_int_equal(pair.client->handles_live, 1);
	assert_int_equal(fabric_post_recv(pair.client, recv_a, sizeof(recv_a), recv_a), 0);
	assert_int_equal(fabric_write(pair.server, &sge, 1, &seg, &sge), 0);
	assert_int_equal(fabric_send(pair.server, NULL, 0, seg.handle, NULL), 0);
	ev = sock_pair_wait(&pair, pair.client, FABRIC_EV_RECV, 1);
	assert_int_equal(ev->len, 0);
	assert_int_equal(ev->invalidated, seg.handle);
	assert_int_equal(pair.client->handles_live, 0);
	assert_memory_equal(source, target, BIG);
	assert_int_equal(fabric_withdraw(pair.client, seg.handle, NULL, NULL), 1);

	fill(source, BIG, 2);
	assert_int_equal(fabric_expose(pair.client, source, BIG, FABRIC_REMOTE_READ, &rseg), 0);
	assert_int_equal(fabric_read(pair.server, target, &rseg, &rseg), 0);
	ev = sock_pair_wait(&pair, pair.server, FABRIC_EV_READ, 1);
	assert_int_equal(ev->status, 0);
	assert_memory_equal(source, target, BIG);
	assert_int_equal(iwarp_counters(pair.f)->copied_bytes, 0);
	assert_int_equal(fabric_withdraw(pair.client, rseg.handle, NULL, NULL), 1);

	fabric_disconnect(pair.client);
	assert_int_equal(sock_pair_wait(&pair, pair.client, FABRIC_EV_DISCONNECTED, 1)->status, 0);
	assert_int_equal(sock_pair_wait(&pair, pair.server, FABRIC_EV_DISCONNECTED, 1)->status, 0);
	sock_pair_fini(&pair);
}

static void test_ipv4(void **state)
{
	(void)state;
	all_kinds("127.0.0.1", true);
}

static void test_ipv6(void **state)
{
	(void)state;
	all_kinds("::1", true);
}

static void test_no_crc(void **state)
{
	(void)state;
	all_kinds("127.0.0.1", false);
}

static void test_reject(void **state)
{
	struct fabric_event *ev;

	(void)state;
	start("127.0.0.1", true);
	pair.reject = 1;
	assert_int_equal(fabric_connect(pair.f, &pair.addr, &pair.params, NULL, &pair.client), 0);
	ev = sock_pair_wait(&pair, pair.client, FABRIC_EV_DISCONNECTED, 1);
	assert_int_equal(ev->status, ERR_REJECTED);
	assert_int_equal(pair.private_len, 2);
	assert_memory_equal(pair.private_data, "no", 2);
	sock_pair_fini(&pair);
}

static void test_refused(void **state)
{
	struct fabric_addr nobody;
	struct fabric_event *ev;

	(void)state;
	start("127.0.0.1", true);
	nobody = pair.addr;
	assert_int_equal(fabric_addr_parse("127.0.0.1", 1, &nobody), 0);
	assert_int_equal(fabric_connect(pair.f, &nobody, &pair.params, NULL, &pair.client), 0);
	ev = sock_pair_wait(&pair, pair.client, FABRIC_EV_DISCONNECTED, 1);
	assert_int_equal(ev->status, ERR_REFUSED);
	assert_non_null(ev->why);
	sock_pair_fini(&pair);
}

/* No server has anything to do with it. */
static void test_source_of_another_machine(void **state)
{
	static const char *const at[] = {"127.0.0.1", "::1"}, *const sources[] = {"192.0.2.1",
										  "2001:db8::1"};
	struct fabric_addr from;
	struct fabric_event *ev;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		start(at[i], true);
		assert_int_equal(fabric_addr_parse(sources[i], 0, &from), 0);
		pair.params.from = &from;
		assert_int_equal(
			fabric_connect(pair.f, &pair.addr, &pair.params, NULL, &pair.client), 0);
		ev = sock_pair_wait(&pair, pair.client, FABRIC_EV_DISCONNECTED, 1);
		assert_int_equal(err_class(ev->status), ERR_CLASS_CONFIG);
		assert_string_equal(ev->why,
				    "its source is no address of this machine, see ip address");
		pair.params.from = NULL;
		sock_pair_fini(&pair);
	}
}

static void test_no_descriptor_is_left(void **state)
{
	struct rlimit before, none;

	(void)state;
	start("127.0.0.1", true);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(
		err_class(fabric_connect(pair.f, &pair.addr, &pair.params, NULL, &pair.client)),
		ERR_CLASS_LIMIT);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	sock_pair_fini(&pair);
}

/* For as long as its owner said an instance wants to be asked again at once; then it waits. */
static void test_busy_polling_ends(void **state)
{
	nsec_t late = poll_loop_now() + 20 * NSEC_PER_SEC;

	(void)state;
	start("127.0.0.1", true);
	pair.before_accept = post_server_recv;
	pair.params.tuning.busy_poll_us = 20000;
	sock_pair_connect(&pair);
	ping();
	assert_true(fabric_deadline(pair.f) <= poll_loop_now());
	while (fabric_deadline(pair.f) <= poll_loop_now()) {
		assert_true(poll_loop_now() < late);
		sock_pair_step(&pair);
	}
	pair.params.tuning.busy_poll_us = 0;
	sock_pair_fini(&pair);
}

/* Both ends of the connection are on this machine. The listening socket does not pace either, because pacing that has begun does
 * not end. */
static void test_loopback_is_not_paced(void **state)
{
	enum { LAST_FD = 1023 };
	unsigned ends = 0;

	(void)state;
	start("127.0.0.1", true);
	pair.before_accept = post_server_recv;
	sock_pair_connect(&pair);
	for (int fd = 0; fd <= LAST_FD; fd++) {
		struct sockaddr_storage peer;
		char name[16] = "";
		socklen_t peer_len = sizeof(peer), len = sizeof(name);

		if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len))
			continue;
		assert_string_not_equal(name, "bbr");
		ends += !getpeername(fd, (struct sockaddr *)&peer, &peer_len);
	}
	assert_int_equal(ends, 2);
	sock_pair_fini(&pair);
}

/* A client that takes no results uses up the sums of its own host, not those of the server. */
static void test_sums_of_results_count_for_the_client(void **state)
{
	enum { LEN = 4096, MOST = 4096 };
	static struct fabric_sums *taken[MOST];
	struct fabric_conn *server, *idle;
	struct iwarp_config cfg;
	unsigned n = 0;
	int fd;

	(void)state;
	iwarp_config_default(&cfg);
	cfg.crc = true;
	cfg.seed = 1; /* the two hosts do not count as one */
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	pair.before_accept = post_server_recv;
	sock_pair_connect(&pair);
	server = pair.client; /* the relay connects to servers */
	idle = pair.server;
	pair.server = NULL;
	pair.raw_from = INADDR_LOOPBACK + 1;
	fd = sock_pair_raw_open(&pair);
	while (n < MOST - 1 && (taken[n] = fabric_sums_take(server, idle, LEN, UINT32_MAX)))
		n++;
	assert_in_range(n, 1000, MOST - 2);
	taken[n] = fabric_sums_take(server, pair.server, LEN, UINT32_MAX);
	assert_non_null(taken[n]);
	for (unsigned i = 0; i <= n; i++)
		fabric_sums_give(taken[i]);
	close(fd);
	fabric_destroy(idle);
	sock_pair_fini(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_no_crc),
		cmocka_unit_test(test_reject),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_source_of_another_machine),
		cmocka_unit_test(test_no_descriptor_is_left),
		cmocka_unit_test(test_busy_polling_ends),
		cmocka_unit_test(test_loopback_is_not_paced),
		cmocka_unit_test(test_sums_of_results_count_for_the_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
