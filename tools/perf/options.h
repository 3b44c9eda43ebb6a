/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_OPTIONS_H
#define TOOLS_PERF_OPTIONS_H

#include "fabric/provider/provider.h"
#include "tools/identity.h"
#include "tools/perf/client.h"
#include "tools/perf/server.h"

enum { PERF_MAX_SIZES = 2048, PERF_WHY = 200 };

enum perf_mode { PERF_SERVER, PERF_CLIENT, PERF_HELP, PERF_SHOW_VERSION };

/** struct perf_options - a checked command line; .client.sizes points into it. */
struct perf_options {
	enum perf_mode mode;
	enum provider_kind fabric;
	struct fabric_addr addr; /* address to listen on, or to connect to */
	bool crc, json;
	bool gentle;		  /* the program moves only small amounts of data at a time */
	struct identity identity; /* not loaded yet; the legs' configurations point to it */
	size_t memory;		  /* server: octets of payload memory */
	struct perf_client_config client;
	struct perf_server_config server;
	uint32_t sizes[PERF_MAX_SIZES];
};

/**
 * perf_options_parse - parse the command line into @o
 * @why: PERF_WHY octets: reason of an error
 *
 * Return: 0 or ERR_CONFIG.
 */
int perf_options_parse(int argc, char **argv, struct perf_options *o, char *why) WARN_UNUSED;

/**
 * perf_sizes_parse - parse "4096", "4k", "1,5,1m" or "ladder" into octets, in that order
 * @inline_bytes: the ladder has every size around this threshold (and around 1024 and 4096)
 *
 * Return: number of sizes, or ERR_CONFIG.
 */
int perf_sizes_parse(const char *text, uint32_t inline_bytes, uint32_t *sizes) WARN_UNUSED;

/** perf_help - text of --help; static storage. */
const char *perf_help(void);

#endif
