/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/probe/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/conform.h"
#include "tools/target.h"

_Static_assert((int)TARGET_WHY <= (int)PROBE_WHY, "words fit");

enum {
	SECONDS_MAX = 86400,
	TIMEOUT_S = 5,
	TOTAL_S = 300,
	CONNECTIONS_MAX = 1000,
};

enum probe_opt {
	OPT_PROGRAM = 1000,
	OPT_CONFORMANCE,
	OPT_HOSTILE,
	OPT_CASE,
	OPT_LIST,
	OPT_LISTEN,
	OPT_DEVICE,
	OPT_VERSIONS,
	OPT_CONNECTIONS,
	OPT_TIMEOUT,
	OPT_TIME,
	OPT_NO_CRC,
	OPT_JSON,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option table[] = {
	{"program", required_argument, NULL, OPT_PROGRAM},
	{"conformance", no_argument, NULL, OPT_CONFORMANCE},
	{"hostile", no_argument, NULL, OPT_HOSTILE},
	{"case", required_argument, NULL, OPT_CASE},
	{"list", no_argument, NULL, OPT_LIST},
	{"listen", required_argument, NULL, OPT_LISTEN},
	{"device", required_argument, NULL, OPT_DEVICE},
	{"versions", required_argument, NULL, OPT_VERSIONS},
	{"connections", required_argument, NULL, OPT_CONNECTIONS},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"time", required_argument, NULL, OPT_TIME},
	{"no-crc", no_argument, NULL, OPT_NO_CRC},
	{"json", no_argument, NULL, OPT_JSON},
	IDENTITY_OPTIONS,
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{0},
};

struct raw {
	struct probe_options *o;
	char *why;
	const char *listen, *connect;
	bool conformance, list;
	double timeout, total;
};

static int bad(const struct raw *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int bad(const struct raw *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, PROBE_WHY, fmt, args);
	va_end(args);
	return ERR_CONFIG;
}

static int seconds(const struct raw *r, const char *name, double *out)
{
	char *end;

	*out = strtod(optarg, &end);
	if (*end || end == optarg || !isfinite(*out) || *out <= 0 || *out > SECONDS_MAX)
		return bad(r, "--%s %s: seconds, more than 0 and at most %d, are needed", name,
			   optarg, SECONDS_MAX);
	return 0;
}

static int versions(struct raw *r)
{
	unsigned mask = target_versions(optarg);

	r->o->versions = (mask & TARGET_V1 ? 1u << 1 : 0) | (mask & TARGET_V2 ? 1u << 2 : 0) |
			 (mask & TARGET_V2_EARLY ? 1u << OPTIONS_EARLY : 0);
	return mask ? 0
		    : bad(r,
			  "--versions %s: 1, 2, 2-early or several of them, like 1,2, are needed",
			  optarg);
}

static int connections(struct raw *r)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(optarg, &end, 10);
	if (errno || *optarg < '0' || *optarg > '9' || *end || n < 1 || n > CONNECTIONS_MAX)
		return bad(r, "--connections %s: a number from 1 to %d is needed", optarg,
			   CONNECTIONS_MAX);
	r->o->connections = (unsigned)n;
	return 0;
}

static int program(struct raw *r)
{
	struct probe_options *o = r->o;

	if (o->nprograms == PROBE_PROGRAMS)
		return bad(r, "--program: no more than %d", PROBE_PROGRAMS);
	if (program_parse(optarg, &o->programs[o->nprograms]) < 0)
		return bad(r, "--program %.60s: one of \"%s\", or NUMBER,VERSION, is needed",
			   optarg, program_known());
	o->nprograms++;
	return 0;
}

static int set_identity(const struct raw *r, int opt)
{
	const char *why = identity_set(&r->o->identity, opt, optarg);

	return why ? bad(r, "--hostauth-...: %s", why) : 0;
}

