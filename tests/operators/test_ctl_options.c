/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "tools/ctl/options.h"
#include "tools/ctl/show.h"

static struct ctl_options o;
static char why[CTL_WHY];

/* Words are parted by blanks. */
static int parse(const char *line)
{
	static char text[256];
	char *argv[16] = {(char *)"rpcrdma-gwctl"};
	int argc = 1;

	strcpy(text, line);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	return ctl_options_parse(argc, argv, &o, why);
}

static void accept_line(const char *line, enum control_command command)
{
	if (parse(line) != 0)
		fail_msg("%s: %s", line, why);
	assert_int_equal(o.command, command);
}

static void refuse_line(const char *line, const char *words)
{
	assert_int_equal(parse(line), -1);
	if (!strstr(why, words))
		fail_msg("%s: \"%s\" lacks \"%s\"", line, why, words);
}

static void commands(void **state)
{
	(void)state;
	accept_line("status", CONTROL_STATUS);
	assert_string_equal(o.socket, CTL_SOCKET);
	accept_line("-s /x --json routes", CONTROL_ROUTES);
	assert_string_equal(o.socket, "/x");
	assert_true(o.json);
	accept_line("sessions --route a --client 10.0.0.1 --name h", CONTROL_SESSIONS);
	assert_string_equal(o.route, "a");
	assert_string_equal(o.client, "10.0.0.1");
	assert_string_equal(o.name, "h");
	assert_false(o.by_client);
	accept_line("clients", CONTROL_SESSIONS);
	assert_true(o.by_client);
	accept_line("show session 7", CONTROL_SHOW);
	assert_int_equal(o.session, 7);
	accept_line("show 1000000007", CONTROL_SHOW);
	assert_int_equal(o.session, 1000000007);
	accept_line("kill 3", CONTROL_KILL);
	accept_line("drain", CONTROL_DRAIN);
	assert_null(o.route);
	assert_int_equal(o.session, 0);
	accept_line("drain filer1", CONTROL_DRAIN);
	assert_string_equal(o.route, "filer1");
	accept_line("drain 12", CONTROL_DRAIN);
	assert_int_equal(o.session, 12);
	assert_null(o.route);
	/* Names of routes that begin as a number does. */
	accept_line("drain 10.0.0.11", CONTROL_DRAIN);
	assert_string_equal(o.route, "10.0.0.11");
	assert_int_equal(o.session, 0);
	accept_line("drain 2nd-filer", CONTROL_DRAIN);
	assert_string_equal(o.route, "2nd-filer");
	assert_int_equal(o.session, 0);
	accept_line("drain --route 12", CONTROL_DRAIN);
	assert_string_equal(o.route, "12");
	assert_int_equal(o.session, 0);
	accept_line("drain --client 10.0.0.1", CONTROL_DRAIN);
	accept_line("log", CONTROL_LOG);
	assert_null(o.level);
	accept_line("log level debug", CONTROL_LOG);
	assert_string_equal(o.level, "debug");
	accept_line("log warn", CONTROL_LOG);
	assert_string_equal(o.level, "warn");
	assert_int_equal(parse("--help"), 0);
	assert_true(o.help);
}

static void mistakes(void **state)
{
	(void)state;
	refuse_line("", "no command");
	refuse_line("dance", "no such command: dance");
	refuse_line("--loud status", "no such option: --loud");
	refuse_line("status --socket", "needs a value");
	refuse_line("status --socket=", "needs a path");
	refuse_line("status now", "unexpected: now");
	refuse_line("kill", "which session?");
	refuse_line("kill session", "which session?");
	refuse_line("kill 0", "not the number of a session");
	refuse_line("kill -- -1", "not the number of a session");
	refuse_line("kill 1x", "not the number of a session");
	refuse_line("kill 99999999999999999999", "not the number of a session");
	refuse_line("show 1 2", "unexpected: 2");
	refuse_line("drain one --route two", "given twice: one");
	refuse_line("routes --client 10.0.0.1", "are for sessions");
	refuse_line("log level debug now", "unexpected: now");
}

