/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/probe/device.h"

#include <string.h>

#include "base/budget.h"
#include "base/budget_queues.h"
#include "base/log.h"
#include "daemon/loop.h"
#include "fabric/verbs/verbs.h"
#include "tools/probe/device_try.h"
#include "tools/probe/json.h"

enum { DONE = 0, FAILED = 1, NO_DEVICE = 3 };

/** struct seen - all that was found out about a device. */
struct seen {
	struct verbs_caps caps;
	struct fabric_addr at;
	bool has_address;
	/* octets of a session's two connections, with default settings */
	size_t client_bytes, server_bytes;
	struct device_trials t;
};

/* A trial by name: its offset in struct device_trials, and its question. */
struct asked {
	const char *name, *question;
	size_t offset;
};

#define ASKED(name, question)                                                                      \
	{                                                                                          \
#name, question, offsetof(struct device_trials, name)                              \
	}

static const struct asked asked[] = {
	ASKED(connects, "connects to its own address"),
	ASKED(messages, "messages of several pieces arrive"),
	ASKED(written, "what is exposed can be written, whole"),
	ASKED(read, "and read"),
	ASKED(bounded, "nothing beyond it can be"),
	ASKED(fenced, "nor anything once it is withdrawn"),
	ASKED(connection_alone, "nor by another connection"),
	ASKED(domain_alone, "nor by one of another side or route"),
	ASKED(invalidated, "messages invalidate handles"),
	ASKED(shares, "Receives are for all connections"),
};

enum { ASKED_ALL = sizeof(asked) / sizeof(asked[0]) };

static enum trial trial_of(const struct seen *s, unsigned i)
{
	enum trial t;

	memcpy(&t, (const char *)&s->t + asked[i].offset, sizeof(t));
	return t;
}

static const char *trial_word(enum trial t)
{
	static const char *const words[] = {"not tried", "yes", "NO"};

	return words[t];
}

/* Whether the device has all properties on which a gateway relies. */
static bool keeps_its_word(const struct seen *s)
{
	const struct device_trials *t = &s->t;

	if (t->connects != TRIAL_YES)
		return true; /* not tried */
	return t->messages == TRIAL_YES && t->written == TRIAL_YES && t->read == TRIAL_YES &&
	       t->bounded == TRIAL_YES && t->fenced == TRIAL_YES && t->domain_alone != TRIAL_NO &&
	       (t->connection_alone != TRIAL_NO || !s->caps.windows);
}

static const char *use_word(const struct seen *s)
{
	if (!s->caps.is_usable)
		return "not used: see above";
	if (!keeps_its_word(s))
		return "do not use it: it does not keep what it says";
	return s->caps.windows ? "used" : "used with insecure_handles = \"allow\" alone";
}

static const char *receives_word(const struct seen *s)
{
	if (!s->caps.can_share)
		return "each connection's own";
	return s->caps.is_iwarp ? "each connection's own, or shared with receive_queue = \"shared\""
				: "shared by all connections";
}

/* Text output. */

static void print_line(FILE *to, const char *name, const char *value)
{
	fprintf(to, "  %-42s %s\n", name, value);
}

static void print_number(FILE *to, const char *name, long value)
{
	fprintf(to, "  %-42s %ld\n", name, value);
}

static void print_caps(const struct verbs_caps *f, FILE *to)
{
	fprintf(to, "%s, as found when it was taken into use\n", f->name);
	print_line(to, "transport", f->is_iwarp ? "iwarp" : "ib");
	print_line(to, "exposures", f->exposures);
	print_line(to, "handles", f->handles);
	print_line(to, "send_with_invalidate", f->send_inv ? "yes" : "no");
	print_number(to, "max_qp_wr", f->max_qp_wr);
	print_number(to, "max_srq_wr", f->max_srq_wr);
	print_number(to, "max_sge", (long)f->max_sge);
	print_number(to, "inline", (long)f->max_inline);
	fprintf(to, "  %-42s %d/%d\n", "read_depth", f->reads_served, f->reads_issued);
	print_number(to, "max_mr", f->max_mr);
	print_number(to, "max_mw", f->max_mw);
}

static void print_trials(const struct seen *s, FILE *to)
{
	char at[FABRIC_ADDR_TEXT];

	fprintf(to, "tried with itself at %s\n",
		s->has_address ? fabric_addr_format(&s->at, at)
			       : "no address: none of its interfaces has one");
	for (unsigned i = 0; i < ASKED_ALL; i++)
		print_line(to, asked[i].question, trial_word(trial_of(s, i)));
}

