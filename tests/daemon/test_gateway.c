/* SPDX-License-Identifier: BSD-2-Clause */
/* From a file to workers that listen: the mapping, with a failure of every allocation on the
 * way. */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/gateway.h"
#include "daemon/loop.h"
#include "daemon/worker.h"

static const char two_routes[] =
	"workers = 3;\n"
	"memory_limit = \"900M\";\n"
	"max_sessions = 100;\n"
	"max_payload = \"1M\";\n"
	"receive_queue = \"own\";\n"
	"routes = ( { name = \"a\";\n"
	"  listen = { address = \"127.0.0.1\"; port = %u; versions = [1]; hop = \"near\"; credits "
	"= 10;\n"
	"    reverse_credits = 5; inline = 8192; setup_timeout = 7;\n"
	"    reply_timeout = 40; };\n"
	"  upstream = { address = \"::1\"; port = 2; version = \"2\"; hop = \"far\"; crc = false;\n"
	"    connect_timeout = 3; version_memory = 60; reply_timeout = 86400; };\n"
	"}, { name = \"b\";\n"
	"  listen = { address = \"127.0.0.1\"; port = %u; setup_timeout = 7; };\n"
	"  upstream = { address = \"127.0.0.2\"; port = 3; connect_timeout = 7; };\n"
	"} );\n";

/* Ports below the ephemeral range; another run's are other ones. */
static unsigned some_port(void)
{
	static unsigned next;

	if (!next)
		next = 10000 + (unsigned)getpid() % 20000;
	return next++;
}

static struct config *config_must(void)
{
	char path[] = "/tmp/test_gateway.XXXXXX";
	int fd = mkstemp(path);
	struct config *cfg = NULL;

	assert_true(fd >= 0);
	assert_true(dprintf(fd, two_routes, some_port(), some_port()) > 0);
	close(fd);
	assert_int_equal(config_load(path, &cfg, stderr), 0);
	unlink(path);
	return cfg;
}

static void a_file_becomes_routes(void **state)
{
	struct config *cfg = config_must();
	const struct leg_config *leg;
	struct fabric_addr upstream;
	struct gateway gw;
	char text[FABRIC_ADDR_TEXT];

	(void)state;
	assert_int_equal(gateway_init(&gw, cfg, "gw.conf", 8, 0), 0);
	assert_int_equal(gw.nworkers, 3);
	assert_int_equal(gw.worker_bytes, 288u << 20); /* whole steps of 16 MiB of a third */
	assert_int_equal(session_limits_sessions(gw.session_limits), 0);
	assert_int_equal(gw.max_sessions, 100);
	assert_int_equal(gw.nroutes, 2);
	assert_string_equal(gw.routes[0].name, "a");
	leg = &gw.routes[0].client;
	assert_int_equal(leg->versions, LEG_V1);
	assert_int_equal(leg->credits, 10);
	assert_int_equal(leg->rev_credits, 5);
	assert_int_equal(leg->inline_bytes, 8192);
	assert_int_equal(leg->max_message, 1 << 20);
	assert_int_equal(leg->setup_timeout, 7 * NSEC_PER_SEC);
	assert_int_equal(leg->reply_timeout, 40 * NSEC_PER_SEC);
	leg = &gw.routes[0].server;
	assert_int_equal(leg->versions, LEG_V2);
	assert_int_equal(leg->setup_timeout, 3 * NSEC_PER_SEC);
	assert_int_equal(leg->reply_timeout, 86400 * NSEC_PER_SEC);
	assert_int_equal(gw.routes[0].version_memory, 60 * NSEC_PER_SEC);
	/* A reload changes it under routes that stay. */
	assert_ptr_equal(gw.routes[0].move_timeout_s, &gw.drain_s);
	servers_addr(gw.routes[0].servers, 0, &upstream);
	assert_string_equal(fabric_addr_format(&upstream, text), "[::1]:2");
	assert_int_equal(gw.routes[0].client_hop, HOP_NEAR);
	assert_int_equal(gw.routes[0].server_hop, HOP_FAR);
	assert_int_equal(gw.routes[1].client.versions, LEG_V1_OR_V2);
	assert_int_equal(gw.routes[1].client_hop, HOP_AUTO);
	assert_int_equal(gw.routes[1].server_hop, HOP_AUTO);
	gateway_fini(&gw);
	config_free(cfg);
}

