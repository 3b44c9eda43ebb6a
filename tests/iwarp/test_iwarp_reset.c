/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection that must free its port ends with a reset, and octets sent before still arrive. */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cmocka_all.h"
#include "tests/iwarp/qp_tools.h"
#include "tests/iwarp/sock_pair.h"

enum { LEN = 1 << 20, SENDS = 4, SOME = 32 << 10 };

static struct sock_pair pair;
static uint8_t octets[LEN];
static struct fabric_addr own; /* of this process alone, so that no other takes a port of it */

static void start(bool resets)
{
	struct iwarp_config cfg;

	iwarp_config_default(&cfg);
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	pair.wait_ms = 5;
	pair.params.resets = resets;
	pair.params.from = &own;
	assert_int_equal(fabric_register(pair.f, octets, sizeof(octets)), 0);
}

static void end(void)
{
	fabric_unregister(pair.f, octets);
	sock_pair_fini(&pair);
}

/* Whether another connection may have that port at once. */
static bool is_free(const struct fabric_addr *port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is = !bind(fd, (const struct sockaddr *)&port->ss, port->len);

	close(fd);
	return is;
}

static void the_port_is_free_at_once(void **state)
{
	struct fabric_addr port;

	(void)state;
	for (int resets = 1; resets >= 0; resets--) {
		start(resets);
		sock_pair_connect(&pair);
		port = pair.client->local;
		fabric_disconnect(pair.client);
		assert_int_equal(
			sock_pair_wait(&pair, pair.client, FABRIC_EV_DISCONNECTED, 1)->status, 0);
		sock_pair_wait(&pair, pair.server, FABRIC_EV_DISCONNECTED, 1);
		assert_int_equal(is_free(&port), resets);
		end();
	}
}

/* A server that takes a connection, in plain octets. */
struct server {
	struct fabric_addr addr;
	int listener, fd;
};

