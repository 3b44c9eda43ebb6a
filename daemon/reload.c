/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   read, check --> change_prepare() --> steps of daemon/change.h, worker by worker --> what is not
 *        |                |                                 |                    in the file drains
 *        +----------------+--------- refused <--------------+                            |
 *                                                                                       done
 *
 * - The files of host authentication of all routes are read first, as at a start. The reload is
 *   refused if a start with these files would fail. Expired credentials do not make a start fail,
 *   so they do not refuse a reload either: an expired file of one route must not keep renewed files
 *   of other routes from use.
 * - Credentials of kept routes are replaced last. A side whose new credentials are expired keeps
 *   the old ones, and the answer says so.
 */
#include "daemon/reload.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/capacity.h"
#include "daemon/load.h"

enum { PROBLEMS_BYTES = 32 << 10 };

struct reload {
	struct reload_config cfg;
	bool is_running, is_beginning, again;
	struct config *current; /* owned; NULL: the configuration at start of the process */
	struct change *change;
	unsigned worker, old; /* the worker being asked, and the route being drained */
	struct worker_query q;
	struct list next, now; /* waiters for the next reload, and for this one */
	char problems[PROBLEMS_BYTES];
};

static void notify_all(struct reload *r, const struct reload_result *result)
{
	struct list *it;

	while ((it = list_pop(&r->now))) {
		struct reload_waiter *w = container_of(it, struct reload_waiter, link);

		w->answered(w, result);
	}
	change_free(r->change);
	r->change = NULL;
	r->is_running = false;
	r->cfg.notify(r->cfg.arg, false);
}

/* Log each problem in a line; quotes in it are replaced, because the log quotes the line. */
static void log_problems(const struct reload *r)
{
	char line[512];
	const char *at = r->problems;

	while (*at) {
		size_t n = strcspn(at, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)n, at);
		for (char *c = line; *c; c++)
			if (*c == '"')
				*c = '\'';
		log_error("reload.refused", "why=\"%s\"", line);
		at += n + (at[n] == '\n');
	}
}

static void refuse(struct reload *r)
{
	const struct reload_result result = {.is_refused = true, .problems = r->problems};

	load_clean(r->problems);
	log_problems(r);
	notify_all(r, &result);
}

static void say_problem(struct reload *r, const char *what)
{
	snprintf(r->problems, sizeof(r->problems), "%s: %s\n", r->cfg.path, what);
}

static void settle(struct reload *r)
{
	const struct change *c = r->change;
	const struct reload_result result = {.problems = r->problems,
					     .added = c->nadded,
					     .changed = c->nchanged,
					     .removed = c->nremoved,
					     .kept = c->nkept,
					     .restart = c->restart};

	log_info("reload", "routes=%u added=%u changed=%u removed=%u kept=%u", r->cfg.gw->nroutes,
		 c->nadded, c->nchanged, c->nremoved, c->nkept);
	capacity_log(r->cfg.gw->cfg, r->cfg.gw->nworkers, r->cfg.gw->worker_bytes);
	if (*c->restart)
		log_warn("reload.restart",
			 "keys=\"%s\" why=\"these take effect at the next restart\"", c->restart);
	notify_all(r, &result);
}

/* .problems gets the files that were not taken. */
static void replace_credentials(struct reload *r)
{
	FILE *problems;

	memset(r->problems, 0, sizeof(r->problems));
	problems = fmemopen(r->problems, sizeof(r->problems) - 1, "w");
	if (!problems) {
		say_problem(r, "out of memory: the files of host authentication were not read");
		return;
	}
	auth_reload(r->cfg.auth, time(NULL), problems);
	fclose(problems);
	load_clean(r->problems);
}

static void apply(struct reload *r)
{
	struct config *now = r->change->cfg;

	/* A log level that an operator set stays, unless the file's level has changed. */
	if (now->log_level != r->cfg.gw->cfg->log_level)
		log_set_level(now->log_level);
	change_done(r->cfg.gw, r->cfg.auth, r->change);
	config_free(r->current);
	r->current = now;
	replace_credentials(r);
}

static void ask_worker(struct reload *r)
{
	worker_query_begin(r->cfg.worker_queries, &r->q, r->worker);
}

/* Drain the sessions of removed routes, route by route and worker by worker. Sessions are selected
 * by route name, because some may be in slots with older settings. */
static void drain_next(struct reload *r)
{
	const struct change *c = r->change;
	struct snapshot_want *want = &r->q.snapshot.want;

	while (r->old < c->nold && !c->old[r->old].is_gone)
		r->old++;
	if (r->old == c->nold) {
		settle(r);
		return;
	}
	r->q.change = NULL;
	r->q.snapshot =
		(struct snapshot){.kind = SNAPSHOT_DRAIN,
				  .want = {.route = SNAPSHOT_ANY_ROUTE},
				  .timeout = atomic_load(&r->cfg.gw->drain_s) * NSEC_PER_SEC};
	memcpy(want->route_name, r->cfg.gw->routes[c->old[r->old].slot].name,
	       sizeof(want->route_name));
	ask_worker(r);
}

