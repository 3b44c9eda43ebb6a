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
 * - NFSv3 (100003/3), and MOUNT and NLM beside it: by procedure. @args is the call's payload stream
 *   from its start, because READDIR and READDIRPLUS carry the count that the client asked for.
 * - NFSv4: what the operations of the COMPOUND can return, if all of them are known; otherwise the
 *   longest reply that Linux allows.
 * - The NULL procedure of any program returns nothing.
 * - Data that is reduced into Write chunks of @call (NULL: it has no chunks) does not count.
 *
 * Return: octets; 0 if unknown (any other program).
 */
uint32_t plan_reply_max(const struct rpchdr *hdr, struct view args, const struct rpc_msg *call);

#endif
