/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/control/to_json.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/control/put.h"

static void put_seconds(struct json_object *o, const char *name, nsec_t time)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu.%03llu", (unsigned long long)(time / NSEC_PER_SEC),
		 (unsigned long long)(time % NSEC_PER_SEC / NSEC_PER_MS));
	put(o, name, json_object_new_double_s((double)time / 1e9, text));
}

const char *to_json_level(void)
{
	return log_is_on(LOG_LEVEL_DEBUG)  ? "debug"
	       : log_is_on(LOG_LEVEL_INFO) ? "info"
	       : log_is_on(LOG_LEVEL_WARN) ? "warn"
					   : "error";
}

/* Only error codes that occurred. */
static void put_errors(struct json_object *list, const uint64_t by_code[RPC_ERROR_CODES],
		       const char *way, const char *leg)
{
	for (unsigned i = 0; i < RPC_ERROR_CODES; i++) {
		struct json_object *o;

		if (by_code[i] == 0)
			continue;
		o = json_object_new_object();
		put_text(o, "way", way);
		put_text(o, "leg", leg);
		put_text(o, "code", rpc_error_name((enum rpc_error_code)i));
		put_number(o, "count", by_code[i]);
		json_object_array_add(list, o);
	}
}

static void put_counters(struct json_object *o, const struct proxy_counters *c)
{
	struct json_object *counters = json_object_new_object();
	struct json_object *refused = json_object_new_object();
	struct json_object *errors = json_object_new_array();

	for (unsigned i = 0; i < stats_table_nrelayed; i++)
		put_number(counters, stats_table_relayed[i].name,
			   figure_of(c, &stats_table_relayed[i]));
	for (unsigned i = 0; i < PROXY_REFUSALS; i++)
		put_number(refused, proxy_refusal_name((enum proxy_refusal)i), c->refused[i]);
	if (errors) {
		put_errors(errors, c->errors_to[PROXY_CLIENT], "sent", "client");
		put_errors(errors, c->errors_to[PROXY_SERVER], "sent", "server");
		put_errors(errors, c->errors_from[PROXY_CLIENT], "received", "client");
		put_errors(errors, c->errors_from[PROXY_SERVER], "received", "server");
	}
	put(o, "counters", counters);
	put(o, "refused", refused);
	put(o, "errors", errors);
}

static struct json_object *memory_of(const struct snapshot_memory *m)
{
	struct json_object *o = json_object_new_object(), *uses = json_object_new_object();

	put_number(o, "total_bytes", m->total);
	put_number(o, "used_bytes", m->used);
	put_number(o, "peak_bytes", m->peak);
	put_number(o, "reserve_bytes", m->reserve);
	put_number(o, "reserve_used_bytes", m->reserve_used);
	put_number(o, "touched_bytes", m->touched);
	put_number(o, "waits", m->waits);
	for (unsigned i = 0; i < BUF_PURPOSES; i++)
		put_number(uses, snapshot_use_name((enum buf_purpose)i), m->by_use[i]);
	put_number(uses, "routes", m->own);
	put(o, "used_by", uses);
	return o;
}

static struct json_object *process_of(void)
{
	struct json_object *o = json_object_new_object();
	struct stats_table_process p;

	stats_table_process(&p);
	put_number(o, "descriptors", p.descriptors);
	put_number(o, "resident_bytes", p.resident_bytes);
	put_number(o, "heap_live", p.heap_live);
	put_number(o, "heap_allocs", p.heap_allocs);
	put_number(o, "heap_bytes", p.heap_bytes);
	return o;
}

static void put_fabrics(struct json_object *o, const struct stats_table *f)
{
	static const char *const names[PROVIDER_KINDS] = {
		[PROVIDER_IWARP] = "iwarp", [PROVIDER_VERBS] = "verbs"};

	for (unsigned kind = 0; kind < PROVIDER_KINDS; kind++) {
		struct json_object *counters = json_object_new_object();
		const struct provider_counter *table;
		unsigned n = provider_counters((enum provider_kind)kind, &table);

		for (unsigned i = 0; i < n; i++)
			put_number(counters, table[i].name, f->fabric[kind][i]);
		put(o, names[kind], counters);
	}
}

static void put_figures(struct json_object *o, const void *of, const struct figure *table,
			unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put_number(o, table[i].name, figure_at(of, &table[i]));
}

