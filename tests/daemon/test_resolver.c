/* SPDX-License-Identifier: BSD-2-Clause */
/* The resolver against a faulty name server of the test's own, on loopback. */
#include "tests/cmocka_all.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/resolver.h"

enum { A = 1, CNAME = 5, AAAA = 28, MOST = 600 };

/* No name server of these tests is asked again because this process had no time to answer; nor does a
 * look-up end for that reason. A test in which the name server is silent says so. */
#define PATIENT "options timeout:30 attempts:2\n"
#define LONG (60 * NSEC_PER_SEC)
/* less than a name server is waited for */
#define AT_ONCE (20 * NSEC_PER_SEC)

/* One question as it came, and where the answer grows. */
struct query {
	uint8_t octets[MOST];
	size_t len, name_len; /* of all; of the name in it */
	unsigned type;
	struct sockaddr_in from;
};

static struct loop *loop;
static struct resolver *resolver;
static struct name name;
static char dir[] = "/tmp/resolver.XXXXXX", resolv_conf[64], hosts[64];
static int server, other; /* sockets; the second is another host's */
static unsigned queries;
static void (*answers)(const struct query *q);

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void write_file(const char *path, const char *fmt, ...)
{
	FILE *f = fopen(path, "w");
	va_list ap;

	assert_non_null(f);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
}

