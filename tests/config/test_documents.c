/* SPDX-License-Identifier: BSD-2-Clause */
/* The manual page and the example say what the key table says. */
#include "tests/cmocka_all.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/keys.h"

static char page[65536];

static void read_file(const char *path, char *text, size_t cap)
{
	FILE *f = fopen(path, "r");
	size_t len;

	assert_non_null(f);
	len = fread(text, 1, cap - 1, f);
	assert_true(len > 0 && len < cap - 1);
	text[len] = '\0';
	fclose(f);
}

/* The paragraph of @key: from its ".BR" line to the next ".TP"; NULL without one. */
static char *paragraph_of(const char *key)
{
	char head[80], *at, *end;

	snprintf(head, sizeof(head), "\n.TP\n.BR %s \"", key);
	at = strstr(page, head);
	if (!at) {
		snprintf(head, sizeof(head), "\n.TP\n.BR \"%s\" \"", key);
		at = strstr(page, head);
	}
	if (!at)
		return NULL;
	end = strstr(at + 5, "\n.TP");
	return strndup(at, end ? (size_t)(end - at) : strlen(at));
}

static void assert_says(const char *paragraph, const char *key, uint64_t value)
{
	char number[32], size[32] = "", giga[32] = "";

	snprintf(number, sizeof(number), "%" PRIu64, value);
	if (value % 1024 == 0)
		snprintf(size, sizeof(size), "%" PRIu64 "%c", value >> (value >> 20 ? 20 : 10),
			 value >> 20 ? 'M' : 'K');
	snprintf(giga, sizeof(giga), "%" PRIu64 "G", value >> 30);
	if (!strstr(paragraph, number) && (!size[0] || !strstr(paragraph, size)) &&
	    (!(value >> 30) || !strstr(paragraph, giga)))
		fail_msg("the page does not say %s of %s", number, key);
}

static void check_table(const struct key_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct key *key = &table->keys[i];
		char *paragraph = paragraph_of(key->name);

		if (!paragraph)
			fail_msg("the page has no paragraph about %s", key->name);
		if (key->kind == KEY_NUMBER || key->kind == KEY_BYTES) {
			assert_says(paragraph, key->name, key->min);
			assert_says(paragraph, key->name, key->max);
		}
		if (key->is_required && !strstr(paragraph, "required"))
			fail_msg("the page does not say that %s is required", key->name);
		free(paragraph);
		if (key->sub)
			check_table(key->sub);
	}
}

static void test_manual_page(void **state)
{
	(void)state;
	read_file("docs/rpcrdma-gw.conf.5", page, sizeof(page));
	check_table(&config_keys);
}

static void assert_default(const char *key, const char *want)
{
	char *paragraph = paragraph_of(key);

	assert_non_null(paragraph);
	if (!strstr(paragraph, want))
		fail_msg("the page does not give the default %s of %s", want, key);
	free(paragraph);
}