/* The servers of a route, and their sum. */
static void put_servers(struct json_object *o, struct servers *servers)
{
	struct json_object *list = json_object_new_array(), *sum = json_object_new_object();
	struct servers_view *view = mem_zalloc(sizeof(*view));
	char text[FABRIC_ADDR_TEXT];

	if (view)
		servers_snapshot(servers, view);
	for (unsigned i = 0; view && list && i < view->n; i++) {
		struct json_object *one = json_object_new_object();

		put_text(one, "address", fabric_addr_format(&view->at[i].addr, text));
		put_text(one, "host", view->at[i].host);
		put_figures(one, &view->at[i].figures, stats_table_server, stats_table_nserver);
		json_object_array_add(list, one);
	}
	if (view) {
		put_text(sum, "balance", view->by_client ? "client" : "order");
		put_figures(sum, &view->figures, stats_table_servers, stats_table_nservers);
	}
	put(o, "servers", list);
	put(o, "upstreams", sum);
	mem_free(view);
}

/* The servers of all routes. */
static struct json_object *upstreams_of(const struct gateway *gw)
{
	struct json_object *o = json_object_new_object();
	struct servers_view *view = mem_zalloc(sizeof(*view));
	struct servers_figures sum = {.moves = 0};

	for (unsigned i = 0; view && i < gw->nslots; i++) {
		if (!gateway_has(gw, i))
			continue;
		servers_snapshot(gw->listens[i].servers, view);
		servers_figures_add(&sum, &view->figures);
	}
	put_figures(o, &sum, stats_table_servers, stats_table_nservers);
	mem_free(view);
	return o;
}

struct json_object *to_json_status(const struct to_json_process *p, const struct stats_table *f)
{
	struct json_object *o = json_object_new_object();

	put_text(o, "version", GW_VERSION);
	put_number(o, "pid", (uint64_t)getpid());
	put_text(o, "state", p->state);
	put_seconds(o, "uptime_s", p->uptime);
	put_text(o, "config", p->config);
	put_text(o, "log_level", to_json_level());
	put_number(o, "workers", p->gw->nworkers);
	put_number(o, "routes", p->gw->nroutes);
	put_number(o, "sessions", f->sessions);
	put_number(o, "max_sessions", p->gw->max_sessions);
	put(o, "process", process_of());
	put(o, "memory", memory_of(&f->memory));
	put(o, "upstreams", upstreams_of(p->gw));
	put_counters(o, &f->total);
	put_fabrics(o, f);
	return o;
}

static struct json_object *versions_of(unsigned mask)
{
	struct json_object *list = json_object_new_array();

	for (unsigned v = 1; list && v <= 2; v++)
		if (mask & v)
			json_object_array_add(list, json_object_new_uint64(v));
	if (list && (mask & LEG_V2_EARLY))
		json_object_array_add(list, json_object_new_string("2-early"));
	return list;
}

static struct json_object *end_of(const struct to_json_process *p, unsigned i, enum auth_side which,
				  const char *address, const struct leg_config *leg)
{
	struct json_object *o = json_object_new_object();
	struct hostauth_times times;

	put_text(o, "address", address);
	put(o, "versions", versions_of(leg->versions));
	put_number(o, "inline", leg->inline_bytes);
	put_number(o, "credits", leg->credits);
	if (auth_times(p->auth, i, which, &times))
		put(o, "expires", json_object_new_int64(times.end));
	return o;
}

static struct json_object *latency_of(enum latency_kind kind, enum latency_step step,
				      const struct latency *l)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	put_text(o, "program", latency_program(kind));
	put_text(o, "procedure", latency_procedure(kind));
	put_text(o, "step", latency_step_name(step));
	put_number(o, "count", latency_count(l));
	put_number(o, "sum_ns", l->sum);
	put_number(o, "p50_ns", latency_quantile(l, 50));
	put_number(o, "p99_ns", latency_quantile(l, 99));
	for (unsigned i = 0; list && i < LATENCY_BUCKETS; i++)
		json_object_array_add(list, json_object_new_uint64(l->buckets[i]));
	put(o, "buckets", list);
	return o;
}

/* Only kinds that occurred. */
static struct json_object *latencies_of(const struct proxy_counters *c)
{
	struct json_object *list = json_object_new_array();