static void print_gateway(const struct seen *s, FILE *to)
{
	fprintf(to, "a gateway with it\n");
	print_line(to, "the device", use_word(s));
	print_line(to, "a handle is good for",
		   s->caps.windows ? "the connection it was given to"
				   : "all connections of its side of a route");
	print_line(to, "Receives", receives_word(s));
	fprintf(to, "  %-42s %zu + %zu KiB\n", "queues of a session at most, both legs",
		s->client_bytes / 1024, s->server_bytes / 1024);
	print_line(to, "locked memory of a worker (LimitMEMLOCK)",
		   s->caps.windows ? "its share of memory_limit, and those queues"
				   : "that twice for each route through it, and those queues");
}

/* JSON output. */

static void put_caps(const struct verbs_caps *f, struct json *j)
{
	char depth[32];

	json_open(j, "found", '{');
	json_string(j, "transport", f->is_iwarp ? "iwarp" : "ib");
	json_string(j, "exposures", f->exposures);
	json_string(j, "handles", f->handles);
	json_string(j, "send_with_invalidate", f->send_inv ? "yes" : "no");
	json_number(j, "max_qp_wr", f->max_qp_wr);
	json_number(j, "max_srq_wr", f->max_srq_wr);
	json_number(j, "max_sge", f->max_sge);
	json_number(j, "inline", f->max_inline);
	snprintf(depth, sizeof(depth), "%d/%d", f->reads_served, f->reads_issued);
	json_string(j, "read_depth", depth);
	json_number(j, "max_mr", f->max_mr);
	json_number(j, "max_mw", f->max_mw);
	json_close(j, '}');
}

static void print_result(const struct seen *s, FILE *to)
{
	struct json j = {.to = to};

	json_open(&j, NULL, '{');
	json_string(&j, "device", s->caps.name);
	json_bool(&j, "usable", s->caps.is_usable);
	put_caps(&s->caps, &j);
	json_open(&j, "tried", '{');
	for (unsigned i = 0; i < ASKED_ALL; i++)
		json_string(&j, asked[i].name, trial_word(trial_of(s, i)));
	json_close(&j, '}');
	json_open(&j, "gateway", '{');
	json_string(&j, "use", use_word(s));
	json_string(&j, "receives", receives_word(s));
	json_number(&j, "client_leg_bytes", (double)s->client_bytes);
	json_number(&j, "server_leg_bytes", (double)s->server_bytes);
	json_close(&j, '}');
	json_close(&j, '}');
	fputc('\n', to);
}

/* Queue depths of a route's legs with default settings: credits, and credits in the reverse
 * direction. */
static void reckon(struct seen *s, const struct fabric *f)
{
	enum { CREDITS = 64, REVERSE = 16 };
	struct fabric_conn_params p = {.max_recvs = budget_receives(CREDITS, REVERSE, false),
				       .max_sends = BUDGET_SENDS + BUDGET_OPS,
				       .max_exposures = budget_exposures(REVERSE)};

	s->client_bytes = fabric_conn_bytes(f, &p);
	p.max_exposures = budget_exposures(CREDITS);
	s->server_bytes = fabric_conn_bytes(f, &p);
}

static int look_at(struct seen *s, const struct probe_options *o, struct loop *loop)
{
	struct verbs_config cfg;
	struct fabric *f;
	int err;

	verbs_config_default(&cfg);
	cfg.only = o->device;
	f = verbs_new(&cfg, loop);
	if (!f)
		return ERR_IO;
	err = verbs_caps(f, o->device, &s->caps);
	if (!err) {
		s->has_address = verbs_device_address(f, o->device, &s->at) == 0;
		reckon(s, f);
	}
	fabric_free(f);
	return err;
}

int device_run(const struct probe_options *o, FILE *to)
{
	struct seen s = {.has_address = false};
	struct loop *loop;
	int err;

	log_set_level(LOG_LEVEL_ERROR);
	loop = loop_new();
	err = loop ? look_at(&s, o, loop) : ERR_NOMEM;

	if (err) {
		fprintf(stderr, "rpcrdma-probe: %s: no such RDMA device, or it cannot be used\n",
			o->device);
		loop_free(loop);
		return NO_DEVICE;
	}
	if (s.has_address)
		device_try(&s.t, loop, o->device, &s.at, o->timeout);
	loop_free(loop);
	if (o->json) {
		print_result(&s, to);
	} else {
		print_caps(&s.caps, to);
		print_trials(&s, to);
		print_gateway(&s, to);
	}
	return keeps_its_word(&s) ? DONE : FAILED;
}
