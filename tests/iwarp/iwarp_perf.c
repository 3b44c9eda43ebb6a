/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iwarp_perf [seconds] [address] - performance of the provider over loopback, beside plain TCP. Not
 * a test. Two processes, one thread each: 128-octet ping-pong, and 1 MiB Writes and Reads, 16 in
 * flight, with and without CRC.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/iwarp/iwarp.h"
#include "tests/poll_loop.h"

enum { SMALL = 128, BIG = 1 << 20, DEPTH = 16 };

enum mode { PING, WRITES, READS };

struct side {
	struct poll_loop loop;
	struct fabric *f;
	struct fabric_conn *conn;
	struct segment theirs[DEPTH];
	uint8_t recvs[32][512];
	uint8_t *memory;
	uint64_t done;
	bool ended, up;
};

static double seconds = 2;
static const char *host = "127.0.0.1";

static const struct fabric_conn_params params = {
	.max_recvs = 32, .max_sends = 64, .max_exposures = 32};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Processor time of both processes so far: steadier than the clock on a busy machine. The
 * child's counts once it was waited for. */
static double cpu_s(void)
{
	struct rusage self, child;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &child);
	return (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec + child.ru_utime.tv_sec +
			child.ru_stime.tv_sec) +
	       (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec + child.ru_utime.tv_usec +
			child.ru_stime.tv_usec) /
		       1e6;
}

static void report(const char *name, bool ping, double took, double cpu, uint64_t n)
{
	if (ping)
		printf("%-24s %7.2f us       %7.2f us CPU\n", name, took * 1e6 / (double)n,
		       cpu * 1e6 / (double)n);
	else
		printf("%-24s %7.2f Gbit/s   %7.3f s CPU/GB\n", name, (double)n * 8 / took / 1e9,
		       cpu * 1e9 / (double)n);
	fflush(stdout);
}

static double now_s(void)
{
	return (double)poll_loop_now() / 1e9;
}

static void must(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "%s: %s\n", what, err_name(rc));
		exit(1);
	}
}

static void post_recvs(struct side *s)
{
	for (int i = 0; i < 32; i++)
		must(fabric_post_recv(s->conn, s->recvs[i], 512, s->recvs[i]), "recv");
}

static void side_init(struct side *s, bool crc)
{
	struct iwarp_config cfg;

	memset(s, 0, sizeof(*s));
	iwarp_config_default(&cfg);
	cfg.crc = crc;
	must(poll_loop_init(&s->loop), "loop");
	s->f = iwarp_new(&cfg, &s->loop.loop);
	s->memory = aligned_alloc(4096, (size_t)BIG * DEPTH);
	memset(s->memory, 1, (size_t)BIG * DEPTH);
}

static void say(struct side *s, const void *data, uint32_t len)
{
	struct fabric_sge sge = {data, len};

	must(fabric_send(s->conn, &sge, 1, 0, NULL), "send");
}

static void offer(struct side *s)
{
	struct segment segs[DEPTH];

	for (int i = 0; i < DEPTH; i++)
		must(fabric_expose(s->conn, s->memory + (size_t)i * BIG, BIG,
				   FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE, &segs[i]),
		     "expose");
	memcpy(s->recvs[0], segs, sizeof(segs));
	say(s, s->recvs[0], sizeof(segs));
}

/* Two rounds of events and flushes, as a daemon's loop does. */
static void step(struct side *s, enum mode mode, bool server)
{
	struct fabric_event ev;

	poll_loop_step(&s->loop, poll_loop_timeout(fabric_deadline(s->f), 100));
	fabric_tick(s->f, poll_loop_now());
	while (fabric_poll(s->f, &ev)) {
		switch (ev.type) {
		case FABRIC_EV_REQUEST:
			s->conn = ev.conn;
			must(fabric_prepare(s->conn, &params), "prepare");
			post_recvs(s);
			must(fabric_accept(s->conn, &params, s), "accept");
			break;
		case FABRIC_EV_CONNECTED:
			s->up = true;
			break;
		case FABRIC_EV_RECV:
			if (ev.status)
				break;
			s->done++;
			if (fabric_post_recv(s->conn, ev.cookie, 512, ev.cookie))
				break;
			if (mode == PING && !s->ended)
				say(s, s->memory, SMALL);
			else if (mode != PING && server)
				offer(s);
			else if (mode != PING)
				memcpy(s->theirs, ev.cookie, sizeof(s->theirs));
			break;
		case FABRIC_EV_READ:
		case FABRIC_EV_WRITE:
			if (ev.status || s->ended)
				break;
			s->done++;
			if (mode == READS)
				must(fabric_read(s->conn, ev.cookie, &s->theirs[0], ev.cookie),
				     "read");
			else
				must(fabric_write(s->conn, &(struct fabric_sge){ev.cookie, BIG}, 1,
						  &s->theirs[0], ev.cookie),
				     "write");
			break;
		case FABRIC_EV_DISCONNECTED:
			s->ended = true;
			break;
		default:
			break;
		}
	}
	fabric_flush(s->f);
}