static void server_listen(struct server *s, int buffer)
{
	assert_int_equal(fabric_addr_parse("127.0.0.1", 0, &s->addr), 0);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (buffer)
		setsockopt(s->listener, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	assert_int_equal(bind(s->listener, (struct sockaddr *)&s->addr.ss, s->addr.len), 0);
	assert_int_equal(getsockname(s->listener, (struct sockaddr *)&s->addr.ss, &s->addr.len), 0);
	assert_int_equal(listen(s->listener, 1), 0);
}

static void server_open(struct server *s)
{
	uint8_t request[64];

	assert_int_equal(fabric_connect(pair.f, &s->addr, &pair.params, &pair, &pair.client), 0);
	s->fd = accept(s->listener, NULL, NULL);
	assert_true(s->fd >= 0);
	for (int i = 0; i < 10; i++)
		sock_pair_step(&pair);
	assert_true(recv(s->fd, request, sizeof(request), 0) >= 20);
	assert_int_equal(send(s->fd, "MPA ID Rep Frame\x40\x01\0\0", 20, 0), 20);
	sock_pair_wait(&pair, pair.client, FABRIC_EV_CONNECTED, 1);
}

static void server_close(struct server *s)
{
	close(s->fd);
	close(s->listener);
}

/* Return: octets that came until the end; *@by_reset: how that came. */
static size_t read_all(const struct server *s, bool *by_reset)
{
	static uint8_t sink[LEN];
	nsec_t until = poll_loop_now() + 20 * NSEC_PER_SEC;
	size_t all = 0;
	ssize_t n;

	for (;;) {
		n = recv(s->fd, sink, sizeof(sink), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		if (n > 0)
			all += (size_t)n;
		else
			sock_pair_step(&pair);
		assert_true(poll_loop_now() < until);
	}
	*by_reset = n < 0;
	return all;
}

static void all_that_was_sent_arrives(uint32_t len, int buffer, int idle_ms, bool by_reset)
{
	struct fabric_sge sge = {octets, len};
	struct server server;
	nsec_t until;
	bool reset;

	start(true);
	server_listen(&server, buffer);
	server_open(&server);
	for (unsigned i = 0; i < SENDS; i++)
		assert_int_equal(fabric_send(pair.client, &sge, 1, 0, NULL), 0);
	fabric_disconnect(pair.client);
	until = poll_loop_now() + (nsec_t)idle_ms * NSEC_PER_MS;
	while (poll_loop_now() < until)
		sock_pair_step(&pair);
	assert_true(read_all(&server, &reset) > (size_t)SENDS * len);
	assert_int_equal(reset, by_reset);
	assert_int_equal(sock_pair_wait(&pair, pair.client, FABRIC_EV_DISCONNECTED, 1)->status, 0);
	server_close(&server);
	end();
}

/* Some of it is in the kernel here for a while, and there is nothing left to write: the reset waits for that. */
static void a_reset_is_not_faster_than_octets(void **state)
{
	(void)state;
	all_that_was_sent_arrives(LEN, 0, 0, true);
	all_that_was_sent_arrives(LEN, 0, 300, true);
	all_that_was_sent_arrives(SOME, 16384, 300, true);
}

/* The rest fits the buffers here, and is acknowledged too late for a reset. */
static void a_peer_that_acknowledges_late_gets_a_fin(void **state)
{
	(void)state;
	all_that_was_sent_arrives(SOME, 16384, 3000, false);
}

/* A peer in plain octets, which fills the window of a stream, so that nothing is read. */
static int open_and_fill(void)
{
	static const struct fabric_piece window = {octets, FABRIC_STREAM_WINDOW};
	struct ddp_header h = {.tagged = true, .opcode = RDMAP_WRITE};
	static uint8_t payload[SOME], wire[SOME + 64];
	struct segment to;
	int fd;

	start(false);
	fd = sock_pair_raw_open(&pair);
	assert_int_equal(fabric_stream(pair.server, &window, LEN, NULL, &to), 0);
	h.stag = to.handle;
	for (h.offset = to.offset; h.offset < to.offset + 8 * SOME; h.offset += SOME) {
		size_t n = make_fpdu(wire, &h, payload, SOME, true);

		assert_int_equal(send(fd, wire, n, 0), n);
	}
	return fd;
}

/* The peer resets the connection while the window of a stream is full, and octets that arrived before
 * the reset are unread. @at_once: the reset has come before any of them is read. */
static void reset_behind_a_full_window(bool at_once)
{
	static const struct linger now = {.l_onoff = 1};
	int fd = open_and_fill();
	nsec_t gone;

	while (!at_once && !pair.server->sink_blocked)
		sock_pair_step(&pair);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	close(fd);
	gone = poll_loop_now();
	assert_int_equal(sock_pair_wait(&pair, pair.server, FABRIC_EV_DISCONNECTED, 1)->status,
			 ERR_CLOSED);
	print_message("noticed after %llu ms\n",
		      (unsigned long long)((poll_loop_now() - gone) / NSEC_PER_MS));
	end();
}

static void a_reset_behind_a_full_window_is_noticed(void **state)
{
	(void)state;
	reset_behind_a_full_window(false);
	reset_behind_a_full_window(true);
}

/* The next octet that the peer with @fd expects. */
static uint32_t expects(int fd)
{
	int on = 1, off = -1, queue = TCP_RECV_QUEUE;
	socklen_t len = sizeof(uint32_t);
	uint32_t seq;

	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)), 0);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq, &len), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)), 0);
	return seq;
}

