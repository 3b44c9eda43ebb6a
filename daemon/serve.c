/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * The main thread sets everything up, gives up what it no longer needs (daemon/sandbox), and starts
 * all other threads. Then it handles signals, changes of the workers' states, and operators at
 * sockets of its own:
 *
 *   SERVING --SIGTERM, SIGINT--> DRAINING --again--> STOPPING
 *      |                            |                    |
 *      +--- a worker failed --------+---> STOPPING       |
 *                                   v                    v
 *                            every worker's thread is over: exit
 *
 * - Every few seconds it returns freed memory to the system. Once a day, and when a certificate
 *   expires, it warns of certificates that have expired or are about to.
 * - The listening sockets are closed as soon as no worker accepts from them, so that a successor
 *   can start while the last calls finish.
 */
#include "daemon/serve.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "config/config.h"
#include "daemon/auth.h"
#include "daemon/capacity.h"
#include "daemon/stats_collector.h"
#include "daemon/control/control.h"
#include "daemon/descriptors.h"
#include "daemon/gateway.h"
#include "daemon/idle.h"
#include "daemon/load.h"
#include "daemon/lost.h"
#include "daemon/loop.h"
#include "daemon/metrics/metrics.h"
#include "daemon/inherit.h"
#include "daemon/reload.h"
#include "daemon/rpcbind.h"
#include "daemon/sandbox.h"
#include "daemon/service.h"
#include "daemon/takeover.h"
#include "daemon/report.h"
#include "daemon/upstreams.h"
#include "daemon/worker.h"

/* between two returns of freed heap memory to the system */
#define TRIM_INTERVAL (10 * NSEC_PER_SEC)

enum { GIVES_WAY = 5 }; /* nice value of the main thread once it serves */

enum serve_state { SERVING, DRAINING, STOPPING };

struct server {
	struct config *cfg; /* configuration at the start of the process */
	struct auth *auth;
	struct gateway gw;
	struct loop *loop;
	struct loop_signals signals;
	struct worker **workers;
	struct worker_queries *worker_queries;
	struct stats_collector *stats_collector;
	struct reload *reload;
	struct upstreams *upstreams;
	struct service service;
	struct inherit inherit;
	struct idle idle; /* in use while the process serves */
	struct lost lost;
	struct takeover takeover;
	struct control *control; /* NULL: no control socket is configured */
	struct metrics *metrics; /* NULL: no metrics are configured */
	struct rpcbind rpcbind;
	const char *path;
	char shown[PATH_MAX]; /* .path for the log and JSON */
	unsigned how;	      /* SERVE_* */
	struct sandbox sandbox;
	nsec_t begun;
	int64_t begun_wall;
	enum serve_state state;
	bool failed;
	bool retreats; /* the gateway that this one was to replace continues */
};

static void raise_limits(void)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit))
			log_warn("limit", "what=open_files why=\"cannot be raised\"");
	}
	/* RDMA devices pin memory, and report when the limit is too low. The privilege to pin
	 * without a limit is about to be given up. */
	if (setrlimit(RLIMIT_MEMLOCK, &all) == 0)
		return;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_MEMLOCK, &limit);
	}
}

static void each_worker(struct server *s, void (*what)(struct worker *))
{
	for (unsigned i = 0; i < s->gw.nworkers; i++)
		what(s->workers[i]);
}

static void stop(struct server *s)
{
	s->state = STOPPING;
	each_worker(s, worker_stop);
}

static void on_terminate(struct server *s, int signo)
{
	if (s->state == SERVING) {
		log_info("stop", "signal=%s drain_timeout_s=%u", strsignal(signo),
			 s->gw.cfg->drain_timeout_s);
		s->state = DRAINING;
		service_stopping(&s->service, s->gw.cfg->drain_timeout_s * NSEC_PER_SEC);
		idle_end(&s->idle); /* the next process may have a route for these sockets */
		rpcbind_end(&s->rpcbind);
		each_worker(s, worker_drain);
		return;
	}
	log_warn("stop", "signal=%s why=\"second signal: calls in flight are cut\"",
		 strsignal(signo));
	stop(s);
}

/*
 * State:  another process was handed the listening sockets, and has read the configuration file by
 *         itself.
 * Danger: a route that a reload adds here is reported as added, and ends with this process.
 * Rule:   no reload until that process serves, or has gone.
 * Pinned: tests/operators/run.sh:case_takeover_signals
 */
