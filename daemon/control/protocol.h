/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_PROTOCOL_H
#define DAEMON_CONTROL_PROTOCOL_H

/**
 * protocol - messages between rpcrdma-gw and rpcrdma-gwctl on the control socket
 *
 * A request is a JSON object on one line, with its command in "do". The answer is any number of
 * lines. Each is an object with one member, whose name says what it is: {"status": {...}},
 * {"route": {...}}, {"session": {...}}, {"call": {...}}. The last line is {"done": {...}} or
 * {"error": "why"}. After it the next request may be sent. rpcrdma-gwctl(8) documents the members.
 */
enum { CONTROL_REQUEST_BYTES = 4096, CONTROL_ANSWER_BYTES = 16 << 20 };

enum control_command {
	CONTROL_STATUS,
	CONTROL_ROUTES,
	CONTROL_SESSIONS, /* members of the request: "route", "client", "name" */
	CONTROL_SHOW,	  /* member "session" */
	CONTROL_DRAIN,	  /* members "route", "session", "client", "name"; none: all sessions */
	CONTROL_KILL,	  /* member "session" */
	CONTROL_RELOAD,
	CONTROL_LOG,	 /* member "level"; without it the current level is reported */
	CONTROL_TRACE,	 /* filters: RPCs that end from now on; fetched with "more" */
	CONTROL_CAPTURE, /* filters: messages from now on; fetched with "more" */
	/* from a successor: its listening sockets come with lines {"sockets": N} and {"lent": N} */
	CONTROL_HAND_OVER,
	CONTROL_YIELD, /* from a successor that serves: this process drains and ends */
	/* records since the last request, of "trace" or "capture" on this connection */
	CONTROL_MORE,
	CONTROL_COMMANDS
};

/* Names of lines that carry descriptors: the process' own sockets, and sockets that a service
 * manager keeps open. */
#define CONTROL_SOCKETS "sockets"
#define CONTROL_LENT "lent"

#define CONTROL_WORDS                                                                              \
	{                                                                                          \
		"status", "routes", "sessions", "show", "drain", "kill", "reload", "log", "trace", \
			"capture", "hand_over", "yield", "more"                                    \
	}

#endif
