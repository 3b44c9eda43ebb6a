/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_CAST_H
#define TESTS_SESSION_CAST_H

#include "tests/session/inside.h"
#include "tests/session/world.h"

/**
 * cast - a world with host authentication in the first pair, as a test chooses. The second pair has
 * no host authentication, and must keep working.
 */

/** struct cast - names of the credentials of the client, of the gateway's two sides, and of the
 * server; NULL: none. */
struct cast {
	const char *client, *listen, *upstream, *server;
	bool listen_allows, upstream_allows; /* peers without authentication are accepted, too */
	const char *listen_names, *upstream_names;
	unsigned client_version, server_version; /* 0: version 2 */
	bool raw_client;
	bool unneeded_from; /* address of all peers, which need no authentication */
	bool third;	    /* there is a third pair, whose client does not connect */
	/* the first pair's server sends nothing; the third pair's server is an alternative */
	bool silent;
	bool is_patient; /* with handshakes of other sessions, the gateway waits twice as long */
	bool probes;	 /* the gateway probes servers */
	bool raw_server; /* the first pair's server belongs to the test */
};

extern struct world hall; /* the world of the test */

/* Threads for handshakes, in some tests; cast_end() frees them. */
extern struct jobs *cast_jobs;

/** cast_hello - a simple call. */
extern const struct peer_spec cast_hello;

/** cast_begin - set everything up; no client is connected. */
void cast_begin(const struct cast *c);

/** cast_replace_route - route @i is removed and added anew, as by a reload. */
void cast_replace_route(unsigned i);

/** cast_connect - connect the clients of both pairs, except raw ones. */
void cast_connect(void);

/** cast_is_served, cast_is_refused - check the first pair's client. */
void cast_is_served(void);
void cast_is_refused(void);

/** cast_is_counted - clients were refused for @why, and nobody broke the protocol. */
void cast_is_counted(enum proxy_refusal why);

/** cast_said, cast_not_said - check whether the log has @what. */
void cast_said(const char *what);
void cast_not_said(const char *what);

/** cast_end - check that the other route works, and that everything is returned. */
void cast_end(void);

#endif