static int udp(struct sockaddr_in *at, unsigned host)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(*at);

	*at = (struct sockaddr_in){.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(0x7f000000 + host)};
	assert_int_equal(bind(fd, (struct sockaddr *)at, sizeof(*at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

static int begin(void **state)
{
	struct resolver_config cfg = {.hosts = hosts, .resolv_conf = resolv_conf};
	struct sockaddr_in at;

	(void)state;
	loop = loop_new();
	assert_non_null(loop);
	server = udp(&at, 1);
	write_file(resolv_conf, "nameserver 127.0.0.1:%u\n" PATIENT, ntohs(at.sin_port));
	other = udp(&at, 2);
	write_file(hosts, "10.7.7.7 known.example\n");
	cfg.loop = loop;
	resolver = resolver_new(&cfg);
	assert_non_null(resolver);
	memset(&name, 0, sizeof(name));
	strcpy(name.text, "filer.example");
	queries = 0;
	answers = NULL;
	return 0;
}

static int end(void **state)
{
	(void)state;
	resolver_free(resolver);
	loop_free(loop);
	close(server);
	close(other);
	assert_int_equal(mem_live(), 0);
	return 0;
}

static void serve(void)
{
	struct query q;
	socklen_t len = sizeof(q.from);
	ssize_t n;

	while ((n = recvfrom(server, q.octets, sizeof(q.octets), 0, (struct sockaddr *)&q.from,
			     &len)) > 12) {
		q.len = (size_t)n;
		q.name_len = 0;
		while (q.octets[12 + q.name_len])
			q.name_len += q.octets[12 + q.name_len] + 1u;
		q.name_len++;
		q.type = q.octets[12 + q.name_len + 1];
		queries++;
		if (answers)
			answers(&q);
	}
}

/* All that was sent is received, and what is sent for that reason, before the resolver looks at the
 * clock: however long this process did not run, an answer that was sent is not late. */
static void settle(void)
{
	enum { ROUNDS = 4 };

	for (unsigned i = 0; i < ROUNDS; i++) {
		serve();
		assert_int_equal(loop_run_once(loop, 0), 0);
	}
}

/* Until the name has one more answer. Return: whether it has. */
static bool resolve(void)
{
	uint64_t before = name.answers;
	nsec_t end_at = loop_now() + LONG;

	name.is_asked = true;
	if (!resolver_ask(resolver, &name))
		return false;
	while (name.answers == before && loop_now() < end_at) {
		nsec_t at =
			nsec_min(resolver_tick(resolver, loop_now()), loop_now() + 5 * NSEC_PER_MS);

		assert_int_equal(loop_run_once(loop, at), 0);
		settle();
	}
	return name.answers > before;
}

static void send_as(int fd, const struct query *q, const uint8_t *octets, size_t len)
{
	assert_int_equal(
		sendto(fd, octets, len, 0, (const struct sockaddr *)&q->from, sizeof(q->from)),
		(ssize_t)len);
}

/* Header and question, as an answer. Return: its octets so far. */
static size_t head(const struct query *q, uint8_t *to, unsigned rcode, unsigned count)
{
	size_t len = 12 + q->name_len + 4;

	memcpy(to, q->octets, len);
	put16(to + 2, 0x8180 | rcode);
	put16(to + 6, count);
	put16(to + 8, 0);
	put16(to + 10, 0);
	return len;
}

/* One record for the name that was asked for. */
static size_t record(uint8_t *to, size_t at, unsigned type, uint32_t ttl, const void *data,
		     unsigned len)
{
	put16(to + at, 0xc00c);
	put16(to + at + 2, type);
	put16(to + at + 4, 1);
	put16(to + at + 6, ttl >> 16);
	put16(to + at + 8, ttl & 0xffff);
	put16(to + at + 10, len);
	memcpy(to + at + 12, data, len);
	return at + 12 + len;
}

static const uint8_t v4[] = {10, 0, 0, 1},
		     v6[] = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

static void answer_with(const struct query *q, uint32_t ttl)
{
	uint8_t to[MOST];
	size_t len = head(q, to, 0, 1);

	len = q->type == A ? record(to, len, A, ttl, v4, 4) : record(to, len, AAAA, ttl, v6, 16);
	send_as(server, q, to, len);
}

static void well(const struct query *q)
{
	answer_with(q, 77);
}

static void finds_both_families(void **state)
{
	(void)state;
	answers = well;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FOUND);
	assert_int_equal(name.last.n, 2);
	assert_int_equal(name.last.ttl, 77 * NSEC_PER_SEC);
	assert_int_equal(queries, 2);
}

static void for_no_time(const struct query *q)
{
	answer_with(q, q->type == A ? 0x80000001 : 300);
}

/* RFC 2181 8: a TTL with its first bit set is none. The least of all holds. */
static void a_time_that_is_no_number_is_none(void **state)
{
	(void)state;
	answers = for_no_time;
	assert_true(resolve());
	assert_int_equal(name.last.ttl, 0);
	assert_int_equal(name.last.n, 2);
}

/* The name is another's for one second, and that has its address for an hour. */
static void by_another_name(const struct query *q)
{
	uint8_t to[MOST], *owner;
	uint8_t other_name[] = {5, 'o', 't', 'h', 'e', 'r', 0};
	size_t len = record(to, head(q, to, 0, 2), CNAME, 1, other_name, sizeof(other_name));

	owner = to + len;
	len = q->type == A ? record(to, len, A, 3600, v4, 4) : record(to, len, AAAA, 3600, v6, 16);
	put16(owner, 0xc000 | (unsigned)((size_t)(owner - to) - sizeof(other_name)));
	send_as(server, q, to, len);
}

/* libevent tells the TTL of the address alone; what it hides is a minute at most. */
static void another_name_is_looked_up_again_soon(void **state)
{
	(void)state;
	answers = by_another_name;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FOUND);
	assert_int_equal(name.last.n, 2);
	assert_in_range(name.expires, 1, loop_now() + 60 * NSEC_PER_SEC);
}

static void answer_code(const struct query *q, unsigned rcode)
{
	uint8_t to[MOST];

	send_as(server, q, to, head(q, to, rcode, 0));
}

static void no_such_name(const struct query *q)
{
	answer_code(q, 3);
}

static void nothing_there(const struct query *q)
{
	answer_code(q, 0);
}

static void server_fails(const struct query *q)
{
	answer_code(q, 2);
}

static void no_name_is_told_from_no_answer(void **state)
{
	(void)state;
	answers = no_such_name;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_NONE);
	answers = nothing_there;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_NONE);
	answers = server_fails;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FAILED);
	answers = well;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FOUND);
}

static const uint8_t wrong[] = {6, 6, 6, 6};

static size_t forge(const struct query *q, uint8_t *to)
{
	return record(to, head(q, to, 0, 1), q->type, 600, q->type == A ? wrong : v6,
		      q->type == A ? 4 : 16);
}

/* Another host, another number, a question: none of these is an answer. */
static void forged(const struct query *q)
{
	uint8_t to[MOST];
	size_t len = forge(q, to);

	send_as(other, q, to, len);
	to[0] ^= 1;
	send_as(server, q, to, len);
	to[0] ^= 1;
	to[2] &= 0x7f;
	send_as(server, q, to, len);
	answer_with(q, 77);
}

