/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_OPTIONS_H
#define TOOLS_PROBE_OPTIONS_H

#include "fabric/provider/provider.h"
#include "tools/identity.h"
#include "tools/probe/programs.h"

enum probe_mode {
	PROBE_SURVEY,  /* the default: survey a server */
	PROBE_CONFORM, /* survey a server and check it against the rules */
	PROBE_LISTEN,  /* play a server, and report on a client */
	PROBE_DEVICE,  /* report what an RDMA device of this machine can do */
	PROBE_LIST,    /* list the cases */
	PROBE_HELP,
	PROBE_SHOW_VERSION,
};

enum { PROBE_WHY = 160, PROBE_PROGRAMS = 16 };

/* Among versions: the early draft of version 2, which has the number 2 on the wire, too. */
enum { OPTIONS_EARLY = 3 };

/** struct probe_options - a checked command line. */
struct probe_options {
	enum probe_mode mode;
	enum provider_kind fabric;
	struct fabric_addr addr;		 /* address of the server, or to listen on */
	struct program programs[PROBE_PROGRAMS]; /* at least one: NFS version 3 */
	/* number given on the command line; 0: the default */
	unsigned nprograms;
	bool hostile; /* send malformed chunk lists, too */
	/* --listen with --conformance: provoke the client, too */
	bool provoke;
	bool json;
	bool no_crc;
	const char *device;	  /* PROBE_DEVICE: name of the device */
	const char *only;	  /* run only cases whose id begins with it; NULL: all */
	unsigned versions;	  /* --listen: bits 1 << version, OPTIONS_EARLY for "2-early" */
	unsigned connections;	  /* --listen: number of connections to grade */
	nsec_t timeout, total;	  /* limits for one answer, and for everything */
	struct identity identity; /* not loaded yet */
};

/**
 * probe_options_parse - parse a command line
 * @why: PROBE_WHY octets; filled on failure
 *
 * Return: 0 or ERR_CONFIG.
 */
int probe_options_parse(int argc, char **argv, struct probe_options *o, char *why) WARN_UNUSED;

/** probe_help - the text of --help. */
const char *probe_help(void);

#endif
