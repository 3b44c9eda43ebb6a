/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_PROGRAM_H
#define TOOLS_PERF_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"

/**
 * The private RPC program of rpcrdma-perf. Its number is from the transient range (RFC 5531 section
 * 8.1), and it uses AUTH_NONE. Its upper layer binding has one DDP-eligible item each in the result
 * of READ and in the argument of WRITE.
 *
 *     program RPCRDMA_PERF { version RPCRDMA_PERF_V1 {
 *         void      NULL(void)        = 0;
 *         opaque<>  ECHO(opaque<>)    = 1;
 *         opaque<>  READ(read_args)   = 2;
 *         write_res WRITE(write_args) = 3;
 *     } = 1; } = 0x40524d41;
 *     struct read_args  { unsigned hyper offset; unsigned count; };
 *     struct write_args { unsigned hyper offset; opaque data<>; };
 *     struct write_res  { unsigned count; bool intact; };
 */
enum {
	PERF_PROGRAM = 0x40524d41,
	PERF_VERSION = 1,
	PERF_MAX_DATA = 4 * 1024 * 1024, /* longest opaque of any procedure */
};

enum perf_op { PERF_NULL, PERF_ECHO, PERF_READ, PERF_WRITE };

/* accept_stat of RFC 5531 section 9. */
enum perf_stat {
	PERF_SUCCESS,
	PERF_PROG_UNAVAIL,
	PERF_PROG_MISMATCH,
	PERF_PROC_UNAVAIL,
	PERF_GARBAGE_ARGS,
	PERF_SYSTEM_ERR,
};

enum {
	PERF_CALL_HEAD = 40,	/* call header with AUTH_NONE */
	PERF_REPLY_HEAD = 24,	/* accepted reply header with AUTH_NONE */
	PERF_HEAD_MAX = 64,	/* any message of the program, without its data */
	PERF_RPC_MISMATCH = 24, /* a denied reply: the RPC version is not 2 */
};

/** perf_op_name, perf_op_parse - "null", "echo", "read", "write"; ERR_CONFIG for others. */
const char *perf_op_name(enum perf_op op);
int perf_op_parse(const char *name, enum perf_op *op);

/** perf_stat_name - description of an accept_stat. */
const char *perf_stat_name(uint32_t stat);

/** struct perf_call - a call, as parsed from its payload stream; @data is inline data only. */
struct perf_call {
	uint32_t xid;
	enum perf_op op;
	enum perf_stat stat; /* not SUCCESS: the error of the reply */
	/* RPC version is not 2: the reply is a denied one, and .stat is not used */
	bool is_rpc_mismatch;
	uint64_t offset;
	uint32_t count;	  /* octets of data, argument or result */
	struct view data; /* ECHO, WRITE: the data, if it is in the stream */
	size_t position;  /* ECHO, WRITE: offset of the data in the stream */
};

/** perf_call_encode - write header and arguments up to the data's octets. Return: the length. */
size_t perf_call_encode(const struct perf_call *c, uint8_t *buf);

/**
 * perf_call_decode - parse a call's payload stream
 * @c:       filled on success; c->data points into @body
 * @body:    borrowed; the stream, reduced or not
 * @reduced: WRITE's data was removed from it (a Read chunk)
 *
 * Return: 0, also for a call that only deserves an RPC error (.stat); ERR_SHORT or ERR_XDR if @body
 * is no RPC call.
 */
int perf_call_decode(struct perf_call *c, struct view body, bool reduced) WARN_UNUSED;

/** struct perf_result - a reply, as parsed from its payload stream. */
struct perf_result {
	uint32_t xid;
	bool is_denied;
	uint32_t stat;
	uint32_t count;	  /* octets of data; WRITE: octets that the server received */
	bool intact;	  /* WRITE: the server found the expected pattern */
	struct view data; /* ECHO, READ: the data, if it is in the stream */
};

/** perf_reply_encode - write header and result up to the data's octets. Return: the length. */
size_t perf_reply_encode(const struct perf_call *c, bool intact, uint8_t *buf);

/**
 * perf_reply_decode - parse a reply's payload stream
 * @reduced: READ's data was removed from it (a Write chunk)
 *
 * Return: 0, ERR_SHORT or ERR_XDR.
 */
int perf_reply_decode(struct perf_result *r, enum perf_op op, struct view body,
		      bool reduced) WARN_UNUSED;

#endif
