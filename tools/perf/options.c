/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/perf/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/target.h"

enum {
	INLINE_DEFAULT = 4096,
	INLINE_MIN = 1024,
	INLINE_MIN_V2 = 4096, /* draft-07 section 4.2.2, section 2.3 of the early draft */
	INLINE_MAX = 65536,
	CREDITS_DEFAULT = 128,
	CREDITS_MAX = 4096,
	SEGMENT_DEFAULT = 1024 * 1024,
	SEGMENT_MIN = 4096,
	SEGMENT_COUNT = 64,
	DEPTH_MAX = 4096,
	CONNECTIONS_MAX = 4096,
	MEMORY_MIN_MB = 64,
	MEMORY_DEFAULT_MB = 1024,
	MEMORY_MAX_MB = 65536,
	SECONDS_MAX = 86400,
	RATE_MAX = 1000000,
	STEP_CALLS_MIN = 8, /* least calls of a step with a list of sizes and no other limit */
};

enum perf_opt {
	OPT_LISTEN = 1000,
	OPT_CONNECT,
	OPT_FROM,
	OPT_VERSIONS,
	OPT_VERSION,
	OPT_INLINE,
	OPT_CREDITS,
	OPT_SEGMENT,
	OPT_MEMORY,
	OPT_OP,
	OPT_SIZE,
	OPT_DEPTH,
	OPT_TIME,
	OPT_COUNT,
	OPT_RATE,
	OPT_CONNECTIONS,
	OPT_TIMEOUT,
	OPT_SLACK,
	OPT_NO_REPLY_CHUNK,
	OPT_CALL_CHUNK,
	OPT_INLINE_DATA,
	OPT_NO_VERIFY,
	OPT_NO_CRC,
	OPT_GENTLE,
	OPT_RECONNECT,
	OPT_JSON,
	OPT_HELP,
};

static const struct option server_options[] = {
	{"listen", required_argument, NULL, OPT_LISTEN},
	{"versions", required_argument, NULL, OPT_VERSIONS},
	{"inline", required_argument, NULL, OPT_INLINE},
	{"credits", required_argument, NULL, OPT_CREDITS},
	{"segment", required_argument, NULL, OPT_SEGMENT},
	{"memory", required_argument, NULL, OPT_MEMORY},
	{"no-verify", no_argument, NULL, OPT_NO_VERIFY},
	{"no-crc", no_argument, NULL, OPT_NO_CRC},
	{"gentle", no_argument, NULL, OPT_GENTLE},
	IDENTITY_OPTIONS,
	{"help", no_argument, NULL, OPT_HELP},
	{0},
};

static const struct option client_options[] = {
	{"connect", required_argument, NULL, OPT_CONNECT},
	{"from", required_argument, NULL, OPT_FROM},
	{"version", required_argument, NULL, OPT_VERSION},
	{"op", required_argument, NULL, OPT_OP},
	{"size", required_argument, NULL, OPT_SIZE},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"time", required_argument, NULL, OPT_TIME},
	{"count", required_argument, NULL, OPT_COUNT},
	{"rate", required_argument, NULL, OPT_RATE},
	{"connections", required_argument, NULL, OPT_CONNECTIONS},
	{"inline", required_argument, NULL, OPT_INLINE},
	{"credits", required_argument, NULL, OPT_CREDITS},
	{"segment", required_argument, NULL, OPT_SEGMENT},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"slack", required_argument, NULL, OPT_SLACK},
	{"no-reply-chunk", no_argument, NULL, OPT_NO_REPLY_CHUNK},
	{"call-chunk", no_argument, NULL, OPT_CALL_CHUNK},
	{"inline-data", no_argument, NULL, OPT_INLINE_DATA},
	{"no-verify", no_argument, NULL, OPT_NO_VERIFY},
	{"no-crc", no_argument, NULL, OPT_NO_CRC},
	{"gentle", no_argument, NULL, OPT_GENTLE},
	{"reconnect", no_argument, NULL, OPT_RECONNECT},
	{"json", no_argument, NULL, OPT_JSON},
	IDENTITY_OPTIONS,
	{"help", no_argument, NULL, OPT_HELP},
	{0},
};

