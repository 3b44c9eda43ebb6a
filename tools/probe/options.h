/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_OPTIONS_H
#define TOOLS_PROBE_OPTIONS_H

#include "fabric/provider/provider.h"
#include "tools/identity.h"
#include "tools/probe/programs.h"

enum probe_mode {
	PROBE_SURVEY,  /* the default: what a server is like */
	PROBE_CONFORM, /* and whether it keeps the rules */
	PROBE_LISTEN,  /* the same of a client */
	PROBE_DEVICE,  /* what an RDMA device here can do */
	PROBE_LIST,    /* of the cases */
	PROBE_HELP,
	PROBE_SHOW_VERSION,
};

enum { PROBE_WHY = 160, PROBE_PROGRAMS = 16 };

/* Among versions: the early draft of version 2, whose number on the wire is 2 as well. */
enum { OPTIONS_EARLY = 3 };

/** struct probe_options - a command line, checked. */
struct probe_options {
	enum probe_mode mode;
	enum provider_kind fabric;
	struct fabric_addr addr;		 /* of the server, or to listen on */
	struct program programs[PROBE_PROGRAMS]; /* one at least: NFS version 3 */
	unsigned nprograms;			 /* asked for on the command line */
	bool hostile;				 /* malformed chunk lists, too */
	bool provoke;				 /* --listen --conformance */
	bool json;
	bool no_crc;
	const char *device;	  /* PROBE_DEVICE: its name */
	const char *only;	  /* cases whose id begins with it, or NULL */
	unsigned versions;	  /* --listen: bits 1 << version, OPTIONS_EARLY for "2-early" */
	unsigned connections;	  /* --listen: to be graded */
	nsec_t timeout, total;	  /* of one answer; of everything */
	struct identity identity; /* to be loaded */
};

/**
 * probe_options_parse - read a command line
 * @why: PROBE_WHY octets; filled on failure
 *
 * Return: 0 or ERR_CONFIG.
 */
int probe_options_parse(int argc, char **argv, struct probe_options *o, char *why) WARN_UNUSED;

/** probe_help - the text of --help. */
const char *probe_help(void);

#endif
