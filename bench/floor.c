// SPDX-License-Identifier: BSD-2-Clause
/*
 * bench-floor HOST:PORT HOST:PORT - the least that a gateway in user space does for octets
 *
 * Operation: bench/compare puts this program where the gateway is, between client and server of rpcrdma-perf. The
 * first argument is the IPv4 address to listen on, the second the server's. Octets pass unchanged, one connection at
 * a time, one thread. For each buffer:
 *
 *   epoll_wait -> recv -> CRC32c of each piece, as a receiver checks it -> the same once more, as a sender makes it
 *   -> send
 *
 * No header is read and nothing is allocated. Processor time of a gateway beyond this program's is the price of the
 * protocol. Ends by a signal.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <isa-l/crc.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 256 << 10, PIECE = 64 << 10 };

/* One of the two directions of a connection. */
struct direction {
	int from, to;
	uint8_t *octets; /* BUFFER of them */
	size_t have, sent;
};

enum moved { MOVED_NONE, MOVED_SOME, MOVED_END };

static void fail(const char *what)
{
	fprintf(stderr, "bench-floor: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void read_address(const char *text, struct sockaddr_in *at)
{
	char host[INET_ADDRSTRLEN] = "";
	const char *colon = strrchr(text, ':');
	char *end = NULL;
	long port = colon ? strtol(colon + 1, &end, 10) : 0;

	if (colon && colon > text && (size_t)(colon - text) < sizeof(host))
		memcpy(host, text, (size_t)(colon - text));
	*at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	if (port < 1 || port > UINT16_MAX || *end || inet_pton(AF_INET, host, &at->sin_addr) != 1) {
		fprintf(stderr,
			"bench-floor: %s: an IPv4 address and a port are needed: 127.0.0.1:20049\n",
			text);
		exit(2);
	}
}

static int open_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("a socket cannot be made");
	return fd;
}

static int listen_at(const struct sockaddr_in *at)
{
	int fd = open_socket(), one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (const struct sockaddr *)at, sizeof(*at)) || listen(fd, 8))
		fail("listening is not possible");
	return fd;
}

static void prepare(int fd, int epoll)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		fail("a connection cannot be prepared");
}

static void check_and_make(const struct direction *d)
{
	for (size_t at = 0; at < d->have; at += PIECE) {
		int len = (int)(d->have - at < PIECE ? d->have - at : PIECE);
		unsigned checked = crc32_iscsi(d->octets + at, len, UINT32_MAX);
		unsigned made = crc32_iscsi(d->octets + at, len, UINT32_MAX);

		if (checked != made) {
			fprintf(stderr, "bench-floor: a buffer changed between two CRCs: is this "
					"machine's memory good?\n");
			exit(1);
		}
	}
}

static enum moved move(struct direction *d)
{
	ssize_t n;

	if (d->sent == d->have) {
		n = recv(d->from, d->octets, BUFFER, 0);
		if (n <= 0)
			return n < 0 && errno == EAGAIN ? MOVED_NONE : MOVED_END;
		d->have = (size_t)n;
		d->sent = 0;
		check_and_make(d);
	}
	n = send(d->to, d->octets + d->sent, d->have - d->sent, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN ? MOVED_NONE : MOVED_END;
	d->sent += (size_t)n;
	return MOVED_SOME;
}

/* Both directions, until neither moves. Return: false if an end has closed. */
static bool move_all(struct direction both[2])
{
	for (bool more = true; more;) {
		more = false;
		for (int i = 0; i < 2; i++) {
			enum moved moved = move(&both[i]);

			if (moved == MOVED_END)
				return false;
			more |= moved == MOVED_SOME;
		}
	}
	return true;
}

static void relay(int client, int server)
{
	static uint8_t octets[2][BUFFER];
	struct direction both[2] = {{.from = client, .to = server, .octets = octets[0]},
				    {.from = server, .to = client, .octets = octets[1]}};
	struct epoll_event events[2];
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll < 0)
		fail("epoll_create1");
	prepare(client, epoll);
	prepare(server, epoll);
	while (move_all(both)) {
		if (epoll_wait(epoll, events, 2, -1) < 0 && errno != EINTR)
			fail("epoll_wait");
	}
	close(epoll);
}

int main(int argc, char **argv)
{
	struct sockaddr_in listen_on, connect_to;
	int listener;

	if (argc != 3) {
		fprintf(stderr, "usage: bench-floor LISTEN SERVER, each HOST:PORT\n");
		return 2;
	}
	read_address(argv[1], &listen_on);
	read_address(argv[2], &connect_to);
	listener = listen_at(&listen_on);
	for (;;) {
		int client = accept(listener, NULL, NULL), server;

		if (client < 0)
			fail("accept");
		server = open_socket();
		if (connect(server, (const struct sockaddr *)&connect_to, sizeof(connect_to)))
			fprintf(stderr, "bench-floor: %s: %s\n", argv[2], strerror(errno));
		else
			relay(client, server);
		close(server);
		close(client);
	}
}
