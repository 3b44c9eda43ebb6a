/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/show.h"

enum { OPT_JSON = 256, OPT_ROUTE, OPT_CLIENT, OPT_NAME };

static int bad(char *why, const char *what, const char *which)
{
	snprintf(why, CTL_WHY, "%s%s%.100s", what, *which ? ": " : "", which);
	show_clean(why);
	return -1;
}

static int parse_options(int argc, char **argv, struct ctl_options *o, char *why)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'},
		{"json", no_argument, NULL, OPT_JSON},
		{"route", required_argument, NULL, OPT_ROUTE},
		{"client", required_argument, NULL, OPT_CLIENT},
		{"name", required_argument, NULL, OPT_NAME},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	int opt;

	opterr = 0;
	optind = 0; /* from the start, whoever parsed before */
	while ((opt = getopt_long(argc, argv, ":s:hV", options, NULL)) != -1)
		switch (opt) {
		case 's':
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
	return 0;
}

/* Return: whether @text is the number of a session. */
static bool parse_session(const char *text, uint64_t *session)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*session = strtoull(text, &end, 10);
	return !errno && !*end && *session > 0 && *session <= INT64_MAX;
}

static int parse_command(const char *word, struct ctl_options *o, char *why)
{
	static const char *const words[CONTROL_COMMANDS] = CONTROL_WORDS;

	o->by_client = strcmp(word, "clients") == 0;
	if (o->by_client) {
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

/* What stands behind the command: "show session 7", "drain filer1", "log level debug". Return: how
 * many words were taken, or -1. */
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
			return bad(why, "no number of a session", words[i]);
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
	case CONTROL_STATUS:
	case CONTROL_ROUTES:
	case CONTROL_SESSIONS:
	case CONTROL_RELOAD:
	case CONTROL_HAND_OVER:
	case CONTROL_YIELD:
	case CONTROL_COMMANDS:
		break;
	}
	return 0;
}

int ctl_options_parse(int argc, char **argv, struct ctl_options *o, char *why)
{
	int taken;

	*o = (struct ctl_options){.socket = CTL_SOCKET};
	if (parse_options(argc, argv, o, why) < 0)
		return -1;
	if (o->help || o->version)
		return 0;
	if (optind == argc)
		return bad(why, "no command", "");
	if (parse_command(argv[optind], o, why) < 0)
		return -1;
	optind++;
	if ((o->route || o->client || o->name) && o->command != CONTROL_SESSIONS &&
	    o->command != CONTROL_DRAIN)
		return bad(why, "--route, --client and --name are for sessions, clients and drain",
			   "");
	taken = parse_words(argv + optind, argc - optind, o, why);
	if (taken < 0)
		return -1;
	if (optind + taken < argc)
		return bad(why, "unexpected", argv[optind + taken]);
	return 0;
}