static const char *reload_objection(void *arg)
{
	const struct server *s = arg;

	if (s->state != SERVING)
		return "the gateway is about to end";
	if (s->control && control_has_successor(s->control))
		return "another process takes over: reload again once it serves";
	return NULL;
}

static void on_reload(void *arg, bool begins)
{
	struct server *s = arg;

	if (begins) {
		service_reloading(&s->service);
		return;
	}
	if (s->state == SERVING)
		rpcbind_follow(&s->rpcbind, s->gw.cfg);
	idle_follow(&s->idle);
	s->lost.at = 0;
	service_ready(&s->service);
}

static void on_signal(struct loop_signals *signals, int signo)
{
	struct server *s = container_of(signals, struct server, signals);

	switch (signo) {
	case SIGUSR1:
		report_process();
		upstreams_report(&s->gw);
		each_worker(s, worker_report);
		break;
	case SIGHUP:
		if (s->reload)
			reload_ask(s->reload, NULL);
		break;
	default:
		on_terminate(s, signo);
	}
}

/* Close the operators' sockets, because a successor may use the same addresses. */
static void unlisten_operators(struct server *s)
{
	if (s->control)
		control_close(s->control);
	if (s->metrics)
		metrics_close(s->metrics);
}

/* Return: number of workers whose thread still runs. */
static unsigned look_after_workers(struct server *s)
{
	unsigned running = 0, attached = 0;

	for (unsigned i = 0; i < s->gw.nworkers; i++) {
		enum worker_state state = worker_state(s->workers[i]);

		attached += state == WORKER_RUNNING;
		running += state == WORKER_RUNNING || state == WORKER_DRAINING;
		s->failed |= state == WORKER_FAILED;
	}
	/* The operators' sockets are closed first: a successor that finds the routes' addresses
	 * free then finds the operators' addresses free, too. */
	if (!attached) {
		unlisten_operators(s);
		gateway_unlisten(&s->gw);
	}
	if (s->failed && s->state != STOPPING)
		stop(s);
	return running;
}

static int make_reload(struct server *s)
{
	const struct reload_config cfg = {.path = s->path,
					  .running = s->cfg,
					  .gw = &s->gw,
					  .auth = s->auth,
					  .worker_queries = s->worker_queries,
					  .objection = reload_objection,
					  .notify = on_reload,
					  .arg = s};

	s->reload = reload_new(&cfg);
	return s->reload ? 0 : ERR_NOMEM;
}

static int make_worker_queries(struct server *s)
{
	s->workers = mem_zalloc(s->gw.nworkers * sizeof(struct worker *));
	if (s->workers)
		s->worker_queries = worker_queries_new(s->workers, s->gw.nworkers);
	if (s->worker_queries)
		s->stats_collector = stats_collector_new(s->worker_queries, &s->gw);
	if (s->stats_collector)
		s->upstreams = upstreams_new(&s->gw, s->loop, s->workers);
	return s->upstreams ? make_reload(s) : ERR_NOMEM;
}

static int make_workers(struct server *s)
{
	for (unsigned i = 0; i < s->gw.nworkers; i++) {
		s->workers[i] = worker_new(&s->gw, i, s->loop);
		if (!s->workers[i])
			return ERR_NOMEM;
	}
	return 0;
}

static int confine(struct server *s, int (*when)(struct sandbox *))
{
	return s->how & SERVE_NO_SANDBOX ? 0 : when(&s->sandbox);
}

static int start_threads(struct server *s)
{
	if (log_start()) {
		log_error("start.failed", "why=\"no thread for the log\"");
		return ERR_NOMEM;
	}
	if (s->gw.jobs && gateway_start_jobs(&s->gw)) {
		log_error("start.failed", "why=\"no threads for host authentication\"");
		return ERR_NOMEM;
	}
	for (unsigned i = 0; i < s->gw.nworkers; i++)
		if (worker_start(s->workers[i]))
			return ERR_NOMEM;
	/* The other threads were made before, because they would inherit the nice value. Operators
	 * can wait; RPCs must not. */
	(void)setpriority(PRIO_PROCESS, 0, GIVES_WAY); /* of this thread only, on Linux */
	return 0;
}

static struct to_json_process describe_process(void *arg)
{
	static const char *const states[] = {
		[SERVING] = "serving", [DRAINING] = "draining", [STOPPING] = "stopping"};
	const struct server *s = arg;

	return (struct to_json_process){.gw = &s->gw,
					.auth = s->auth,
					.config = s->shown,
					.state = states[s->state],
					.uptime = loop_now() - s->begun};
}

