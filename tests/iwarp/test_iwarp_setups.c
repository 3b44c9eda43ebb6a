/* SPDX-License-Identifier: BSD-2-Clause */
/* Many that connect over TCP and say nothing, beside some that mean it. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cmocka_all.h"
#include "tests/iwarp/sock_pair.h"

enum { MOST = 8, CROWD = 20 };

static struct sock_pair pair;
static int crowd[CROWD];

static int setup(void **state)
{
	struct iwarp_config cfg;

	(void)state;
	iwarp_config_default(&cfg);
	cfg.max_setups = MOST;
	cfg.setup_timeout_ms = 20000;
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < CROWD; i++)
		close(crowd[i]);
	sock_pair_fini(&pair);
	return 0;
}

static uint64_t failures(void)
{
	return iwarp_counters(pair.f)->setup_failures;
}

static int connect_from(const char *host)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct fabric_addr from;

	assert_int_equal(fabric_addr_parse(host, 0, &from), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&from.ss, from.len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&pair.addr.ss, pair.addr.len), 0);
	return fd;
}

/* All of the crowd, from one host, until @failed have made room. */
static void crowd_comes(uint64_t failed)
{
	for (int i = 0; i < CROWD; i++)
		crowd[i] = connect_from("127.0.0.1");
	while (failures() < failed)
		sock_pair_step(&pair);
}

static bool is_open(int fd)
{
	char octet;

	return recv(fd, &octet, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void they_do_not_keep_out_one_that_speaks(void **state)
{
	(void)state;
	crowd_comes(CROWD - MOST);
	assert_int_equal(failures(), CROWD - MOST);
	sock_pair_connect(&pair);
	assert_int_equal(failures(), CROWD - MOST + 1);
}

/* One that takes its time is not pushed out, however many the others are. */
static void another_hosts_push_out_their_own(void **state)
{
	int slow = connect_from("127.0.0.2");

	(void)state;
	for (int i = 0; i < 3; i++)
		sock_pair_step(&pair);
	crowd_comes(CROWD + 1 - MOST);
	for (int i = 0; i < 50; i++)
		sock_pair_step(&pair);
	assert_true(is_open(slow));
	assert_int_equal(failures(), CROWD + 1 - MOST);
	close(slow);
}

/* Their memory is in nobody else's account, and told until they are gone. */
static void their_memory_is_told(void **state)
{
	size_t before = fabric_pooled(pair.f), each;

	(void)state;
	crowd_comes(CROWD - MOST);
	each = (fabric_pooled(pair.f) - before) / MOST;
	assert_true(each > 1000 && each < 10000);
	for (int i = 0; i < CROWD; i++)
		shutdown(crowd[i], SHUT_RDWR);
	while (failures() < CROWD)
		sock_pair_step(&pair);
	assert_int_equal(fabric_pooled(pair.f), before);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(they_do_not_keep_out_one_that_speaks),
		T(another_hosts_push_out_their_own),
		T(their_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
