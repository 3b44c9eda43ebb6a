/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PLAN_NFSRESULT_H
#define PROXY_PLAN_NFSRESULT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/view.h"
#include "xdr/rpchdr.h"

/**
 * nfsresult - what the reply to a READ says of its data, apart from where they are
 *
 * A server tells the length of what it placed twice: in the Write chunk it returns, and
 * in the payload stream, where the count of the octets stays (rfc5666bis-01 4.4.5, 5.2.2).
 * Where the two differ one of them is wrong, and a requester may believe either.
 */

/** enum nfs_reads - in which layout a reply has the data of READs. */
enum nfs_reads {
	NFS_READS_NONE, /* or one that cannot be seen: RPCSEC_GSS around it, another program */
	NFS_READS_3,	/* NFSv3 READ (RFC 1813 3.3.6) */
	NFS_READS_4,	/* NFSv4 COMPOUND (RFC 7530 15.2, RFC 8881 16.2) */
};

/** nfs_reads_of - of the reply to a call, whose payload stream begins with @call. */
enum nfs_reads nfs_reads_of(const struct rpchdr *hdr, struct view call);

/** nfs_returns_chunks - whether the reply to a call may have octets in Write chunks: not where its
 * program's binding has none for it (RFC 8267: NFSv3's READ and READLINK; NULL of any program). */
bool nfs_returns_chunks(const struct rpchdr *hdr);

/** struct nfs_chunk - a Write chunk: octets that there was room for, and that its server says it placed there. */
struct nfs_chunk {
	uint32_t room, placed;
};

/**
 * nfs_result_check - hold the lengths of @n Write chunks against a reply's payload stream
 * @chunks: one whose .placed is up to three octets too long, which is XDR's pad or a habit of its server, is cut to
 *          the data
 *
 * A COMPOUND is followed as far as its operations have results of known length, and no further than NFS4_OPERATIONS: what
 * lies behind is believed. Return: 0; 1 when data of a READ that there was a Write chunk for, with room enough, stand in the
 * payload stream; or ERR_XDR: data were lost on the way, or are not those placed.
 */
int nfs_result_check(enum nfs_reads reads, struct view reply, struct nfs_chunk *chunks,
		     unsigned n) WARN_UNUSED;

#endif