/* Return: number of descriptors in @fds, without lent ones; -1: they cannot be passed. */
static int sockets(void *arg, int *fds, unsigned most)
{
	const struct server *s = arg;
	unsigned n = 0;

	if (s->state != SERVING)
		return -1;
	for (unsigned i = 0; i < s->gw.nslots && n < most; i++) {
		const struct gateway_sock *sock = &s->gw.socks[i];

		if (!sock->listener)
			continue;
		fds[n] = provider_listener_fd(s->gw.fabrics[sock->fabric].kind, sock->listener);
		if (fds[n] < 0)
			return -1;
		n += !inherit_lends(&s->inherit, fds[n]);
	}
	if (s->metrics && metrics_fd(s->metrics) >= 0 && n < most) {
		fds[n] = metrics_fd(s->metrics);
		n += !inherit_lends(&s->inherit, fds[n]);
	}
	return (int)n;
}

/* Stop serving, because another process serves. */
static void leave_place(struct server *s)
{
	s->state = DRAINING;
	idle_end(&s->idle);
	service_close(&s->service);
	if (s->control)
		control_close(s->control);
	if (s->metrics)
		metrics_close(s->metrics);
	each_worker(s, worker_drain);
}

/* The successor itself reports to the service manager. */
static void yield(void *arg, enum control_yield step)
{
	struct server *s = arg;

	if (s->state != SERVING)
		return;
	switch (step) {
	case CONTROL_YIELD_BEGIN:
		/* before the successor learns of it and registers itself */
		rpcbind_end(&s->rpcbind);
		break;
	case CONTROL_YIELD_UNDO:
		rpcbind_follow(&s->rpcbind, s->gw.cfg);
		break;
	case CONTROL_YIELD_END:
		log_info("stop", "why=\"a successor serves\" drain_timeout_s=%u",
			 s->gw.cfg->drain_timeout_s);
		leave_place(s);
		break;
	}
}

/* The service manager gets the message before the other process ends. Otherwise it would take that
 * end for the end of the service. */
static void take_place(struct server *s)
{
	log_info("ready", "routes=%u", s->gw.nroutes);
	if (idle_begin(&s->idle, s->loop, &s->inherit))
		log_warn("listen.unused", "why=\"no memory to turn clients away: they wait\"");
	service_watch(&s->service, s->stats_collector);
	service_ready(&s->service);
	takeover_give_up(&s->takeover);
	rpcbind_follow(&s->rpcbind, s->gw.cfg);
}

/* Connections accepted meanwhile from the shared queues drain as at any end. */
static void retreat(struct server *s)
{
	log_info("stop", "why=\"the other gateway serves\" drain_timeout_s=%u",
		 s->gw.cfg->drain_timeout_s);
	s->retreats = true;
	takeover_give_up(&s->takeover);
	leave_place(s);
}

/* Return: whether the main thread has anything left to do. */
static bool goes_on(struct server *s)
{
	if (look_after_workers(s))
		return true;
	/* The successor still waits for an answer: see take_place(). */
	return s->state == DRAINING && s->control && control_is_awaited(s->control);
}

static int open_control(struct server *s)
{
	const struct control_config control = {.path = s->cfg->control.path,
					       .inherit = &s->inherit,
					       .loop = s->loop,
					       .worker_queries = s->worker_queries,
					       .nworkers = s->gw.nworkers,
					       .stats_collector = s->stats_collector,
					       .process = describe_process,
					       .reload = s->reload,
					       .sockets = sockets,
					       .yield = yield,
					       .arg = s};

	return *s->cfg->control.path ? control_open(&control, &s->control) : 0;
}

static int open_metrics(struct server *s)
{
	const struct metrics_config metrics = {
		.address = s->cfg->metrics.address,
		.port = s->cfg->metrics.port,
		.names = &s->cfg->metrics.names,
		.inherit = &s->inherit,
		.loop = s->loop,
		.stats_collector = s->stats_collector,
		.process = {.gw = &s->gw, .auth = s->auth, .start = s->begun_wall}};

	return *metrics.address ? metrics_open(&metrics, &s->metrics) : 0;
}