/* Options as given, before they are checked against each other. */
struct raw {
	struct perf_options *o;
	char *why;
	const char *addr, *from, *sizes, *op;
	uint64_t inline_bytes, credits, segment, memory_mb, depth, count, rate, connections, slack;
	double seconds, timeout;
	unsigned versions;
	bool has_time, has_count;
};

static int fail(const struct raw *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int fail(const struct raw *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, PERF_WHY, fmt, args);
	va_end(args);
	return ERR_CONFIG;
}

static int number(const struct raw *r, const char *name, uint64_t low, uint64_t high, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(optarg, &end, 10);
	if (errno || *optarg < '0' || *optarg > '9' || *end || *out < low || *out > high)
		return fail(r, "--%s %s: a number from %llu to %llu is needed", name, optarg,
			    (unsigned long long)low, (unsigned long long)high);
	return 0;
}

static int seconds(const struct raw *r, const char *name, double *out)
{
	char *end;

	*out = strtod(optarg, &end);
	if (*end || end == optarg || !isfinite(*out) || *out <= 0 || *out > SECONDS_MAX)
		return fail(r, "--%s %s: seconds, more than 0 and at most %d, are needed", name,
			    optarg, SECONDS_MAX);
	return 0;
}

static int versions(struct raw *r, bool is_list)
{
	unsigned mask = target_versions(optarg);

	if (is_list && mask == 0)
		return fail(r,
			    "--versions %s: 1, 2, 2-early or several of them, like 1,2, are needed",
			    optarg);
	if (!is_list && (mask == 0 || strchr(optarg, ',')))
		return fail(r, "--version %s: 1, 2 or 2-early is needed", optarg);
	_Static_assert((int)TARGET_V1 == (int)LEG_V1 && (int)TARGET_V2 == (int)LEG_V2 &&
			       (int)TARGET_V2_EARLY == (int)LEG_V2_EARLY,
		       "one mask");
	r->versions = mask;
	return 0;
}

static int set_flag(struct raw *r, int opt)
{
	struct perf_client_config *c = &r->o->client;

	switch ((enum perf_opt)opt) {
	case OPT_NO_REPLY_CHUNK:
		c->reply_chunk = false;
		return 0;
	case OPT_CALL_CHUNK:
		c->call_chunk = true;
		return 0;
	case OPT_INLINE_DATA:
		c->inline_data = true;
		return 0;
	case OPT_NO_VERIFY:
		c->verify = r->o->server.verify = false;
		return 0;
	case OPT_NO_CRC:
		r->o->crc = false;
		return 0;
	case OPT_GENTLE:
		r->o->gentle = true;
		return 0;
	case OPT_RECONNECT:
		c->reconnects = true;
		return 0;
	case OPT_JSON:
		r->o->json = true;
		return 0;
	default:
		r->o->mode = PERF_HELP;
		return 0;
	}
}

static int set_identity(const struct raw *r, int opt)
{
	const char *why = identity_set(&r->o->identity, opt, optarg);

	return why ? fail(r, "--hostauth-...: %s", why) : 0;
}

static int set(struct raw *r, int opt)
{
	if (opt >= IDENTITY_OPT)
		return set_identity(r, opt);
	switch ((enum perf_opt)opt) {
	case OPT_LISTEN:
	case OPT_CONNECT:
		r->addr = optarg;
		return 0;
	case OPT_FROM:
		r->from = optarg;
		return 0;
	case OPT_OP:
		r->op = optarg;
		return 0;
	case OPT_SIZE:
		r->sizes = optarg;
		return 0;
	case OPT_VERSIONS:
	case OPT_VERSION:
		return versions(r, opt == OPT_VERSIONS);
	case OPT_INLINE:
		return number(r, "inline", INLINE_MIN, INLINE_MAX, &r->inline_bytes);
	case OPT_CREDITS:
		return number(r, "credits", 2, CREDITS_MAX, &r->credits);
	case OPT_SEGMENT:
		return number(r, "segment", SEGMENT_MIN, UINT32_MAX, &r->segment);
	case OPT_MEMORY:
		return number(r, "memory", MEMORY_MIN_MB, MEMORY_MAX_MB, &r->memory_mb);
	case OPT_DEPTH:
		return number(r, "depth", 1, DEPTH_MAX, &r->depth);
	case OPT_CONNECTIONS:
		return number(r, "connections", 1, CONNECTIONS_MAX, &r->connections);
	case OPT_SLACK:
		return number(r, "slack", 0, PERF_MAX_DATA, &r->slack);
	case OPT_COUNT:
		r->has_count = true;
		return number(r, "count", 1, UINT64_MAX - 1, &r->count);
	case OPT_RATE:
		return number(r, "rate", 1, RATE_MAX, &r->rate);
	case OPT_TIME:
		r->has_time = true;
		return seconds(r, "time", &r->seconds);
	case OPT_TIMEOUT:
		return seconds(r, "timeout", &r->timeout);
	default:
		return set_flag(r, opt);
	}
}

