/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * - Each side of a route with hostauth is a struct side. Its credentials are made once, before any
 *   listener is open.
 * - SIGHUP replaces credentials as a whole. Later connections use the new ones. Handshakes under
 *   way keep the old ones.
 * - Unusable new credentials do not replace the old ones: the log says why, and the old ones stay
 *   in use.
 * - A listener has two policies over the same credentials: one for peers that must authenticate,
 *   and one for peers that need not.
 */
#include "daemon/auth.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/auth_files.h"

enum { DAY_S = 24 * 3600, SIDES = 2 };

struct side;

struct policy {
	struct leg_auth leg; /* first member */
	struct side *side;
};

struct side {
	const struct config_hostauth *cfg; /* NULL: the slot has no route */
	bool is_anothers;		   /* the listener belongs to an earlier route */
	bool is_retired;		   /* only handshakes under way use it */
	const char *route, *name;
	enum hostauth_role role;
	struct policy required, allowed;
	pthread_mutex_t lock; /* guards .creds while a reference is taken */
	struct hostauth_creds *creds;
};

struct auth {
	const char *file;
	nsec_t tick_at;
	unsigned nsides;
	/* two for each slot; .creds is NULL where host authentication is off */
	struct side sides[];
};

static struct hostauth_creds *creds_of(const struct leg_auth *leg)
{
	struct side *side = ((const struct policy *)leg)->side;
	struct hostauth_creds *creds;

	pthread_mutex_lock(&side->lock);
	creds = hostauth_creds_get(side->creds);
	pthread_mutex_unlock(&side->lock);
	return creds;
}

static int64_t now_of(const struct leg_auth *leg)
{
	(void)leg;
	return time(NULL);
}

static void init_policy(struct policy *p, struct side *side, bool required)
{
	p->side = side;
	p->leg = (struct leg_auth){.required = required,
				   .timeout = side->cfg->timeout_s * NSEC_PER_SEC,
				   .creds = creds_of,
				   .now = now_of};
}

static void init_side(struct side *side, const struct config_route *route, enum auth_side which)
{
	bool listens = which == AUTH_LISTEN;

	side->cfg = listens ? &route->listen.hostauth : &route->upstream.hostauth;
	side->route = route->name;
	side->name = listens ? "listen" : "upstream";
	side->role = listens ? HOSTAUTH_ACCEPTOR : HOSTAUTH_INITIATOR;
	pthread_mutex_init(&side->lock, NULL);
	init_policy(&side->required, side, true);
	init_policy(&side->allowed, side, false);
}

static void print_problem(const struct auth *auth, const struct auth_problem *p, FILE *errors)
{
	fprintf(errors, "%s:%u: %s", auth->file, p->line, p->key);
	if (p->path)
		fprintf(errors, " \"%s\"", p->path);
	fprintf(errors, ": %s%s%s\n", p->why, *p->remedy ? ": " : "", p->remedy);
}

static int load_side(struct auth *auth, struct side *side, FILE *errors)
{
	struct auth_problem problem;

	if (side->cfg->mode == CONFIG_HOSTAUTH_OFF || side->is_anothers)
		return 0;
	side->creds = auth_files_load(side->role, side->cfg, &problem);
	if (side->creds)
		return 0;
	print_problem(auth, &problem, errors);
	return problem.err;
}

/* Both sides are loaded even if one fails, so that all problems are reported. */
int auth_add(struct auth *auth, unsigned slot, const struct config_route *route, bool is_anothers,
	     FILE *errors)
{
	int first = 0;

	for (unsigned which = AUTH_LISTEN; which <= AUTH_UPSTREAM; which++) {
		struct side *side = &auth->sides[SIDES * slot + which];
		int err;

		init_side(side, route, (enum auth_side)which);
		side->is_anothers = which == AUTH_LISTEN && is_anothers;
		err = load_side(auth, side, errors);
		first = first ? first : err;
	}
	auth->tick_at = 0; /* the new credentials may expire soon */
	return first;
}

void auth_retire(struct auth *auth, unsigned slot)
{
	for (unsigned i = SIDES * slot; i < SIDES * (slot + 1); i++)
		auth->sides[i].is_retired = true;
}

void auth_drop(struct auth *auth, unsigned slot)
{
	for (unsigned i = SIDES * slot; i < SIDES * (slot + 1); i++) {
		struct side *side = &auth->sides[i];

		if (!side->cfg)
			continue;
		hostauth_creds_put(side->creds);
		pthread_mutex_destroy(&side->lock);
		memset(side, 0, sizeof(*side));
	}
}

int auth_new(const struct config *cfg, const char *file, FILE *errors, struct auth **out)
{
	unsigned nsides = SIDES * (cfg->nroutes + CONFIG_ROUTES_SPARE);
	struct auth *auth = mem_zalloc(sizeof(*auth) + nsides * sizeof(auth->sides[0]));
	int first = 0;

	*out = NULL;
	if (!auth)
		return ERR_NOMEM;
	auth->file = file;
	auth->nsides = nsides;
	for (unsigned i = 0; i < cfg->nroutes; i++) {
		int err = auth_add(auth, i, &cfg->routes[i], cfg->routes[i].listener != i, errors);

		first = first ? first : err;
	}
	if (first) {
		auth_free(auth);
		return first;
	}
	*out = auth;
	return 0;
}

int auth_check(const struct config *cfg, const char *file, FILE *errors, int64_t now)
{
	struct auth *auth;
	int err = auth_new(cfg, file, errors, &auth);

	for (unsigned i = 0; !err && i < auth->nsides; i++) {
		const struct side *side = &auth->sides[i];
		struct auth_problem problem;

		if (!side->creds || auth_files_is_current(side->creds, side->cfg, now, &problem))
			continue;
		print_problem(auth, &problem, errors);
		err = ERR_CONFIG;
	}
	auth_free(auth);
	return err;
}