/* Return: when to call again. */
static nsec_t serve_operators(struct server *s)
{
	nsec_t at = NSEC_NEVER;

	stats_collector_go_on(s->stats_collector);
	worker_queries_run(s->worker_queries);
	if (s->control)
		at = nsec_min(at, control_tick(s->control));
	if (s->metrics)
		at = nsec_min(at, metrics_tick(s->metrics));
	at = nsec_min(at, service_tick(&s->service));
	at = nsec_min(at, idle_tick(&s->idle, loop_now()));
	at = nsec_min(at, lost_tick(&s->lost, &s->gw, loop_now()));
	worker_queries_run(s->worker_queries); /* begins the queries that the calls above made */
	at = nsec_min(at, worker_queries_due(s->worker_queries));
	return nsec_min(at, stats_collector_due(s->stats_collector));
}

static enum exit_code prepare(struct server *s, const char *path)
{
	static const int signos[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP, 0};
	uint32_t limit;
	int err;

	raise_limits();
	stats_table_open_process();
	s->loop = loop_new();
	if (!s->loop || loop_signals_init(s->loop, &s->signals, signos))
		return EXIT_INTERNAL;
	limit = descriptors_limit();
	err = gateway_init(&s->gw, s->cfg, path, capacity_cpus(), limit);
	if (err == ERR_IO)
		return EXIT_LISTEN;
	if (err == ERR_LOCAL) {
		log_error("start.failed",
			  "why=\"%u open files are too few for a session: raise LimitNOFILE of the "
			  "service, or ulimit -n\"",
			  limit);
		return EXIT_INTERNAL;
	}
	if (err) {
		log_error("start.failed", "why=\"no memory for the routes\"");
		return EXIT_INTERNAL;
	}
	if (gateway_authenticate(&s->gw, s->auth)) {
		log_error("start.failed", "why=\"no memory for host authentication\"");
		return EXIT_INTERNAL;
	}
	return EXIT_OK;
}

/* The main thread does this because no RPC waits for it. Return: when to call again. */
static nsec_t trim(nsec_t at)
{
	nsec_t now = loop_now();

	if (now < at)
		return at;
	mem_trim();
	return now + TRIM_INTERVAL;
}

static enum exit_code code_of(int err)
{
	return !err ? EXIT_OK : err == ERR_IO ? EXIT_LISTEN : EXIT_INTERNAL;
}

static void log_serving(const struct server *s, const char *path)
{
	log_info("start",
		 "version=" GW_VERSION " pid=%d config=\"%s\" workers=%u memory_bytes=%llu "
		 "worker_memory_bytes=%zu max_sessions=%u max_setups=%u routes=%u",
		 (int)getpid(), path, s->gw.nworkers, (unsigned long long)s->cfg->memory_bytes,
		 s->gw.worker_bytes, s->gw.max_sessions, s->gw.max_setups, s->gw.nroutes);
	if (s->gw.max_sessions < config_max_sessions(s->cfg, s->gw.nworkers) ||
	    s->gw.max_setups < config_max_setups(s->cfg, s->gw.nworkers))
		log_warn("limit",
			 "what=open_files have=%u max_sessions=%u max_setups=%u why=\"no more fit: "
			 "raise LimitNOFILE of the service, or ulimit -n\"",
			 descriptors_limit(), s->gw.max_sessions, s->gw.max_setups);
	capacity_log(s->cfg, s->gw.nworkers, s->gw.worker_bytes);
	if (s->how & SERVE_NO_SANDBOX)
		log_warn("sandbox", "landlock=0 seccomp=no why=\"--no-sandbox\"");
}

/* Open all sockets. The control socket is first: it needs a file, and sandbox_before_devices()
 * forbids making files. */
static enum exit_code open_sockets(struct server *s, const char *path)
{
	int err = open_control(s);

	if (err)
		return code_of(err);
	if (confine(s, sandbox_before_devices))
		return EXIT_INTERNAL;
	s->gw.inherit = &s->inherit;
	err = gateway_listen(&s->gw, path);
	return err ? EXIT_LISTEN : code_of(open_metrics(s));
}

static enum exit_code begin(struct server *s, const char *path)
{
	enum exit_code code = prepare(s, path);

	if (code)
		return code;
	log_serving(s, path);
	if (make_worker_queries(s))
		return EXIT_INTERNAL;
	code = open_sockets(s, path);
	if (code)
		return code;
	/* The order matters: a thread inherits what its creator has given up. */
	if (make_workers(s) || confine(s, sandbox_before_threads) || start_threads(s))
		return EXIT_INTERNAL;
	inherit_settle(&s->inherit);
	return EXIT_OK;
}

