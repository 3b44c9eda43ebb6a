/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/plan/nfs.h"
#include "proxy/plan/nfs4reply.h"

/*
 * The longest reply to a COMPOUND is the sum of its operations' longest results (RFC 7530 16, RFC
 * 8881 18, RFC 7862 15, RFC 8276 8.4). They are found by stepping over the arguments of each. A
 * bound that is too small fails the RPC. So an operation, attribute or Read chunk that is not
 * understood makes the whole reply unknown, and items without a limit in the documents have a
 * generous limit here, or count as unknown.
 */

enum {
	OPAQUE_MAX = 4 + 1024, /* NFS4_OPAQUE_LIMIT; names of users are cut there by all clients */
	FH4 = 4 + 128,
	STATEID = 16,
	CHANGE_INFO = 20,
	VERIFIER = 8,
	NFSPATH4 = 4 + 4096, /* as NFSPATH of nfsreply.c */
	BITMAP_WORDS = 8,    /* three of these words were ever defined */
	BITMAP = 4 + 4 * BITMAP_WORDS,
	SEQUENCE = 16 + 5 * 4,
	LOCK_DENIED = 8 + 8 + 4 + 8 + OPAQUE_MAX,
	/* The longest delegation is the one for writing: type, stateid, recall, space limit, an
	 * entry of an ACL. */
	DELEGATION = 4 + STATEID + 4 + 12 + 12 + OPAQUE_MAX,
	OPEN = STATEID + CHANGE_INFO + 4 + BITMAP + DELEGATION,
	COUNTED = 4 + 4, /* READ: eof, count */
	DIRLIST = VERIFIER + 4 + 4,
	/* GET_DIR_DELEGATION: a second status, then verifier, stateid and three bitmaps, or one
	 * word that says whether the server will signal a delegation. */
	DIR_DELEGATION = 4 + VERIFIER + STATEID + 3 * BITMAP,
	XATTR_LIST = 8 + 4 + 4,				 /* cookie, count, eof */
	WRITE_RESPONSE = 4 + STATEID + 8 + 4 + VERIFIER, /* of COPY */
	RESOP = 4 + 4,					 /* operation, status */
};

/* struct walk - the operations of a call as they are stepped over. */
struct walk {
	struct xdr_in x;
	const uint8_t *stream;	    /* where the payload stream begins */
	const struct rpc_msg *call; /* the call's chunks; NULL: none */
	uint64_t removed;	    /* octets of the stream that are in Read chunks before x */
	unsigned nreads;	    /* Read chunks that were met */
	unsigned nitems;	    /* results met that can be in a Write chunk */
	uint64_t max;
	bool is_guess; /* the reply has a name or path, for which NFS has no limit */
};

/* The most octets of an attribute's value, by the number of the attribute. tests/peers/plan-knows
 * compares the numbers with Linux's. */
enum { NO_LIMIT = 0 }; /* or the attribute cannot be read */
static const uint16_t attr_octets[] = {
	[0] = BITMAP,
	[1] = 4,
	[2] = 4,
	[3] = 8,
	[4] = 8,
	[5] = 4,
	[6] = 4,
	[7] = 4,
	[8] = 16,
	[9] = 4,
	[10] = 4,
	[11] = 4,
	[12] = NO_LIMIT, /* acl */
	[13] = 4,
	[14] = 4,
	[15] = 4,
	[16] = 4,
	[17] = 4,
	[18] = 4,
	[19] = FH4,
	[20] = 8,
	[21] = 8,
	[22] = 8,
	[23] = 8,
	[24] = NO_LIMIT, /* fs_locations */
	[25] = 4,
	[26] = 4,
	[27] = 8,
	[28] = 4,
	[29] = 4,
	[30] = 8,
	[31] = 8,
	[32] = NO_LIMIT, /* mimetype */
	[33] = 4,
	[34] = 4,
	[35] = 4,
	[36] = OPAQUE_MAX,
	[37] = OPAQUE_MAX,
	[38] = 8,
	[39] = 8,
	[40] = 8,
	[41] = 8,
	[42] = 8,
	[43] = 8,
	[44] = 8,
	[45] = 8,
	[46] = 4,
	[47] = 12,
	[48] = NO_LIMIT, /* time_access_set, for SETATTR alone */
	[49] = 12,
	[50] = 12,
	[51] = 12,
	[52] = 12,
	[53] = 12,
	[54] = NO_LIMIT, /* time_modify_set, for SETATTR alone */
	[55] = 8,
	[56] = 12,
	[57] = 12,
	[58] = NO_LIMIT, /* dacl */
	[59] = NO_LIMIT, /* sacl */
	[60] = 16,
	[61] = NO_LIMIT, /* fs_status, with strings */
	[62] = 4 + 16 * 4,
	[63] = NO_LIMIT, /* layout_hint, for SETATTR alone */
	[64] = 4 + 16 * 4,
	[65] = 4,
	[66] = 4,
	[67] = NO_LIMIT, /* fs_locations_info */
	[68] = NO_LIMIT, /* mdsthreshold */
	[69] = NO_LIMIT, /* retention, to 73 */
	[70] = NO_LIMIT,
	[71] = NO_LIMIT,
	[72] = NO_LIMIT,
	[73] = NO_LIMIT,
	[74] = NO_LIMIT, /* mode_set_masked, for SETATTR alone */
	[75] = BITMAP,
	[76] = 4,
	[77] = 4,
	[78] = 8,
	[79] = 4,
	/* sec_label: a security context is a page at most. */
	[80] = 8 + NFSPATH4,
	[81] = NO_LIMIT, /* mode_umask, for SETATTR alone */
	[82] = 4,
	[83] = 4,
	/* RFC 9754: times of a delegation; open_arguments. */
	[84] = 12,
	[85] = 12,
	[86] = 5 * BITMAP,
	[87] = 4, /* uncacheable_file_data, draft-ietf-nfsv4-uncacheable-files */
	[89] = 4, /* acl_trueform and its scope, draft-ietf-nfsv4-posix-acls */
	[90] = 4,
	[91] = NO_LIMIT, /* POSIX ACLs */
	[92] = NO_LIMIT,
};

