/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   request --> workers are asked for the data --> lines --> read by the client --> done
 *                           ^                                            |
 *                           +----- sessions: the next page --------------+
 *
 * - Sessions are copied a page at a time, worker by worker. The next page is asked for when the
 *   client has read the last one. So a client that does not read costs one page of memory, and its
 *   place until its time is up.
 * - A client with a trace (tracer.h) asks for more records whenever it likes. Records that find no
 *   room meanwhile are lost.
 */
#include "daemon/control/control.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/control/protocol.h"
#include "daemon/control/request.h"
#include "daemon/control/socket.h"
#include "daemon/control/tracer.h"
#include "daemon/control/to_json_trace.h"
#include "daemon/opsock/opsock.h"
#include "daemon/loop.h"

enum { VISITORS = 32, PAGE = 32, CALLS = 512 };
/* Limits of one answer with trace records. */
enum { MORE_RECORDS = 2000, MORE_BYTES = 512 << 10, RECORD_BYTES = 128 << 10 };
/*
 * State:  a new process has the listening sockets of this one, and has not reported that it serves.
 * Danger: the new process hangs in its start, this one waits for it for ever, and no take-over can be
 *         tried again.
 * Rule:   after this time the connection ends, and this process goes on serving. The time is long,
 *         because the new process may have to pin much memory.
 * Pinned: tests/operators/test_opsock.c:a_kept_visitor_keeps_its_place
 */
#define SUCCESSOR_TIME (120 * NSEC_PER_SEC)

/* Room for a worker's answer. */
struct page {
	struct snapshot_session sessions[PAGE];
	struct snapshot_call calls[CALLS];
};

/* One client. */
struct caller {
	struct visitor v; /* first member */
	struct control_request request;
	struct stats_collect collect;
	struct reload_waiter reload;
	struct worker_query q;
	struct tracer *tracer; /* NULL: the client has no trace */
	enum trace_kind trace_kind;
	struct page *page;
	unsigned worker, last; /* the worker being asked, and the last one to ask */
	unsigned found;	       /* number of sessions so far */
};

struct control {
	struct control_config cfg;
	struct opsock *opsock;
	struct tracers tracers;
	struct caller *successor; /* the client that was handed the listening sockets; NULL: none */
	bool has_yielded;	  /* this process has yielded to it */
};

static struct control *control_of(const struct caller *c)
{
	return opsock_user(c->v.opsock);
}

static struct to_json_process process_of(const struct caller *c)
{
	const struct control_config *cfg = &control_of(c)->cfg;

	return cfg->process(cfg->arg);
}