static void only_the_answer_to_the_question_counts(void **state)
{
	(void)state;
	answers = forged;
	assert_true(resolve());
	assert_int_equal(name.last.n, 2);
	assert_int_equal(name.last.ttl, 77 * NSEC_PER_SEC);
	for (unsigned i = 0; i < name.last.n; i++) {
		const struct sockaddr_in *at = (const struct sockaddr_in *)&name.last.addrs[i].ss;

		if (at->sin_family == AF_INET)
			assert_memory_equal(&at->sin_addr, v4, 4);
	}
}

static void of_another_name(const struct query *q)
{
	uint8_t to[MOST];
	size_t len = forge(q, to);

	to[13] ^= 1; /* a letter */
	send_as(server, q, to, len);
}

/* libevent takes such a one for a failure of the server, and not for an answer. */
static void an_answer_to_another_question_is_none(void **state)
{
	(void)state;
	answers = of_another_name;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FAILED);
	assert_int_equal(name.last.n, 0);
}

static void cut_short(const struct query *q)
{
	uint8_t to[MOST];
	size_t len = record(to, head(q, to, 0, 1), q->type, 600, v6, q->type == A ? 4 : 16);

	to[2] |= 2; /* TC */
	send_as(server, q, to, len);
}

static void an_answer_cut_short_is_none(void **state)
{
	(void)state;
	answers = cut_short;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FAILED);
	assert_int_equal(name.last.n, 0);
}

/* The name is its own other name. */
static void loops(const struct query *q)
{
	static const uint8_t itself[] = {0xc0, 0x0c};
	uint8_t to[MOST];
	size_t len = head(q, to, 0, 8);

	for (unsigned i = 0; i < 8; i++)
		len = record(to, len, CNAME, 600, itself, 2);
	send_as(server, q, to, len);
}

/* A name within itself: a pointer to where it stands. */
static void circles(const struct query *q)
{
	uint8_t to[MOST];
	size_t len = head(q, to, 0, 1);

	put16(to + len, 0xc000 | (unsigned)len);
	memset(to + len + 2, 0, 14);
	send_as(server, q, to, len + 16);
}

static void names_in_circles_lead_nowhere(void **state)
{
	(void)state;
	answers = loops;
	assert_true(resolve());
	assert_int_not_equal(name.last.result, NAMES_FOUND);
	answers = circles;
	assert_true(resolve());
	assert_int_not_equal(name.last.result, NAMES_FOUND);
	assert_int_equal(name.last.n, 0);
}

static unsigned noise = 1;

/* Octets of no sense behind a right head, of any length, with any counts. */
static void garbage(const struct query *q)
{
	uint8_t to[MOST];
	size_t len = head(q, to, 0, 1), more;

	for (unsigned round = 0; round < 40; round++) {
		noise = noise * 1103515245 + 12345;
		more = noise >> 16 & 255;
		put16(to + 6, noise >> 8 & 0xffff);
		for (size_t i = 0; i < more && len + i < sizeof(to); i++)
			to[len + i] = (uint8_t)((noise = noise * 1103515245 + 12345) >> 16);
		send_as(server, q, to, len + more < sizeof(to) ? len + more : sizeof(to));
	}
}

static void garbage_harms_nobody(void **state)
{
	(void)state;
	answers = garbage;
	for (unsigned i = 0; i < 20; i++)
		assert_true(resolve());
	answers = well;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FOUND);
}

static void in_a_flood(const struct query *q)
{
	uint8_t to[MOST];
	size_t len = head(q, to, 0, 0);
	unsigned n = 0;

	for (; len + 28 <= 512; n++) {
		uint8_t addr[16] = {10, 1, 1, (uint8_t)n};

		len = record(to, len, q->type, 9, addr, q->type == A ? 4 : 16);
	}
	put16(to + 6, n);
	send_as(server, q, to, len);
}

static void of_many_addresses_some_are_taken(void **state)
{
	(void)state;
	answers = in_a_flood;
	assert_true(resolve());
	assert_int_equal(name.last.n, NAMES_ADDRS);
}

static void only_v4(const struct query *q)
{
	if (q->type == A)
		answer_with(q, 77);
}

/* A name with addresses of one family does not wait long for the other family. */
static void a_server_that_drops_a_family_holds_nobody_up(void **state)
{
	nsec_t began = loop_now();

	(void)state;
	answers = only_v4;
	assert_true(resolve());
	assert_in_range(loop_now() - began, 0, AT_ONCE);
	assert_int_equal(name.last.n, 1);
	/* Cancelled queries end before the next look-up, or beside it. */
	answers = well;
	assert_true(resolve());
	assert_int_equal(name.last.n, 2);
}

