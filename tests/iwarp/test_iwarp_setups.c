/* SPDX-License-Identifier: BSD-2-Clause */
/* Many connections over TCP that send nothing, beside some that complete set-up. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fabric/iwarp/ddp.h"
#include "fabric/iwarp/fpdu.h"
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

/* Connect all silent peers, from one host, until @failed were displaced. */
static void session_limits_comes(uint64_t failed)
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

static void silent_connections_do_not_keep_out_one_that_speaks(void **state)
{
	(void)state;
	session_limits_comes(CROWD - MOST);
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
	session_limits_comes(CROWD + 1 - MOST);
	for (int i = 0; i < 50; i++)
		sock_pair_step(&pair);
	assert_true(is_open(slow));
	assert_int_equal(failures(), CROWD + 1 - MOST);
	close(slow);
}

static char said[1024];

static void hear(const char *line)
{
	if (strstr(line, "event=iwarp.setup "))
		snprintf(said, sizeof(said), "%s", line);
}

static void is_reported(const char *octets, size_t len, const char *words)
{
	uint64_t before = failures();
	int fd = connect_from("127.0.0.3");

	said[0] = '\0';
	assert_int_equal(write(fd, octets, len), len);
	for (int i = 0; i < 3; i++)
		sock_pair_step(&pair);
	shutdown(fd, SHUT_WR);
	while (failures() == before)
		sock_pair_step(&pair);
	close(fd);
	if (words ? !strstr(said, words) : *said)
		fail_msg("the log should have %s: %s", words ? words : "nothing", said);
}

#define SAYS(text) text, sizeof(text) - 1

/* At level info: it is the operator's client, at the wrong port or without RDMA. */
static void a_peer_that_speaks_another_protocol_is_logged(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(hear);
	is_reported(SAYS("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), "why=\"peer speaks TLS");
	is_reported(SAYS("GET / HTTP/1.1\r\nHost: x\r\n"), "why=\"peer speaks HTTP");
	is_reported(SAYS("\x80\0\0\x28\1\2\3\4\0\0\0\0\0\0\0\2\0\1\x86\xa3\0\0\0\4"),
		    "why=\"peer speaks RPC over TCP");
	is_reported(SAYS("SSH-2.0-x\r\n"), "why=\"peer speaks SSH");
	is_reported(SAYS("\r\n\"\x01"),
		    "why=\"peer speaks something else than MPA\" first=0d0a2201");
	assert_non_null(strstr(said, " peer=127.0.0.3:"));
	is_reported(SAYS("MPA ID Re"), NULL);
	is_reported(SAYS(""), NULL);
	log_set_sink(NULL);
}

/* Connect to a server, and wait until it has the Request Frame. Return: the server's socket. */
static int ask(struct fabric_conn **conn)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	struct fabric_addr at = {.len = sizeof(at.ss)};
	char request[64];

	assert_int_equal(fabric_addr_parse("127.0.0.1", 0, &at), 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at.ss, at.len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at.ss, &at.len), 0);
	assert_int_equal(fabric_connect(pair.f, &at, &pair.params, NULL, conn), 0);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	while (recv(fd, request, sizeof(request), MSG_DONTWAIT) < 20)
		sock_pair_step(&pair);
	close(listener);
	return fd;
}

/* A server is asked in MPA, says @octets and ends. */
static void answers(const char *octets, size_t len, const char *why)
{
	struct fabric_conn *conn;
	int fd = ask(&conn);

	assert_int_equal(write(fd, octets, len), len);
	shutdown(fd, SHUT_WR);
	assert_string_equal(sock_pair_wait(&pair, conn, FABRIC_EV_DISCONNECTED, 1)->why, why);
	close(fd);
}

static void a_server_that_speaks_something_else_is_reported(void **state)
{
	(void)state;
	answers(SAYS("\x15\x03\x01\0\2\2\x32"), "peer speaks TLS, not MPA");
	answers(SAYS("HTTP/1.1 400 Bad Request\r\n\r\n"), "peer speaks HTTP, not MPA");
	answers(SAYS(""),
		"peer closed the connection during set-up: perhaps it speaks no RDMA (MPA) there");
}

/* RFC 6581: the initiator's IRD, 32, is less than the acceptor's ORD, 1000. The acceptor learns the
 * reason: MPA, insufficient IRD resources. */