static enum exit_code run(struct server *s, const char *path)
{
	nsec_t trim_at = loop_now() + TRIM_INTERVAL;
	enum exit_code code = begin(s, path);

	if (code)
		return code;
	if (takeover_end(&s->takeover))
		retreat(s);
	else
		take_place(s);
	while (goes_on(s)) {
		nsec_t tick_at = auth_tick(s->auth, loop_now(), time(NULL));

		tick_at = nsec_min(tick_at, serve_operators(s));
		tick_at = nsec_min(tick_at, upstreams_tick(s->upstreams, loop_now()));
		if (loop_run_once(s->loop, nsec_min(trim_at, tick_at)))
			return EXIT_INTERNAL;
		trim_at = trim(trim_at);
	}
	return s->failed ? EXIT_INTERNAL : s->retreats ? EXIT_LISTEN : EXIT_OK;
}

static void cleanup(struct server *s)
{
	for (unsigned i = 0; s->workers && i < s->gw.nworkers; i++)
		worker_free(s->workers[i]);
	rpcbind_end(&s->rpcbind);
	idle_end(&s->idle);
	/* No thread is left that answers queries or reads signals. */
	if (s->signals.loop)
		loop_signals_fini(&s->signals);
	upstreams_free(s->upstreams);
	control_free(s->control);
	metrics_free(s->metrics);
	stats_collector_free(s->stats_collector);
	reload_free(s->reload);
	worker_queries_free(s->worker_queries);
	mem_free(s->workers);
	gateway_fini(&s->gw);
	loop_free(s->loop);
	auth_free(s->auth);
	config_free(s->cfg);
	inherit_end(&s->inherit);
	service_close(&s->service);
}

/*
 * State:  a start takes up to some 20 s if it waits for the gateway that it replaces.
 * Danger: an operator, or logrotate, sends SIGHUP or SIGUSR1 meanwhile; by default both end the
 *         process.
 * Rule:   these signals are blocked before anything else, and handled once the process serves.
 * Pinned: tests/operators/run.sh:case_takeover_signals
 */
static void hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* fails only for invalid arguments */
}

static enum exit_code read_files(struct server *s)
{
	int err = load_config(s->path, &s->cfg, stderr);

	if (!err)
		err = auth_new(s->cfg, s->path, stderr, &s->auth);
	if (err)
		return err == ERR_CONFIG ? EXIT_CONFIG : EXIT_INTERNAL;
	s->sandbox = (struct sandbox){.cfg = s->cfg, .file = s->path};
	log_set_level(s->cfg->log_level);
	return EXIT_OK;
}

/*
 * State:  this process has read the file, and then the gateway that it replaces handed over the
 *         listening sockets.
 * Danger: that gateway may have reloaded the file in between. A route added then is reported as
 *         added, and ends with that gateway.
 * Rule:   a gateway that has handed over does not reload (reload_objection()), so the file is read
 *         again after the hand-over.
 * Pinned: tests/operators/run.sh:case_takeover_reload
 */
static enum exit_code take_over(struct server *s)
{
	if (takeover_begin(&s->takeover, s->cfg->control.path, &s->inherit))
		return EXIT_LISTEN;
	if (s->takeover.fd < 0) /* no gateway was running */
		return EXIT_OK;
	auth_free(s->auth);
	config_free(s->cfg);
	s->auth = NULL;
	s->cfg = NULL;
	return read_files(s);
}

enum exit_code serve(const char *path, unsigned how)
{
	struct server s = {.signals = {.caught = on_signal, .fd = -1},
			   .takeover = {.fd = -1},
			   .path = path,
			   .how = how,
			   .begun = loop_now(),
			   .begun_wall = time(NULL)};
	enum exit_code code = EXIT_INTERNAL;
	int err;

	load_show(path, s.shown, sizeof(s.shown));
	hold_signals();
	err = inherit_environment(&s.inherit);
	service_open(&s.service);
	if (!err)
		code = read_files(&s);
	if (code) {
		config_free(s.cfg);
		inherit_end(&s.inherit);
		service_close(&s.service);
		return code;
	}
	mem_settle();
	signal(SIGPIPE, SIG_IGN);
	if (how & SERVE_TAKE_OVER)
		code = take_over(&s);
	if (!code)
		code = run(&s, s.shown);
	takeover_give_up(&s.takeover);
	cleanup(&s);
	log_info("end", "code=%d heap_live=%llu", (int)code, (unsigned long long)mem_live());
	log_stop();
	return code;
}
