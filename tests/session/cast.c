/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/session/cast.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proxy/routes.h"
#include "tests/cmocka_all.h"
#include "tests/hostauth/pair.h"

/* A leg_auth, and what it hands out. */
struct policy {
	struct leg_auth auth; /* first member */
	struct hostauth_creds *creds;
};

struct world hall;
struct jobs *cast_jobs;
static char said[65536]; /* the log */

const struct peer_spec cast_hello = {.body = 100, .reply = 24, .segs = 1};

static void keep_line(const char *line)
{
	if (getenv("GW_DEBUG"))
		print_message("%s\n", line);
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", line);
}

void cast_said(const char *what)
{
	if (!strstr(said, what))
		fail_msg("the log does not say %s:\n%s", what, said);
}

void cast_not_said(const char *what)
{
	if (strstr(said, what))
		fail_msg("the log says %s:\n%s", what, said);
}

static struct hostauth_creds *creds_of(const struct leg_auth *auth)
{
	return hostauth_creds_get(((const struct policy *)auth)->creds);
}

static int64_t now_of(const struct leg_auth *auth)
{
	(void)auth;
	return PAIR_NOW;
}

static bool is_patient;

static struct policy policy(enum hostauth_role role, const char *name, const char *names,
			    bool required)
{
	return (struct policy){.auth = {.required = required,
					.timeout = (is_patient ? 10 : 5) * NSEC_PER_SEC,
					.creds = creds_of,
					.now = now_of},
			       .creds = pair_creds(role, name, "ca", NULL, names, NULL)};
}

static struct policy policies[5];
static const struct fabric_net everywhere[] = {{.is_v6 = false}, {.is_v6 = true}};

static const struct leg_auth *play(unsigned i, enum hostauth_role role, const char *name,
				   const char *names, bool required)
{
	if (!name)
		return NULL;
	policies[i] = policy(role, name, names, required);
	return &policies[i].auth;
}

static struct servers *two_servers(void)
{
	struct servers_config cfg = {.nhosts = 2, .v4 = true, .timeout = 10 * NSEC_PER_SEC};

	for (unsigned i = 0; i < 2; i++) {
		snprintf(cfg.hosts[i].name, sizeof(cfg.hosts[i].name), "server%u", i);
		assert_int_equal(fabric_addr_parse("10.0.0.2", (uint16_t)(20049 + 2 * i),
						   &cfg.hosts[i].addr),
				 0);
	}
	return servers_new(&cfg, NULL);
}

void cast_begin(const struct cast *c)
{
	struct setup s = setup_defaults(c->client_version ? c->client_version : LEG_V2,
					c->server_version ? c->server_version : LEG_V2, 9);

	memset(policies, 0, sizeof(policies));
	is_patient = c->is_patient;
	s.memory = s.peer_memory = 64 << 20;
	s.pairs = c->third ? 3 : 2;
	s.raw = c->raw_client || c->silent || c->raw_server;
	s.raw_client = c->raw_client;
	s.servers = c->silent ? two_servers() : NULL;
	s.probes = c->probes ? NSEC_PER_SEC : 0;
	s.client_auth = play(0, HOSTAUTH_INITIATOR, c->client, NULL, true);
	s.listen_auth = play(1, HOSTAUTH_ACCEPTOR, c->listen, c->listen_names, !c->listen_allows);
	s.upstream_auth =
		play(2, HOSTAUTH_INITIATOR, c->upstream, c->upstream_names, !c->upstream_allows);
	s.server_auth = play(3, HOSTAUTH_ACCEPTOR, c->server, NULL, true);
	said[0] = '\0';
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(keep_line);
	world_new(&hall, &s);
	if (c->silent)
		hall.pairs[2].server.cfg.auth = s.server_auth;
	/* As daemon/ does. */
	if (c->unneeded_from) {
		hall.routes[0].client_unneeded = hall.routes[0].client;
		policies[4] = policies[1];
		policies[4].auth.required = false;
		policies[4].creds = hostauth_creds_get(policies[1].creds);
		hall.routes[0].client_unneeded.auth = &policies[4].auth;
		hall.routes[0].unneeded = everywhere;
		hall.routes[0].nunneeded = 2;
	}
	if (s.listen_auth && s.listen_auth->required)
		hall.routes[0].client.versions = LEG_V2;
	if (s.upstream_auth && s.upstream_auth->required)
		hall.routes[0].server.versions = LEG_V2;
}

void cast_replace_route(unsigned i)
{
	proxy_listen_by(hall.proxy, i, PROXY_NO_SLOT);
	proxy_route_retire(hall.proxy, i);
	world_turn(&hall);
	assert_int_equal(proxy_route_add(hall.proxy, i, i, 2), 0);
}

void cast_connect(void)
{
	if (!hall.s.raw_client)
		world_connect_pair(&hall, 0);
	world_connect_pair(&hall, 1);
	world_run(&hall, NSEC_PER_SEC);
	/* The other client makes a call, because a client that sends nothing is disconnected. */
	peer_call(&hall.pairs[1].client, &cast_hello);
	world_run(&hall, NSEC_PER_SEC);
}

void cast_end(void)
{
	struct peer *other = &hall.pairs[1].client;

	assert_true(other->open);
	assert_true(peer_call(other, &cast_hello));
	world_run(&hall, NSEC_PER_SEC);
	assert_int_equal(other->done, 2);
	probes_end(hall.proxy->routes[0]);
	world_quit(&hall);
	servers_put(hall.s.servers);
	proxy_use_jobs(hall.proxy, NULL);
	jobs_free(cast_jobs);
	cast_jobs = NULL;
	for (unsigned i = 0; i < 5; i++)
		hostauth_creds_put(policies[i].creds);
	world_free(&hall);
	log_set_sink(NULL);
}

void cast_is_served(void)
{
	struct peer *client = &hall.pairs[0].client;
	uint64_t before = client->done;

	assert_true(client->open);
	for (unsigned i = 0; i < 20; i++)
		assert_true(peer_call(client, &cast_hello));
	world_run(&hall, NSEC_PER_SEC);
	assert_int_equal(client->done, before + 20);
	assert_int_equal(client->errors, 0);
}

void cast_is_refused(void)
{
	struct peer *client = &hall.pairs[0].client;

	if (client->open)
		peer_call(client, &cast_hello);
	world_run(&hall, 20 * NSEC_PER_SEC);
	assert_true(client->closed || !client->open);
	assert_int_equal(client->done, 0);
	assert_int_equal(hall.pairs[0].server.served, 0);
	assert_int_equal(proxy_sessions(hall.proxy), 1);
}

void cast_is_counted(enum proxy_refusal why)
{
	const struct proxy_counters *count = proxy_counters(hall.proxy);

	assert_int_equal(count->refused[why], 1);
	assert_int_equal(count->sessions_refused, 1);
	assert_int_equal(count->peer_faults, 0);
}