	for (unsigned kind = 0; list && kind < LATENCY_KINDS; kind++)
		for (unsigned step = 0;
		     step < LATENCY_STEPS && latency_count(&c->latency[kind][0]) > 0; step++)
			json_object_array_add(list, latency_of((enum latency_kind)kind,
							       (enum latency_step)step,
							       &c->latency[kind][step]));
	return list;
}

struct json_object *to_json_route(const struct to_json_process *p, const struct stats_table *f,
				  unsigned i)
{
	const struct proxy_route *route = &p->gw->routes[i];
	struct json_object *o = json_object_new_object();
	char listen[FABRIC_ADDR_TEXT], upstream[GATEWAY_UPSTREAM_TEXT];

	fabric_addr_format(&p->gw->listens[i].addr, listen);
	gateway_upstream_text(p->gw, i, upstream);
	put_text(o, "name", route->name);
	put_text(o, "state", p->gw->listens[i].state == GATEWAY_CURRENT ? "serving" : "leaving");
	put(o, "listen", end_of(p, i, AUTH_LISTEN, listen, &route->client));
	put(o, "upstream", end_of(p, i, AUTH_UPSTREAM, upstream, &route->server));
	put_servers(o, p->gw->listens[i].servers);
	put_number(o, "sessions", f->routes[i].sessions);
	put_counters(o, &f->routes[i]);
	put(o, "latency", latencies_of(&f->routes[i]));
	return o;
}

static struct json_object *leg_of(const struct snapshot_leg *leg)
{
	struct json_object *o = json_object_new_object();

	put_text(o, "peer", leg->peer);
	put_text(o, "name", leg->name);
	put_text(o, "version", leg->version ? leg->version_name : "");
	put_number(o, "inline_send", leg->inline_send);
	put_number(o, "inline_recv", leg->inline_recv);
	put_number(o, "credits", leg->credits);
	put_text(o, "hop", leg->is_far ? "far" : "near");
	put_number(o, "calls", leg->calls);
	put_number(o, "replies", leg->replies);
	put_number(o, "rcalls", leg->rcalls);
	put_number(o, "rreplies", leg->rreplies);
	put_number(o, "bytes_in", leg->bytes_in);
	put_number(o, "bytes_out", leg->bytes_out);
	put_number(o, "large", leg->large);
	put_number(o, "written", leg->written);
	put_number(o, "late", leg->late);
	return o;
}

struct json_object *to_json_session(const struct gateway *gw, const struct snapshot_session *s)
{
	struct json_object *o = json_object_new_object();

	put_number(o, "id", s->id);
	put_text(o, "route", gw->routes[s->route].name);
	put_text(o, "state", s->is_leaving ? "leaving" : s->state);
	put(o, "old_settings", json_object_new_boolean(s->is_old));
	put_seconds(o, "age_s", s->age);
	put_text(o, "client_host", s->client);
	put_number(o, "in_flight", s->in_flight);
	put_number(o, "waiting", s->waiting);
	put_number(o, "fixed_bytes", s->fixed_bytes);
	put_number(o, "call_bytes", s->call_bytes);
	put(o, "client", leg_of(&s->legs[PROXY_CLIENT]));
	put(o, "server", leg_of(&s->legs[PROXY_SERVER]));
	return o;
}

/* @keys has ", " between the keys. */
static struct json_object *list_of(const char *keys)
{
	struct json_object *list = json_object_new_array();

	while (list && *keys) {
		size_t n = strcspn(keys, ",");

		json_object_array_add(list, json_object_new_string_len(keys, (int)n));
		keys += n;
		keys += strspn(keys, ", ");
	}
	return list;
}

struct json_object *to_json_reload(const struct reload_result *r)
{
	struct json_object *o = json_object_new_object();

	put_number(o, "added", r->added);
	put_number(o, "changed", r->changed);
	put_number(o, "removed", r->removed);
	put_number(o, "kept", r->kept);
	put(o, "restart", list_of(r->restart));
	return o;
}

struct json_object *to_json_call(const struct snapshot_call *c)
{
	struct json_object *o = json_object_new_object();
	char xid[16];

	snprintf(xid, sizeof(xid), "%08x", c->xid);
	put_text(o, "xid", xid);
	put_text(o, "from", c->is_reverse ? "server" : "client");
	put_text(o, "step", c->step);
	put_seconds(o, "age_s", c->age);
	put_number(o, "bytes", c->bytes);
	return o;
}
