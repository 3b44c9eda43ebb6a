/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROXY_SERVERS_UTIL_H
#define TESTS_PROXY_SERVERS_UTIL_H

#include "tests/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/servers.h"

/** Servers of one route, users of them (clients), and answers for names. */

#define S NSEC_PER_SEC

static struct servers *servers;
static struct servers_changes changes;
static unsigned notified;
static nsec_t now;

static inline struct fabric_addr addr_of(const char *text)
{
	struct fabric_addr addr;

	assert_int_equal(fabric_addr_parse(text, 1023, &addr), 0);
	return addr;
}

static inline void on_notify(void *arg)
{
	(void)arg;
	notified++;
}

/* @hosts: literal addresses and names, up to NULL. */
static inline struct servers_config config_of(const char *const *hosts)
{
	struct servers_config cfg = {.port = 20049, .v4 = true, .v6 = true, .timeout = 10 * S};

	for (; hosts[cfg.nhosts]; cfg.nhosts++) {
		struct servers_host *host = &cfg.hosts[cfg.nhosts];

		strcpy(host->name, hosts[cfg.nhosts]);
		if (fabric_addr_parse(host->name, cfg.port, &host->addr))
			host->addr.len = 0;
	}
	return cfg;
}

static inline void begin_with(const struct servers_config *cfg)
{
	now = 1000 * S;
	notified = 0;
	atomic_init(&changes.number, 0);
	changes.notify = on_notify;
	servers = servers_new(cfg, &changes);
	assert_non_null(servers);
}

static inline void begin(const char *const *hosts)
{
	struct servers_config cfg = config_of(hosts);

	begin_with(&cfg);
}

static inline void end(void)
{
	servers_put(servers);
	assert_int_equal(mem_live(), 0);
}

/* The server that @client gets, as text; "-": none; "?": it must wait. */
static inline const char *chosen(struct servers_user *g, const char *client)
{
	static char text[FABRIC_ADDR_TEXT];
	struct fabric_addr from = addr_of(client), to;

	switch (servers_choose(servers, g, &from, now)) {
	case SERVERS_GO:
		servers_addr(servers, g->server, &to);
		fabric_addr_format(&to, text);
		*strrchr(text, ':') = '\0';
		return text;
	case SERVERS_WAIT:
		return "?";
	case SERVERS_OVER:
	case SERVERS_SHORT:
		break;
	}
	return "-";
}

static inline void goes_to(struct servers_user *g, const char *client, const char *server)
{
	assert_string_equal(chosen(g, client), server);
}

static inline bool opens(struct servers_user *g)
{
	bool came_up;

	return servers_opened(servers, g, &came_up);
}

static inline void is_with(struct servers_user *g, const char *client, const char *server)
{
	goes_to(g, client, server);
	assert_true(opens(g));
}

/* Return: as servers_failed(). */
static inline bool fails(struct servers_user *g)
{
	return servers_failed(servers, g, now);
}

static inline bool is_rejected(struct servers_user *g)
{
	return servers_rejected(servers, g);
}

static inline void leaves(struct servers_user *g)
{
	servers_leave(servers, g);
}

static inline void visits(struct servers_user *g, const char *client, const char *server)
{
	goes_to(g, client, server);
	leaves(g);
}

static inline void all_leave(struct servers_user *g, unsigned n)
{
	while (n > 0)
		leaves(&g[--n]);
}

static inline bool has_moved(const struct servers_user *g)
{
	return servers_has_moved(servers, g);
}

static inline const struct server_view *seen(const char *server)
{
	static struct servers_view view;
	struct fabric_addr addr = addr_of(server);

	servers_snapshot(servers, &view);
	for (unsigned i = 0; i < view.n; i++) {
		uint8_t a[FABRIC_ADDR_KEY], b[FABRIC_ADDR_KEY];

		fabric_addr_key(&view.at[i].addr, a);
		fabric_addr_key(&addr, b);
		if (memcmp(a, b, sizeof(a)) == 0)
			return &view.at[i];
	}
	return NULL;
}

static inline const struct servers_figures *figures(void)
{
	static struct servers_view view;

	servers_snapshot(servers, &view);
	return &view.figures;
}

static const char *const pair[] = {"10.0.0.1", "10.0.0.2", NULL};

static inline void answer(const char *const *addrs, nsec_t ttl)
{
	uint64_t ticket = servers_asked(servers);
	struct fabric_addr at[SERVERS_OF_HOST];
	unsigned n = 0;

	for (; addrs[n]; n++)
		at[n] = addr_of(addrs[n]);
	for (unsigned i = 0; i < SERVERS_HOSTS; i++)
		if (servers_expired(servers, i, now))
			servers_lookup_result(servers, i, at, n, now + ttl);
	servers_answered(servers, ticket);
}

#define ANSWER(ttl, ...) answer((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL}, ttl)

static const char *const named[] = {"filer.example", NULL};

#endif
