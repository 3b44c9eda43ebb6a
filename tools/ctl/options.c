/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/names.h"
#include "tools/ctl/show.h"

enum {
	OPT_JSON = 256,
	OPT_ROUTE,
	OPT_CLIENT,
	OPT_NAME,
	OPT_SESSION,
	OPT_SLOW,
	OPT_PROGRAM,
	OPT_PROCEDURE,
	OPT_TIME,
	OPT_COUNT,
	OPT_SIZE,
	OPT_ONCE,
	OPT_INTERVAL,
	OPT_SORT,
	OPTS_END
};

/* Options given on the command line. They are checked when the command is known. */
struct said {
	unsigned bits; /* bits of OPT_... */
	const char *program, *procedure;
};

#define SAID(opt) (1u << ((opt)-OPT_JSON))
#define FILTERS (SAID(OPT_ROUTE) | SAID(OPT_CLIENT) | SAID(OPT_NAME))

enum { CAPTURE_TIME_S = 60, CAPTURE_BYTES = 64 << 20 };
#define SECOND 1000000000U

static int bad(char *why, const char *what, const char *which)
{
	snprintf(why, CTL_WHY, "%s%s%.100s", what, *which ? ": " : "", which);
	show_clean(why);
	return -1;
}

/* Parse a number with one of @units, whose factors are @by. Return: whether @text is one; *@to is
 * the product. */
static bool parse_amount(const char *text, const char *const *units, const uint64_t *by,
			 uint64_t *to)
{
	double n;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	n = strtod(text, &end);
	for (; *units; units++, by++)
		if (strcmp(end, *units) == 0) {
			n *= (double)*by;
			*to = n < 9e18 ? (uint64_t)n : 0;
			return *to > 0;
		}
	return false;
}

static bool parse_time(const char *text, uint64_t *ns)
{
	static const char *const units[] = {"us", "ms", "s", "m", "", NULL};
	static const uint64_t by[] = {1000, 1000000, SECOND, 60ULL * SECOND, SECOND};

	return parse_amount(text, units, by, ns);
}

static bool parse_size(const char *text, uint64_t *bytes)
{
	static const char *const units[] = {"K", "M", "G", "", NULL};
	static const uint64_t by[] = {1 << 10, 1 << 20, 1 << 30, 1};

	return parse_amount(text, units, by, bytes);
}

/* Return: whether @text is the number of a session; if not, *@session is unchanged, because @text
 * may be a route's name. */
static bool parse_session(const char *text, uint64_t *session)
{
	unsigned long long n;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || n == 0 || n > INT64_MAX)
		return false;
	*session = n;
	return true;
}

static bool parse_order(const char *text, enum top_order *order)
{
	static const char *const words[TOP_ORDERS] = {[TOP_CALLS] = "calls",
						      [TOP_BYTES] = "octets",
						      [TOP_FLIGHT] = "flight",
						      [TOP_MEMORY] = "memory"};

	for (unsigned i = 0; i < TOP_ORDERS; i++)
		if (strcmp(text, words[i]) == 0) {
			*order = (enum top_order)i;
			return true;
		}
	return false;
}

/* Options whose value has to be parsed. */
static int take_value(int opt, const char *value, struct ctl_options *o, char *why)
{
	switch (opt) {
	case OPT_SESSION:
		return parse_session(value, &o->session)
			       ? 0
			       : bad(why, "not the number of a session", value);
	case OPT_SLOW:
		return parse_time(value, &o->rpcs.slow_ns)
			       ? 0
			       : bad(why, "not a time: write it like 50ms, 200us or 1.5s", value);
	case OPT_TIME:
	case OPT_INTERVAL:
		return parse_time(value, &o->time_ns)
			       ? 0
			       : bad(why, "not a time: write it like 30s or 5m", value);
	case OPT_COUNT:
		return parse_session(value, &o->count) ? 0 : bad(why, "no number", value);
	case OPT_SORT:
		return parse_order(value, &o->order)
			       ? 0
			       : bad(why, "not one of calls, octets, flight and memory", value);
	default:
		return parse_size(value, &o->size)
			       ? 0
			       : bad(why, "not a size: write it like 10M", value);
	}
}

static int parse_options(int argc, char **argv, struct ctl_options *o, struct said *said, char *why)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'},
		{"json", no_argument, NULL, OPT_JSON},
		{"route", required_argument, NULL, OPT_ROUTE},
		{"client", required_argument, NULL, OPT_CLIENT},
		{"name", required_argument, NULL, OPT_NAME},
		{"session", required_argument, NULL, OPT_SESSION},
		{"slow", required_argument, NULL, OPT_SLOW},
		{"program", required_argument, NULL, OPT_PROGRAM},
		{"procedure", required_argument, NULL, OPT_PROCEDURE},
		{"time", required_argument, NULL, OPT_TIME},
		{"count", required_argument, NULL, OPT_COUNT},
		{"size", required_argument, NULL, OPT_SIZE},
		{"once", no_argument, NULL, OPT_ONCE},
		{"interval", required_argument, NULL, OPT_INTERVAL},
		{"sort", required_argument, NULL, OPT_SORT},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	int opt;

	opterr = 0;
	optind = 0; /* start again, because a caller may have parsed before */
	while ((opt = getopt_long(argc, argv, ":s:hV", options, NULL)) != -1) {
		if (opt >= OPT_JSON && opt < OPTS_END)
			said->bits |= SAID(opt);
		switch (opt) {
		case 's':
			if (!*optarg) /* an address of zeros, where any program may listen */
				return bad(why, "--socket needs a path", "");
			o->socket = optarg;
			break;
		case OPT_JSON:
			o->json = true;
			break;
		case OPT_ROUTE:
			o->route = optarg;
			break;
		case OPT_CLIENT:
			o->client = optarg;
			break;
		case OPT_NAME:
			o->name = optarg;
			break;
		case OPT_ONCE:
			o->once = true;
			break;
		case OPT_PROGRAM:
			said->program = optarg;
			break;
		case OPT_PROCEDURE:
			said->procedure = optarg;
			break;
		case OPT_SESSION:
		case OPT_SLOW:
		case OPT_TIME:
		case OPT_COUNT:
		case OPT_SIZE:
		case OPT_INTERVAL:
		case OPT_SORT:
			if (take_value(opt, optarg, o, why) < 0)
				return -1;
			break;
		case 'h':
			o->help = true;
			break;
		case 'V':
			o->version = true;
			break;
		case ':':
			return bad(why, "this option needs a value", argv[optind - 1]);
		default:
			return bad(why, "no such option", argv[optind - 1]);
		}
	}
	return 0;
}

