/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of host authentication: valid, refused, read again, and about to expire. */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/auth.h"

/* The tests' certificates are valid from 2026 on, for a hundred years. */
enum { DAY_S = 24 * 3600 };
static const int64_t in_2027 = 1800000000, end_of_all = 4922899200, end_of_expired = 1609459200;

static char dir[] = "/tmp/test_auth.XXXXXX";
static char said[16384]; /* the log, or messages */

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *name, const char *text, size_t len, mode_t mode)
{
	FILE *f = fopen(path_of(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path_of(name), mode), 0);
}

static size_t read_key(const char *key, char *text, size_t room)
{
	char from[128];
	size_t len;
	FILE *f;

	snprintf(from, sizeof(from), "tests/hostauth/keys/%s", key);
	f = fopen(from, "r");
	assert_non_null(f);
	len = fread(text, 1, room, f);
	fclose(f);
	return len;
}

/* A file of tests/hostauth/keys, as @name. */
static void put(const char *name, const char *key)
{
	static char text[1 << 17];

	write_file(name, text, read_key(key, text, sizeof(text)), 0600);
}

/* Two, one behind the other. */
static void put_both(const char *name, const char *key, const char *other)
{
	static char text[1 << 17];
	size_t len = read_key(key, text, sizeof(text));

	write_file(name, text, len + read_key(other, text + len, sizeof(text) - len), 0600);
}

static const char *const files[] = {"cert", "key", "ca", "crl", "psk", "conf"};

static void put_all(void)
{
	put("cert", "server.pem");
	put("key", "server.pem");
	put("ca", "ca.pem");
	put("crl", "crl.pem");
	put("psk", "psk.txt");
}

static struct config *cfg;

/* A listener with certificates, an upstream with a shared key. */
static void configure(const char *names)
{
	char text[2048];
	int len = snprintf(text, sizeof(text),
			   "routes = ( { name = \"one\";\n"
			   "listen = { address = \"127.0.0.1\"; hostauth = { mode = \"require\";\n"
			   "certificate = \"%s/cert\";\n"
			   "key = \"%s/key\";\n"
			   "ca = \"%s/ca\";\n"
			   "crl = \"%s/crl\";\n"
			   "names = [ \"%s\" ]; }; };\n"
			   "upstream = { address = \"127.0.0.2\"; hostauth = { mode = \"allow\";\n"
			   "psk_file = \"%s/psk\"; }; };\n"
			   "} );\n",
			   dir, dir, dir, dir, names, dir);

	config_free(cfg);
	write_file("conf", text, (size_t)len, 0600);
	assert_int_equal(config_load(path_of("conf"), &cfg, stderr), 0);
}

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	put_all();
	configure("*.example");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	config_free(cfg);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(path_of(files[i]));
	return rmdir(dir);
}

static void keep_line(const char *line)
{
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", line);
}

static void assert_said(const char *what)
{
	if (!strstr(said, what))
		fail_msg("nobody says %s:\n%s", what, said);
}

static void listen_to_log(void)
{
	said[0] = '\0';
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(keep_line);
}

static int make(struct auth **auth)
{
	FILE *errors;
	int err;

	memset(said, 0, sizeof(said));
	errors = fmemopen(said, sizeof(said) - 1, "w");
	assert_non_null(errors);
	err = auth_new(cfg, "gw.conf", errors, auth);
	fclose(errors);
	return err;
}

static void each_side_has_its_own(void **state)
{
	const struct leg_auth *required, *allowed, *upstream;
	struct hostauth_creds *a, *b;
	uint64_t live = mem_live();
	struct auth *auth;

	(void)state;
	assert_int_equal(make(&auth), 0);
	assert_string_equal(said, "");
	required = auth_leg(auth, 0, AUTH_LISTEN, true);
	allowed = auth_leg(auth, 0, AUTH_LISTEN, false);
	upstream = auth_leg(auth, 0, AUTH_UPSTREAM, false);
	assert_true(required->required);
	assert_false(allowed->required);
	assert_int_equal(required->timeout, 10 * NSEC_PER_SEC);
	a = required->creds(required);
	b = allowed->creds(allowed);
	assert_ptr_equal(a, b);
	hostauth_creds_put(b);
	b = upstream->creds(upstream);
	assert_ptr_not_equal(a, b);
	hostauth_creds_put(a);
	hostauth_creds_put(b);
	auth_free(auth);
	assert_int_equal(mem_live(), live);
}

