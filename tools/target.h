/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_TARGET_H
#define TOOLS_TARGET_H

#include "fabric/provider/provider.h"

/** struct target - FABRIC:ADDR:PORT of a command line. */
struct target {
	enum provider_kind fabric;
	struct fabric_addr addr;
};

enum { TARGET_WHY = 160 };

/**
 * target_parse - parse "iwarp:10.0.0.1:20049" or "verbs:[fe80::1%eth0]:20049"
 * @is_listen: port 0 is allowed, and means any free port
 * @why:       TARGET_WHY octets; filled on failure
 *
 * Return: 0 or ERR_CONFIG.
 */
int target_parse(const char *text, bool is_listen, struct target *to, char *why) WARN_UNUSED;

/* Versions as a bit mask; "2-early" is draft-cel-nfsv4-rpcrdma-version-two-01. */
enum { TARGET_V1 = 1, TARGET_V2 = 2, TARGET_V2_EARLY = 4 };

/** target_versions - parse "1", "2", "2-early", or several of these with commas. Return: a mask; 0:
 * an unknown version, or one given twice. */
unsigned target_versions(const char *text);

/** target_fabric - name of @fabric: "iwarp" or "verbs". */
const char *target_fabric(enum provider_kind fabric);

#endif
