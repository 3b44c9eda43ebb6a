/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/show.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include <json-c/json.h>

enum { TEXT = 128 };

static struct json_object *member(struct json_object *o, const char *name)
{
	struct json_object *value = NULL;

	(void)json_object_object_get_ex(o, name, &value);
	return value;
}

char *show_clean(char *text)
{
	for (char *at = text; *at; at++)
		if (!isprint((unsigned char)*at))
			*at = '?';
	return text;
}

const char *show_text(struct json_object *o, const char *name, char *text, size_t size)
{
	const char *from = json_object_get_string(member(o, name));

	snprintf(text, size, "%s", from && *from ? from : "-");
	return show_clean(text);
}

uint64_t show_number(struct json_object *o, const char *name)
{
	return json_object_get_uint64(member(o, name));
}

const char *show_size(uint64_t bytes, char *text)
{
	static const char units[] = "BKMGTP";
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 9999.5 && unit + 2 < sizeof(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(text, 16, unit && value < 99.95 ? "%.1f%c" : "%.0f%c", value, units[unit]);
	return text;
}

static const char *show_age(struct json_object *o, const char *name, char *text)
{
	double age = json_object_get_double(member(o, name));
	unsigned long whole = age > 0 && age < 1e12 ? (unsigned long)age : 0;

	if (whole < 60)
		snprintf(text, 16, "%.3fs", age);
	else if (whole < 2 * 3600)
		snprintf(text, 16, "%lum%02lus", whole / 60, whole % 60);
	else
		snprintf(text, 16, "%.1fh", age / 3600);
	return text;
}

enum { AMOUNT = 24 };

typedef const char *show_amount(uint64_t number, char *text);

static const char *show_plain(uint64_t number, char *text)
{
	snprintf(text, AMOUNT, "%" PRIu64, number);
	return text;
}

/* Print members of @o that are numbers other than 0, several on a line. */
static void show_members(struct show *s, const char *title, struct json_object *o,
			 show_amount *amount)
{
	char clean[TEXT], text[AMOUNT];
	unsigned n = 0;

	if (!json_object_is_type(o, json_type_object))
		return;
	json_object_object_foreach(o, name, value)
	{
		uint64_t number = json_object_get_uint64(value);

		if (!number || !json_object_is_type(value, json_type_int))
			continue;
		if (n % 3 == 0)
			fprintf(s->to, "%s%-10s", n ? "\n" : "", n ? "" : title);
		snprintf(clean, sizeof(clean), "%s", name);
		fprintf(s->to, " %22s %-12s", show_clean(clean), amount(number, text));
		n++;
	}
	if (n)
		fputc('\n', s->to);
}

static void show_counters(struct show *s, const char *title, struct json_object *o)
{
	show_members(s, title, o, show_plain);
}

static void show_errors(struct show *s, struct json_object *list)
{
	char way[TEXT], leg[TEXT], code[TEXT];

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		fprintf(s->to, "error      %s, %s, %s: %" PRIu64 "\n",
			show_text(o, "leg", leg, TEXT), show_text(o, "way", way, TEXT),
			show_text(o, "code", code, TEXT), show_number(o, "count"));
	}
}

static void show_all_counted(struct show *s, struct json_object *o)
{
	struct json_object *errors = member(o, "errors");

	show_counters(s, "counted", member(o, "counters"));
	show_counters(s, "refused", member(o, "refused"));
	if (json_object_is_type(errors, json_type_array))
		show_errors(s, errors);
}

static const char *plural(uint64_t number)
{
	return number == 1 ? "" : "s";
}

static void show_status(struct show *s, struct json_object *o)
{
	struct json_object *memory = member(o, "memory"), *process = member(o, "process");
	uint64_t sessions = show_number(o, "sessions"), routes = show_number(o, "routes"),
		 workers = show_number(o, "workers");
	char a[TEXT], b[TEXT], c[TEXT], d[16], e[16], f[16];

	fprintf(s->to, "rpcrdma-gw %s, process %" PRIu64 ", %s for %s, log level %s\n",
		show_text(o, "version", a, TEXT), show_number(o, "pid"),
		show_text(o, "state", b, TEXT), show_age(o, "uptime_s", d),
		show_text(o, "log_level", c, TEXT));
	fprintf(s->to, "config     %s\n", show_text(o, "config", a, TEXT));
	fprintf(s->to, "serves     %" PRIu64 " session%s of at most %" PRIu64, sessions,
		plural(sessions), show_number(o, "max_sessions"));
	fprintf(s->to, ", %" PRIu64 " route%s, %" PRIu64 " worker%s\n", routes, plural(routes),
		workers, plural(workers));
	fprintf(s->to, "memory     %s in use, %s at most so far, limit %s\n",
		show_size(show_number(memory, "used_bytes"), d),
		show_size(show_number(memory, "peak_bytes"), e),
		show_size(show_number(memory, "total_bytes"), f));
	show_members(s, "used by", member(memory, "used_by"), show_size);
	fprintf(s->to, "process    %s resident, %s of heap, %" PRIu64 " descriptors\n",
		show_size(show_number(process, "resident_bytes"), d),
		show_size(show_number(process, "heap_bytes"), e),
		show_number(process, "descriptors"));
	show_counters(s, "servers", member(o, "upstreams"));
	show_all_counted(s, o);
	show_counters(s, "iwarp", member(o, "iwarp"));
	show_counters(s, "verbs", member(o, "verbs"));
}

