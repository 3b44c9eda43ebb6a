/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

/* Exit codes of rpcrdma-gw: documented in --help and rpcrdma-gw(8). */
enum exit_code {
	EXIT_OK = 0,
	EXIT_CONFIG = 1, /* the configuration file has problems; each was printed */
	EXIT_USAGE = 2,	 /* the command line */
	EXIT_LISTEN =
		3, /* an address, or the control socket, could not be listened on, or its interface is not there */
	EXIT_INTERNAL = 4, /* memory, descriptors or threads are short; a worker failed */
};

enum {
	SERVE_TAKE_OVER =
		1, /* in the place of the one that serves at its control socket, if there is one */
	SERVE_NO_SANDBOX = 2, /* with all that the process may do, see daemon/sandbox.h */
};

/** serve - run the gateway that @path configures until a signal ends it; @how: SERVE_* or'ed. */
enum exit_code serve(const char *path, unsigned how);

#endif