static void where_it_is_off_there_is_none(void **state)
{
	struct auth *auth;

	(void)state;
	cfg->routes[0].listen.hostauth.mode = CONFIG_HOSTAUTH_OFF;
	unlink(path_of("cert")); /* nobody looks */
	assert_int_equal(make(&auth), 0);
	assert_null(auth_leg(auth, 0, AUTH_LISTEN, true));
	assert_non_null(auth_leg(auth, 0, AUTH_UPSTREAM, true));
	auth_free(auth);
	cfg->routes[0].upstream.hostauth.mode = CONFIG_HOSTAUTH_OFF;
	assert_int_equal(make(&auth), 0);
	assert_int_equal(auth_tick(auth, 1, in_2027), NSEC_NEVER);
	auth_free(auth);
	put_all();
	configure("*.example");
}

static void is_reported(const char *what)
{
	struct auth *auth;

	assert_int_equal(make(&auth), ERR_CONFIG);
	assert_null(auth);
	assert_said(what);
	put_all();
}

static void what_cannot_be_used_is_reported_with_its_place(void **state)
{
	uint64_t live = mem_live();
	struct auth *auth;

	(void)state;
	unlink(path_of("cert"));
	is_reported("gw.conf:3: certificate \"/");
	unlink(path_of("ca"));
	is_reported(
		"/ca\": No such file or directory: give a file that the gateway's user can read\n");
	unlink(path_of("ca"));
	assert_int_equal(mkfifo(path_of("ca"), 0600), 0);
	assert_int_equal(make(&auth), ERR_CONFIG);
	assert_said("/ca\": it is no regular file");
	unlink(path_of("ca"));
	put_all();
	put("key", "client.pem");
	is_reported("the key is not the certificate's: ");
	chmod(path_of("key"), 0640);
	is_reported("gw.conf:4: key ");
	chmod(path_of("key"), 0640);
	is_reported("/key\": users other than its owner may read or write it: chmod 600");
	chmod(path_of("psk"), 0604);
	is_reported("gw.conf:9: psk_file ");
	write_file("psk", "x:00\n", 5, 0600);
	is_reported("line 1 of the psk file is not IDENTITY:KEY");
	write_file("crl", "-----BEGIN X509 CRL-----\n", 25, 0600);
	is_reported("gw.conf:6: crl ");
	write_file("crl", "", 0, 0600);
	is_reported("it is empty: give PEM: revocation lists");
	put("ca", "psk.txt");
	is_reported("gw.conf:5: ca ");
	/* All of them at once. */
	unlink(path_of("cert"));
	unlink(path_of("psk"));
	is_reported("gw.conf:9: psk_file ");
	configure("a.*.example");
	is_reported("gw.conf:7: names: \"a.*.example\" matches nothing: a wildcard stands for the "
		    "whole");
	configure("*.example");
	assert_int_equal(mem_live(), live);
}

static int check(int64_t now)
{
	FILE *errors;
	int err;

	memset(said, 0, sizeof(said));
	errors = fmemopen(said, sizeof(said) - 1, "w");
	err = auth_check(cfg, "gw.conf", errors, now);
	fclose(errors);
	return err;
}