static bool step_getattr(struct walk *w)
{
	uint32_t words = xdr_get_u32(&w->x);

	if (words > BITMAP_WORDS)
		return false;
	w->max += BITMAP + 4;
	for (uint32_t i = 0; i < words; i++) {
		uint32_t asked = xdr_get_u32(&w->x);

		for (uint32_t bit = 0; bit < 32; bit++) {
			size_t attr = i * 32 + bit;

			if (!(asked >> bit & 1))
				continue;
			if (attr >= sizeof(attr_octets) / sizeof(attr_octets[0]) ||
			    !attr_octets[attr])
				return false;
			w->max += attr_octets[attr];
			w->is_guess |= attr_octets[attr] >= OPAQUE_MAX;
		}
	}
	return true;
}

/* Steps over arguments of these kinds: word, double word, stateid, opaque, bitmap4, fattr4. */
static void skip_args(struct xdr_in *x, const char *kinds)
{
	for (; *kinds && !x->failed; kinds++) {
		switch (*kinds) {
		case 'w':
			xdr_skip(x, 4);
			break;
		case 'd':
			xdr_skip(x, 8);
			break;
		case 'i':
			xdr_skip(x, STATEID);
			break;
		case 'b':
			xdr_skip(x, (size_t)xdr_get_u32(x) * 4);
			break;
		case 'f':
			xdr_skip(x, (size_t)xdr_get_u32(x) * 4);
			xdr_get_opaque(x, UINT32_MAX);
			break;
		default:
			xdr_get_opaque(x, UINT32_MAX);
			break;
		}
	}
}

static bool step_create(struct walk *w)
{
	enum { NF4BLK = 3, NF4CHR = 4, NF4LNK = 5 };
	uint32_t type = xdr_get_u32(&w->x);

	if (type == NF4LNK)
		xdr_get_opaque(&w->x, UINT32_MAX); /* linkdata */
	else if (type == NF4BLK || type == NF4CHR)
		xdr_skip(&w->x, 8);
	skip_args(&w->x, "sf");
	return true;
}

static bool step_lock(struct walk *w)
{
	skip_args(&w->x, "wwdd"); /* type, reclaim, offset, length */
	/* The stateid is of the open file, with a new owner, or of the locks. */
	skip_args(&w->x, xdr_get_bool(&w->x) ? "wiwds" : "iw");
	return true;
}

static bool step_open(struct walk *w)
{
	enum { OPEN4_CREATE = 1 };
	static const char *const how[] = {"f", "f", "d", "df"};
	static const char *const claim[] = {"s", "w", "is", "s", "", "i", ""};
	uint32_t arm;

	w->is_guess = true;	   /* an ACL's entry, of a delegation */
	skip_args(&w->x, "wwwds"); /* seqid, access, deny, owner */
	if (xdr_get_u32(&w->x) == OPEN4_CREATE) {
		arm = xdr_get_u32(&w->x);
		if (arm >= sizeof(how) / sizeof(how[0]))
			return false;
		skip_args(&w->x, how[arm]);
	}
	arm = xdr_get_u32(&w->x);
	if (arm >= sizeof(claim) / sizeof(claim[0]))
		return false;
	skip_args(&w->x, claim[arm]);
	return true;
}

/* RFC 8267 6.3.1: results go to the Write chunks in their order. Some servers put only the first
 * result into its Write chunk, and a server may leave out a chunk that is too short. So other
 * results, and a result that is longer than its chunk, count as inline. */