static int read_options(struct raw *r, int argc, char **argv, const struct option *table)
{
	int opt, err;

	optind = 0; /* start again, because tests call the parser more than once */
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+:h", table, NULL)) != -1) {
		if (opt == ':')
			return fail(r, "%s needs a value", argv[optind - 1]);
		if (opt == '?')
			return fail(r, "%s: no such option here", argv[optind - 1]);
		err = set(r, opt == 'h' ? OPT_HELP : opt);
		if (err < 0 || r->o->mode == PERF_HELP)
			return err;
	}
	if (optind < argc)
		return fail(r, "%s: not understood", argv[optind]);
	return 0;
}

static int address(const struct raw *r, bool is_server)
{
	const char *what = is_server ? "listen" : "connect";
	char why[TARGET_WHY];
	struct target t;

	if (!r->addr)
		return fail(r, "--%s FABRIC:ADDR:PORT is needed", what);
	if (target_parse(r->addr, is_server, &t, why) < 0)
		return fail(r, "--%s %s", what, why);
	r->o->fabric = t.fabric;
	r->o->addr = t.addr;
	return 0;
}

static int source(const struct raw *r, struct fabric_addr *from)
{
	if (!r->from)
		return 0;
	if (fabric_addr_parse(r->from, 0, from) < 0)
		return fail(r, "--from %s: an address of this machine is needed", r->from);
	if (from->ss.ss_family != r->o->addr.ss.ss_family)
		return fail(r, "--from %s: not of the family of the address to connect to",
			    r->from);
	return 0;
}

static int check_leg(const struct raw *r)
{
	if (r->inline_bytes % 1024)
		return fail(r, "--inline %llu: a multiple of 1024 is needed",
			    (unsigned long long)r->inline_bytes);
	if (r->versions != LEG_V1 && r->inline_bytes < INLINE_MIN_V2)
		return fail(r, "--inline %llu: version 2 needs %d at least (or version 1 alone)",
			    (unsigned long long)r->inline_bytes, INLINE_MIN_V2);
	return 0;
}

static struct leg_config leg_config(const struct raw *r)
{
	return (struct leg_config){
		.versions = r->versions,
		.inline_bytes = (uint32_t)r->inline_bytes,
		.credits = (uint32_t)r->credits,
		.max_message = PERF_MAX_DATA + PERF_HEAD_MAX + 4,
		.segment_bytes = (uint32_t)r->segment,
		.segment_count = SEGMENT_COUNT,
		.reverse = RPC_REV_NONE,
		.setup_timeout = (nsec_t)(r->timeout * (double)NSEC_PER_SEC),
		.auth = r->o->identity.is_given ? &r->o->identity.auth : NULL,
	};
}

/* Length of a step: as given; otherwise 5 s for one size, or a few calls for each of many sizes. */
static void set_limits(const struct raw *r, struct perf_client_config *c)
{
	c->duration = r->has_time ? (nsec_t)(r->seconds * (double)NSEC_PER_SEC) : NSEC_NEVER;
	c->count = r->has_count ? r->count : UINT64_MAX;
	if (r->has_time || r->has_count)
		return;
	if (c->nsizes == 1)
		c->duration = 5 * NSEC_PER_SEC;
	else
		c->count = 2 * c->depth > STEP_CALLS_MIN ? 2 * c->depth : STEP_CALLS_MIN;
}