static void the_checker_looks_at_the_time(void **state)
{
	struct auth *auth;

	(void)state;
	assert_int_equal(check(in_2027), 0);
	assert_string_equal(said, "");
	assert_int_equal(check(end_of_all), ERR_CONFIG);
	assert_said("gw.conf:3: certificate ");
	assert_said("it expired at 2126-01-01T00:00:00Z: renew it, then send SIGHUP\n");
	assert_int_equal(check(end_of_expired), ERR_CONFIG);
	assert_said("it is valid from 2026-01-01T00:00:00Z on: check this machine's clock");
	/* The gateway starts all the same: other routes have theirs. */
	put("cert", "expired.pem");
	put("key", "expired.pem");
	assert_int_equal(make(&auth), 0);
	listen_to_log();
	auth_tick(auth, 1, in_2027);
	log_set_sink(NULL);
	assert_said(
		"level=error event=hostauth.expired route=one side=listen key=certificate path=");
	auth_free(auth);
	put_all();
}

/* The problems that auth_reload() reports to its caller. */
static char kept[1024];

static void reload(struct auth *auth, int64_t now)
{
	FILE *problems;

	memset(kept, 0, sizeof(kept));
	problems = fmemopen(kept, sizeof(kept) - 1, "w");
	assert_non_null(problems);
	auth_reload(auth, now, problems);
	fclose(problems);
}

static struct hostauth_creds *creds_of(const struct leg_auth *leg)
{
	struct hostauth_creds *creds = leg->creds(leg);

	hostauth_creds_put(creds);
	return creds;
}

static void what_is_new_is_used_and_else_the_old(void **state)
{
	static const struct {
		const char *name, *key, *why;
	} bad[] = {
		{"key", "client.pem", "key=key path=\"/"},
		{"key", "client.pem", "/key\" why=\"the key is not the certificate's"},
		{"cert", "ca.pem", "key=key "},
		{"crl", "ca.pem", "the crl file has no revocation list"},
		{"psk", "ca.pem", "side=upstream key=psk_file"},
	};
	const struct leg_auth *leg, *upstream;
	struct hostauth_creds *old;
	uint64_t live = mem_live();
	struct auth *auth;

	(void)state;
	assert_int_equal(make(&auth), 0);
	leg = auth_leg(auth, 0, AUTH_LISTEN, true);
	upstream = auth_leg(auth, 0, AUTH_UPSTREAM, false);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct leg_auth *mine = strcmp(bad[i].name, "psk") ? leg : upstream;

		old = creds_of(mine);
		put(bad[i].name, bad[i].key);
		listen_to_log();
		reload(auth, in_2027);
		assert_ptr_equal(creds_of(mine), old);
		assert_said("level=error event=hostauth.kept route=one");
		assert_said(bad[i].why);
		assert_said("event=hostauth.loaded"); /* of the other side */
		put_all();
	}
	/* A pair that fits, and is of no use. */
	old = creds_of(leg);
	put("cert", "expired.pem");
	put("key", "expired.pem");
	listen_to_log();
	reload(auth, in_2027);
	assert_ptr_equal(creds_of(leg), old);
	assert_said("/cert\" why=\"it expired at 2021-01-01T00:00:00Z");
	assert_non_null(strstr(kept, "route \"one\", listen: certificate \"/"));
	assert_non_null(strstr(kept, "/cert\": it expired at 2021-01-01T00:00:00Z: renew it"));
	put("cert", "client.pem");
	put("key", "client.pem");
	listen_to_log();
	reload(auth, in_2027);
	log_set_sink(NULL);
	assert_string_equal(kept, "");
	assert_ptr_not_equal(creds_of(leg), old);
	assert_said("event=hostauth.loaded route=one side=listen expires=2126-01-01T00:00:00Z");
	assert_said("event=hostauth.loaded route=one side=upstream expires=never");
	auth_free(auth);
	put_all();
	assert_int_equal(mem_live(), live);
}

static bool warns(struct auth *auth, nsec_t now, int64_t wall)
{
	listen_to_log();
	auth_tick(auth, now, wall);
	log_set_sink(NULL);
	return said[0] != '\0';
}

