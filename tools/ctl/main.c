/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stdfds.h"
#include "tools/ctl/ask.h"
#include "tools/ctl/clients.h"
#include "tools/ctl/follow.h"
#include "tools/ctl/show.h"
#include "tools/ctl/top.h"

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2 };

struct answer {
	const struct ctl_options *o;
	struct show show;
	struct clients *clients;
	bool has_problem;
	int err;
};

static void on_line(void *arg, const char *name, struct json_object *value, const char *line)
{
	struct answer *a = arg;

	a->has_problem = a->has_problem || strcmp(name, "problem") == 0;
	if (a->clients && strcmp(name, "session") == 0)
		a->err = a->err ? a->err : clients_add(a->clients, value);
	else if (a->clients)
		return; /* printed at the end */
	else if (a->o->json)
		puts(line);
	else
		show_line(&a->show, name, value);
}

static int complain(const char *why)
{
	fprintf(stderr, "rpcrdma-gwctl: %s\n", why);
	return EXIT_REFUSED;
}

static int run(const struct ctl_options *o)
{
	struct answer a = {.o = o, .show = {.to = stdout, .o = o}};
	char why[CTL_WHY];
	int status;

	if (o->command == CONTROL_TRACE || o->command == CONTROL_CAPTURE || o->is_top) {
		status = o->is_top		       ? top(o, why)
			 : o->command == CONTROL_TRACE ? follow_trace(o, why)
						       : follow_capture(o, why);
		if (status != ASK_DONE)
			complain(why);
		return status;
	}
	if (o->by_client) {
		a.clients = clients_new();
		if (!a.clients)
			return complain("out of memory");
	}
	status = ask(o, on_line, &a, why);
	if (status != ASK_DONE)
		complain(why);
	else if (a.err)
		status = complain("out of memory");
	else if (a.has_problem)
		status = complain("the configuration was applied, except these files: the old ones "
				  "stay in use");
	else if (a.clients)
		clients_show(a.clients, stdout, o->json);
	clients_free(a.clients);
	return status;
}

static int act(const struct ctl_options *o)
{
	if (o->help) {
		fputs(ctl_help(), stdout);
		return 0;
	}
	if (o->version) {
		puts("rpcrdma-gwctl " GW_VERSION);
		return 0;
	}
	return run(o);
}

int main(int argc, char **argv)
{
	struct ctl_options o;
	char why[CTL_WHY];
	int status;

	signal(SIGPIPE, SIG_IGN);
	if (stdfds_fill())
		return EXIT_FAILURE;
	if (ctl_options_parse(argc, argv, &o, why) < 0) {
		fprintf(stderr, "rpcrdma-gwctl: %s\nTry \"rpcrdma-gwctl --help\".\n", why);
		return EXIT_USAGE;
	}
	status = act(&o);
	return status == ASK_DONE && stdfds_flush("rpcrdma-gwctl") ? EXIT_REFUSED : status;
}
