/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_PROTOCOL_H
#define DAEMON_CONTROL_PROTOCOL_H

/**
 * protocol - what rpcrdma-gw and rpcrdma-gwctl say to each other on the control socket
 *
 * A request is a JSON object on a line, its command in "do". The answer is any number of lines, each
 * an object with one member that tells what it is: {"status": {...}}, {"route": {...}},
 * {"session": {...}}, {"call": {...}}; then one line {"done": {...}} or {"error": "why"}. After that the
 * next request may come. rpcrdma-gwctl(8) has the members.
 */
enum { CONTROL_REQUEST_BYTES = 4096, CONTROL_ANSWER_BYTES = 16 << 20 };

enum control_command {
	CONTROL_STATUS,
	CONTROL_ROUTES,
	CONTROL_SESSIONS, /* "route", "client", "name" */
	CONTROL_SHOW,	  /* "session" */
	CONTROL_DRAIN,	  /* "route", "session", "client", "name"; none: all */
	CONTROL_KILL,	  /* "session" */
	CONTROL_RELOAD,
	CONTROL_LOG,	 /* "level"; none: tell it */
	CONTROL_TRACE,	 /* filters: RPCs that are over from now on; told by "more" */
	CONTROL_CAPTURE, /* filters: messages, likewise */
	CONTROL_HAND_OVER, /* for a successor: its listening sockets come with lines {"sockets": N} and {"lent": N} */
	CONTROL_YIELD, /* ... it serves: this one drains, and ends */
	CONTROL_MORE,  /* what there was since, of "trace" or "capture" on this connection */
	CONTROL_COMMANDS
};

/* Lines that sockets come with: the process' own; those that a service manager keeps open. */
#define CONTROL_SOCKETS "sockets"
#define CONTROL_LENT "lent"

#define CONTROL_WORDS                                                                              \
	{                                                                                          \
		"status", "routes", "sessions", "show", "drain", "kill", "reload", "log", "trace", \
			"capture", "hand_over", "yield", "more"                                    \
	}

#endif
