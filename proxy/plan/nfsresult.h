/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PLAN_NFSRESULT_H
#define PROXY_PLAN_NFSRESULT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/view.h"
#include "xdr/rpchdr.h"

/**
 * nfsresult - what the reply to a READ says of its data, apart from their place
 *
 * A server reports the length of what it placed twice: in the Write chunk that it returns, and in
 * the payload stream, where the count of the octets stays (rfc5666bis-01 4.4.5, 5.2.2). If the two
 * differ one of them is wrong, and a requester may believe either.
 */

/** enum nfs_reads - in which layout a reply has the data of READs. */
enum nfs_reads {
	/* No READ, or none that can be seen: inside RPCSEC_GSS, or of another program. */
	NFS_READS_NONE,
	NFS_READS_3, /* NFSv3 READ (RFC 1813 3.3.6) */
	NFS_READS_4, /* NFSv4 COMPOUND (RFC 7530 15.2, RFC 8881 16.2) */
};

/** nfs_reads_of - the layout in the reply to a call whose payload stream begins with @call. */
enum nfs_reads nfs_reads_of(const struct rpchdr *hdr, struct view call);

/**
 * nfs_returns_chunks - whether the reply to a call may have octets in Write chunks
 *
 * False if its program's binding allows none (RFC 8267: in NFSv3 only READ and READLINK have some;
 * NULL of any program has none).
 */
bool nfs_returns_chunks(const struct rpchdr *hdr);

/** struct nfs_chunk - a Write chunk: octets of room, and octets that the server says it placed
 * there. */
struct nfs_chunk {
	uint32_t room, placed;
};

/**
 * nfs_result_check - compare the lengths of @n Write chunks with a reply's payload stream
 * @reply: octets that this process owns; if .placed of a READ is up to three octets too short, its
 *         results become those of a short READ: the length is .placed, and the file does not end
 *         there
 * @chunks: if .placed is up to three octets too long, it is cut to the data; the rest is XDR's pad,
 *          or a habit of the server
 * @changed: set to whether octets of @reply were changed
 *
 * A COMPOUND is followed as far as the results of its operations have known lengths, and for
 * NFS4_OPERATIONS at most. Results behind that point are not checked.
 *
 * Return: 0; 1 if data of a READ with a large enough Write chunk are in the payload stream; or
 * ERR_XDR: data were lost on the way, or are not those placed.
 */
int nfs_result_check(enum nfs_reads reads, struct view reply, struct nfs_chunk *chunks, unsigned n,
		     bool *changed) WARN_UNUSED;

#endif
