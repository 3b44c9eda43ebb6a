/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PLAN_NFSREPLY_H
#define PROXY_PLAN_NFSREPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"

struct rpc_msg;
struct rpchdr;
struct xdr_in;

/**
 * nfs_skip_auth - step over a call's header, credential and verifier, to its arguments
 * @wrapped: set if arguments and results are inside RPCSEC_GSS (RFC 2203 5.3.3.4)
 *
 * Return: false if the call is malformed or sets up a context.
 */
bool nfs_skip_auth(struct xdr_in *x, bool *wrapped) WARN_UNUSED;

/** nfs_reply_max - plan_reply_max(), and whether it is only a guess: the reply has a name or
 * path, for which NFS has no limit. */
uint32_t nfs_reply_max(const struct rpchdr *hdr, struct view args, const struct rpc_msg *call,
		       bool *is_guess);

/**
 * plan_reply_max - most octets the reply payload stream of a procedure can have
 *
 * NFSv3 (100003/3) and its MOUNT, NLM neighbours by procedure; @args is the call's payload
 * stream from its start (READDIR and READDIRPLUS carry the count the client asked for).
 * Data that is reduced into Write chunks of @call (NULL: it has no chunks) does not count.
 * NULL of any program returns nothing; a COMPOUND of NFSv4 what its operations can, if all of
 * them are known, and else what Linux lets one be.
 * Return: 0 when unknown (any other program): assume the worst.
 */
uint32_t plan_reply_max(const struct rpchdr *hdr, struct view args, const struct rpc_msg *call);

#endif