static bool step_read(struct walk *w)
{
	bool first = w->nitems++ == 0;
	uint32_t count;

	skip_args(&w->x, "id");
	count = xdr_get_u32(&w->x);
	if (!first || !w->call || !w->call->nwrites || w->call->writes[0].length < count)
		w->max += (uint64_t)count + xdr_pad(count);
	return true;
}

static bool step_readlink(struct walk *w)
{
	w->nitems++;
	w->is_guess = true;
	return true;
}

/* RFC 7530 16.24.4: maxcount counts all of READDIR4resok. Some servers do not count the end of the
 * list, so .results has that too. */
static bool step_readdir(struct walk *w)
{
	uint32_t count;

	skip_args(&w->x, "ddw"); /* cookie, verifier, dircount */
	count = xdr_get_u32(&w->x);
	xdr_skip(&w->x, (size_t)xdr_get_u32(&w->x) * 4);
	w->max += (uint64_t)count + xdr_pad(count);
	return true;
}

/* The data of a WRITE are in the stream, or all of the data are in the next Read chunk. Return:
 * false if they are in neither. */
static bool step_write(struct walk *w)
{
	const struct rpc_chunk *c = NULL;
	uint64_t padded;
	uint32_t count;

	skip_args(&w->x, "idw");
	count = xdr_get_u32(&w->x);
	padded = (uint64_t)count + xdr_pad(count);
	if (w->call && w->nreads < w->call->nreads)
		c = &w->call->reads[w->nreads];
	if (!c || c->position != (uint64_t)(w->x.pos - w->stream) + w->removed) {
		xdr_skip(&w->x, padded);
		return true;
	}
	if (c->length != count && c->length != padded)
		return false;
	w->nreads++;
	w->removed += padded;
	return true;
}

static bool step_test_stateid(struct walk *w)
{
	uint32_t n = xdr_get_u32(&w->x);

	xdr_skip(&w->x, (size_t)n * STATEID);
	w->max += (uint64_t)n * 4;
	return true;
}

/* RFC 8276 8.4.3: maxcount has all of LISTXATTRS4resok in it. */
static bool step_listxattrs(struct walk *w)
{
	uint32_t count;

	xdr_skip(&w->x, 8); /* cookie */
	count = xdr_get_u32(&w->x);
	w->max += (uint64_t)count + xdr_pad(count);
	return true;
}

/* Within one server: no list of servers that have the source. */
static bool step_copy(struct walk *w)
{
	skip_args(&w->x, "iidddww");
	return xdr_get_u32(&w->x) == 0;
}

/* All operations. Unknown are those that set up clients and sessions, layouts, SECINFO and others
 * whose results have no limit. tests/peers/plan-knows compares the list with Linux's. */