static uint16_t internet_sum(const void *data, size_t len)
{
	const uint8_t *at = data;
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

/* A router tells the gateway that it cannot reach the peer with @fd: ICMP, host unreachable. */
static void tell_unreachable(int fd)
{
	struct sockaddr_in gateway, peer;
	socklen_t len = sizeof(gateway);
	struct {
		struct icmphdr icmp;
		struct iphdr ip;
		struct {
			uint16_t source, dest;
			uint32_t seq;
		} tcp;
	} m = {.icmp = {.type = ICMP_DEST_UNREACH, .code = ICMP_HOST_UNREACH},
	       .ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP}};
	int raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);

	assert_true(raw >= 0);
	assert_int_equal(getpeername(fd, (struct sockaddr *)&gateway, &len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&peer, &len), 0);
	m.ip.saddr = gateway.sin_addr.s_addr;
	m.ip.daddr = peer.sin_addr.s_addr;
	m.ip.tot_len = htons(sizeof(m) - sizeof(m.icmp));
	m.tcp.source = gateway.sin_port;
	m.tcp.dest = peer.sin_port;
	m.tcp.seq = htonl(expects(fd));
	m.icmp.checksum = internet_sum(&m, sizeof(m));
	gateway.sin_port = 0;
	assert_int_equal(
		sendto(raw, &m, sizeof(m), 0, (struct sockaddr *)&gateway, sizeof(gateway)),
		sizeof(m));
	close(raw);
}

/* TCP goes on after such a message, because routes and neighbours come back. The test is in a network
 * of its own, where it may send one. */
static void an_unreachable_peer_is_no_reset(void **state)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd;

	(void)state;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		skip();
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
	close(fd);
	fd = open_and_fill();
	while (!pair.server->sink_blocked)
		sock_pair_step(&pair);
	tell_unreachable(fd);
	assert_int_equal(send(fd, "", 1, 0), 1);
	for (nsec_t until = poll_loop_now() + 200 * NSEC_PER_MS; poll_loop_now() < until;)
		sock_pair_step(&pair);
	assert_int_equal(sock_pair_count(&pair, pair.server, FABRIC_EV_DISCONNECTED), 0);
	close(fd);
	end();
}

static int set_own(void **state)
{
	char text[32];
	unsigned pid = (unsigned)getpid();

	(void)state;
	(void)snprintf(text, sizeof(text), "127.%u.%u.%u", 16 + (pid >> 16) % 200, pid >> 8 & 255,
		       pid & 255);
	return fabric_addr_parse(text, 0, &own);
}

/* A peer takes the last octets of an ended connection as slowly as it likes. That takes it 100 s, and the connection ends
 * before. */
static void a_slow_peer_does_not_keep_an_ended_connection(void **state)
{
	struct fabric_sge sge = {octets, LEN};
	struct server s = {.fd = -1};
	uint8_t sip[4096];
	nsec_t begin;

	(void)state;
	start(false);
	server_listen(&s, SOME);
	server_open(&s);
	for (int i = 0; i < SENDS; i++)
		assert_int_equal(fabric_send(pair.client, &sge, 1, 0, NULL), 0);
	fabric_disconnect(pair.client);
	begin = poll_loop_now();
	for (nsec_t next = begin; !sock_pair_count(&pair, pair.client, FABRIC_EV_DISCONNECTED);
	     sock_pair_step(&pair))
		if (poll_loop_now() >= next) {
			next += 100 * NSEC_PER_MS;
			assert_true(recv(s.fd, sip, sizeof(sip), 0) > 0);
			assert_true(next < begin + 10 * NSEC_PER_SEC);
		}
	assert_true(poll_loop_now() - begin >= 5 * NSEC_PER_SEC);
	assert_int_equal(sock_pair_wait(&pair, pair.client, FABRIC_EV_DISCONNECTED, 1)->status,
			 ERR_TIMEOUT);
	server_close(&s);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_port_is_free_at_once),
		cmocka_unit_test(a_reset_is_not_faster_than_octets),
		cmocka_unit_test(a_peer_that_acknowledges_late_gets_a_fin),
		cmocka_unit_test(a_reset_behind_a_full_window_is_noticed),
		cmocka_unit_test(an_unreachable_peer_is_no_reset),
		cmocka_unit_test(a_slow_peer_does_not_keep_an_ended_connection),
	};

	return cmocka_run_group_tests(tests, set_own, NULL);
}
