/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

/* Exit codes of rpcrdma-gw: documented in --help and rpcrdma-gw(8). */
enum exit_code {
	EXIT_OK = 0,
	EXIT_CONFIG = 1, /* the configuration file has problems; each was printed */
	EXIT_USAGE = 2,	 /* the command line is wrong */
	/* listening on an address or on the control socket failed, its interface is missing, or
	 * standard output cannot be written */
	EXIT_LISTEN = 3,
	EXIT_INTERNAL = 4, /* memory, descriptors or threads are short, or a worker failed */
};

enum {
	/* take over from the gateway that serves at the control socket, if there is one */
	SERVE_TAKE_OVER = 1,
	SERVE_NO_SANDBOX = 2, /* keep all privileges: daemon/sandbox.h */
};

/** serve - run the gateway that @path configures until a signal ends it; @how: SERVE_* or'ed. */
enum exit_code serve(const char *path, unsigned how);

#endif