/* Section 5.2.5: what is announced to a server holds for whatever client comes. */
static void no_more_is_announced_than_all_clients_take(void **state)
{
	static const struct {
		uint8_t listen;
		enum config_reverse reverse;
		enum rpc_reverse told;
	} rows[] = {
		{CONFIG_V1, CONFIG_REVERSE_AUTO, RPC_REV_SIMPLE},
		{CONFIG_V1 | CONFIG_V2, CONFIG_REVERSE_AUTO, RPC_REV_SIMPLE},
		{CONFIG_V2, CONFIG_REVERSE_AUTO, RPC_REV_GENL},
		{CONFIG_V2, CONFIG_REVERSE_NONE, RPC_REV_NONE},
		{CONFIG_V2, CONFIG_REVERSE_SIMPLE, RPC_REV_SIMPLE},
		{CONFIG_V2, CONFIG_REVERSE_CONT, RPC_REV_CONT},
		{CONFIG_V1, CONFIG_REVERSE_GENL, RPC_REV_GENL},
		{CONFIG_V2_EARLY, CONFIG_REVERSE_AUTO, RPC_REV_SIMPLE},
		{CONFIG_V2 | CONFIG_V2_EARLY, CONFIG_REVERSE_AUTO, RPC_REV_SIMPLE},
	};
	struct config *cfg = config_must();
	struct gateway gw;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cfg->routes[0].listen.versions = rows[i].listen;
		cfg->routes[0].upstream.reverse = rows[i].reverse;
		assert_int_equal(gateway_init(&gw, cfg, "gw.conf", 1, 0), 0);
		assert_int_equal(gw.routes[0].server.reverse, rows[i].told);
		gateway_fini(&gw);
	}
	config_free(cfg);
}

/* A peer that must authenticate speaks version 2, or is refused. */
static void what_is_required_leaves_no_version_1(void **state)
{
	struct config *cfg = config_must();
	struct config_hostauth *listen = &cfg->routes[1].listen.hostauth;
	struct config_hostauth *upstream = &cfg->routes[1].upstream.hostauth;
	struct gateway gw;

	(void)state;
	listen->mode = upstream->mode = CONFIG_HOSTAUTH_ALLOW;
	assert_int_equal(gateway_init(&gw, cfg, "gw.conf", 1, 0), 0);
	assert_int_equal(gw.routes[1].client.versions, LEG_V1_OR_V2);
	assert_int_equal(gw.routes[1].server.versions, LEG_V1_OR_V2);
	gateway_fini(&gw);
	listen->mode = upstream->mode = CONFIG_HOSTAUTH_REQUIRE;
	assert_int_equal(gateway_init(&gw, cfg, "gw.conf", 1, 0), 0);
	assert_int_equal(gw.routes[1].client.versions, LEG_V2);
	assert_int_equal(gw.routes[1].server.versions, LEG_V2);
	assert_int_equal(gw.routes[1].nunneeded, 0);
	assert_int_equal(gw.routes[1].server.reverse,
			 RPC_REV_GENL); /* of such clients, all take it */
	gateway_fini(&gw);
	listen->unneeded.n = 1;
	cfg->routes[1].listen.clients.n = 2;
	cfg->routes[1].upstream.sources.n = 1;
	cfg->routes[1].upstream.sources.at[0].addresses.bits = 24;
	cfg->routes[1].listen.clients.nets[1].bits = 32;
	assert_int_equal(gateway_init(&gw, cfg, "gw.conf", 1, 0), 0);
	assert_int_equal(gw.routes[1].client.versions, LEG_V2);
	assert_int_equal(gw.routes[1].client_unneeded.versions, LEG_V1_OR_V2);
	assert_int_equal(gw.routes[1].nunneeded, 1);
	assert_int_equal(gw.routes[0].nclients, 0);
	assert_int_equal(gw.routes[1].nclients, 2);
	assert_int_equal(gw.routes[1].clients[1].bits, 32);
	assert_int_equal(gw.routes[0].nsources, 0);
	assert_int_equal(gw.routes[1].nsources, 1);
	assert_int_equal(gw.routes[1].sources[0].addresses.bits, 24);
	assert_int_equal(gw.routes[1].server.reverse, RPC_REV_SIMPLE);
	gateway_fini(&gw);
	config_free(cfg);
}

/* A fabric instance for each setting that differs, and no more. */
static void equal_fabric_settings_share(void **state)
{
	struct config *cfg = config_must();
	struct gateway gw;

	(void)state;
	assert_int_equal(gateway_init(&gw, cfg, "gw.conf", 1, 0), 0);
	assert_int_equal(gw.nfabrics, 2);
	assert_false(gw.fabrics[gw.routes[0].upstream_fabric].crc);
	assert_int_equal(gw.fabrics[gw.routes[0].upstream_fabric].setup_timeout_ms, 3000);
	assert_true(gw.fabrics[gw.listens[0].fabric].crc);
	assert_int_equal(gw.fabrics[gw.listens[0].fabric].setup_timeout_ms, 7000);
	assert_int_equal(gw.listens[0].fabric, gw.listens[1].fabric);
	assert_int_equal(gw.listens[0].fabric, gw.routes[1].upstream_fabric);
	assert_int_equal(gw.fabrics[0].receives, PROVIDER_RECEIVES_OWN);
	assert_int_equal(gw.fabrics[1].receives, PROVIDER_RECEIVES_OWN);
	gateway_fini(&gw);
	config_free(cfg);
}

