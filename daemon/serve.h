/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

#include <stdbool.h>

/* Exit codes of rpcrdma-gw: documented in --help and rpcrdma-gw(8). */
enum exit_code {
	EXIT_OK = 0,
	EXIT_CONFIG = 1, /* the configuration file has problems; each was printed */
	EXIT_USAGE = 2,	 /* the command line */
	EXIT_LISTEN =
		3, /* an address, or the control socket, could not be listened on, or its interface is not there */
	EXIT_INTERNAL = 4, /* memory, descriptors or threads are short; a worker failed */
};

/** serve - run the gateway that @path configures until a signal ends it; @takes_over: in the place of the one that
 * serves at its control socket, if there is one. */
enum exit_code serve(const char *path, bool takes_over);

#endif
