/* SPDX-License-Identifier: BSD-2-Clause */
/* Routes that lead to themselves, or to each other, are found before any client connects. */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tests/config/load.h"

/* A route on one line: name, listener, upstream. Each is at port 20049 unless it says more. */
#define R(name, on, to)                                                                            \
	"{ name = \"" name "\"; listen = { address = \"" on "\"; }; upstream = { address = \"" to  \
	"\"; }; }"
#define R_AT(name, port, to_port)                                                                  \
	"{ name = \"" name "\"; listen = { address = \"::1\"; port = " port                        \
	"; }; upstream = { address = \"localhost\"; port = " to_port "; }; }"
#define ROUTES(...) "routes = (\n" __VA_ARGS__ "\n);\n"
#define AND ",\n"
#define OWN(line, name, host)                                                                      \
	line ": route \"" name "\" leads to its own listener, by " host                            \
	     " port 20049: give the server's address\n"
#define RING(line, names)                                                                          \
	line ": routes lead to each other in a ring: " names                                       \
	     ": give one of them the address of a server\n"

static const struct bad loops[] = {
	{ROUTES(R("a", "10.0.0.1", "10.0.0.1")), OWN("2", "a", "10.0.0.1")},
	{ROUTES(R("a", "0.0.0.0", "127.0.0.1")), OWN("2", "a", "127.0.0.1")},
	{ROUTES(R("a", "0.0.0.0", "127.9.8.7")), OWN("2", "a", "127.9.8.7")},
	{ROUTES(R("a", "0.0.0.0", "localhost")), OWN("2", "a", "localhost")},
	{ROUTES(R("a", "127.0.0.1", "LocalHost.")), OWN("2", "a", "LocalHost.")},
	{ROUTES(R("a", "::1", "gw.localhost")), OWN("2", "a", "gw.localhost")},
	{ROUTES(R("a", "::", "::1")), OWN("2", "a", "::1")},
	{ROUTES(R("a", "10.0.0.1", "10.0.0.2") AND R("b", "10.0.0.2", "10.0.0.1")),
	 RING("2", "\"a\", \"b\"")},
	/* d leads into the ring, and e out of it: they are on none. */
	{ROUTES(R("d", "10.0.0.4", "10.0.0.1") AND R("a", "10.0.0.1", "10.0.0.2")
			AND R("b", "10.0.0.2", "10.0.0.3") AND R("c", "10.0.0.3", "10.0.0.1")
				AND R("e", "10.0.0.5", "10.0.0.9")),
	 RING("3", "\"a\", \"b\", \"c\"")},
	{ROUTES(R_AT("a", "1", "2") AND R_AT("b", "2", "1") AND R_AT("c", "3", "4")
			AND R_AT("d", "4", "3")),
	 RING("2", "\"a\", \"b\"") RING("4", "\"c\", \"d\"")},
	/* One of several servers is enough. */
	{ROUTES("{ name = \"a\"; listen = { address = \"10.0.0.1\"; };\nupstream = { addresses = [ "
		"\"10.0.0.9\", \"10.0.0.2\" ]; }; }" AND R("b", "10.0.0.2", "10.0.0.1")),
	 RING("3", "\"a\", \"b\"")},
	{ROUTES(R_AT("a", "1", "2") AND R_AT("b", "2", "3") AND R_AT("c", "3", "4") AND R_AT(
		 "d", "4", "5") AND R_AT("e", "5", "6") AND R_AT("f", "6", "7")
			AND R_AT("g", "7", "8") AND R_AT("h", "8", "9") AND R_AT("i", "9", "1")),
	 RING("2", "\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\" and 1 more")},
};

/* Chains, and what only looks like a loop. */
static const char *const fine[] = {
	ROUTES(R("a", "10.0.0.1", "10.0.0.2") AND R("b", "10.0.0.2", "10.0.0.3")),
	ROUTES("{ name = \"a\"; listen = { address = \"0.0.0.0\"; }; upstream = { address = "
	       "\"127.0.0.1\"; port = 20050; }; }"),
	ROUTES("{ name = \"a\"; listen = { address = \"10.0.0.1\"; fabric = \"iwarp\"; }; upstream "
	       "= { address = \"10.0.0.1\"; fabric = \"verbs\"; }; }"),
	ROUTES(R("a", "10.0.0.1", "localhost")),
	ROUTES(R("a", "127.0.0.2", "localhost")),
	ROUTES(R("a", "0.0.0.0", "::1")),
	ROUTES(R("a", "127.0.0.1", "notlocalhost")),
	ROUTES(R("a", "0.0.0.0", "10.0.0.2")),
	ROUTES(R("a", "fe80::1%eth0", "fe80::1%eth1")),
};

static void loops_are_reported(void **state)
{
	(void)state;
	check_rows(ROWS(loops));
}

static void chains_are_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		struct config *cfg;

		assert_int_equal(load(fine[i], &cfg), 0);
		config_free(cfg);
	}
}

static bool is_ours(const char *host)
{
	return strcmp(host, "10.0.0.1") == 0 || strcmp(host, "fd00::1") == 0;
}

static unsigned loops_here(const char *text, char **lines)
{
	struct config *cfg;
	size_t len = 0;
	FILE *errors = open_memstream(lines, &len);
	unsigned n;

	assert_non_null(errors);
	assert_int_equal(load(text, &cfg), 0);
	n = config_check_loops(cfg, "gw.conf", is_ours, errors);
	fclose(errors);
	config_free(cfg);
	return n;
}

/* On the machine where it is to run more is known: a listener on all addresses is at each of its own. */
static void own_addresses_are_loops_on_their_machine(void **state)
{
	char *lines;

	(void)state;
	assert_int_equal(loops_here(ROUTES(R("a", "0.0.0.0", "10.0.0.1")), &lines), 1);
	assert_string_equal(lines, "gw.conf:" OWN("2", "a", "10.0.0.1"));
	free(lines);
	assert_int_equal(loops_here(ROUTES(R("a", "::", "fd00::1")), &lines), 1);
	free(lines);
	assert_int_equal(loops_here(ROUTES(R("a", "0.0.0.0", "10.0.0.2")), &lines), 0);
	free(lines);
	assert_int_equal(loops_here(ROUTES(R("a", "10.0.0.3", "10.0.0.1")), &lines), 0);
	free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_are_reported),
		cmocka_unit_test(chains_are_none),
		cmocka_unit_test(own_addresses_are_loops_on_their_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