static char told[2048];

static void keep_log(const char *line)
{
	strncat(told, line, sizeof(told) - strlen(told) - 1);
}

/* A missing interface of a listener is reported with its place. That of a server is looked up later,
 * as a name is. */
static void interfaces_that_are_not_there(void **state)
{
	static const char place[] = "config=\"gw.conf:7\" route=a address=fe80::1%nosuch0 "
				    "why=\"there is no such interface";
	struct config *cfg = config_must();
	struct servers_view view;
	struct gateway gw;

	(void)state;
	strcpy(cfg->routes[0].listen.address, "fe80::1%nosuch0");
	strcpy(cfg->routes[1].upstream.address, "fe80::2%nosuch1");
	log_set_sink(keep_log);
	assert_int_equal(gateway_init(&gw, cfg, "gw.conf", 1, 0), ERR_IO);
	log_set_sink(NULL);
	if (!strstr(told, place) || strstr(told, "nosuch1"))
		fail_msg("%s", told);
	strcpy(cfg->routes[0].listen.address, "fe80::1%lo");
	assert_int_equal(gateway_init(&gw, cfg, "gw.conf", 1, 0), 0);
	servers_snapshot(gw.listens[1].servers, &view);
	assert_int_equal(view.n, 0);
	assert_false(gw.routes[1].several);
	gateway_fini(&gw);
	config_free(cfg);
}

/* Two descriptors a session, one a connection in set-up, and some for everything else are within the limit; or no
 * session is. */
static void sessions_are_as_many_as_descriptors(void **state)
{
	struct config *cfg = config_must();
	struct gateway gw;

	(void)state;
	for (uint32_t limit = 1; limit < 1000; limit += 7) {
		int err = gateway_init(&gw, cfg, "gw.conf", 1, limit);

		assert_true(err == 0 || (err == ERR_LOCAL && limit < 300));
		if (err)
			continue;
		assert_in_range(gw.max_sessions, 1, 100);
		assert_true(2 * gw.max_sessions + gw.max_setups + 100 < limit);
		assert_true(limit < 500 || gw.max_sessions == 100);
		assert_in_range(gw.fabrics[0].descriptors, 1, limit - 90);
		gateway_fini(&gw);
	}
	config_free(cfg);
}

/* Return: whether all came up; whether or not, all is taken down again. */
static bool up_and_down(const struct config *cfg, struct loop *loop)
{
	struct worker *worker[2] = {NULL, NULL};
	struct gateway gw;
	bool up = false;

	if (gateway_init(&gw, cfg, "gw.conf", 1, 0))
		return false;
	if (gateway_listen(&gw, "test"))
		goto out;
	worker[0] = worker_new(&gw, 0, loop);
	worker[1] = worker[0] ? worker_new(&gw, 1, loop) : NULL;
	if (!worker[1] || worker_start(worker[0]) || worker_start(worker[1]))
		goto out;
	up = true;
	worker_report(worker[0]);
	worker_drain(worker[0]);
	while (worker_state(worker[0]) != WORKER_ENDED)
		if (loop_run_once(loop, NSEC_NEVER))
			break;
	assert_int_equal(worker_state(worker[1]), WORKER_RUNNING);
out:
	worker_free(worker[0]);
	worker_free(worker[1]);
	gateway_fini(&gw);
	return up;
}

static void no_log(const char *line)
{
	(void)line;
}

static void every_allocation_may_fail(void **state)
{
	struct config *cfg = config_must();
	struct loop *loop = loop_new();
	uint64_t live = mem_live(), nth = 0;
	bool up;

	(void)state;
	log_set_sink(no_log); /* each failure is logged, and there are many */
	do {
		assert_int_equal(mem_live(), live);
		mem_fail_at(++nth);
		up = up_and_down(cfg, loop);
		mem_fail_at(0);
	} while (!up);
	log_set_sink(NULL);
	assert_true(nth > 20);
	assert_int_equal(mem_live(), live);
	loop_free(loop);
	config_free(cfg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_becomes_routes),
		cmocka_unit_test(sessions_are_as_many_as_descriptors),
		cmocka_unit_test(no_more_is_announced_than_all_clients_take),
		cmocka_unit_test(what_is_required_leaves_no_version_1),
		cmocka_unit_test(equal_fabric_settings_share),
		cmocka_unit_test(interfaces_that_are_not_there),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