static void a_silent_name_server_is_waited_for_as_the_file_says(void **state)
{
	nsec_t began = loop_now();
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	(void)state;
	assert_int_equal(getsockname(server, (struct sockaddr *)&at, &len), 0);
	write_file(resolv_conf, "nameserver 127.0.0.1:%u\noptions timeout:1 attempts:2\n",
		   ntohs(at.sin_port));
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FAILED);
	assert_in_range(loop_now() - began, NSEC_PER_SEC, AT_ONCE);
	assert_in_range(queries, 4, 6);
}

static void hosts_come_first(void **state)
{
	(void)state;
	strcpy(name.text, "known.example");
	assert_true(resolve());
	assert_int_equal(name.last.n, 1);
	assert_int_equal(queries, 0);
	write_file(hosts, "10.7.7.8 known.example\n10.7.7.9 known.example\n");
	assert_true(resolve());
	assert_int_equal(name.last.n, 2);
	unlink(hosts);
	answers = well;
	assert_true(resolve());
	assert_int_equal(queries, 2);
}

/* A name server may say that there is no such name, and that would hold. */
static void a_file_that_cannot_be_opened_now_is_no_empty_file(void **state)
{
	struct rlimit all, none;

	(void)state;
	strcpy(name.text, "known.example");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_false(resolver_ask(resolver, &name));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_true(resolve());
	assert_int_equal(name.last.n, 1);
	assert_int_equal(queries, 0);
}

/* As the sandbox does after another file was renamed over @path. Root may read any file, so the
 * process is another user meanwhile. */
static void set_readable(const char *path, bool readable)
{
	if (readable && getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(path, readable ? 0600 : 0), 0);
	if (!readable && getuid() == 0)
		assert_int_equal(seteuid(65534), 0);
}

/* A name server may say that there is no such name, and that would hold. */
static void a_hosts_file_that_must_not_be_read_is_no_empty_file(void **state)
{
	(void)state;
	answers = well;
	assert_true(resolve());
	strcpy(name.text, "known.example");
	assert_true(resolve());
	answers = no_such_name;
	set_readable(hosts, false);
	assert_true(resolve());
	set_readable(hosts, true);
	assert_int_equal(name.last.result, NAMES_FAILED);
	assert_int_equal(name.last.n, 1);
	set_readable(hosts, false);
	answers = well;
	assert_true(resolve());
	set_readable(hosts, true);
	assert_int_equal(name.last.result, NAMES_FOUND);
}

static void name_servers_stay_if_the_new_file_must_not_be_read(void **state)
{
	enum names_result results[2];

	(void)state;
	answers = well;
	assert_true(resolve());
	write_file(resolv_conf, "# another file\n");
	set_readable(resolv_conf, false);
	answers = server_fails;
	assert_true(resolve());
	results[0] = name.last.result;
	answers = well;
	assert_true(resolve());
	results[1] = name.last.result;
	set_readable(resolv_conf, true);
	assert_int_equal(results[0], NAMES_FAILED);
	assert_int_equal(results[1], NAMES_FOUND);
}

static void another_server_is_asked_once_the_file_says_so(void **state)
{
	struct sockaddr_in at;
	int old = server;

	(void)state;
	answers = well;
	assert_true(resolve());
	server = udp(&at, 1);
	write_file(resolv_conf, "# moved\nnameserver 127.0.0.1:%u\n" PATIENT, ntohs(at.sin_port));
	queries = 0;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FOUND);
	assert_int_equal(queries, 2);
	close(old);
}

/* However many names wait for the old one yet, and for one that is always silent some always do. */
static void look_ups_at_the_old_server_do_not_delay_others_at_the_new(void **state)
{
	struct name stuck = {.text = "stuck.example", .is_asked = true};
	struct sockaddr_in at;
	int old = server;

	(void)state;
	write_file(resolv_conf,
		   "nameserver 127.0.0.2:9\n" PATIENT); /* for longer than this test takes */
	assert_true(resolver_ask(resolver, &stuck));
	server = udp(&at, 1);
	write_file(resolv_conf, "# moved\nnameserver 127.0.0.1:%u\n" PATIENT, ntohs(at.sin_port));
	answers = well;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FOUND);
	assert_int_equal(stuck.answers, 0);
	close(old);
}