/* Say a line {"@name": @value}; takes @value. */
static void say(struct caller *c, const char *name, struct json_object *value)
{
	struct json_object *line = json_object_new_object();
	const char *text;
	size_t len = 0;

	if (!line) {
		json_object_put(value);
		return;
	}
	json_object_object_add(line, name, value);
	text = json_object_to_json_string_length(
		line, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
	if (text)
		visitor_say(&c->v, text, len);
	visitor_say(&c->v, "\n", 1);
	json_object_put(line);
}

static void finish(struct caller *c)
{
	mem_free(c->page);
	c->page = NULL;
	visitor_done(&c->v);
}

static void fail(struct caller *c, const char *why)
{
	say(c, "error", json_object_new_string(why));
	finish(c);
}

static void done(struct caller *c, const char *name, struct json_object *value)
{
	struct json_object *o = json_object_new_object();

	if (o && name)
		json_object_object_add(o, name, value);
	else
		json_object_put(value);
	say(c, "done", o);
	finish(c);
}

static void on_figures(struct stats_collect *collected, const struct stats_table *sum)
{
	struct caller *c = container_of(collected, struct caller, collect);
	struct to_json_process p = process_of(c);

	if (c->request.command == CONTROL_STATUS)
		say(c, "status", to_json_status(&p, sum));
	for (unsigned i = 0; c->request.command == CONTROL_ROUTES && i < p.gw->nslots; i++)
		if (gateway_has(p.gw, i))
			say(c, "route", to_json_route(&p, sum, i));
	done(c, NULL, NULL);
	visitor_release(&c->v);
}

static void ask_figures(struct caller *c)
{
	visitor_hold(&c->v);
	c->collect.collected = on_figures;
	collect(control_of(c)->cfg.stats_collector, &c->collect);
}

static void ask_worker(struct caller *c)
{
	visitor_hold(&c->v);
	worker_query_begin(control_of(c)->cfg.worker_queries, &c->q, c->worker);
}

static void say_page(struct caller *c)
{
	const struct gateway *gw = process_of(c).gw;
	const struct snapshot *l = &c->q.snapshot;
	bool has_sessions = l->kind == SNAPSHOT_SESSIONS || l->kind == SNAPSHOT_CALLS;

	for (unsigned i = 0; has_sessions && i < l->nsessions; i++)
		say(c, "session", to_json_session(gw, &l->sessions[i]));
	for (unsigned i = 0; i < l->ncalls; i++)
		say(c, "call", to_json_call(&l->calls[i]));
}

static void end_snapshot(struct caller *c)
{
	enum snapshot_kind kind = c->q.snapshot.kind;

	/* The only text of the request that is logged is a route's name. */
	if (kind == SNAPSHOT_DRAIN || kind == SNAPSHOT_KILL)
		log_info("control", "do=%s route=%s session=%llu sessions=%u",
			 kind == SNAPSHOT_DRAIN ? "drain" : "kill",
			 *c->request.route ? c->request.route : "-",
			 (unsigned long long)c->request.session, c->found);
	if (c->q.snapshot.want.id && !c->found)
		fail(c, "there is no such session");
	else if (kind == SNAPSHOT_CALLS)
		done(c, "calls_left", json_object_new_uint64(c->q.snapshot.calls_left));
	else
		done(c, "sessions", json_object_new_uint64(c->found));
}

/* Say what a worker answered. The next page is asked for when the client has read this one. */
static void on_snapshot(struct worker_query *q)
{
	struct caller *c = container_of(q, struct caller, q);

	say_page(c);
	c->found += q->snapshot.nsessions;
	if (!q->snapshot.more) {
		q->snapshot.after = 0;
		c->worker++;
	}
	if (c->worker > c->last || visitor_is_gone(&c->v))
		end_snapshot(c);
	visitor_release(&c->v);
}

static void on_more(struct visitor *v)
{
	ask_worker((struct caller *)v);
}

/* Set @host to the name that sessions have for the client @given, which is an address or a network.
 * Return: NULL, or why there is no such name. */
static const char *find_host(const char *given, char *host)
{
	static const char no_address[] = "client: it is no IPv4 or IPv6 address";
	char bare[FABRIC_ADDR_TEXT];
	size_t len = strlen(given);
	struct fabric_addr addr;
	int err;

	if (len >= sizeof(bare))
		return no_address;
	memcpy(bare, given, len + 1);
	if (len > 3 && strchr(bare, ':') && strcmp(bare + len - 3, "/64") == 0)
		bare[len - 3] = '\0';
	err = fabric_addr_parse(bare, 0, &addr);
	if (err == ERR_IO)
		return "client: there is no such interface: name one that ip link lists";
	if (err)
		return no_address;
	if (fabric_addr_lacks_interface(&addr))
		return "client: it is link-local, and each interface has such addresses: add the "
		       "interface, like fe80::1%eth0";
	fabric_addr_host(&addr, host);
	return NULL;
}

static bool fill_want(struct caller *c, const struct gateway *gw, struct snapshot_want *want)
{
	const struct control_request *r = &c->request;
	const char *objection = NULL;

	*want = (struct snapshot_want){.id = r->session, .route = SNAPSHOT_ANY_ROUTE};
	if (*r->route) {
		unsigned slot = gateway_named(gw, r->route);

		if (slot == GATEWAY_NONE) {
			fail(c, "there is no such route");
			return false;
		}
		memcpy(want->route_name, gw->routes[slot].name, sizeof(want->route_name));
	}
	if (*r->client)
		objection = find_host(r->client, want->client);
	if (objection) {
		fail(c, objection);
		return false;
	}
	_Static_assert((int)SNAPSHOT_NAME >= (int)REQUEST_TEXT, "names fit");
	memcpy(want->name, r->name, sizeof(r->name));
	return true;
}

static void begin_snapshot(struct caller *c, enum snapshot_kind kind)
{
	struct to_json_process p = process_of(c);

	c->q = (struct worker_query){.answered = on_snapshot, .snapshot = {.kind = kind}};
	c->found = 0;
	if (!fill_want(c, p.gw, &c->q.snapshot.want))
		return;
	c->worker = 0;
	c->last = p.gw->nworkers - 1;
	if (c->request.session)
		c->worker = c->last = proxy_worker_of(c->request.session, p.gw->nworkers);
	c->page = mem_zalloc(sizeof(*c->page));
	if (!c->page) {
		fail(c, "out of memory");
		return;
	}
	c->q.snapshot.sessions = c->page->sessions;
	c->q.snapshot.calls = c->page->calls;
	c->q.snapshot.most = kind == SNAPSHOT_CALLS ? CALLS : PAGE;
	c->q.snapshot.timeout = p.gw->cfg->drain_timeout_s * NSEC_PER_SEC;
	ask_worker(c);
}

/* Logged if either the old or the new level shows info lines. */
static void change_level(enum log_level to)
{
	if (!log_is_on(to))
		log_set_level(to);
	log_info("control", "do=log to=%s", log_level_name(to));
	log_set_level(to);
}

static void set_level(struct caller *c)
{
	if (c->request.has_level)
		change_level(c->request.level);
	done(c, "level", json_object_new_string(to_json_level()));
}

static void on_reloaded(struct reload_waiter *w, const struct reload_result *result)
{
	struct caller *c = container_of(w, struct caller, reload);

	for (const char *at = result->problems; *at;) {
		size_t n = strcspn(at, "\n");

		say(c, "problem", json_object_new_string_len(at, (int)n));
		at += n + (at[n] == '\n');
	}
	if (result->is_refused) {
		fail(c, "the configuration was refused, and nothing has changed");
	} else {
		say(c, "reload", to_json_reload(result));
		done(c, NULL, NULL);
	}
	visitor_release(&c->v);
}

static void ask_reload(struct caller *c)
{
	visitor_hold(&c->v);
	c->reload.answered = on_reloaded;
	reload_ask(control_of(c)->cfg.reload, &c->reload);
}

/* Send descriptors in as many lines {"@what":N} as needed. Return: 0 or ERR_IO. */
static int pass_sockets(struct caller *c, const char *what, const int *fds, unsigned n)
{
	char line[32];
	int err = 0;

	for (unsigned at = 0, some; at < n && !err; at += some) {
		some = n - at < VISITOR_PASSES ? n - at : VISITOR_PASSES;
		snprintf(line, sizeof(line), "{\"%s\":%u}\n", what, some);
		err = visitor_pass(&c->v, line, strlen(line), fds + at, some);
	}
	return err;
}

static unsigned list_lent(const struct inherit *in, int *fds)
{
	unsigned n = 0;

	for (unsigned i = 0; i < in->n; i++)
		if (in->all[i].is_lent && in->all[i].fd >= 0)
			fds[n++] = in->all[i].fd;
	return n;
}

bool control_has_successor(const struct control *c)
{
	return c->successor && !visitor_is_gone(&c->successor->v);
}

bool control_is_awaited(const struct control *c)
{
	return c->has_yielded && control_has_successor(c);
}

/* Only one client at a time gets the sockets, and its connection is kept while it starts. Two
 * clients with the sockets would both serve. */
static void hand_over(struct caller *c)
{
	const struct control_config *cfg = &control_of(c)->cfg;
	unsigned most = 2 * process_of(c).gw->nslots, nlent;
	int *fds, n, err;

	if (control_has_successor(control_of(c))) {
		fail(c, "another process takes over already");
		return;
	}
	fds = mem_zalloc((most + 1 + cfg->inherit->n) * sizeof(*fds));
	n = fds ? cfg->sockets(cfg->arg, fds, most) : -1;
	if (n >= 0 && opsock_fd(c->v.opsock) >= 0) {
		fds[n++] = opsock_fd(c->v.opsock);
		nlent = list_lent(cfg->inherit, fds + n);
		err = pass_sockets(c, CONTROL_LENT, fds + n, nlent);
		if (!err)
			err = pass_sockets(c, CONTROL_SOCKETS, fds, (unsigned)n);
		if (err) { /* the connection has ended */
			log_warn("control", "do=hand_over why=\"the sockets could not be sent\"");
		} else {
			log_info("control", "do=hand_over sockets=%u", (unsigned)n + nlent);
			control_of(c)->successor = c;
			visitor_keep(&c->v, SUCCESSOR_TIME);
		}
		done(c, NULL, NULL);
	} else {
		fail(c, "it has listeners that no other process can take (fabric verbs), or is "
			"about to end");
	}
	mem_free(fds);
}

/* The successor serves if it gets this answer. So this process yields only if the whole answer was
 * sent: later it could not find out that the successor has given up. */
static void yield(struct caller *c)
{
	const struct control_config *cfg = &control_of(c)->cfg;

	if (control_of(c)->successor != c) {
		fail(c, "that is only for a process that was handed the listening sockets");
		return;
	}
	cfg->yield(cfg->arg, CONTROL_YIELD_BEGIN);
	done(c, NULL, NULL);
	if (!visitor_deliver(&c->v)) {
		cfg->yield(cfg->arg, CONTROL_YIELD_UNDO);
		return;
	}
	control_of(c)->has_yielded = true;
	cfg->yield(cfg->arg, CONTROL_YIELD_END);
}

/* All workers have the trace. */
static void on_traced(void *arg)
{
	struct caller *c = arg;

	done(c, NULL, NULL);
	visitor_release(&c->v);
}

static bool find_kind(const char *words, enum latency_kind *kind)
{
	char text[REQUEST_TEXT];

	for (unsigned i = 0; i < LATENCY_KINDS; i++) {
		*kind = (enum latency_kind)i;
		snprintf(text, sizeof(text), "%s %s", latency_program(*kind),
			 latency_procedure(*kind));
		if (strcmp(text, words) == 0)
			return true;
	}
	return false;
}

static bool fill_trace_want(struct caller *c, struct trace_want *want)
{
	const struct control_request *r = &c->request;

	*want = (struct trace_want){.slow = r->slow_ns,
				    .has_program = r->has_program,
				    .has_version = r->has_version,
				    .has_procedure = r->has_procedure,
				    .has_kind = *r->kind,
				    .program = r->program,
				    .version = r->version,
				    .procedure = r->procedure};
	if (!fill_want(c, process_of(c).gw, &want->sessions))
		return false;
	if (want->has_kind && !find_kind(r->kind, &want->kind)) {
		fail(c, "there is no such kind of RPCs");
		return false;
	}
	return true;
}

static void begin_trace(struct caller *c, enum trace_kind kind)
{
	struct trace_want want;

	if (c->tracer) {
		fail(c, "this connection has a trace or a capture already");
		return;
	}
	if (!fill_trace_want(c, &want))
		return;
	c->tracer = tracer_begin(&control_of(c)->tracers, kind, &want, on_traced, c);
	if (!c->tracer) {
		fail(c, "too many traces and captures, or there is no memory");
		return;
	}
	visitor_hold(&c->v);
	c->trace_kind = kind;
	log_info("control", "do=%s route=%s session=%llu", kind == TRACE_RPCS ? "trace" : "capture",
		 *c->request.route ? c->request.route : "-",
		 (unsigned long long)c->request.session);
}

static struct to_json_clock clock_now(void)
{
	struct timespec day;

	clock_gettime(CLOCK_REALTIME, &day);
	return (struct to_json_clock){
		.relay = loop_now(),
		.day = (nsec_t)day.tv_sec * NSEC_PER_SEC + (nsec_t)day.tv_nsec,
	};
}

static void say_record(struct caller *c, const struct to_json_clock *clock, const void *record,
		       size_t len)
{
	struct trace_message m;
	struct trace_rpc r;

	if (c->trace_kind == TRACE_RPCS) {
		memcpy(&r, record, sizeof(r));
		say(c, "rpc", to_json_rpc(clock, &r));
		return;
	}
	memcpy(&m, record, sizeof(m));
	say(c, "message",
	    to_json_message(clock, &m, (const uint8_t *)record + sizeof(m), len - sizeof(m)));
}

/* Say the records since the last time, and "left" if there are more. */
static void say_more(struct caller *c)
{
	const struct to_json_clock clock = clock_now();
	struct json_object *o;
	size_t bytes = 0, len = 1;
	unsigned n = 0;
	char *record;

	_Static_assert(RECORD_BYTES >= TRACE_OCTETS + sizeof(struct trace_message), "each fits");
	if (!c->tracer) {
		fail(c, "trace or capture comes first");
		return;
	}
	record = mem_zalloc(RECORD_BYTES);
	if (!record) {
		fail(c, "out of memory");
		return;
	}
	for (; n < MORE_RECORDS && bytes < MORE_BYTES && len > 0; n++) {
		len = tracer_take(c->tracer, record, RECORD_BYTES);
		if (len)
			say_record(c, &clock, record, len);
		bytes += len;
	}
	mem_free(record);
	o = json_object_new_object();
	if (o) {
		json_object_object_add(o, "lost", json_object_new_uint64(tracer_lost(c->tracer)));
		json_object_object_add(o, "left", json_object_new_boolean(len > 0));
	}
	say(c, "done", o);
	finish(c);
}

static void obey(struct caller *c)
{
	switch (c->request.command) {
	case CONTROL_STATUS:
	case CONTROL_ROUTES:
		ask_figures(c);
		break;
	case CONTROL_SESSIONS:
		begin_snapshot(c, SNAPSHOT_SESSIONS);
		break;
	case CONTROL_SHOW:
		begin_snapshot(c, SNAPSHOT_CALLS);
		break;
	case CONTROL_DRAIN:
		begin_snapshot(c, SNAPSHOT_DRAIN);
		break;
	case CONTROL_KILL:
		begin_snapshot(c, SNAPSHOT_KILL);
		break;
	case CONTROL_RELOAD:
		ask_reload(c);
		break;
	case CONTROL_LOG:
		set_level(c);
		break;
	case CONTROL_HAND_OVER:
		hand_over(c);
		break;
	case CONTROL_YIELD:
		yield(c);
		break;
	case CONTROL_TRACE:
		begin_trace(c, TRACE_RPCS);
		break;
	case CONTROL_CAPTURE:
		begin_trace(c, TRACE_MESSAGES);
		break;
	case CONTROL_MORE:
		say_more(c);
		break;
	case CONTROL_COMMANDS:
		break;
	}
}

static void on_asked(struct visitor *v, char *request, size_t len)
{
	struct caller *c = (struct caller *)v;
	char why[REQUEST_WHY];
	int err = request_parse(request, len, &c->request, why);

	if (err)
		fail(c, err == ERR_NOMEM ? "out of memory" : why);
	else
		obey(c);
}

static void on_forget(struct visitor *v)
{
	struct caller *c = (struct caller *)v;

	if (control_of(c)->successor == c)
		control_of(c)->successor = NULL;
	tracer_end(c->tracer);
	mem_free(c->page);
}

static void on_too_long(struct visitor *v)
{
	fail((struct caller *)v, "the request is too long");
}

/* Say why before the end of the connection: to a successor, an end without a reason means that this
 * gateway has ended, and that it is to serve. So no reason is said if this gateway does end. */
static void on_late(struct visitor *v)
{
	struct caller *c = (struct caller *)v;

	if (opsock_fd(v->opsock) < 0)
		return;
	log_warn("control", "do=hand_over why=\"its successor does not come up\"");
	control_of(c)->successor = NULL;
	fail(c, "it took too long to come up");
}

static size_t whole_line(const char *in, size_t len)
{
	const char *end = memchr(in, '\n', len);

	return end ? (size_t)(end - in) + 1 : 0;
}

int control_open(const struct control_config *cfg, struct control **out)
{
	struct opsock_config opsock = {.most = VISITORS,
				       .visitor_bytes = sizeof(struct caller),
				       .request_bytes = CONTROL_REQUEST_BYTES,
				       .answer_bytes = CONTROL_ANSWER_BYTES,
				       .now = loop_now,
				       .whole = whole_line,
				       .asked = on_asked,
				       .more = on_more,
				       .too_long = on_too_long,
				       .late = on_late,
				       .forget = on_forget};
	struct control *c = mem_zalloc(sizeof(*c));
	char why[CONTROL_WHY];
	int fd;

	if (!c)
		return ERR_NOMEM;
	c->cfg = *cfg;
	tracers_init(&c->tracers, cfg->worker_queries, cfg->nworkers);
	opsock.user = c;
	fd = inherit_take_path(cfg->inherit, cfg->path);
	if (fd < 0)
		fd = control_socket_open(cfg->path, why);
	if (fd < 0) {
		log_error("control.failed", "path=\"%s\" why=\"%s\"", cfg->path, why);
		mem_free(c);
		return ERR_IO;
	}
	c->opsock = opsock_open(cfg->loop, fd, &opsock);
	if (!c->opsock) {
		control_free(c);
		return ERR_NOMEM;
	}
	*out = c;
	return 0;
}

void control_close(struct control *c)
{
	opsock_close(c->opsock);
}

nsec_t control_tick(struct control *c)
{
	return opsock_tick(c->opsock);
}

void control_free(struct control *c)
{
	if (!c)
		return;
	opsock_free(c->opsock);
	tracers_fini(&c->tracers);
	mem_free(c);
}