static int parse_command(const char *word, struct ctl_options *o, char *why)
{
	static const char *const words[CONTROL_COMMANDS] = CONTROL_WORDS;

	o->by_client = strcmp(word, "clients") == 0;
	o->is_top = strcmp(word, "top") == 0;
	if (o->by_client || o->is_top) {
		o->command = CONTROL_SESSIONS;
		return 0;
	}
	for (unsigned i = 0; i < CONTROL_COMMANDS; i++)
		if (strcmp(word, words[i]) == 0 && i < CONTROL_HAND_OVER) {
			o->command = (enum control_command)i;
			return 0;
		}
	return bad(why, "no such command", word);
}

/* Parse words after the command: "show session 7", "drain filer1", "log level debug". Return:
 * number of words, or -1. */
static int parse_words(char **words, int n, struct ctl_options *o, char *why)
{
	int i = 0;

	switch (o->command) {
	case CONTROL_SHOW:
	case CONTROL_KILL:
		i = n > 0 && strcmp(words[0], "session") == 0;
		if (i >= n)
			return bad(why, "which session? Give its number, see sessions", "");
		if (!parse_session(words[i], &o->session))
			return bad(why, "not the number of a session", words[i]);
		return i + 1;
	case CONTROL_DRAIN:
		if (n > 0 && !parse_session(words[0], &o->session)) {
			if (o->route)
				return bad(why, "the route is given twice", words[0]);
			o->route = words[0];
		}
		return n > 0;
	case CONTROL_LOG:
		i = n > 0 && strcmp(words[0], "level") == 0;
		if (i < n)
			o->level = words[i++];
		return i;
	case CONTROL_CAPTURE:
		if (n == 0)
			return bad(why, "into which file? - is standard output", "");
		o->file = words[0];
		return 1;
	case CONTROL_STATUS:
	case CONTROL_ROUTES:
	case CONTROL_SESSIONS:
	case CONTROL_RELOAD:
	case CONTROL_TRACE:
	case CONTROL_HAND_OVER:
	case CONTROL_YIELD:
	case CONTROL_MORE:
	case CONTROL_COMMANDS:
		break;
	}
	return 0;
}

/* Check that the command accepts the options given, and has the options it needs. */
static int check_said(struct ctl_options *o, const struct said *said, char *why)
{
	static const unsigned trace = FILTERS | SAID(OPT_SESSION) | SAID(OPT_SLOW) |
				      SAID(OPT_PROGRAM) | SAID(OPT_PROCEDURE) | SAID(OPT_TIME) |
				      SAID(OPT_COUNT);
	static const unsigned capture =
		FILTERS | SAID(OPT_SESSION) | SAID(OPT_TIME) | SAID(OPT_SIZE);
	static const unsigned tops = FILTERS | SAID(OPT_ONCE) | SAID(OPT_INTERVAL) | SAID(OPT_SORT);
	bool traces = o->command == CONTROL_TRACE, captures = o->command == CONTROL_CAPTURE;
	unsigned may = traces ? trace : captures ? capture : o->is_top ? tops : FILTERS;
	const char *unknown;

	if ((said->bits & FILTERS) && o->command != CONTROL_SESSIONS &&
	    o->command != CONTROL_DRAIN && !traces && !captures)
		return bad(
			why,
			"--route, --client and --name are for sessions, clients, top, drain, trace "
			"and capture",
			"");
	if (said->bits & ~may & ~SAID(OPT_JSON))
		return bad(why, "an option that is for another command; see --help", "");
	if ((captures || o->is_top) && o->json)
		return bad(why, "this is never JSON", "");
	if (captures) {
		o->time_ns = o->time_ns ? o->time_ns : (uint64_t)CAPTURE_TIME_S * SECOND;
		o->size = o->size ? o->size : CAPTURE_BYTES;
	}
	unknown = names_choose(said->program, said->procedure, &o->rpcs);
	return unknown ? bad(why, "no such program or procedure; a number will do", unknown) : 0;
}

int ctl_options_parse(int argc, char **argv, struct ctl_options *o, char *why)
{
	struct said said = {0};
	int taken;

	*o = (struct ctl_options){.socket = CTL_SOCKET};
	if (parse_options(argc, argv, o, &said, why) < 0)
		return -1;
	if (o->help || o->version)
		return 0;
	if (optind == argc)
		return bad(why, "no command", "");
	if (parse_command(argv[optind], o, why) < 0)
		return -1;
	optind++;
	if (check_said(o, &said, why) < 0)
		return -1;
	taken = parse_words(argv + optind, argc - optind, o, why);
	if (taken < 0)
		return -1;
	if (optind + taken < argc)
		return bad(why, "unexpected", argv[optind + taken]);
	return 0;
}
