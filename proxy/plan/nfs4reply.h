/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PLAN_NFS4REPLY_H
#define PROXY_PLAN_NFS4REPLY_H

#include <stdbool.h>
#include <stdint.h>

struct rpc_msg;
struct xdr_in;

/**
 * nfs4_results_max - most octets the results of a COMPOUND can have
 * @args:   at its arguments, in the clear, of a payload stream that begins at @stream
 * @call:   its chunks; NULL none. What goes to a Write chunk for certain does not count.
 * @is_guess: set to whether the result is only a guess, as nfs_reply_max() does; not written if
 *            the operations cannot be followed to the end
 *
 * Return: 0 when unknown: an operation or attribute without a bound, arguments that are not whole,
 * a Read chunk that is not the data of a WRITE.
 */
uint64_t nfs4_results_max(const struct xdr_in *args, const uint8_t *stream,
			  const struct rpc_msg *call, bool *is_guess);

#endif
