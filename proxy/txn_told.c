/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a version 1 server tells of its reply, and what cannot be so. Some servers cut a reply
 * to the Reply chunk in silence, where rfc5666bis-01 5.5 wants an error; some leave out
 * the Write list when they are given a Reply chunk as well, and put the data there
 * (5.2.2: they MUST go to the Write chunk); some tell a length that is none of the data's. A shortened
 * success is the one answer that no client survives: what cannot be told from it becomes
 * an error, and what a server does to be avoided is remembered.
 */
#include "base/log.h"
#include "proxy/internal.h"

/* Nobody asks for a reply that long: it shows that one was cut. A word, as XDR is made of words. */
enum { TELLTALE = 4 };

static bool is_filer(const struct leg *rsp)
{
	return rsp->t->version == 1 && rsp->role == RPC_INITIATOR;
}

uint32_t txn_reply_room(const struct txn *t, uint32_t planned)
{
	uint32_t max = t->s->proxy->cfg.max_payload;

	if (planned >= max)
		return max;
	return planned && is_filer(t->rsp) ? planned + TELLTALE : planned;
}

bool txn_avoids_reply_chunk(const struct txn *t)
{
	return is_filer(t->rsp) && t->in.nwrites && t->s->route->one_kind;
}

void txn_note_call(struct txn *t)
{
	struct rpchdr hdr;

	if (is_filer(t->rsp) && rpchdr_peek(&hdr, t->call_body) == 0)
		t->nfs_reads = nfs_reads_of(&hdr, t->call_body);
}

void txn_learn(struct txn *t, const struct rpc_msg *reply)
{
	struct route_state *rs = t->s->route;

	if (!is_filer(t->rsp) || !t->out.nwrites || reply->nwrites || !reply->has_body_chunk)
		return;
	if (!rs->one_kind)
		log_peer(LOG_LEVEL_INFO, "upstream.habit", rs->route->name,
			 "route=%s what=\"no Write list where a Reply chunk was offered, too\"",
			 rs->route->name);
	rs->one_kind = true;
}

int txn_check_told(struct txn *t, struct rpc_error *e)
{
	uint32_t placed[RPC_MAX_CHUNKS];

	if (!is_filer(t->rsp))
		return 0;
	/* 7.3.5: how long it would have been nobody knows, which is a length of 0. */
	*e = (struct rpc_error){.code = RPC_ERROR_REPLY_RESOURCE};
	if (t->reply.len && t->reply_body.len == t->reply.cap)
		return ERR_TOOBIG;
	*e = (struct rpc_error){.code = RPC_ERROR_SYSTEM};
	for (unsigned i = 0; i < t->in.nwrites; i++)
		placed[i] = t->writes[i].len;
	if (nfs_result_check(t->nfs_reads, t->reply_body, placed, t->in.nwrites) < 0)
		return ERR_XDR;
	for (unsigned i = 0; i < t->in.nwrites; i++)
		t->writes[i].len = placed[i];
	return 0;
}