void auth_free(struct auth *auth)
{
	if (!auth)
		return;
	for (unsigned i = 0; i < auth->nsides / SIDES; i++)
		auth_drop(auth, i);
	mem_free(auth);
}

const struct leg_auth *auth_leg(const struct auth *auth, unsigned route, enum auth_side which,
				bool required)
{
	const struct side *side = &auth->sides[SIDES * route + which];

	if (!side->creds)
		return NULL;
	return required ? &side->required.leg : &side->allowed.leg;
}

/* The old credentials are freed when the last handshake that uses them ends. */
static void replace(struct side *side, struct hostauth_creds *creds)
{
	struct hostauth_creds *old;

	pthread_mutex_lock(&side->lock);
	old = side->creds;
	side->creds = creds;
	pthread_mutex_unlock(&side->lock);
	hostauth_creds_put(old);
}

static void log_problem(enum log_level level, const char *event, const struct side *side,
			const struct auth_problem *p)
{
	log_event(level, event, "route=%s side=%s key=%s path=\"%s\" why=\"%s%s%s\"", side->route,
		  side->name, p->key, p->path ? p->path : "-", p->why, *p->remedy ? ": " : "",
		  p->remedy);
}

/* A kept route has line numbers of an earlier file, so no line number is printed. */
static void print_kept(const struct side *side, const struct auth_problem *p, FILE *problems)
{
	fprintf(problems, "route \"%s\", %s: %s \"%s\": %s%s%s\n", side->route, side->name, p->key,
		p->path ? p->path : "-", p->why, *p->remedy ? ": " : "", p->remedy);
}

static void reload_side(struct side *side, int64_t now, FILE *problems)
{
	struct auth_problem problem;
	struct hostauth_creds *creds = auth_files_load(side->role, side->cfg, &problem);
	struct hostauth_times times;
	char at[AUTH_TIME_BYTES];

	if (!creds || !auth_files_is_current(creds, side->cfg, now, &problem)) {
		hostauth_creds_put(creds);
		log_problem(LOG_LEVEL_ERROR, "hostauth.kept", side, &problem);
		print_kept(side, &problem, problems);
		return;
	}
	hostauth_creds_times(creds, &times);
	replace(side, creds);
	log_info("hostauth.loaded", "route=%s side=%s expires=%s", side->route, side->name,
		 auth_files_time(times.end, at));
}

bool auth_times(const struct auth *auth, unsigned route, enum auth_side which,
		struct hostauth_times *times)
{
	const struct side *side = &auth->sides[SIDES * route + which];

	if (!side->creds)
		return false;
	hostauth_creds_times(side->creds, times); /* only this thread replaces .creds */
	return true;
}

static void warn_end(const struct side *side, const char *key, const char *path, int64_t end,
		     int64_t wall)
{
	char at[AUTH_TIME_BYTES];

	if (end - wall > (int64_t)side->cfg->warn_days * DAY_S)
		return;
	log_event(end > wall ? LOG_LEVEL_WARN : LOG_LEVEL_ERROR,
		  end > wall ? "hostauth.expires" : "hostauth.expired",
		  "route=%s side=%s key=%s path=\"%s\" expires=%s days=%" PRId64
		  " why=\"renew it, then send SIGHUP\"",
		  side->route, side->name, key, path, auth_files_time(end, at),
		  end > wall ? (end - wall) / DAY_S : 0);
}

static void warn_side(const struct side *side, int64_t wall)
{
	const struct config_hostauth *cfg = side->cfg;
	struct auth_problem problem;
	struct hostauth_times t;

	hostauth_creds_times(side->creds, &t);
	warn_end(side, "certificate", cfg->certificate.path, t.end, wall);
	warn_end(side, "ca", cfg->ca.path, t.ca_end, wall);
	warn_end(side, "crl", cfg->crl.path, t.crl_end, wall);
	if (t.begin > wall && !auth_files_is_current(side->creds, cfg, wall, &problem))
		log_problem(LOG_LEVEL_ERROR, "hostauth.early", side, &problem);
}

void auth_reload(struct auth *auth, int64_t now, FILE *problems)
{
	for (unsigned i = 0; i < auth->nsides; i++)
		if (auth->sides[i].creds && !auth->sides[i].is_retired)
			reload_side(&auth->sides[i], now, problems);
	auth->tick_at = 0; /* new credentials may expire soon */
}

/* Seconds from @wall to the next expiry of a file of @side, @most at most. */
static int64_t until_end(const struct side *side, int64_t wall, int64_t most)
{
	struct hostauth_times t;

	hostauth_creds_times(side->creds, &t);
	if (t.end > wall && t.end - wall < most)
		most = t.end - wall;
	if (t.ca_end > wall && t.ca_end - wall < most)
		most = t.ca_end - wall;
	if (t.crl_end > wall && t.crl_end - wall < most)
		most = t.crl_end - wall;
	return most;
}

nsec_t auth_tick(struct auth *auth, nsec_t now, int64_t wall)
{
	int64_t wait_s = DAY_S;
	bool any = false;

	if (now < auth->tick_at)
		return auth->tick_at;
	for (unsigned i = 0; i < auth->nsides; i++) {
		if (!auth->sides[i].creds || auth->sides[i].is_retired)
			continue;
		any = true;
		warn_side(&auth->sides[i], wall);
		wait_s = until_end(&auth->sides[i], wall, wait_s);
	}
	auth->tick_at = any ? now + (nsec_t)wait_s * NSEC_PER_SEC : NSEC_NEVER;
	return auth->tick_at;
}