/* Quoted input has no control characters for terminals. */
/* The filters and limits of trace and capture. */
static void what_follows(void **state)
{
	(void)state;
	accept_line("trace --slow 1.5ms --program nfs3 --procedure write --session 7",
		    CONTROL_TRACE);
	assert_int_equal(o.rpcs.slow_ns, 1500000);
	assert_int_equal(o.rpcs.program, 100003);
	assert_int_equal(o.rpcs.version, 3);
	assert_int_equal(o.rpcs.procedure, 7);
	assert_int_equal(o.session, 7);
	assert_int_equal(o.time_ns, 0);
	accept_line("trace --procedure commit --count 3 --time 2m", CONTROL_TRACE);
	assert_true(o.rpcs.has_program && o.rpcs.has_version);
	assert_int_equal(o.rpcs.procedure, 21);
	assert_int_equal(o.count, 3);
	assert_int_equal(o.time_ns, 120000000000);
	accept_line("trace --program nfs4 --procedure read", CONTROL_TRACE);
	assert_string_equal(o.rpcs.kind, "nfs4 read");
	assert_false(o.rpcs.has_procedure);
	accept_line("trace --procedure compound", CONTROL_TRACE);
	assert_int_equal(o.rpcs.version, 4);
	assert_int_equal(o.rpcs.procedure, 1);
	refuse_line("trace --program nfs3 --procedure compound", "a number will do");
	accept_line("trace --program 100005 --procedure 1", CONTROL_TRACE);
	assert_false(o.rpcs.has_version);
	assert_int_equal(o.rpcs.procedure, 1);
	accept_line("capture /x --route a", CONTROL_CAPTURE);
	assert_string_equal(o.file, "/x");
	assert_int_equal(o.time_ns, 60000000000);
	assert_int_equal(o.size, 64 << 20);
	accept_line("capture - --size 1.5K --time 100us", CONTROL_CAPTURE);
	assert_int_equal(o.size, 1536);
	assert_int_equal(o.time_ns, 100000);
	accept_line("top --once --interval 5", CONTROL_SESSIONS);
	assert_true(o.is_top && o.once);
	assert_int_equal(o.time_ns, 5000000000);
	assert_int_equal(o.order, TOP_CALLS);
	accept_line("top --sort octets", CONTROL_SESSIONS);
	assert_int_equal(o.order, TOP_BYTES);
	accept_line("top --sort flight", CONTROL_SESSIONS);
	assert_int_equal(o.order, TOP_FLIGHT);
	accept_line("top --once --sort memory", CONTROL_SESSIONS);
	assert_int_equal(o.order, TOP_MEMORY);
	refuse_line("trace --slow fast", "not a time");
	refuse_line("trace --slow 0", "not a time");
	refuse_line("trace --slow -5ms", "not a time");
	refuse_line("trace --slow 1e300s", "not a time");
	refuse_line("trace --program nfs7", "a number will do: nfs7");
	refuse_line("trace --program mount --procedure read", "a number will do: read");
	refuse_line("trace --program 4294967296", "a number will do");
	refuse_line("trace --size 1M", "another command");
	refuse_line("trace seven", "unexpected: seven");
	refuse_line("capture", "which file?");
	refuse_line("capture /x --json", "never JSON");
	refuse_line("capture /x --size 1T", "not a size");
	refuse_line("drain --session 7", "another command");
	refuse_line("status --once", "another command");
	refuse_line("clients --sort memory", "another command");
	refuse_line("top --sort size", "not one of calls, octets, flight and memory: size");
}

static void nothing_moves_the_terminal(void **state)
{
	(void)state;
	refuse_line("\033[2J\a", "no such command: ?[2J?");
	refuse_line("--\033]0;x status", "no such option: --?]0;x");
	refuse_line("kill \033c", "not the number of a session: ?c");
	refuse_line("status \tnow\xff", "unexpected: ?now?");
}

/* Names of counters from an untrusted answer have no control characters either. */
static void counters_are_clean(void **state)
{
	struct ctl_options status = {.command = CONTROL_STATUS};
	struct json_object *told = json_tokener_parse(
		"{\"counters\":{\"\\u001b[2Jcalls\":3},\"iwarp\":{\"\\u0007x\":1}}");
	char *text = NULL;
	size_t len = 0;
	struct show s = {.o = &status, .to = open_memstream(&text, &len)};

	(void)state;
	show_line(&s, "status", told);
	fclose(s.to);
	assert_non_null(strstr(text, "?[2Jcalls 3"));
	assert_non_null(strstr(text, "?x 1"));
	assert_null(strchr(text, '\033'));
	assert_null(strchr(text, '\a'));
	free(text);
	json_object_put(told);
}

static void sizes(void **state)
{
	char text[16];

	(void)state;
	assert_string_equal(show_size(0, text), "0B");
	assert_string_equal(show_size(9999, text), "9999B");
	assert_string_equal(show_size(10240, text), "10.0K");
	assert_string_equal(show_size(1 << 20, text), "1024K");
	assert_string_equal(show_size((uint64_t)1 << 30, text), "1024M");
	assert_string_equal(show_size(UINT64_MAX, text), "16384P");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands),	      cmocka_unit_test(mistakes),
		cmocka_unit_test(what_follows),	      cmocka_unit_test(nothing_moves_the_terminal),
		cmocka_unit_test(counters_are_clean), cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
