/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/plan/nfsresult.h"

#include "proxy/plan/nfs.h"
#include "proxy/plan/nfsreply.h"
#include "xdr/cursor.h"

enum { NFS3_READLINK = 5, NFS3_READ = 6, NFS4_COMPOUND = 1 };
enum { MAX_VERF_OCTETS = 400, FATTR3_OCTETS = 84 };
enum { MSG_REPLY = 1 };

enum { SEQUENCE_OCTETS = 16 + 5 * 4, ACCESS_OCTETS = 2 * 4 };

/* struct walk - a reply being read, and the Write chunks it goes with. */
struct walk {
	struct xdr_in x;
	struct nfs_chunk *chunks;
	unsigned n, next; /* the Write chunk of the next data item */
	bool has_data;	  /* the stream has an item for which there was a chunk */
	bool changed;	  /* octets of the stream were changed */
};

bool nfs_returns_chunks(const struct rpchdr *hdr)
{
	if (hdr->proc == 0)
		return false;
	return hdr->prog != PROG_NFS || hdr->vers != 3 || hdr->proc == NFS3_READ ||
	       hdr->proc == NFS3_READLINK;
}

enum nfs_reads nfs_reads_of(const struct rpchdr *hdr, struct view call)
{
	enum nfs_reads reads = NFS_READS_NONE;
	struct xdr_in x;
	bool wrapped;

	if (hdr->prog != PROG_NFS)
		return NFS_READS_NONE;
	if (hdr->vers == 3 && hdr->proc == NFS3_READ)
		reads = NFS_READS_3;
	else if (hdr->vers == 4 && hdr->proc == NFS4_COMPOUND)
		reads = NFS_READS_4;
	xdr_in_init(&x, call);
	return nfs_skip_auth(&x, &wrapped) && !wrapped ? reads : NFS_READS_NONE;
}

/* Steps over a reply's header. False: there are no results behind it. */
static bool skip_header(struct xdr_in *x)
{
	uint32_t mtype, stat;

	xdr_skip(x, 4);
	mtype = xdr_get_u32(x);
	stat = xdr_get_u32(x);
	if (mtype != MSG_REPLY || stat != 0) /* MSG_ACCEPTED */
		return false;
	xdr_skip(x, 4);
	xdr_get_opaque(x, MAX_VERF_OCTETS);
	return xdr_get_u32(x) == 0 && !x->failed; /* SUCCESS */
}

/* Steps over octets whose length was read. At the end of a reply the XDR pad may be missing: the
 * octets are whole, and nothing follows whose place would be uncertain. */
static void skip_octets(struct xdr_in *x, uint32_t length)
{
	size_t left = xdr_in_left(x), padded = (size_t)length + xdr_pad(length);

	xdr_skip(x, left >= length && left < padded ? left : padded);
}

/* A server that counts whole words leaves out up to three octets. */
static bool is_rounded_down(const struct nfs_chunk *chunk, uint32_t length)
{
	return chunk->placed < length && length - chunk->placed <= 3;
}

/* Change the results of a READ to @placed octets without the end of the file. Their last word, the
 * length, was just read. With @has_count (NFSv3) the length stands before the eof word as well. */
static void shorten(struct walk *w, bool has_count, uint32_t placed)
{
	size_t octets = has_count ? 12 : 8;
	struct xdr_out out;

	w->changed = true;
	xdr_out_init(&out, (uint8_t *)(uintptr_t)(w->x.pos - octets), octets);
	if (has_count)
		xdr_put_u32(&out, placed);
	xdr_put_u32(&out, 0); /* eof */
	xdr_put_u32(&out, placed);
}

/* The length of a data item was read: the item is in its Write chunk, or it follows. */
static int take_item(struct walk *w, bool has_count)
{
	uint32_t length = xdr_get_u32(&w->x);
	struct nfs_chunk *chunk = w->next < w->n ? &w->chunks[w->next] : NULL;

	w->next++;
	if (w->x.failed)
		return ERR_XDR;
	if (!chunk || chunk->placed == 0) {
		skip_octets(&w->x, length);
		/* By an empty chunk a client says that it wants the item inline (RFC 8166 4.4.6.2,
		 * RFC 8267 4.1): no fault. */
		w->has_data |= chunk && length > 0 && length <= chunk->room;
		return w->x.failed ? ERR_XDR : 0;
	}
	if (is_rounded_down(chunk, length)) {
		shorten(w, has_count, chunk->placed);
		return 0;
	}
	if (chunk->placed < length || chunk->placed - length > 3)
		return ERR_XDR;
	chunk->placed = length;
	return 0;
}

static int check_nfs3(struct walk *w)
{
	if (xdr_get_u32(&w->x) != 0)
		return 0;
	if (xdr_get_bool(&w->x))
		xdr_skip(&w->x, FATTR3_OCTETS);
	xdr_skip(&w->x, 8); /* count, eof */
	return take_item(w, true);
}

/* Steps over the results of @op. Return: 1, 0 when their length is not known, or an error. */
static int skip_op(struct walk *w, uint32_t op)
{
	struct xdr_in *x = &w->x;
	uint32_t words;
	int err;

	switch (op) {
	case OP_READ:
		xdr_skip(x, 4); /* eof */
		err = take_item(w, false);
		return err < 0 ? err : 1;
	case OP_GETATTR:
		words = xdr_get_u32(x);
		xdr_skip(x, (size_t)words * 4);
		skip_octets(x, xdr_get_u32(x));
		return 1;
	case OP_GETFH:
		skip_octets(x, xdr_get_u32(x));
		return 1;
	case OP_ACCESS:
		xdr_skip(x, ACCESS_OCTETS);
		return 1;
	case OP_SEQUENCE:
		xdr_skip(x, SEQUENCE_OCTETS);
		return 1;
	case OP_LOOKUP:
	case OP_LOOKUPP:
	case OP_NVERIFY:
	case OP_PUTFH:
	case OP_PUTPUBFH:
	case OP_PUTROOTFH:
	case OP_RENEW:
	case OP_RESTOREFH:
	case OP_SAVEFH:
	case OP_VERIFY:
		return 1;
	default:
		return 0;
	}
}

static int check_nfs4(struct walk *w)
{
	uint32_t n;
	int more = 1;

	xdr_skip(&w->x, 4); /* the status of the last operation */
	xdr_get_opaque(&w->x, UINT32_MAX);
	n = xdr_get_u32(&w->x);
	for (unsigned i = 0; i < n && i < NFS4_OPERATIONS && more == 1 && !w->x.failed; i++) {
		uint32_t op = xdr_get_u32(&w->x);

		if (xdr_get_u32(&w->x) != 0)
			return 0; /* the operation failed, and is the last */
		more = skip_op(w, op);
	}
	/* A COMPOUND that ends early was cut, wherever that was. */
	return more < 0 ? more : w->x.failed ? ERR_XDR : 0;
}

int nfs_result_check(enum nfs_reads reads, struct view reply, struct nfs_chunk *chunks, unsigned n,
		     bool *changed)
{
	struct walk w = {.chunks = chunks, .n = n};
	int err;

	*changed = false;
	if (reads == NFS_READS_NONE)
		return 0;
	xdr_in_init(&w.x, reply);
	if (!skip_header(&w.x))
		return 0;
	err = reads == NFS_READS_3 ? check_nfs3(&w) : check_nfs4(&w);
	*changed = w.changed;
	return err < 0 ? err : w.has_data;
}
