/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/min.h"
#include "proxy/plan/nfs.h"
#include "proxy/plan/nfs4reply.h"
#include "proxy/plan/nfsreply.h"
#include "proxy/plan/plan.h"
#include "xdr/cursor.h"

/*
 * The largest reply of each procedure that travels beside NFSv3: RFC 1813 (NFS and MOUNT version
 * 3), NLM version 4 (its appendix II) and the NFSACL side protocol as Solaris and Linux speak it. A
 * bound that is too large costs an RDMA Write that was not needed. A bound that is too small fails
 * the RPC. So all lengths here are rounded up, and a length that is not certain is unknown (0).
 */

enum {
	/* Words of RFC 5531 section 9: xid, REPLY, MSG_ACCEPTED, verifier (flavor, length, at
	 * most 400 octets), accept_stat. A reply that was denied is shorter. */
	REPLY_HEADER = 4 * 6 + 400,
	/* RPCSEC_GSS integrity or privacy around the results (RFC 2203 5.3.3.4): two lengths, the
	 * sequence number, a checksum or the wrap token's overhead. */
	GSS_WRAP = 400,

	NFSSTAT = 4,
	FH3 = 4 + 64,
	FATTR3 = 84,
	POST_OP_ATTR = 4 + FATTR3,
	POST_OP_FH3 = 4 + FH3,
	WCC_DATA = 4 + 24 + POST_OP_ATTR,
	NFSPATH = 4 + 4096, /* no limit in RFC 1813; PATH_MAX of the servers there are */
	COOKIEVERF3 = 8,
	/* No further entry, eof; some servers do not count them within the client's count. */
	LIST_END = 8,

	VOID_RESULTS = 4, /* no results; 0 would mean unknown */
	/* For a COMPOUND whose operations have no bound (nfs4reply.c). No server or client is
	 * known to let its reply be longer: Linux asks for sessions of 1 MiB and its overhead,
	 * and reads at most 1 MiB at once. */
	NFS4_COMPOUND_RESULTS = 1024 * 1024 + 8192,
	NETOBJ = 4 + 1024,
	ACL_LIST = 4 + 4 + 1024 * 12, /* 1024 entries of three words */
};

enum { NFS4_COMPOUND = 1 };
enum { NFS3_READLINK = 5, NFS3_READ = 6, NFS3_READDIR = 16, NFS3_READDIRPLUS = 17 };
enum { CALL_HEADER = 24 };
enum { RPCSEC_GSS = 6, GSS_DATA = 0, GSS_SVC_NONE = 1, MAX_AUTH_OCTETS = 400 };

/* Results apart from the octets a count in the arguments asks for; 0: no such procedure,
 * unknown. */
static const uint16_t nfs3_results[] = {
	[0] = VOID_RESULTS,
	[1] = NFSSTAT + FATTR3,
	[2] = NFSSTAT + WCC_DATA,
	[3] = NFSSTAT + FH3 + 2 * POST_OP_ATTR,
	[4] = NFSSTAT + POST_OP_ATTR + 4,
	[NFS3_READLINK] = NFSSTAT + POST_OP_ATTR + NFSPATH,
	[NFS3_READ] = NFSSTAT + POST_OP_ATTR + 4 + 4 + 4,
	[7] = NFSSTAT + WCC_DATA + 4 + 4 + 8,
	[8] = NFSSTAT + POST_OP_FH3 + POST_OP_ATTR + WCC_DATA,
	[9] = NFSSTAT + POST_OP_FH3 + POST_OP_ATTR + WCC_DATA,
	[10] = NFSSTAT + POST_OP_FH3 + POST_OP_ATTR + WCC_DATA,
	[11] = NFSSTAT + POST_OP_FH3 + POST_OP_ATTR + WCC_DATA,
	[12] = NFSSTAT + WCC_DATA,
	[13] = NFSSTAT + WCC_DATA,
	[14] = NFSSTAT + 2 * WCC_DATA,
	[15] = NFSSTAT + POST_OP_ATTR + WCC_DATA,
	[NFS3_READDIR] = NFSSTAT + POST_OP_ATTR + COOKIEVERF3 + LIST_END,
	[NFS3_READDIRPLUS] = NFSSTAT + POST_OP_ATTR + COOKIEVERF3 + LIST_END,
	[18] = NFSSTAT + POST_OP_ATTR + 6 * 8 + 4,
	[19] = NFSSTAT + POST_OP_ATTR + 7 * 4 + 8 + 8 + 4,
	[20] = NFSSTAT + POST_OP_ATTR + 6 * 4,
	[21] = NFSSTAT + WCC_DATA + 8,
};

/* MNT: handle and flavors, of which 64 are more than were ever defined. DUMP and EXPORT list
 * without bound. */
static const uint16_t mount3_results[] = {
	[0] = 4,
	[1] = NFSSTAT + FH3 + 4 + 64 * 4,
	[3] = 4,
	[4] = 4,
};

/* TEST and TEST_RES name the holder of a lock; the other procedures answer cookie, status and at
 * most a sequence number. 16 to 19 do not exist. */
static const uint16_t nlm4_results[] = {
	[0] = 4,
	[1] = NETOBJ + 4 + 4 + 4 + NETOBJ + 16,
	[2] = NETOBJ + 4,
	[3] = NETOBJ + 4,
	[4] = NETOBJ + 4,
	[5] = NETOBJ + 4,
	[6] = 4,
	[7] = 4,
	[8] = 4,
	[9] = 4,
	[10] = 4, /* the _MSG and _RES procedures: void */
	[11] = 4,
	[12] = 4,
	[13] = 4,
	[14] = 4,
	[15] = 4,
	[20] = NETOBJ + 4 + 4,
	[21] = NETOBJ + 4 + 4,
	[22] = NETOBJ + 4,
	[23] = 4,
};