static void a_server_with_too_much_read_depth_gets_a_terminate(void **state)
{
	enum { FPDU = FPDU_LEN_BYTES + DDP_UNTAGGED_BYTES + RDMAP_TERM_BYTES + FPDU_CRC_BYTES };
	uint8_t said_back[FPDU + 1], *ddp = said_back + FPDU_LEN_BYTES;
	struct fabric_conn *conn;
	struct ddp_header h;
	struct ddp_term term;
	struct fabric_event *ev;
	int fd = ask(&conn);

	(void)state;
	assert_int_equal(write(fd, "MPA ID Rep Frame\x50\2\0\4\0\x20\3\xe8", 24), 24);
	while (recv(fd, said_back, sizeof(said_back), MSG_DONTWAIT | MSG_PEEK) < FPDU &&
	       !sock_pair_count(&pair, conn, FABRIC_EV_DISCONNECTED))
		sock_pair_step(&pair);
	assert_int_equal(recv(fd, said_back, sizeof(said_back), 0), FPDU);
	assert_int_equal(ddp_header_decode(ddp, &h, &term), 0);
	assert_int_equal(h.opcode, RDMAP_TERMINATE);
	assert_int_equal(ddp_term_decode(ddp + DDP_UNTAGGED_BYTES, RDMAP_TERM_BYTES, &term), 0);
	assert_int_equal(term.layer << 12 | term.etype << 8 | term.code, 0x2006);
	shutdown(fd, SHUT_WR);
	ev = sock_pair_wait(&pair, conn, FABRIC_EV_DISCONNECTED, 1);
	assert_int_equal(ev->status, ERR_PROTO);
	assert_string_equal(ev->why, "MPA: insufficient read depth");
	assert_int_equal(sock_pair_count(&pair, conn, FABRIC_EV_CONNECTED), 0);
	assert_int_equal(failures(), 1);
	close(fd);
}

/* The memory of connections in set-up is counted separately, and reported until they are gone. */
static void their_memory_is_reported(void **state)
{
	size_t before = fabric_pooled(pair.f), each;

	(void)state;
	session_limits_comes(CROWD - MOST);
	each = (fabric_pooled(pair.f) - before) / MOST;
	assert_true(each > 1000 && each < 10000);
	for (int i = 0; i < CROWD; i++)
		shutdown(crowd[i], SHUT_RDWR);
	while (failures() < CROWD)
		sock_pair_step(&pair);
	assert_int_equal(fabric_pooled(pair.f), before);
}

/* A peer that was rejected may say a little more, but not for as long as it likes. */
static void a_rejected_peer_that_talks_on_is_closed(void **state)
{
	enum { PIECE = 4096, PIECES = 50 };
	static const uint8_t more[PIECE];
	unsigned sent = 0;
	int fd;

	(void)state;
	pair.reject = 1;
	fd = connect_from("127.0.0.4");
	assert_int_equal(send(fd, "MPA ID Req Frame\0\1\0\0", 20, 0), 20);
	while (pair.requests < 1)
		sock_pair_step(&pair);
	for (; sent < PIECES && send(fd, more, PIECE, MSG_NOSIGNAL) > 0; sent++)
		sock_pair_step(&pair);
	assert_in_range(sent, 65536 / PIECE, PIECES - 1);
	close(fd);
}

/* Another worker has fewer sessions. This worker leaves a connection to it, and soon looks again. */
static void the_fullest_worker_accepts_later(void **state)
{
	nsec_t looks_at = NSEC_NEVER;
	unsigned looks = 0;
	int fd;

	(void)state;
	pair.f->is_fullest = true;
	fd = connect_from("127.0.0.5");
	for (nsec_t end = poll_loop_now() + 500 * NSEC_PER_MS; looks < 2; sock_pair_step(&pair)) {
		nsec_t next = fabric_deadline(pair.f), now = poll_loop_now();

		looks += next != looks_at && next <= now + 5 * NSEC_PER_MS;
		looks_at = next;
		assert_int_equal(pair.f->arrived, 0);
		assert_true(now < end);
	}
	pair.f->is_fullest = false;
	for (int i = 0; i < 10 && !pair.f->arrived; i++)
		sock_pair_step(&pair);
	assert_int_equal(pair.f->arrived, 1);
	close(fd);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(silent_connections_do_not_keep_out_one_that_speaks),
		T(another_hosts_push_out_their_own),
		T(a_peer_that_speaks_another_protocol_is_logged),
		T(a_server_that_speaks_something_else_is_reported),
		T(a_server_with_too_much_read_depth_gets_a_terminate),
		T(their_memory_is_reported),
		T(a_rejected_peer_that_talks_on_is_closed),
		T(the_fullest_worker_accepts_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
