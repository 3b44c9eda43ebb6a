/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/stdfds.h"
#include "daemon/loop.h"
#include "fabric/provider/provider.h"
#include "tools/perf/report.h"

enum { SECONDS_TO_PROVE = 10 }; /* profile section 8 */
enum { GENTLE_OCTETS = 16 * 1024 };
enum { EXIT_OK = 0, EXIT_ERRORS = 1, EXIT_USAGE = 2 };

/* All objects of the process. */
struct process {
	struct loop *loop;
	struct loop_signals signals;
	struct fabric *fabric;
	struct buf_arena arena;
	unsigned caught; /* number of signals to end */
};

static nsec_t process_clock(void *arg)
{
	(void)arg;
	return loop_now();
}

static void on_signal(struct loop_signals *signals, int signo)
{
	(void)signo;
	container_of(signals, struct process, signals)->caught++;
}

static int complain(const char *what, int err)
{
	fprintf(stderr, "rpcrdma-perf: %s: %s\n", what, err_name(err));
	return err;
}

static int process_init(struct process *p, size_t memory, const struct perf_options *o)
{
	static const int signos[] = {SIGINT, SIGTERM, 0};
	const struct leg_config *leg = o->mode == PERF_SERVER ? &o->server.leg : &o->client.leg;
	struct provider_config cfg = {.kind = o->fabric,
				      .crc = o->crc,
				      .turn_octets = o->gentle ? GENTLE_OCTETS : 0,
				      .setup_timeout_ms =
					      (uint32_t)(leg->setup_timeout / NSEC_PER_MS)};
	char why[PROVIDER_WHY];
	int err;

	memset(p, 0, sizeof(*p));
	err = provider_check(o->fabric, why);
	if (err < 0) {
		fprintf(stderr, "rpcrdma-perf: %s\n", why);
		return err;
	}
	p->loop = loop_new();
	if (!p->loop)
		return complain("event loop", ERR_NOMEM);
	p->signals.caught = on_signal;
	err = loop_signals_init(p->loop, &p->signals, signos);
	if (err < 0)
		return complain("signals", err);
	err = buf_arena_init(&p->arena, memory);
	if (err < 0)
		return complain("payload memory", err);
	p->fabric = provider_new(&cfg, p->loop);
	if (!p->fabric)
		return complain("fabric", ERR_NOMEM);
	err = fabric_register(p->fabric, p->arena.base, p->arena.bytes);
	return err < 0 ? complain("registering memory", err) : 0;
}

static void process_fini(struct process *p)
{
	fabric_unregister(p->fabric, p->arena.base);
	fabric_free(p->fabric);
	buf_arena_fini(&p->arena);
	loop_signals_fini(&p->signals);
	loop_free(p->loop);
}

static struct perf_env process_env(struct process *p)
{
	struct perf_env env = {.fabric = p->fabric, .arena = &p->arena, .clock = process_clock};

	if (getrandom(&env.seed, sizeof(env.seed), 0) != sizeof(env.seed))
		env.seed = loop_now();
	return env;
}

static int drive_client(struct process *p, const struct perf_options *o, struct perf_client *c)
{
	struct progress progress;
	int err = 0;

	progress_init(&progress);
	while (err == 0) {
		int more = perf_client_turn(c);

		if (p->caught > 1 || perf_client_is_done(c))
			break;
		if (p->caught == 1)
			perf_client_stop(c);
		progress_show(&progress, o, c, loop_now());
		err = loop_run_once(p->loop,
				    more ? 0 : nsec_min(perf_client_deadline(c), progress.next));
	}
	progress_end(&progress);
	return err;
}

static int run_client(const struct perf_options *o)
{
	struct process p;
	struct perf_env env;
	struct perf_client *c;
	int status = EXIT_ERRORS;

	if (process_init(&p, perf_client_memory(&o->client), o) < 0)
		return EXIT_ERRORS;
	env = process_env(&p);
	c = perf_client_new(&o->client, &env);
	if (c && drive_client(&p, o, c) == 0) {
		report_client(o, c);
		if (perf_client_errors(c)->count == 0)
			status = EXIT_OK;
	}
	perf_client_free(c);
	process_fini(&p);
	return status;
}

static struct fabric_listener *open_listener(const struct perf_options *o)
{
	char text[FABRIC_ADDR_TEXT];
	struct fabric_addr bound;
	struct fabric_listener *l;
	int err = 0;

	l = provider_listen(o->fabric, &o->addr, &err);
	if (!l) {
		fprintf(stderr, "rpcrdma-perf: cannot listen on %s: %s\n",
			fabric_addr_format(&o->addr, text), strerror(errno));
		return NULL;
	}
	provider_listener_addr(o->fabric, l, &bound);
	printf("listening on %s\n", fabric_addr_format(&bound, text));
	fflush(stdout);
	return l;
}

static int serve(struct process *p, const struct perf_options *o, struct fabric_listener *l)
{
	struct perf_env env = process_env(p);
	struct perf_server *s = perf_server_new(&o->server, &env);
	int err, status = EXIT_ERRORS;

	if (!s)
		return EXIT_ERRORS;
	err = fabric_attach(p->fabric, l, perf_server_owner(s));
	while (err == 0 && p->caught == 0) {
		int more = perf_server_turn(s);

		err = loop_run_once(p->loop, more ? 0 : perf_server_deadline(s));
	}
	if (err == 0) {
		fabric_detach(p->fabric, l);
		report_server(s);
		status = perf_server_errors(s)->count ? EXIT_ERRORS : EXIT_OK;
	}
	perf_server_free(s);
	return status;
}

static int run_server(const struct perf_options *o)
{
	struct fabric_listener *l = NULL;
	struct process p;
	int status = EXIT_ERRORS;

	if (process_init(&p, o->memory, o) < 0)
		return EXIT_ERRORS;
	l = open_listener(o);
	if (l)
		status = serve(&p, o, l);
	if (l)
		provider_listener_free(o->fabric, l);
	process_fini(&p);
	return status;
}

static int act(struct perf_options *o)
{
	char reason[IDENTITY_WHY];
	int status;

	if (identity_load(&o->identity,
			  o->mode == PERF_SERVER ? HOSTAUTH_ACCEPTOR : HOSTAUTH_INITIATOR,
			  SECONDS_TO_PROVE * NSEC_PER_SEC, reason) < 0) {
		fprintf(stderr, "rpcrdma-perf: %s\n", reason);
		return EXIT_USAGE;
	}
	switch (o->mode) {
	case PERF_HELP:
		fputs(perf_help(), stdout);
		return EXIT_OK;
	case PERF_SHOW_VERSION:
		printf("rpcrdma-perf %s\n", GW_VERSION);
		return EXIT_OK;
	case PERF_SERVER:
	case PERF_CLIENT:
		break;
	}
	status = o->mode == PERF_SERVER ? run_server(o) : run_client(o);
	identity_drop(&o->identity);
	return status;
}

int main(int argc, char **argv)
{
	static struct perf_options o;
	char why[PERF_WHY];
	int status;

	if (stdfds_fill())
		return EXIT_FAILURE;
	if (perf_options_parse(argc, argv, &o, why) < 0) {
		fprintf(stderr, "rpcrdma-perf: %s\nTry \"rpcrdma-perf --help\".\n", why);
		return EXIT_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_WARN);
	status = act(&o);
	if (stdfds_flush("rpcrdma-perf") && status == EXIT_OK)
		status = EXIT_ERRORS;
	return status;
}