static int finish_client(struct raw *r)
{
	struct perf_client_config *c = &r->o->client;
	int n;

	if (r->versions == 0)
		return fail(r, "--version 1, --version 2 or --version 2-early is needed");
	if (!r->op || perf_op_parse(r->op, &c->op) < 0)
		return fail(r, "--op %s is needed%s%s", "null, echo, read or write",
			    r->op ? ", not " : "", r->op ? r->op : "");
	if (!c->reply_chunk && r->versions != LEG_V2)
		return fail(r, "--no-reply-chunk: only version 2 works without a Reply chunk");
	if (c->call_chunk && r->versions != LEG_V2)
		return fail(r, "--call-chunk: version %s always sends long calls as a Call chunk",
			    r->versions == LEG_V1 ? "1" : "2-early");
	n = perf_sizes_parse(c->op == PERF_NULL ? "0" : r->sizes, (uint32_t)r->inline_bytes,
			     r->o->sizes);
	if (n < 0)
		return fail(r, "--size %s: sizes from 0 to 4m, with commas, or \"ladder\"",
			    r->sizes);
	c->sizes = r->o->sizes;
	c->nsizes = (unsigned)n;
	c->depth = (unsigned)r->depth;
	c->connections = (unsigned)r->connections;
	c->rate = (unsigned)r->rate;
	c->slack = (uint32_t)r->slack;
	c->call_timeout = (nsec_t)(r->timeout * (double)NSEC_PER_SEC);
	/* A continued reply takes several messages, and so several credits. */
	if (r->credits == 0)
		r->credits = r->depth < 32 ? 32 : r->depth;
	c->to = r->o->addr;
	c->leg = leg_config(r);
	set_limits(r, c);
	return 0;
}

static void finish_server(struct raw *r)
{
	if (r->credits == 0)
		r->credits = CREDITS_DEFAULT;
	r->o->memory = (size_t)r->memory_mb << 20;
	r->o->server.leg = leg_config(r);
}

static int set_mode(const struct raw *r, const char *word)
{
	struct perf_options *o = r->o;

	if (!word)
		return fail(r, "\"server\" or \"client\" is needed");
	if (!strcmp(word, "server"))
		o->mode = PERF_SERVER;
	else if (!strcmp(word, "client"))
		o->mode = PERF_CLIENT;
	else if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
		o->mode = PERF_HELP;
	else if (!strcmp(word, "--version"))
		o->mode = PERF_SHOW_VERSION;
	else
		return fail(r, "%s: \"server\" or \"client\" is needed first", word);
	return 0;
}

int perf_options_parse(int argc, char **argv, struct perf_options *o, char *why)
{
	struct raw r = {
		.o = o,
		.why = why,
		.sizes = "4096",
		.inline_bytes = INLINE_DEFAULT,
		.segment = SEGMENT_DEFAULT,
		.memory_mb = MEMORY_DEFAULT_MB,
		.depth = 1,
		.connections = 1,
		.timeout = 30,
	};
	int err;

	memset(o, 0, sizeof(*o));
	o->crc = o->client.verify = o->server.verify = o->client.reply_chunk = true;
	err = set_mode(&r, argc > 1 ? argv[1] : NULL);
	if (err < 0 || o->mode >= PERF_HELP)
		return err;
	err = read_options(&r, argc - 1, argv + 1,
			   o->mode == PERF_SERVER ? server_options : client_options);
	if (err < 0 || o->mode == PERF_HELP)
		return err;
	if (o->mode == PERF_SERVER && r.versions == 0)
		r.versions = o->identity.is_given ? LEG_V2 : LEG_V1_OR_V2;
	if (o->identity.is_given && r.versions != LEG_V2)
		return fail(&r, "--hostauth-...: version 2 alone has host authentication");
	err = address(&r, o->mode == PERF_SERVER);
	if (err == 0)
		err = source(&r, &o->client.from);
	if (err == 0)
		err = check_leg(&r);
	if (err < 0)
		return err;
	if (o->mode == PERF_CLIENT)
		return finish_client(&r);
	finish_server(&r);
	return 0;
}
