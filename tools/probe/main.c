/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/list.h"
#include "base/log.h"
#include "base/stdfds.h"
#include "daemon/loop.h"
#include "fabric/provider/provider.h"
#include "tools/probe/device.h"
#include "tools/probe/report.h"
#include "tools/target.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_CONNECTION = 3 };

/* All objects of the process. */
struct process {
	struct loop *loop;
	struct loop_signals signals;
	struct fabric *fabric;
	bool caught; /* a signal to end has arrived */
};

static nsec_t process_now(void *arg)
{
	(void)arg;
	return loop_now();
}

static void process_wait(void *arg, nsec_t deadline)
{
	struct process *p = arg;

	if (loop_run_once(p->loop, nsec_min(deadline, fabric_deadline(p->fabric))) < 0)
		p->caught = true;
	fabric_tick(p->fabric, loop_now());
}

static bool process_stopped(void *arg)
{
	return ((struct process *)arg)->caught;
}

static void on_signal(struct loop_signals *signals, int signo)
{
	(void)signo;
	container_of(signals, struct process, signals)->caught = true;
}

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "rpcrdma-probe: %s: %s\n", what, why);
	return ERR_IO;
}

static int process_init(struct process *p, const struct probe_options *o)
{
	static const int signos[] = {SIGINT, SIGTERM, 0};
	/* The probe's own time-out must end first, because its message is better. */
	const struct provider_config cfg = {
		.kind = o->fabric,
		.crc = !o->no_crc,
		.setup_timeout_ms = (uint32_t)(o->timeout / NSEC_PER_MS) + 1000,
	};

	log_set_level(LOG_LEVEL_ERROR);
	p->loop = loop_new();
	if (!p->loop)
		return complain("event loop", "out of memory");
	p->signals.caught = on_signal;
	if (loop_signals_init(p->loop, &p->signals, signos) < 0)
		return complain("signals", strerror(errno));
	p->fabric = provider_new(&cfg, p->loop);
	return p->fabric ? 0 : complain(target_fabric(o->fabric), "no instance");
}

static void process_fini(struct process *p)
{
	if (p->fabric)
		fabric_free(p->fabric);
	loop_signals_fini(&p->signals);
	loop_free(p->loop);
}

static int no_memory(const struct probe_options *o)
{
	return complain("memory", o->fabric == PROVIDER_VERBS
					  ? "cannot be registered with the device: see ulimit -l"
					  : "out of it");
}

static struct probe_env process_env(struct process *p)
{
	struct probe_env env = {.fabric = p->fabric,
				.now = process_now,
				.wait = process_wait,
				.stopped = process_stopped,
				.arg = p};

	if (getrandom(&env.first_xid, sizeof(env.first_xid), 0) != sizeof(env.first_xid))
		env.first_xid = (uint32_t)loop_now();
	return env;
}

static int probe_server(struct run *r, const struct probe_options *o)
{
	char addr[FABRIC_ADDR_TEXT];
	struct conform_totals totals = {0};
	struct report rep;
	struct facts f;

	if (survey(r, &f) < 0) {
		complain(fabric_addr_format(&o->addr, addr), r->detail);
		return EXIT_NO_CONNECTION;
	}
	report_begin(&rep, o, stdout);
	report_facts(&rep, &f);
	if (o->mode == PROBE_CONFORM) {
		report_cases_begin(&rep);
		conform(r, &totals, report_case, &rep);
		report_cases_end(&rep, &totals);
	}
	report_end(&rep);
	if (process_stopped(r->env->arg))
		return EXIT_FAILED;
	return totals.failed || f.failed ? EXIT_FAILED : EXIT_OK;
}

static int run_server_probe(const struct probe_options *o)
{
	static struct run r; /* too large for a stack */
	struct process p = {0};
	struct probe_env env;
	int status = EXIT_FAILED;

	if (process_init(&p, o) < 0)
		return EXIT_FAILED;
	env = process_env(&p);
	if (run_init(&r, o, &env) == 0)
		status = probe_server(&r, o);
	else
		no_memory(o);
	run_fini(&r);
	process_fini(&p);
	return status;
}

