/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/stdfds.h"
#include "config/config.h"
#include "daemon/auth.h"
#include "daemon/capacity.h"
#include "daemon/help.h"
#include "daemon/load.h"
#include "daemon/serve.h"

enum { OPT_CHECK = 256, OPT_PRINT, OPT_PRINT_NFT, OPT_TAKE_OVER, OPT_NO_SANDBOX };

struct command_line {
	const char *serve, *check, *nft;
	unsigned how; /* SERVE_*, for serve() */
	bool print, help, version;
};

/* Return: 0, or -1 with the reason printed. */
static int parse(int argc, char **argv, struct command_line *cl)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"check", required_argument, NULL, OPT_CHECK},
		{"print", no_argument, NULL, OPT_PRINT},
		{"print-nft", required_argument, NULL, OPT_PRINT_NFT},
		{"take-over", no_argument, NULL, OPT_TAKE_OVER},
		{"no-sandbox", no_argument, NULL, OPT_NO_SANDBOX},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "c:hV", options, NULL)) != -1)
		switch (opt) {
		case 'c':
			cl->serve = optarg;
			break;
		case OPT_CHECK:
			cl->check = optarg;
			break;
		case OPT_PRINT:
			cl->print = true;
			break;
		case OPT_PRINT_NFT:
			cl->nft = optarg;
			break;
		case OPT_TAKE_OVER:
			cl->how |= SERVE_TAKE_OVER;
			break;
		case OPT_NO_SANDBOX:
			cl->how |= SERVE_NO_SANDBOX;
			break;
		case 'h':
			cl->help = true;
			break;
		case 'V':
			cl->version = true;
			break;
		default:
			return -1;
		}
	if (optind < argc) {
		fprintf(stderr, "rpcrdma-gw: unexpected argument: %s\n", argv[optind]);
		return -1;
	}
	return 0;
}

static enum exit_code check(const char *path, bool print)
{
	struct config *cfg;
	int err = load_config(path, &cfg, stderr);

	if (!err)
		err = auth_check(cfg, path, stderr, time(NULL));
	if (err) {
		config_free(cfg);
		return err == ERR_CONFIG ? EXIT_CONFIG : EXIT_INTERNAL;
	}
	if (print)
		config_print(cfg, stdout);
	else
		printf("%s: OK, %u route%s\n", path, cfg->nroutes, cfg->nroutes == 1 ? "" : "s");
	/* The output of --print must remain a valid configuration. */
	capacity_print(cfg, print ? "# " : "", path, stdout, stderr);
	load_warn(cfg, path, stderr);
	config_free(cfg);
	return EXIT_OK;
}

/* The files of hostauth are not needed, and need not be readable. */
static enum exit_code print_nft(const char *path)
{
	struct config *cfg;
	int err = config_load(path, &cfg, stderr);

	if (err)
		return err == ERR_CONFIG ? EXIT_CONFIG : EXIT_INTERNAL;
	config_print_nft(cfg, stdout);
	config_free(cfg);
	return EXIT_OK;
}

static enum exit_code usage(void)
{
	fputs("usage: rpcrdma-gw -c FILE [--take-over] [--no-sandbox] | --check FILE [--print] | "
	      "--print-nft FILE | --version | --help\n",
	      stderr);
	return EXIT_USAGE;
}

static enum exit_code act(const struct command_line *cl)
{
	if (cl->help) {
		fputs(help_text, stdout);
		return EXIT_OK;
	}
	if (cl->version) {
		puts("rpcrdma-gw " GW_VERSION);
		return EXIT_OK;
	}
	if (cl->nft && !cl->check && !cl->serve && !cl->how && !cl->print)
		return print_nft(cl->nft);
	if (cl->nft)
		return usage();
	if (cl->check && !cl->serve && !cl->how)
		return check(cl->check, cl->print);
	if (cl->serve && !cl->check && !cl->print)
		return serve(cl->serve, cl->how);
	return usage();
}

int main(int argc, char **argv)
{
	struct command_line cl = {0};
	enum exit_code code;

	if (stdfds_fill())
		return EXIT_INTERNAL;
	code = parse(argc, argv, &cl) ? usage() : act(&cl);
	if (stdfds_flush("rpcrdma-gw") && code == EXIT_OK)
		code = EXIT_LISTEN;
	return (int)code;
}
