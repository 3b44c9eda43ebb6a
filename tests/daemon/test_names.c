/* SPDX-License-Identifier: BSD-2-Clause */
/* The cache of names, with a clock of the test's own; and files like /etc/hosts. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/hostsfile.h"
#include "daemon/names.h"

#define S NSEC_PER_SEC

static struct names names;
static unsigned asked;
static bool refuses;
static nsec_t now;

static bool ask(void *arg, struct name *name)
{
	(void)arg;
	(void)name;
	asked++;
	return !refuses;
}

static int begin(void **state)
{
	(void)state;
	names = (struct names){.ask = ask};
	asked = 0;
	refuses = false;
	now = 5000 * S;
	return 0;
}

static int end(void **state)
{
	(void)state;
	names_free(&names);
	assert_int_equal(mem_live(), 0);
	return 0;
}

static struct name *want(void)
{
	struct name *name = names_want(&names, "filer.example", now);

	assert_non_null(name);
	return name;
}

static void answer(enum names_result result, const char *address, nsec_t ttl)
{
	struct names_answer a = {.result = result, .ttl = ttl, .why = "the test says so"};

	if (address) {
		assert_int_equal(fabric_addr_parse(address, 0, &a.addrs[0]), 0);
		a.n = 1;
	}
	names_answer(want(), &a, now);
}

static bool leads_to(const char *address)
{
	struct fabric_addr addr;
	const struct name *name = want();

	assert_int_equal(fabric_addr_parse(address, 0, &addr), 0);
	return name->last.n == 1 && memcmp(&name->last.addrs[0], &addr, sizeof(addr)) == 0;
}

static void requests_for_one_name_share_one_look_up(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++)
		assert_true(want()->is_asked);
	assert_int_equal(asked, 1);
	answer(NAMES_FOUND, "10.0.0.1", 30 * S);
	for (unsigned i = 0; i < 30; i++, now += S) {
		assert_false(want()->is_asked);
		assert_true(leads_to("10.0.0.1"));
	}
	assert_int_equal(asked, 1);
	assert_true(want()->is_asked);
	assert_int_equal(asked, 2);
	assert_int_equal(want()->answers, 1);
}

static void no_time_is_no_time(void **state)
{
	(void)state;
	want();
	answer(NAMES_FOUND, "10.0.0.1", 0);
	assert_true(want()->is_asked);
	assert_int_equal(asked, 2);
}

/* A longer TTL may hide a shorter one of a CNAME before it: daemon/names.h. */
static void no_answer_holds_longer_than_a_minute(void **state)
{
	(void)state;
	want();
	answer(NAMES_FOUND, "10.0.0.1", UINT32_MAX * S);
	now += 60 * S - 1;
	assert_false(want()->is_asked);
	now++;
	assert_true(want()->is_asked);
}

/* Without an answer from a name server the addresses hold on, however seldom a client comes. */
static void what_was_known_is_kept_for_a_day(void **state)
{
	(void)state;
	want();
	answer(NAMES_FOUND, "10.0.0.1", 3600 * S);
	now += 20 * 3600 * S;
	assert_non_null(names_want(&names, "other.example", now));
	assert_true(leads_to("10.0.0.1"));
	answer(NAMES_FAILED, NULL, 0);
	assert_true(leads_to("10.0.0.1"));
}

/* The name is not looked up all the time, and the known addresses are kept. */
static void a_failure_holds_for_a_while(void **state)
{
	(void)state;
	want();
	answer(NAMES_FOUND, "10.0.0.1", S);
	now += S;
	want();
	answer(NAMES_FAILED, NULL, 0);
	assert_int_equal(want()->last.result, NAMES_FAILED);
	assert_true(leads_to("10.0.0.1"));
	now += NAMES_RETRY - 1;
	assert_false(want()->is_asked);
	now++;
	assert_true(want()->is_asked);
	answer(NAMES_FOUND, "10.0.0.2", S);
	assert_true(leads_to("10.0.0.2"));
}

static void a_name_that_is_gone_leads_nowhere(void **state)
{
	(void)state;
	want();
	answer(NAMES_FOUND, "10.0.0.1", S);
	now += S;
	want();
	answer(NAMES_NONE, NULL, 0);
	assert_int_equal(want()->last.n, 0);
	now += NAMES_RETRY - 1;
	assert_false(want()->is_asked);
	now++;
	assert_true(want()->is_asked);
}