static const uint16_t nfsacl3_results[] = {
	[0] = 4,
	[1] = NFSSTAT + POST_OP_ATTR + 4 + 2 * ACL_LIST,
	[2] = NFSSTAT + POST_OP_ATTR,
};

#define TABLE(t) t, sizeof(t) / sizeof((t)[0])

static const struct {
	uint32_t prog, vers;
	const uint16_t *results;
	size_t nprocs;
} programs[] = {
	{PROG_NFS, 3, TABLE(nfs3_results)},
	{PROG_MOUNT, 3, TABLE(mount3_results)},
	{PROG_NLM, 4, TABLE(nlm4_results)},
	{PROG_NFSACL, 3, TABLE(nfsacl3_results)},
};

static uint32_t results_of(const struct rpchdr *hdr)
{
	/* RFC 5531 section 12: procedure 0 takes and returns nothing, whatever the program. */
	if (hdr->proc == 0)
		return VOID_RESULTS;
	if (hdr->prog == PROG_NFS && hdr->vers == 4)
		return NFS4_COMPOUND_RESULTS;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (programs[i].prog == hdr->prog && programs[i].vers == hdr->vers)
			return hdr->proc < programs[i].nprocs ? programs[i].results[hdr->proc] : 0;
	return 0;
}

static bool is_gss_data(struct view cred, bool *wrapped)
{
	struct xdr_in x;

	xdr_in_init(&x, cred);
	xdr_skip(&x, 4); /* version */
	if (xdr_get_u32(&x) != GSS_DATA)
		return false;
	xdr_skip(&x, 4); /* sequence number */
	*wrapped = xdr_get_u32(&x) != GSS_SVC_NONE;
	return !x.failed;
}

bool nfs_skip_auth(struct xdr_in *in, bool *wrapped)
{
	struct xdr_in x = *in;
	uint32_t flavor;
	struct view cred;

	xdr_skip(&x, CALL_HEADER); /* xid, mtype, rpcvers, prog, vers, proc */
	flavor = xdr_get_u32(&x);
	cred = xdr_get_opaque(&x, MAX_AUTH_OCTETS);
	*wrapped = false;
	if (x.failed || (flavor == RPCSEC_GSS && !is_gss_data(cred, wrapped)))
		return false;
	xdr_skip(&x, 4);
	xdr_get_opaque(&x, MAX_AUTH_OCTETS);
	*in = x;
	return !x.failed;
}

/* The count of READ, READDIR and READDIRPLUS: the last word of their arguments. */
static bool get_count(struct xdr_in *x, uint32_t proc, uint32_t *count)
{
	xdr_get_opaque(x, 64); /* nfs_fh3 */
	xdr_skip(x, 8);	       /* offset or cookie */
	if (proc != NFS3_READ)
		xdr_skip(x, COOKIEVERF3);
	if (proc == NFS3_READDIRPLUS)
		xdr_skip(x, 4); /* dircount: a hint about names alone */
	*count = xdr_get_u32(x);
	return !x->failed;
}

static bool is_counted(const struct rpchdr *hdr)
{
	return hdr->prog == PROG_NFS && (hdr->proc == NFS3_READ || hdr->proc == NFS3_READDIR ||
					 hdr->proc == NFS3_READDIRPLUS);
}

static bool is_readlink(const struct rpchdr *hdr)
{
	return hdr->prog == PROG_NFS && hdr->vers == 3 && hdr->proc == NFS3_READLINK;
}

/* Whether a result of @count octets certainly goes to the Write chunk. By an empty chunk a client
 * says that it wants the result inline (RFC 8166 4.4.6.2, RFC 8267 4.1). A server may leave out a
 * chunk that is too short. */
static bool is_placed(const struct rpc_msg *call, uint32_t count)
{
	return call && call->nwrites && call->writes[0].length > 0 &&
	       call->writes[0].length >= count;
}

uint32_t nfs_reply_max(const struct rpchdr *hdr, struct view args, const struct rpc_msg *call,
		       bool *is_guess)
{
	uint64_t max = results_of(hdr), compound = 0;
	uint32_t count = 0;
	struct xdr_in x;
	bool wrapped;

	*is_guess = is_readlink(hdr);
	if (max == 0 || args.len == 0)
		return 0;
	xdr_in_init(&x, args);
	if (!nfs_skip_auth(&x, &wrapped))
		return 0;
	if (max == NFS4_COMPOUND_RESULTS && hdr->proc == NFS4_COMPOUND && !wrapped)
		compound = nfs4_results_max(&x, args.data, call, is_guess);
	if (compound)
		max = min_u64(max, compound);
	max += wrapped ? (uint64_t)REPLY_HEADER + GSS_WRAP : REPLY_HEADER;
	/* A wrapped result cannot be reduced (draft-07 11.2.2.3), so it does not go to a Write
	 * chunk. */
	if (is_counted(hdr)) {
		if (wrapped || !get_count(&x, hdr->proc, &count))
			return 0;
		if (hdr->proc != NFS3_READ || !is_placed(call, count))
			max += (uint64_t)count + xdr_pad(count);
	} else if (is_readlink(hdr) && !wrapped && is_placed(call, 1)) {
		max -= NFSPATH - 4;
	}
	return (uint32_t)min_u64(max, UINT32_MAX);
}

uint32_t plan_reply_max(const struct rpchdr *hdr, struct view args, const struct rpc_msg *call)
{
	bool is_guess;

	return nfs_reply_max(hdr, args, call, &is_guess);
}