static int grade_client(struct process *p, const struct probe_options *o, struct fabric_listener *l)
{
	static struct listener listener;
	struct probe_env env = process_env(p);
	struct fabric_addr bound;
	char addr[FABRIC_ADDR_TEXT];
	int status = EXIT_FAILED;

	provider_listener_addr(o->fabric, l, &bound);
	fprintf(o->json ? stderr : stdout, "listening on %s\n", fabric_addr_format(&bound, addr));
	fflush(stdout);
	if (listener_init(&listener, o, &env) < 0 || fabric_attach(p->fabric, l, &listener.w) < 0) {
		no_memory(o);
	} else {
		listener_run(&listener);
		fabric_detach(p->fabric, l);
		report_client(&listener, stdout);
		status = listener.connections == 0    ? EXIT_NO_CONNECTION
			 : listener_failed(&listener) ? EXIT_FAILED
						      : EXIT_OK;
		if (status == EXIT_NO_CONNECTION)
			complain(addr, "no client connected");
	}
	listener_fini(&listener);
	return status;
}

static int run_listener(const struct probe_options *o)
{
	char addr[FABRIC_ADDR_TEXT];
	struct fabric_listener *l;
	struct process p = {0};
	int err = 0, status = EXIT_NO_CONNECTION;

	if (process_init(&p, o) < 0)
		return EXIT_FAILED;
	l = provider_listen(o->fabric, &o->addr, &err);
	if (l)
		status = grade_client(&p, o, l);
	else
		complain(fabric_addr_format(&o->addr, addr), strerror(errno));
	provider_listener_free(o->fabric, l);
	process_fini(&p);
	return status;
}

static int act(struct probe_options *o)
{
	char why[PROVIDER_WHY], reason[IDENTITY_WHY];
	struct report rep;
	int status;

	switch (o->mode) {
	case PROBE_HELP:
		fputs(probe_help(), stdout);
		return EXIT_OK;
	case PROBE_SHOW_VERSION:
		printf("rpcrdma-probe %s\n", GW_VERSION);
		return EXIT_OK;
	case PROBE_LIST:
		o->json = false;
		report_begin(&rep, o, stdout);
		conform_each(report_list, &rep);
		return EXIT_OK;
	case PROBE_LISTEN:
	case PROBE_DEVICE:
	case PROBE_SURVEY:
	case PROBE_CONFORM:
		break;
	}
	if (identity_load(&o->identity,
			  o->mode == PROBE_LISTEN ? HOSTAUTH_ACCEPTOR : HOSTAUTH_INITIATOR,
			  o->timeout, reason) < 0) {
		fprintf(stderr, "rpcrdma-probe: %s\n", reason);
		return EXIT_USAGE;
	}
	if (provider_check(o->fabric, why) < 0) {
		complain(target_fabric(o->fabric), why);
		identity_drop(&o->identity);
		return EXIT_NO_CONNECTION;
	}
	if (o->mode == PROBE_DEVICE)
		status = device_run(o, stdout);
	else
		status = o->mode == PROBE_LISTEN ? run_listener(o) : run_server_probe(o);
	identity_drop(&o->identity);
	return status;
}

int main(int argc, char **argv)
{
	static struct probe_options o;
	char why[PROVIDER_WHY];
	int status;

	_Static_assert((int)PROBE_WHY <= (int)PROVIDER_WHY, "words fit");
	if (stdfds_fill())
		return EXIT_FAILURE;
	if (probe_options_parse(argc, argv, &o, why) < 0) {
		fprintf(stderr, "rpcrdma-probe: %s\nTry \"rpcrdma-probe --help\".\n", why);
		return EXIT_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	status = act(&o);
	if (stdfds_flush("rpcrdma-probe") && status == EXIT_OK)
		status = EXIT_FAILED;
	return status;
}