/* Each bucket is twice as wide as the one before, so the quantile is an upper bound. */
static const char *show_most(uint64_t ns, char *text)
{
	if (ns >= (uint64_t)1 << 62)
		snprintf(text, 16, "beyond");
	else if (ns >= 1000000000)
		snprintf(text, 16, "%.1fs", (double)ns / 1e9);
	else
		snprintf(text, 16, "%.2fms", (double)ns / 1e6);
	return text;
}

static void show_latency(struct show *s, struct json_object *list)
{
	char program[TEXT], procedure[TEXT], step[TEXT], mean[16], p50[16], p99[16];

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		uint64_t n = show_number(o, "count");

		fprintf(s->to,
			"latency    %-8s %-5s %-9s %10" PRIu64
			" RPCs, mean %s, half within %s, 99 %% within %s\n",
			show_text(o, "program", program, TEXT),
			show_text(o, "procedure", procedure, TEXT),
			show_text(o, "step", step, TEXT), n,
			show_most(n ? show_number(o, "sum_ns") / n : 0, mean),
			show_most(show_number(o, "p50_ns"), p50),
			show_most(show_number(o, "p99_ns"), p99));
	}
}

static void show_servers(struct show *s, struct json_object *list)
{
	char address[TEXT], host[TEXT];

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		uint64_t sessions = show_number(o, "sessions"),
			 connects = show_number(o, "connects"), probes = show_number(o, "probes");
		bool is_listed = strcmp(show_text(o, "host", host, TEXT), "-") != 0;

		fprintf(s->to,
			"server     %s%s%s: %s, %" PRIu64 " session%s, %" PRIu64
			" connection%s, %" PRIu64 " failed, %" PRIu64 " probe%s, %" PRIu64
			" failed\n",
			show_text(o, "address", address, TEXT), is_listed ? " of " : "",
			is_listed ? host : ", not for new clients",
			show_number(o, "up") ? "up" : "down", sessions, plural(sessions), connects,
			plural(connects), show_number(o, "failures"), probes, plural(probes),
			show_number(o, "probe_failures"));
	}
}

static void show_route(struct show *s, struct json_object *o)
{
	struct json_object *listen = member(o, "listen"), *upstream = member(o, "upstream");
	char a[TEXT], b[TEXT], c[TEXT], d[TEXT], e[TEXT];
	bool leaves = strcmp(show_text(o, "state", a, TEXT), "leaving") == 0;

	fprintf(s->to, "%s%s%s\n", s->lines++ ? "\n" : "", show_text(o, "name", a, TEXT),
		leaves ? ", removed: its sessions end" : "");
	if (!leaves)
		fprintf(s->to, "listens    %s, versions %s\n",
			show_text(listen, "address", b, TEXT),
			show_text(listen, "versions", d, TEXT));
	fprintf(s->to, "upstream   %s, versions %s\n", show_text(upstream, "address", c, TEXT),
		show_text(upstream, "versions", e, TEXT));
	if (json_object_is_type(member(o, "servers"), json_type_array))
		show_servers(s, member(o, "servers"));
	show_counters(s, "servers", member(o, "upstreams"));
	fprintf(s->to, "sessions   %" PRIu64 "\n", show_number(o, "sessions"));
	show_all_counted(s, o);
	if (json_object_is_type(member(o, "latency"), json_type_array))
		show_latency(s, member(o, "latency"));
}

static void show_session(struct show *s, struct json_object *o)
{
	struct json_object *client = member(o, "client"), *server = member(o, "server");
	char a[TEXT], b[TEXT], c[TEXT], d[TEXT], e[TEXT], f[TEXT], g[TEXT], age[16], memory[16];

	if (s->lines++ == 0)
		fprintf(s->to, "%-11s %-14s %-10s %-28s %-7s %-28s %-7s %9s %10s %7s %7s  %s\n",
			"SESSION", "ROUTE", "STATE", "CLIENT", "VERSION", "SERVER", "VERSION",
			"AGE", "CALLS", "FLIGHT", "MEMORY", "NAME");
	fprintf(s->to,
		"%-11" PRIu64 " %-14s %-10s %-28s %-7s %-28s %-7s %9s %10" PRIu64 " %7" PRIu64
		" %7s  %s\n",
		show_number(o, "id"), show_text(o, "route", a, TEXT),
		show_text(o, "state", b, TEXT), show_text(client, "peer", c, TEXT),
		show_text(client, "version", d, TEXT), show_text(server, "peer", e, TEXT),
		show_text(server, "version", f, TEXT), show_age(o, "age_s", age),
		show_number(client, "calls"), show_number(o, "in_flight"),
		show_size(show_number(o, "fixed_bytes") + show_number(o, "call_bytes"), memory),
		show_text(client, "name", g, TEXT));
}