static const struct {
	const char *args; /* as skip_args() has them; NULL: unknown */
	uint16_t results; /* behind the status */
	bool (*step)(struct walk *w);
} ops[] = {
	[OP_ACCESS] = {"w", 4 + 4, NULL},
	[OP_CLOSE] = {"wi", STATEID, NULL},
	[OP_COMMIT] = {"dw", VERIFIER, NULL},
	[OP_CREATE] = {"", CHANGE_INFO + BITMAP, step_create},
	[OP_DELEGPURGE] = {"d", 0, NULL},
	[OP_DELEGRETURN] = {"i", 0, NULL},
	[OP_GETATTR] = {"", 0, step_getattr},
	[OP_GETFH] = {"", FH4, NULL},
	[OP_LINK] = {"s", CHANGE_INFO, NULL},
	[OP_LOCK] = {"", LOCK_DENIED, step_lock},
	[OP_LOCKT] = {"wddds", LOCK_DENIED, NULL},
	[OP_LOCKU] = {"wwidd", STATEID, NULL},
	[OP_LOOKUP] = {"s", 0, NULL},
	[OP_LOOKUPP] = {"", 0, NULL},
	[OP_NVERIFY] = {"f", 0, NULL},
	[OP_OPEN] = {"", OPEN, step_open},
	[OP_OPENATTR] = {"w", 0, NULL},
	[OP_OPEN_CONFIRM] = {"iw", STATEID, NULL},
	[OP_OPEN_DOWNGRADE] = {"iwww", STATEID, NULL},
	[OP_PUTFH] = {"s", 0, NULL},
	[OP_PUTPUBFH] = {"", 0, NULL},
	[OP_PUTROOTFH] = {"", 0, NULL},
	[OP_READ] = {"", COUNTED, step_read},
	[OP_READDIR] = {"", DIRLIST, step_readdir},
	[OP_READLINK] = {"", NFSPATH4, step_readlink},
	[OP_REMOVE] = {"s", CHANGE_INFO, NULL},
	[OP_RENAME] = {"ss", 2 * CHANGE_INFO, NULL},
	[OP_RENEW] = {"d", 0, NULL},
	[OP_RESTOREFH] = {"", 0, NULL},
	[OP_SAVEFH] = {"", 0, NULL},
	[OP_SECINFO] = {NULL, 0, NULL},
	[OP_SETATTR] = {"if", BITMAP, NULL},
	[OP_SETCLIENTID] = {NULL, 0, NULL},
	[OP_SETCLIENTID_CONFIRM] = {"dd", 0, NULL},
	[OP_VERIFY] = {"f", 0, NULL},
	[OP_WRITE] = {"", 4 + 4 + VERIFIER, step_write},
	[OP_RELEASE_LOCKOWNER] = {"ds", 0, NULL},
	[OP_BACKCHANNEL_CTL] = {NULL, 0, NULL},
	[OP_BIND_CONN_TO_SESSION] = {NULL, 0, NULL},
	[OP_EXCHANGE_ID] = {NULL, 0, NULL},
	[OP_CREATE_SESSION] = {NULL, 0, NULL},
	[OP_DESTROY_SESSION] = {"i", 0, NULL},
	[OP_FREE_STATEID] = {"i", 0, NULL},
	[OP_GET_DIR_DELEGATION] = {"wbdwdwbb", DIR_DELEGATION, NULL},
	[OP_GETDEVICEINFO] = {NULL, 0, NULL},
	[OP_GETDEVICELIST] = {NULL, 0, NULL},
	[OP_LAYOUTCOMMIT] = {NULL, 0, NULL},
	[OP_LAYOUTGET] = {NULL, 0, NULL},
	[OP_LAYOUTRETURN] = {NULL, 0, NULL},
	[OP_SECINFO_NO_NAME] = {NULL, 0, NULL},
	[OP_SEQUENCE] = {"iwwww", SEQUENCE, NULL},
	[OP_SET_SSV] = {NULL, 0, NULL},
	[OP_TEST_STATEID] = {"", 4, step_test_stateid},
	[OP_WANT_DELEGATION] = {NULL, 0, NULL},
	[OP_DESTROY_CLIENTID] = {"d", 0, NULL},
	[OP_RECLAIM_COMPLETE] = {"w", 0, NULL},
	[OP_ALLOCATE] = {"idd", 0, NULL},
	[OP_COPY] = {"", WRITE_RESPONSE + 4 + 4, step_copy},
	[OP_COPY_NOTIFY] = {NULL, 0, NULL},
	[OP_DEALLOCATE] = {"idd", 0, NULL},
	[OP_IO_ADVISE] = {"iddb", BITMAP, NULL},
	[OP_LAYOUTERROR] = {NULL, 0, NULL},
	[OP_LAYOUTSTATS] = {NULL, 0, NULL},
	[OP_OFFLOAD_CANCEL] = {"i", 0, NULL},
	[OP_OFFLOAD_STATUS] = {"i", 8 + 4 + 4, NULL},
	[OP_READ_PLUS] = {NULL, 0, NULL},
	[OP_SEEK] = {"idw", 4 + 8, NULL},
	[OP_WRITE_SAME] = {NULL, 0, NULL},
	[OP_CLONE] = {"iiddd", 0, NULL},
	[OP_GETXATTR] = {NULL, 0, NULL},
	[OP_SETXATTR] = {"wss", CHANGE_INFO, NULL},
	[OP_LISTXATTRS] = {"", XATTR_LIST, step_listxattrs},
	[OP_REMOVEXATTR] = {"s", CHANGE_INFO, NULL},
};

static bool nfs4_step(struct walk *w)
{
	uint32_t op = xdr_get_u32(&w->x);

	if (op >= sizeof(ops) / sizeof(ops[0]) || !ops[op].args)
		return false;
	skip_args(&w->x, ops[op].args);
	w->max += RESOP + ops[op].results;
	return (!ops[op].step || ops[op].step(w)) && !w->x.failed;
}

uint64_t nfs4_results_max(const struct xdr_in *args, const uint8_t *stream,
			  const struct rpc_msg *call, bool *is_guess)
{
	struct walk w = {.x = *args, .stream = stream, .call = call};
	size_t tag = xdr_get_opaque(&w.x, UINT32_MAX).len;
	uint32_t n;

	w.max = 4 + 4 + tag + xdr_pad(tag) + 4; /* status, tag, count */
	xdr_skip(&w.x, 4);			/* minorversion */
	n = xdr_get_u32(&w.x);
	if (w.x.failed || n > NFS4_OPERATIONS)
		return 0;
	while (n-- > 0)
		if (!nfs4_step(&w))
			return 0;
	*is_guess = w.is_guess;
	return call && w.nreads < call->nreads ? 0 : w.max;
}
