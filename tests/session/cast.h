/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_CAST_H
#define TESTS_SESSION_CAST_H

#include "tests/session/inside.h"
#include "tests/session/world.h"

/**
 * cast - a world where some prove who they are: in the first pair as a test says, while the second has nothing of it,
 * and goes on
 */

/** struct cast - the client's part, the gateway's two, the server's, by whose credentials they have; NULL: none. */
struct cast {
	const char *client, *listen, *upstream, *server;
	bool listen_allows, upstream_allows; /* others as well */
	const char *listen_names, *upstream_names;
	unsigned client_version, server_version; /* 0: 2 */
	bool raw_client;
	bool unneeded_from; /* where all peers come from */
	bool third;	    /* pair, whose client stays away */
	bool silent; /* the first pair's server; the third's is there as well, and the next to be asked */
	bool is_patient; /* the gateway: with the handshakes of others, twice as long */
	bool probes;	 /* servers are asked whether they serve */
	bool raw_server; /* the first pair's: of the test's own */
};

extern struct world hall; /* where they play */

/* Who works on proofs, in some tests; cast_end() frees them. */
extern struct jobs *cast_jobs;

/** cast_hello - a call of no consequence. */
extern const struct peer_spec cast_hello;

/** cast_begin - all of it up, nobody connected. */
void cast_begin(const struct cast *c);

/** cast_connect - the clients of both pairs, as far as they are ours. */
void cast_connect(void);

/** cast_is_served, cast_is_refused - the first pair's client. */
void cast_is_served(void);
void cast_is_refused(void);

/** cast_said, cast_not_said - whether the log has @what in it. */
void cast_said(const char *what);
void cast_not_said(const char *what);

/** cast_end - the other route is as it was, and everything comes back. */
void cast_end(void);

#endif