static void serve(struct fabric_listener *l, enum mode mode, bool crc)
{
	static struct side s;

	side_init(&s, crc);
	must(fabric_attach(s.f, l, &s), "attach");
	while (!s.ended)
		step(&s, mode, true);
	if (getenv("IWARP_PERF_COUNTERS")) {
		const struct iwarp_counters *c = iwarp_counters(s.f);

		printf("  server: fpdus %lu/%lu bytes %lu/%lu reads %lu writes %lu copied %lu\n",
		       c->fpdus_in, c->fpdus_out, c->bytes_in, c->bytes_out, c->syscalls_read,
		       c->syscalls_write, c->copied_bytes);
	}
	exit(0);
}

static void run(enum mode mode, bool crc)
{
	static const char *const names[] = {"ping-pong", "writes", "reads"};
	static struct side s;
	struct fabric_addr addr;
	struct fabric_listener *l;
	double begin, took, cpu = cpu_s();
	char name[32];
	int err;
	pid_t child;

	must(fabric_addr_parse(host, 0, &addr), "address");
	l = iwarp_listen(&addr, &err);
	if (!l)
		die("listen");
	iwarp_listener_addr(l, &addr);
	fflush(stdout);
	child = fork();
	if (child == 0)
		serve(l, mode, crc);
	iwarp_listener_free(l);
	side_init(&s, crc);
	must(fabric_connect(s.f, &addr, &params, &s, &s.conn), "connect");
	post_recvs(&s);
	while (!s.up)
		step(&s, mode, false);
	say(&s, s.memory, SMALL);
	while (!s.done)
		step(&s, mode, false);
	s.done = 0;
	for (int i = 0; mode != PING && i < DEPTH; i++) {
		void *at = s.memory + (size_t)i * BIG;

		if (mode == READS)
			must(fabric_read(s.conn, at, &s.theirs[i], at), "read");
		else
			must(fabric_write(s.conn, &(struct fabric_sge){at, BIG}, 1, &s.theirs[i],
					  at),
			     "write");
	}
	fabric_flush(s.f);
	begin = now_s();
	while ((took = now_s() - begin) < seconds)
		step(&s, mode, false);
	if (getenv("IWARP_PERF_COUNTERS")) {
		const struct iwarp_counters *c = iwarp_counters(s.f);

		printf("  client: fpdus %lu/%lu bytes %lu/%lu reads %lu writes %lu copied %lu\n",
		       c->fpdus_in, c->fpdus_out, c->bytes_in, c->bytes_out, c->syscalls_read,
		       c->syscalls_write, c->copied_bytes);
	}
	fflush(stdout);
	s.ended = true;
	fabric_destroy(s.conn);
	fabric_free(s.f);
	free(s.memory);
	poll_loop_fini(&s.loop);
	waitpid(child, NULL, 0);
	snprintf(name, sizeof(name), "iwarp %s%s", names[mode], crc ? ", CRC" : "");
	report(name, mode == PING, took, cpu_s() - cpu, mode == PING ? s.done : s.done * BIG);
}

/* Plain TCP, blocking: the measure of all things here. */
static void raw_child(int fd, bool ping)
{
	char *buf = malloc((size_t)BIG * DEPTH);
	uint64_t i = 0;
	ssize_t n;

	/* As much memory as the others use: caches are part of the cost. */
	while ((n = read(fd, buf + (i++ % DEPTH) * BIG, BIG)) > 0)
		if (ping && write(fd, buf, (size_t)n) != n)
			break;
	exit(0);
}

static void run_raw(bool ping)
{
	struct fabric_addr addr;
	socklen_t len = sizeof(addr.ss);
	int l, fd, one = 1;
	char *buf = calloc(DEPTH, BIG);
	double begin, took, cpu = cpu_s();
	uint64_t n = 0;
	ssize_t got;
	pid_t child;

	must(fabric_addr_parse(host, 0, &addr), "address");
	l = socket(addr.ss.ss_family, SOCK_STREAM, 0);
	if (bind(l, (struct sockaddr *)&addr.ss, addr.len) || listen(l, 1) ||
	    getsockname(l, (struct sockaddr *)&addr.ss, &len))
		die("raw listen");
	fflush(stdout);
	child = fork();
	if (child == 0)
		raw_child(accept(l, NULL, NULL), ping);
	fd = socket(addr.ss.ss_family, SOCK_STREAM, 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (struct sockaddr *)&addr.ss, len))
		die("raw connect");
	begin = now_s();
	while ((took = now_s() - begin) < seconds) {
		got = write(fd, buf + (n / BIG % DEPTH) * BIG, ping ? SMALL : BIG);
		if (ping)
			got = read(fd, buf, SMALL);
		n += ping ? 1 : (uint64_t)got;
	}
	close(fd);
	close(l);
	free(buf);
	waitpid(child, NULL, 0);
	report(ping ? "tcp ping-pong" : "tcp bulk", ping, took, cpu_s() - cpu, n);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc > 1)
		seconds = strtod(argv[1], NULL);
	if (argc > 2)
		host = argv[2];
	run_raw(true);
	run(PING, true);
	run(PING, false);
	run_raw(false);
	run(WRITES, true);
	run(WRITES, false);
	run(READS, true);
	run(READS, false);
	run_raw(false);
	return 0;
}