static void on_drained(struct reload *r)
{
	if (++r->worker == r->cfg.gw->nworkers) {
		r->worker = 0;
		r->old++;
	}
	drain_next(r);
}

static void take_step(struct reload *r, enum change_step step)
{
	r->worker = 0;
	r->change->step = step;
	ask_worker(r);
}

/* Ask the workers before .worker, which have added the routes, to take them back. */
static void on_failed_add(struct reload *r)
{
	say_problem(r, "a worker is out of memory or descriptors");
	if (r->worker == 0) {
		change_undo(r->cfg.gw, r->cfg.auth, r->change);
		refuse(r);
		return;
	}
	take_step(r, CHANGE_TAKE_BACK);
}

static void on_step(struct reload *r)
{
	struct change *c = r->change;
	bool is_last = r->worker + 1 == r->cfg.gw->nworkers;

	if (c->step == CHANGE_ADD && c->err) {
		r->old = r->worker; /* number of workers that must take back */
		on_failed_add(r);
		return;
	}
	if (c->step == CHANGE_TAKE_BACK && r->worker + 1 == r->old) {
		change_undo(r->cfg.gw, r->cfg.auth, c);
		refuse(r);
		return;
	}
	if (!is_last) {
		r->worker++;
		ask_worker(r);
		return;
	}
	if (c->step == CHANGE_ADD) {
		take_step(r, CHANGE_TURN_OVER);
		return;
	}
	apply(r);
	r->worker = r->old = 0;
	drain_next(r);
}

static int check_files(const struct config *file, const char *path, FILE *errors)
{
	struct auth *auth;
	int err = auth_new(file, path, errors, &auth);

	auth_free(auth);
	return err;
}

/* A pipe in place of the file would block the main thread until somebody writes. (A start may read
 * one.) A file that is missing is reported when it is read. */
static const char *objection_to_file(const char *path)
{
	struct stat st;

	return stat(path, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)
		       ? NULL
		       : "it is no regular file: give a readable configuration file";
}

/* Return: 0 with .change prepared, or an error with its reasons. */
static int prepare(struct reload *r)
{
	const struct reload_config *cfg = &r->cfg;
	struct config *file = NULL;
	const char *objection;
	FILE *errors;
	int err;

	memset(r->problems, 0, sizeof(r->problems));
	objection = cfg->objection(cfg->arg);
	if (!objection)
		objection = objection_to_file(cfg->path);
	if (objection) {
		say_problem(r, objection);
		return ERR_CONFIG;
	}
	errors = fmemopen(r->problems, sizeof(r->problems) - 1, "w");
	if (!errors) {
		say_problem(r, "out of memory");
		return ERR_NOMEM;
	}
	err = load_config(cfg->path, &file, errors);
	if (!err)
		err = check_files(file, cfg->path, errors);
	if (err)
		config_free(file);
	else
		err = change_prepare(cfg->gw, cfg->auth, file, cfg->running, cfg->path, errors,
				     &r->change);
	fclose(errors);
	return err;
}

static void on_answer(struct worker_query *q);

static void reload_begin(struct reload *r)
{
	r->is_running = true;
	r->again = false;
	while (!list_is_empty(&r->next))
		list_add_tail(&r->now, list_pop(&r->next));
	r->cfg.notify(r->cfg.arg, true);
	if (prepare(r)) {
		refuse(r);
		return;
	}
	r->q = (struct worker_query){.answered = on_answer, .change = r->change};
	take_step(r, CHANGE_ADD);
}

/* A waiter that asks again from within .answered gets the next reload. */
static void go_on(struct reload *r)
{
	if (r->is_beginning)
		return;
	r->is_beginning = true;
	while (!r->is_running && (r->again || !list_is_empty(&r->next)))
		reload_begin(r);
	r->is_beginning = false;
}

static void on_answer(struct worker_query *q)
{
	struct reload *r = container_of(q, struct reload, q);

	if (q->change)
		on_step(r);
	else
		on_drained(r);
	go_on(r);
}

struct reload *reload_new(const struct reload_config *cfg)
{
	struct reload *r = mem_zalloc(sizeof(*r));

	if (!r)
		return NULL;
	r->cfg = *cfg;
	list_init(&r->next);
	list_init(&r->now);
	return r;
}

void reload_ask(struct reload *r, struct reload_waiter *w)
{
	if (w) {
		list_init(&w->link);
		list_add_tail(&r->next, &w->link);
	} else {
		r->again = true;
	}
	go_on(r);
}

void reload_free(struct reload *r)
{
	if (!r)
		return;
	change_free(r->change);
	config_free(r->current);
	mem_free(r);
}
