/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_PROGRAMS_H
#define TOOLS_PROBE_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"

/** struct program - an RPC program and version. */
struct program {
	uint32_t number, version;
};

/** program_parse - parse "nfs", "nfs,3", "nfs4", "100003,4" ...; ERR_CONFIG for others. */
int program_parse(const char *text, struct program *p) WARN_UNUSED;

/** program_name - the name of number @wanted ("nfs", "perf"), or NULL. */
const char *program_name(uint32_t wanted);

/** program_known - names that program_parse() knows, for help texts. */
const char *program_known(void);

enum { RPC_NULL_BYTES = 40, RPC_REPLY_MIN_BYTES = 12 };

/** struct rpc_verdict - header of an RPC reply. */
struct rpc_verdict {
	uint32_t xid;
	bool accepted;
	uint32_t stat;	/* accept_stat, or reject_stat */
	size_t results; /* offset of the results in the stream, if accepted */
};

/** rpc_verdict_read - parse the header of the reply in @stream (RFC 5531 section 9). Return: 0,
 * ERR_SHORT or ERR_XDR. */
int rpc_verdict_read(struct rpc_verdict *v, struct view stream) WARN_UNUSED;

/** rpc_verdict_name - description of @v; static storage. */
const char *rpc_verdict_name(const struct rpc_verdict *v);

#endif
