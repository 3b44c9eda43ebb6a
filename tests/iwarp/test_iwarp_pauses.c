/* SPDX-License-Identifier: BSD-2-Clause */
/* The process is stopped for longer than the time limits of its peers (base/pause.h). A tick far in the future stands for it. */
#include "tests/cmocka_all.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/pause.h"
#include "fabric/iwarp/ddp.h"
#include "fabric/iwarp/fpdu.h"
#include "tests/iwarp/sock_pair.h"

#define S NSEC_PER_SEC

/* Seconds. REST: of the limit, without one look. MANY: pauses, more than a limit has looks. */
enum { LIMIT = 20, PAUSE = 100, REST = LIMIT - LIMIT / STALL_LOOKS, MANY = 2 * SETUP_LOOKS };

static struct sock_pair pair;
static nsec_t now;

static int setup(void **state)
{
	struct iwarp_config cfg;

	(void)state;
	iwarp_config_default(&cfg);
	cfg.setup_timeout_ms = LIMIT * 1000;
	cfg.stall_timeout_ms = 2 * LIMIT * 1000;
	memset(&pair, 0, sizeof(pair));
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sock_pair_fini(&pair);
	return 0;
}

static void steps(unsigned n)
{
	while (n-- > 0)
		sock_pair_step(&pair);
	now = poll_loop_now();
}

static void tick(void)
{
	struct fabric_event ev;

	fabric_tick(pair.f, now);
	while (fabric_poll(pair.f, &ev))
		pair.log[pair.logged++] = ev;
}

static void pause_process(void)
{
	now += PAUSE * S;
	tick();
}

static void run(unsigned seconds)
{
	while (seconds-- > 0) {
		now += S;
		tick();
	}
}

static void a_client_in_set_up_has_the_rest_of_its_time(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(connect(fd, (struct sockaddr *)&pair.addr.ss, pair.addr.len), 0);
	steps(5);
	pause_process();
	assert_int_equal(iwarp_counters(pair.f)->setup_failures, 0);
	run(REST);
	assert_int_equal(iwarp_counters(pair.f)->setup_failures, 0);
	run(LIMIT - REST + SETUP_LOOKS); /* a look may be a second late here */
	assert_int_equal(iwarp_counters(pair.f)->setup_failures, 1);
	close(fd);
}

static void pauses_that_recur_do_not_keep_a_silent_client(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(connect(fd, (struct sockaddr *)&pair.addr.ss, pair.addr.len), 0);
	steps(5);
	for (unsigned i = 0; i < MANY; i++)
		pause_process();
	assert_int_equal(iwarp_counters(pair.f)->setup_failures, 1);
	close(fd);
}

/* The server accepts TCP, and sends no MPA Reply. */
static void a_server_in_set_up_has_the_rest_of_its_time(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct fabric_conn_params params = {.max_recvs = 1, .max_sends = 1};
	struct fabric_addr to;

	(void)state;
	assert_int_equal(fabric_addr_parse("127.0.0.1", 0, &to), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to.ss, to.len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&to.ss, &to.len), 0);
	assert_int_equal(fabric_connect(pair.f, &to, &params, NULL, &pair.client), 0);
	steps(5);
	pause_process();
	run(REST);
	assert_int_equal(sock_pair_count(&pair, pair.client, FABRIC_EV_DISCONNECTED), 0);
	run(LIMIT - REST + SETUP_LOOKS); /* a look may be a second late here */
	assert_int_equal(sock_pair_count(&pair, pair.client, FABRIC_EV_DISCONNECTED), 1);
	close(fd);
}

static uint8_t recv_buf[64];

static void post_server_recv(struct sock_pair *p, struct fabric_conn *c)
{
	(void)p;
	assert_int_equal(fabric_post_recv(c, recv_buf, sizeof(recv_buf), recv_buf), 0);
}

static void begin_message(int *fd)
{
	static const uint8_t header[6] = {0, 40, 0x41, 0x43};

	pair.before_accept = post_server_recv;
	*fd = sock_pair_raw_open(&pair);
	assert_int_equal(send(*fd, header, sizeof(header), 0), sizeof(header));
	steps(5);
}

static void a_message_that_was_begun_has_the_rest_of_its_time(void **state)
{
	int fd;

	(void)state;
	begin_message(&fd);
	pause_process();
	run(REST - 1);
	assert_int_equal(sock_pair_count(&pair, pair.server, FABRIC_EV_DISCONNECTED), 0);
	run(2);
	assert_int_equal(sock_pair_count(&pair, pair.server, FABRIC_EV_DISCONNECTED), 1);
	close(fd);
}

static void pauses_that_recur_do_not_keep_a_message(void **state)
{
	int fd;

	(void)state;
	begin_message(&fd);
	for (unsigned i = 0; i < MANY; i++)
		pause_process();
	assert_int_equal(sock_pair_count(&pair, pair.server, FABRIC_EV_DISCONNECTED), 1);
	close(fd);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_client_in_set_up_has_the_rest_of_its_time),
		T(pauses_that_recur_do_not_keep_a_silent_client),
		T(a_server_in_set_up_has_the_rest_of_its_time),
		T(a_message_that_was_begun_has_the_rest_of_its_time),
		T(pauses_that_recur_do_not_keep_a_message),
	};

	return cmocka_run_group_tests_name("iwarp_pauses", tests, NULL, NULL);
}