static void a_look_up_that_cannot_begin_has_failed(void **state)
{
	(void)state;
	refuses = true;
	assert_false(want()->is_asked);
	assert_int_equal(want()->last.result, NAMES_FAILED);
	assert_int_equal(asked, 1);
}

static void nothing_grows(void **state)
{
	char text[32];
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		struct names_answer a = {.result = NAMES_NONE, .why = "test"};

		snprintf(text, sizeof(text), "filer%u.example", i);
		names_answer(names_want(&names, text, now), &a, now);
		now += 3600 * S;
	}
	for (const struct name *it = names.first; it; it = it->next)
		n++;
	assert_in_range(n, 1, 30);
	memset(text, 'a', sizeof(text));
	mem_fail_at(1);
	assert_null(names_want(&names, "other.example", now));
	mem_fail_at(0);
}

static unsigned in_file(const char *text, const char *name, struct fabric_addr *addrs,
			unsigned most)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	unsigned n;

	assert_non_null(f);
	n = hostsfile_find(f, name, addrs, most);
	fclose(f);
	return n;
}

static void is_in_file(const char *text, const char *name, const char *address)
{
	struct fabric_addr addrs[4], addr;

	assert_int_equal(in_file(text, name, addrs, 4), 1);
	assert_int_equal(fabric_addr_parse(address, 0, &addr), 0);
	assert_memory_equal(&addrs[0], &addr, sizeof(addr));
}

static void hosts_are_read_as_everybody_reads_them(void **state)
{
	static const char text[] = "# 10.9.9.9 filer\n"
				   "127.0.0.1\tlocalhost\n"
				   "\n"
				   "  10.0.0.1   filer.example  FILER # not10.0.0.2 filer3\n"
				   "10.0.0.2 filer2\r\n"
				   "fd00::2 filer2six\n"
				   "no.address other\n"
				   "10.0.0.3\n"
				   "10.0.0.4 last";
	struct fabric_addr addrs[4];

	(void)state;
	is_in_file(text, "filer", "10.0.0.1");
	is_in_file(text, "Filer.Example", "10.0.0.1");
	is_in_file(text, "filer.example.", "10.0.0.1");
	is_in_file(text, "filer2", "10.0.0.2");
	is_in_file(text, "filer2six", "fd00::2");
	is_in_file(text, "last", "10.0.0.4");
	assert_int_equal(in_file(text, "filer3", addrs, 4), 0);
	assert_int_equal(in_file(text, "other", addrs, 4), 0);
	assert_int_equal(in_file(text, "file", addrs, 4), 0);
	assert_int_equal(in_file(text, "10.0.0.1", addrs, 4), 0);
	assert_int_equal(in_file("1.1.1.1 a\n1.1.1.2 a\n1.1.1.3 a\n", "a", addrs, 2), 2);
}

/* Each name of a line counts, however long the line is. A word too long for a name hides none after it. */
static void long_lines_of_hosts_are_read(void **state)
{
	static char text[10000];
	struct fabric_addr addrs[4];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "10.0.0.1 a ", 11);
	memcpy(text + 5000, " filer ", 7);
	strcpy(text + 9900, "\n10.0.0.2 filer2\n");
	is_in_file(text, "filer", "10.0.0.1");
	is_in_file(text, "a", "10.0.0.1");
	is_in_file(text, "filer2", "10.0.0.2");
	memset(text, '1', 5000); /* a word that is no address */
	assert_int_equal(in_file(text, "filer", addrs, 4), 0);
	is_in_file(text, "filer2", "10.0.0.2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(requests_for_one_name_share_one_look_up, begin,
						end),
		cmocka_unit_test_setup_teardown(no_time_is_no_time, begin, end),
		cmocka_unit_test_setup_teardown(no_answer_holds_longer_than_a_minute, begin, end),
		cmocka_unit_test_setup_teardown(what_was_known_is_kept_for_a_day, begin, end),
		cmocka_unit_test_setup_teardown(a_failure_holds_for_a_while, begin, end),
		cmocka_unit_test_setup_teardown(a_name_that_is_gone_leads_nowhere, begin, end),
		cmocka_unit_test_setup_teardown(a_look_up_that_cannot_begin_has_failed, begin, end),
		cmocka_unit_test_setup_teardown(nothing_grows, begin, end),
		cmocka_unit_test(hosts_are_read_as_everybody_reads_them),
		cmocka_unit_test(long_lines_of_hosts_are_read),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
