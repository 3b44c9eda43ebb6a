/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a version 1 server tells of its reply, and what cannot be so. Some servers cut a reply
 * to the Reply chunk in silence, where rfc5666bis-01 5.5 wants an error; some leave out
 * the Write list when they are given a Reply chunk as well, and put the data there
 * (rfc5666bis-01 5.2.2: they MUST go to the Write chunk); some tell a length that is none of the data's. A shortened
 * success is the one answer that no client survives: what cannot be told from it becomes
 * an error, and what a server does to be avoided is remembered.
 */
#include "base/log.h"
#include "proxy/internal.h"
#include "proxy/plan/nfs.h"

enum {
	/* Nobody asks for a reply that long: it shows that one was cut. A word, as XDR is made of words. */
	TELLTALE = 4,
	/* What NFS has strings without a limit for, names and paths, is no longer anywhere. */
	SLACK = 64 << 10,
};

void txn_told_init(struct txn *t)
{
	t->to_filer = t->rsp->t->ops->traits->unsure_lengths && t->rsp->role == RPC_INITIATOR;
}

uint32_t txn_reply_room(const struct txn *t, uint32_t planned)
{
	uint32_t max = t->s->proxy->cfg.max_payload;

	if (planned >= max)
		return max;
	return planned && t->to_filer ? planned + TELLTALE : planned;
}

uint32_t txn_slack(const struct txn *t)
{
	return t->to_filer && t->s->proxy->now < t->s->route->longer_until ? SLACK : 0;
}

static void remember_longer(const struct txn *t)
{
	const struct route_state *rs = t->s->route;
	nsec_t memory = rs->route->version_memory;

	/* Not before the call was made again. */
	t->s->route->longer_until =
		t->s->proxy->now + (memory > DEBT_PATIENCE ? memory : DEBT_PATIENCE);
}

/*
 * How long a reply can be is an estimate where NFS has no limit (nfs4reply.c). A server that cannot send its
 * reply within that has done what it was asked for all the same, so the call cannot be repeated here; but RPC
 * has a way for replies that are lost: a new connection, over which the requester sends its calls again, as
 * after any other end of one. A server's duplicate reply cache, and NFSv4's slots, are made for that.
 */
bool txn_outgrew(struct txn *t)
{
	if (!t->to_filer || !t->expected || txn_slack(t))
		return false;
	log_peer(LOG_LEVEL_INFO, "upstream.habit", t->s->route->route->name,
		 "route=%s what=\"a reply longer than the %u octets expected\"",
		 t->s->route->route->name, t->expected);
	remember_longer(t);
	return true;
}

bool txn_avoids_reply_chunk(const struct txn *t)
{
	return t->to_filer && t->in.nwrites && t->s->proxy->now < t->s->route->one_kind_until;
}

static bool is_version_3(const struct rpchdr *hdr)
{
	return (hdr->prog == PROG_NFS && hdr->vers == 3) || hdr->prog == PROG_NLM;
}

void txn_note_call(struct txn *t)
{
	bool is_read = t->hdr_err == 0;

	t->kind = t->reverse
			  ? LATENCY_CALLBACK
			  : latency_kind_of(is_read ? &t->hdr : NULL, t->in.nreads, t->in.nwrites);
	if (t->to_filer && is_read)
		t->nfs_reads = nfs_reads_of(&t->hdr, t->call_body);
	if (!t->reverse && is_read && !t->s->has_version_3 && is_version_3(&t->hdr))
		session_note_version_3(t->s);
}

void txn_note_reply(struct txn *t, const struct rpc_msg *reply)
{
	t->unlisted = t->to_filer && t->out.nwrites && !reply->nwrites && reply->has_body_chunk;
}

/* The data of a READ stand in the Reply chunk. (What has none may leave out the Write list for reasons
 * of its own.) A server may be mended: now and then it is asked again. */
static void learn_one_kind(const struct txn *t)
{
	struct route_state *rs = t->s->route;

	log_peer(LOG_LEVEL_INFO, "upstream.habit", rs->route->name,
		 "route=%s what=\"no Write list where a Reply chunk was offered, too\"",
		 rs->route->name);
	rs->one_kind_until = t->s->proxy->now + rs->route->version_memory;
}

int txn_check_told(struct txn *t, struct rpc_error *e)
{
	struct nfs_chunk chunks[RPC_MAX_CHUNKS];
	int inline_data;

	if (!t->to_filer)
		return 0;
	/* draft-07 7.3.5: how long it would have been nobody knows, which is a length of 0. */
	*e = (struct rpc_error){.code = RPC_ERROR_REPLY_RESOURCE};
	if (t->reply.len && t->reply_body.len == t->reply.cap) {
		if (txn_outgrew(t))
			session_close(t->s, ERR_TOOBIG, TXN_OUTGREW);
		return ERR_TOOBIG;
	}
	if (txn_slack(t) && t->expected && t->reply_body.len > t->expected)
		remember_longer(t);
	*e = (struct rpc_error){.code = RPC_ERROR_SYSTEM};
	for (unsigned i = 0; i < t->in.nwrites; i++)
		chunks[i] = (struct nfs_chunk){t->writes[i].cap, t->writes[i].len};
	inline_data = nfs_result_check(t->nfs_reads, t->reply_body, chunks, t->in.nwrites);
	if (inline_data < 0)
		return ERR_XDR;
	if (inline_data && t->unlisted)
		learn_one_kind(t);
	for (unsigned i = 0; i < t->in.nwrites; i++)
		t->writes[i].len = chunks[i].placed;
	return 0;
}