static void search_with_domain(const char *text)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	assert_int_equal(getsockname(server, (struct sockaddr *)&at, &len), 0);
	write_file(resolv_conf, "search lab.example\nnameserver 127.0.0.1:%u\n" PATIENT,
		   ntohs(at.sin_port));
	strcpy(name.text, text);
}

static void search_asks_with_domains(void **state)
{
	(void)state;
	search_with_domain("filer");
	answers = well;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FOUND);
	assert_int_equal(queries, 2);
}

/* filer.example and filer.example.lab.example, by their lengths on the wire. */
static bool is_with_domain(const struct query *q)
{
	return q->name_len > sizeof("filer.example") + 1;
}

/* The owner of the domain answers for all names below it. */
static void v6_with_domain_alone(const struct query *q)
{
	if (is_with_domain(q) ? q->type == AAAA : q->type == A)
		answer_with(q, 77);
	else
		nothing_there(q);
}

static void a_host_without_v6_gets_no_strangers(void **state)
{
	(void)state;
	search_with_domain("filer.example");
	answers = v6_with_domain_alone;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FOUND);
	assert_int_equal(name.last.n, 1);
	assert_int_equal(name.last.addrs[0].ss.ss_family, AF_INET);
	assert_int_equal(queries, 2);
}

static void with_domain_alone(const struct query *q)
{
	if (is_with_domain(q))
		answer_with(q, 77);
	else
		no_such_name(q);
}

static void a_name_with_a_dot_that_is_none_is_searched(void **state)
{
	(void)state;
	search_with_domain("filer.example");
	answers = with_domain_alone;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FOUND);
	assert_int_equal(name.last.n, 2);
	strcpy(name.text, "filer.example.");
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_NONE);
}

static void refused_without_domain(const struct query *q)
{
	if (is_with_domain(q))
		answer_with(q, 77);
	else
		answer_code(q, 5);
}

/* A name server that is asked for its own names alone. */
static void a_name_that_is_refused_is_searched(void **state)
{
	(void)state;
	search_with_domain("filer.example");
	answers = refused_without_domain;
	assert_true(resolve());
	assert_int_equal(name.last.result, NAMES_FOUND);
	assert_int_equal(name.last.n, 2);
}

/* Queries under way at the end are cancelled, and all memory comes back. */
static void the_end_waits_for_nobody(void **state)
{
	nsec_t began = loop_now();

	(void)state;
	name.is_asked = true;
	assert_true(resolver_ask(resolver, &name));
	assert_int_equal(loop_run_once(loop, 0), 0);
	resolver_free(resolver);
	resolver = NULL;
	assert_in_range(loop_now() - began, 0, AT_ONCE);
	assert_int_equal(name.answers, 0);
}

static int make_dir(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	assert_non_null(mkdtemp(dir));
	snprintf(resolv_conf, sizeof(resolv_conf), "%s/resolv.conf", dir);
	snprintf(hosts, sizeof(hosts), "%s/hosts", dir);
	return 0;
}

static int drop_dir(void **state)
{
	(void)state;
	unlink(resolv_conf);
	unlink(hosts);
	return rmdir(dir);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(finds_both_families),
		TEST(a_time_that_is_no_number_is_none),
		TEST(another_name_is_looked_up_again_soon),
		TEST(no_name_is_told_from_no_answer),
		TEST(only_the_answer_to_the_question_counts),
		TEST(an_answer_to_another_question_is_none),
		TEST(an_answer_cut_short_is_none),
		TEST(names_in_circles_lead_nowhere),
		TEST(garbage_harms_nobody),
		TEST(of_many_addresses_some_are_taken),
		TEST(a_server_that_drops_a_family_holds_nobody_up),
		TEST(a_silent_name_server_is_waited_for_as_the_file_says),
		TEST(hosts_come_first),
		TEST(a_file_that_cannot_be_opened_now_is_no_empty_file),
		TEST(a_hosts_file_that_must_not_be_read_is_no_empty_file),
		TEST(name_servers_stay_if_the_new_file_must_not_be_read),
		TEST(another_server_is_asked_once_the_file_says_so),
		TEST(look_ups_at_the_old_server_do_not_delay_others_at_the_new),
		TEST(search_asks_with_domains),
		TEST(a_host_without_v6_gets_no_strangers),
		TEST(a_name_with_a_dot_that_is_none_is_searched),
		TEST(a_name_that_is_refused_is_searched),
		TEST(the_end_waits_for_nobody),
	};

	return cmocka_run_group_tests_name("resolver", tests, make_dir, drop_dir);
}