static void expiry_is_reported_once_a_day(void **state)
{
	const int64_t near = end_of_all - 30 * DAY_S;
	const nsec_t day = DAY_S * NSEC_PER_SEC;
	struct auth *auth;

	(void)state;
	assert_int_equal(make(&auth), 0);
	assert_false(warns(auth, 1, near - 1));
	assert_int_equal(auth_tick(auth, 2, near - 1), 1 + day);
	assert_false(warns(auth, day, near));
	assert_true(warns(auth, 1 + day, near));
	assert_said(
		"level=warn event=hostauth.expires route=one side=listen key=certificate path=");
	assert_said("key=ca ");
	assert_said("key=crl ");
	assert_said("expires=2126-01-01T00:00:00Z days=30 why=\"renew it, then send SIGHUP\"");
	assert_false(warns(auth, 2 + day, near + 1));
	/* Files that were read again are checked for expiry at once. */
	listen_to_log();
	reload(auth, near + 1);
	assert_true(warns(auth, 3 + day, near + 1));
	assert_said("days=29");
	assert_true(warns(auth, 4 + 2 * day, end_of_all));
	assert_said("level=error event=hostauth.expired");
	auth_free(auth);
}

/* While authorities change both are believed, and one of them ends first: nobody is kept from using what is new. */
/* New connections fail from that moment on. */
static void expiry_is_reported_when_it_comes(void **state)
{
	const nsec_t hour = 3600 * NSEC_PER_SEC;
	struct auth *auth;

	(void)state;
	assert_int_equal(make(&auth), 0);
	assert_true(warns(auth, 1, end_of_all - 3600));
	assert_said("level=warn event=hostauth.expires");
	assert_false(warns(auth, hour, end_of_all - 1));
	assert_true(warns(auth, hour + 1, end_of_all));
	assert_said("level=error event=hostauth.expired");
	assert_false(warns(auth, 2 * hour, end_of_all + 3600));
	auth_free(auth);
}

static void one_authority_may_end_before_the_other(void **state)
{
	const struct leg_auth *leg;
	struct hostauth_creds *old;
	struct auth *auth;

	(void)state;
	assert_int_equal(make(&auth), 0);
	leg = auth_leg(auth, 0, AUTH_LISTEN, true);
	old = creds_of(leg);
	put_both("ca", "ca.pem", "expired.pem");
	assert_int_equal(check(in_2027), 0);
	listen_to_log();
	reload(auth, in_2027);
	assert_ptr_not_equal(creds_of(leg), old);
	assert_said("event=hostauth.loaded route=one side=listen");
	assert_true(warns(auth, 1, in_2027));
	assert_said("level=error event=hostauth.expired route=one side=listen key=ca ");
	old = creds_of(leg);
	put("ca", "expired.pem");
	listen_to_log();
	reload(auth, in_2027);
	log_set_sink(NULL);
	assert_ptr_equal(creds_of(leg), old);
	assert_said("event=hostauth.kept route=one side=listen key=ca ");
	auth_free(auth);
	put_all();
}

static void every_allocation_may_fail(void **state)
{
	uint64_t live = mem_live(), nth = 1;
	struct auth *auth;
	int err;

	(void)state;
	do {
		mem_fail_at(nth++);
		err = make(&auth);
		mem_fail_at(0);
		auth_free(auth);
		assert_int_equal(mem_live(), live);
	} while (err);
	assert_true(nth > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_side_has_its_own),
		cmocka_unit_test(where_it_is_off_there_is_none),
		cmocka_unit_test(what_cannot_be_used_is_reported_with_its_place),
		cmocka_unit_test(the_checker_looks_at_the_time),
		cmocka_unit_test(what_is_new_is_used_and_else_the_old),
		cmocka_unit_test(expiry_is_reported_once_a_day),
		cmocka_unit_test(expiry_is_reported_when_it_comes),
		cmocka_unit_test(one_authority_may_end_before_the_other),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