static int set(struct raw *r, int opt)
{
	struct probe_options *o = r->o;

	if (opt >= IDENTITY_OPT)
		return set_identity(r, opt);
	switch ((enum probe_opt)opt) {
	case OPT_PROGRAM:
		return program(r);
	case OPT_VERSIONS:
		return versions(r);
	case OPT_CONNECTIONS:
		return connections(r);
	case OPT_TIMEOUT:
		return seconds(r, "timeout", &r->timeout);
	case OPT_TIME:
		return seconds(r, "time", &r->total);
	case OPT_CONFORMANCE:
		r->conformance = true;
		return 0;
	case OPT_HOSTILE:
		o->hostile = true;
		return 0;
	case OPT_CASE:
		o->only = optarg;
		return 0;
	case OPT_LIST:
		r->list = true;
		return 0;
	case OPT_LISTEN:
		r->listen = optarg;
		return 0;
	case OPT_DEVICE:
		o->device = optarg;
		return 0;
	case OPT_NO_CRC:
		o->no_crc = true;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_VERSION:
		o->mode = PROBE_SHOW_VERSION;
		return 0;
	case OPT_HELP:
		break;
	}
	o->mode = PROBE_HELP;
	return 0;
}

static int read_options(struct raw *r, int argc, char **argv)
{
	int opt, err;

	optind = 0; /* start again, because tests call it more than once */
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", table, NULL)) != -1) {
		if (opt == ':')
			return bad(r, "%s needs a value", argv[optind - 1]);
		if (opt == '?')
			return bad(r, "%s: no such option", argv[optind - 1]);
		err = set(r, opt == 'h' ? OPT_HELP : opt);
		if (err < 0 || r->o->mode == PROBE_HELP || r->o->mode == PROBE_SHOW_VERSION)
			return err;
	}
	if (optind < argc)
		r->connect = argv[optind++];
	if (optind < argc)
		return bad(r, "%s: one FABRIC:ADDR:PORT is enough", argv[optind]);
	return 0;
}

static int finish(struct raw *r)
{
	struct probe_options *o = r->o;
	struct target t;

	if (o->device) {
		if (r->listen || r->connect || r->conformance)
			return bad(r, "--device goes with --json and --timeout alone");
		o->mode = PROBE_DEVICE;
		o->fabric = PROVIDER_VERBS;
		return 0;
	}
	if (r->listen && r->connect)
		return bad(r, "--listen %s and %s: one of them", r->listen, r->connect);
	if (!r->listen && !r->connect)
		return bad(r, "the server's FABRIC:ADDR:PORT is needed, or --listen, or --device");
	if (o->hostile && (!r->conformance || r->listen))
		return bad(r, "--hostile goes with --conformance against a server");
	if (o->only && (!r->conformance || r->listen))
		return bad(r, "--case goes with --conformance against a server");
	if (o->only && !conform_has(o->only))
		return bad(r, "--case %s: no name of a case begins so: --list prints them",
			   o->only);
	o->mode = r->listen ? PROBE_LISTEN : r->conformance ? PROBE_CONFORM : PROBE_SURVEY;
	o->provoke = r->listen && r->conformance;
	if (target_parse(r->listen ? r->listen : r->connect, r->listen != NULL, &t, r->why) < 0)
		return ERR_CONFIG;
	o->fabric = t.fabric;
	o->addr = t.addr;
	return 0;
}

int probe_options_parse(int argc, char **argv, struct probe_options *o, char *why)
{
	struct raw r = {.o = o, .why = why, .timeout = TIMEOUT_S, .total = TOTAL_S};
	int err;

	*o = (struct probe_options){.versions = 1 << 1 | 1 << 2 | 1 << OPTIONS_EARLY,
				    .connections = 1};
	err = read_options(&r, argc, argv);
	if (err < 0 || o->mode == PROBE_HELP || o->mode == PROBE_SHOW_VERSION)
		return err;
	o->timeout = (nsec_t)(r.timeout * (double)NSEC_PER_SEC);
	o->total = (nsec_t)(r.total * (double)NSEC_PER_SEC);
	if (o->nprograms == 0)
		(void)!program_parse("nfs,3", &o->programs[0]);
	if (r.list) {
		o->mode = PROBE_LIST;
		return 0;
	}
	return finish(&r);
}