static void test_manual_defaults(void **state)
{
	const struct config_end *l = &config_route_defaults.listen;
	const struct config_end *u = &config_route_defaults.upstream;
	char text[64];

	(void)state;
	read_file("docs/rpcrdma-gw.conf.5", page, sizeof(page));
#define DEFAULT(key, ...) (snprintf(text, sizeof(text), __VA_ARGS__), assert_default(key, text))
	DEFAULT("workers", "default %u)", config_defaults.workers);
	DEFAULT("memory_limit", "default \\(dq%" PRIu64 "G\\(dq)",
		config_defaults.memory_bytes >> 30);
	DEFAULT("max_payload", "default \\(dq%uM\\(dq)", config_defaults.max_payload >> 20);
	DEFAULT("continue_max", "default \\(dq%uK\\(dq)", config_defaults.continue_max >> 10);
	DEFAULT("cut_through", "default %s)", config_defaults.cut_through ? "true" : "false");
	DEFAULT("cut_through_from", "default \\(dq%" PRIu64 "M\\(dq)",
		config_defaults.cut_through_from >> 20);
	DEFAULT("max_sessions", "default %u)", config_defaults.max_sessions);
	DEFAULT("max_sessions_per_client", "default %u)", config_defaults.max_sessions_per_client);
	DEFAULT("max_setups", "default %u)", config_defaults.max_setups);
	DEFAULT("max_setups_per_second", "default %u)", config_defaults.max_setups_per_second);
	DEFAULT("drain_timeout", "default %u)", config_defaults.drain_timeout_s);
	DEFAULT("peer_timeout", "default %u)", config_defaults.peer_timeout_s);
	DEFAULT("adaptive_poll_us", "default %u)", config_defaults.adaptive_poll_us);
	DEFAULT("receive_queue", "default \\(dq%s\\(dq)",
		config_receives_words[config_defaults.receives]);
	DEFAULT("insecure_handles", "default \\(dq%s\\(dq)",
		config_handles_words[config_defaults.handles]);
	DEFAULT("level", "default \\(dqinfo\\(dq)");
	DEFAULT("port", "default %u)", l->port);
	DEFAULT("hop", "default \\(dq%s\\(dq)", config_hop_words[l->hop]);
	DEFAULT("inline", "default %u)", l->inline_bytes);
	DEFAULT("receive_structure", "default %u)", l->bulk_bytes);
	DEFAULT("credits", "default %u)", l->credits);
	DEFAULT("reverse_credits", "default %u)", l->reverse_credits);
	DEFAULT("reverse", "default \\(dq%s\\(dq)", config_reverse_words[u->reverse]);
	DEFAULT("setup_timeout", "default %u)", l->timeout_s);
	DEFAULT("connect_timeout", "default %u)", u->timeout_s);
	DEFAULT("reply_timeout", "default %u)", u->reply_timeout_s);
	DEFAULT("retry_count", "default %u)", l->retry_count);
	DEFAULT("rnr_retry_count", "default %u)", l->rnr_retry_count);
	DEFAULT("resolve_timeout", "default %u)", u->resolve_timeout_s);
	DEFAULT("busy_poll_us", "default %u)", l->busy_poll_us);
	DEFAULT("timeout", "default %u)", l->hostauth.timeout_s);
	DEFAULT("warn_days", "default %u)", l->hostauth.warn_days);
	DEFAULT("max_handshakes", "default %u)", l->hostauth.max_handshakes);
	DEFAULT("version_memory", "default %u)", u->version_memory_s);
	assert_int_equal(config_defaults.log_level, LOG_LEVEL_INFO);
	assert_int_equal(l->port, u->port);
	assert_int_equal(l->hop, u->hop);
	assert_int_equal(l->inline_bytes, u->inline_bytes);
	assert_int_equal(l->credits, u->credits);
	assert_int_equal(l->reverse_credits, u->reverse_credits);
	assert_int_equal(l->reply_timeout_s, u->reply_timeout_s);
	assert_int_equal(l->retry_count, u->retry_count);
	assert_int_equal(l->rnr_retry_count, u->rnr_retry_count);
	assert_int_equal(l->busy_poll_us, u->busy_poll_us);
}

static struct config *load_text(const char *text)
{
	char path[] = "/tmp/gw-config-XXXXXX";
	int fd = mkstemp(path);
	struct config *cfg;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(config_load(path, &cfg, stderr), 0);
	unlink(path);
	return cfg;
}

/* Lines "# key = value; ..." lose their "# ": the keys shown at their defaults. */
static void uncomment(char *text)
{
	for (char *at = text; (at = strstr(at, "# ")); at += 2) {
		size_t word = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz_");

		if (word && strncmp(at + 2 + word, " = ", 3) == 0)
			at[0] = ' ';
	}
}

static void test_example(void **state)
{
	static char text[16384];
	struct config *shown, *all;
	unsigned keys = 0;

	(void)state;
	read_file("deploy/rpcrdma-gw.conf", text, sizeof(text));
	shown = load_text(text);
	uncomment(text);
	all = load_text(text);
	config_forget_lines(shown);
	config_forget_lines(all);
	assert_memory_equal(shown, all, sizeof(*all) + all->nroutes * sizeof(all->routes[0]));
	/* Every key of the process is there. */
	for (size_t i = 0; i < config_keys.n; i++)
		keys += strstr(text, config_keys.keys[i].name) != NULL;
	assert_int_equal(keys, config_keys.n);
	config_free(shown);
	config_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_manual_page),
		cmocka_unit_test(test_manual_defaults),
		cmocka_unit_test(test_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