static void show_leg(struct show *s, const char *title, struct json_object *o)
{
	char a[TEXT], b[TEXT], c[TEXT], d[TEXT];

	fprintf(s->to,
		"%-10s %s, name %s, version %s, sends %" PRIu64 " and takes %" PRIu64
		" octets inline, %" PRIu64 " credits, %s\n",
		title, show_text(o, "peer", a, TEXT), show_text(o, "name", b, TEXT),
		show_text(o, "version", c, TEXT), show_number(o, "inline_send"),
		show_number(o, "inline_recv"), show_number(o, "credits"),
		show_text(o, "hop", d, TEXT));
	show_counters(s, "", o);
}

/* Print one session in detail. */
static void show_closely(struct show *s, struct json_object *o)
{
	uint64_t in_flight = show_number(o, "in_flight");
	char a[TEXT], b[TEXT], age[16], fixed[16], calls[16];

	fprintf(s->to,
		"session %" PRIu64 " of route %s, %s for %s: %" PRIu64 " call%s in flight, %" PRIu64
		" waiting; memory %s, of calls %s\n",
		show_number(o, "id"), show_text(o, "route", a, TEXT),
		show_text(o, "state", b, TEXT), show_age(o, "age_s", age), in_flight,
		plural(in_flight), show_number(o, "waiting"),
		show_size(show_number(o, "fixed_bytes"), fixed),
		show_size(show_number(o, "call_bytes"), calls));
	show_leg(s, "client", member(o, "client"));
	show_leg(s, "server", member(o, "server"));
}

static void show_call(struct show *s, struct json_object *o)
{
	char a[TEXT], b[TEXT], c[TEXT], age[16], memory[16];

	if (s->lines++ == 0)
		fprintf(s->to, "%-9s %-7s %-8s %10s %8s\n", "XID", "FROM", "STEP", "AGE", "MEMORY");
	fprintf(s->to, "%-9s %-7s %-8s %10s %8s\n", show_text(o, "xid", a, TEXT),
		show_text(o, "from", b, TEXT), show_text(o, "step", c, TEXT),
		show_age(o, "age_s", age), show_size(show_number(o, "bytes"), memory));
}

static void show_reload(struct show *s, struct json_object *o)
{
	struct json_object *keys = member(o, "restart");
	char text[TEXT];

	fprintf(s->to,
		"routes     %" PRIu64 " added, %" PRIu64 " changed, %" PRIu64 " removed, %" PRIu64
		" as they were\n",
		show_number(o, "added"), show_number(o, "changed"), show_number(o, "removed"),
		show_number(o, "kept"));
	for (size_t i = 0;
	     json_object_is_type(keys, json_type_array) && i < json_object_array_length(keys);
	     i++) {
		snprintf(text, sizeof(text), "%s",
			 json_object_get_string(json_object_array_get_idx(keys, i)));
		fprintf(s->to, "restart    %s has another value from the next restart on\n",
			show_clean(text));
	}
}

static void show_problem(struct show *s, struct json_object *o)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s", json_object_get_string(o));
	fprintf(s->to, "%s\n", show_clean(text));
}

static void show_done(struct show *s, struct json_object *o)
{
	uint64_t n = show_number(o, "sessions");
	char a[TEXT];

	switch (s->o->command) {
	case CONTROL_SESSIONS:
		fprintf(s->to, "%" PRIu64 " session%s\n", n, plural(n));
		break;
	case CONTROL_DRAIN:
		fprintf(s->to, "%" PRIu64 " session%s will end between two RPCs\n", n, plural(n));
		break;
	case CONTROL_KILL:
		fprintf(s->to, "session %" PRIu64 " is ended\n", s->o->session);
		break;
	case CONTROL_SHOW:
		n = show_number(o, "calls_left");
		if (n)
			fprintf(s->to, "... and %" PRIu64 " call%s more\n", n, plural(n));
		break;
	case CONTROL_LOG:
		fprintf(s->to, "level %s\n", show_text(o, "level", a, TEXT));
		break;
	case CONTROL_STATUS:
	case CONTROL_ROUTES:
	case CONTROL_RELOAD:
	case CONTROL_TRACE:
	case CONTROL_CAPTURE:
	case CONTROL_HAND_OVER:
	case CONTROL_YIELD:
	case CONTROL_MORE:
	case CONTROL_COMMANDS:
		break;
	}
}

void show_line(struct show *s, const char *name, struct json_object *value)
{
	if (strcmp(name, "status") == 0)
		show_status(s, value);
	else if (strcmp(name, "route") == 0)
		show_route(s, value);
	else if (strcmp(name, "session") == 0 && s->o->command == CONTROL_SHOW)
		show_closely(s, value);
	else if (strcmp(name, "session") == 0)
		show_session(s, value);
	else if (strcmp(name, "call") == 0)
		show_call(s, value);
	else if (strcmp(name, "reload") == 0)
		show_reload(s, value);
	else if (strcmp(name, "problem") == 0)
		show_problem(s, value);
	else if (strcmp(name, "done") == 0)
		show_done(s, value);
}
