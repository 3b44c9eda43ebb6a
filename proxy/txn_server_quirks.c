/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports of version 1 servers about their replies, and how false reports are found
 *
 * State:  three habits of version 1 servers are known.
 * - A server cuts a reply to the size of the Reply chunk without a word; rfc5666bis-01 5.5 wants an
 *   error.
 * - A server leaves out the Write list if it is given a Reply chunk as well, and puts the data into
 *   the Reply chunk (rfc5666bis-01 5.2.2: data MUST go to the Write chunk).
 * - A server reports a length of a Write chunk that is not the length of the data. If up to three
 *   octets are missing, the results become those of a short READ (nfs_result_check).
 * Danger: the client takes a shortened success for the whole result, and applications read wrong
 *         data.
 * Rule:   a reply that cannot be trusted becomes an error. What the server does is remembered, and
 *         later calls to that server avoid it.
 * Pinned: tests/session/test_written.c, test_server_habits.c; decisions 89, 90, 91, 95.
 */
#include <stdio.h>

#include "proxy/txn_server_quirks.h"
#include "base/budget.h"
#include "proxy/internal.h"
#include "proxy/plan/nfs.h"
#include "proxy/session_address.h"
#include "proxy/session_end.h"
#include "proxy/session_log.h"

enum {
	/* Octets added for strings (names and paths) for which NFS has no limit. */
	SLACK = 64 << 10,
};

/* Whether the responder is a server of version 1, whose reported lengths are checked. */
static bool is_to_filer(const struct txn *t)
{
	return t->rsp->t->ops->traits->unsure_lengths && t->rsp->role == RPC_INITIATOR;
}

/*
 * State:  a version 1 server is offered a Reply chunk.
 * Danger: servers crash on Reply chunks that no client of theirs offers. ntirpc asserts that a
 *         Reply chunk is no longer than 1 MiB.
 * Rule:   a Reply chunk of the requester is offered to the server with the same length. A reply
 *         that fills the chunk is whole then, as far as the gateway can know. A Reply chunk that
 *         the gateway chose is longer by REPLY_TELLTALE, and the plan takes that into account. If
 *         the requester would take a longer reply in another form (.expected), its own chunk is
 *         longer by REPLY_TELLTALE as well. If the requester's chunk is longer than the gateway
 *         offers, a reply that fills the gateway's was cut.
 * Pinned: tests/session/test_written.c:a_reply_chunk_is_as_long_as_the_client_s, decision 89;
 *         tests/session/test_strangers.c:every_octet_of_strangers.
 */
static bool is_requesters(const struct txn *t, uint32_t bytes)
{
	return t->in.has_reply && t->in.reply.length == bytes && !t->expected;
}

uint32_t txn_reply_room(struct txn *t, uint32_t planned)
{
	uint32_t payload = t->s->proxy->cfg.max_payload, most = budget_message(payload);

	if (!planned)
		return 0;
	t->detects_cut = is_to_filer(t) && (!is_requesters(t, planned) || planned > most);
	/* A longer one is not for an item of .max_payload with its header, so it gets no block of
	 * twice that size. */
	if (planned > most)
		return payload;
	/* A word above .max_payload would double the block. */
	if (planned < most && planned != payload && t->detects_cut)
		planned += REPLY_TELLTALE;
	return planned < most ? planned : most;
}

/* Whether the server may have cut its reply to the Reply chunk. */
static bool is_cut(const struct txn *t)
{
	return t->detects_cut && t->reply.len && t->reply_body.len == t->reply.cap;
}

uint32_t txn_slack(const struct txn *t)
{
	return is_to_filer(t) && session_server_has_habit(t->s, SERVERS_LARGE_REPLY) ? SLACK : 0;
}

static void learn_large_reply(const struct txn *t)
{
	nsec_t memory = t->s->route->route->version_memory;

	/* DEBT_TIMEOUT at least: until then the requester has sent the call again. */
	session_remember_habit(t->s, SERVERS_LARGE_REPLY,
			       memory > DEBT_TIMEOUT ? memory : DEBT_TIMEOUT);
}

/*
 * State:  a server could not send its reply, because its length is an estimate where NFS has no
 *         limit (nfs4reply.c). The server has carried out the call.
 * Danger: the gateway must not repeat the call, and an error would tell the client that it failed.
 * Rule:   the session ends. Over a new connection the requester sends its calls again, as after any
 *         lost connection; servers' duplicate reply caches and NFSv4's slots are made for that.
 *         From now on calls to that server offer more.
 * Pinned: tests/session/test_written.c:a_reply_longer_than_expected_is_asked_for_again, decision
 *         95.
 */
bool txn_outgrew(struct txn *t)
{
	char what[64];

	if (!t->expected || !is_to_filer(t) || txn_slack(t))
		return false;
	snprintf(what, sizeof(what), "a reply longer than the %u octets expected", t->expected);
	session_log_habit(t->s, what);
	learn_large_reply(t);
	return true;
}

bool txn_avoids_reply_chunk(const struct txn *t)
{
	return is_to_filer(t) && t->in.nwrites &&
	       session_server_has_habit(t->s, SERVERS_NO_MIXED_CHUNKS);
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
	if (is_read && t->hdr.prog == PROG_NFS && is_to_filer(t)) /* otherwise NFS_READS_NONE */
		t->nfs_reads = nfs_reads_of(&t->hdr, t->call_body);
	if (!t->reverse && is_read && !t->s->has_version_3 && is_version_3(&t->hdr))
		session_note_version_3(t->s);
}

void txn_note_reply(struct txn *t, const struct rpc_msg *reply)
{
	t->unlisted = t->out.nwrites && !reply->nwrites && reply->has_body_chunk && is_to_filer(t);
}

/* The data of a READ are in the Reply chunk. (A reply without data may leave out the Write list for
 * other reasons.) The habit is believed for a limited time, because the server may be updated. */
static void learn_no_mixed_chunks(const struct txn *t)
{
	const struct route_state *rs = t->s->route;

	session_log_habit(t->s, "no Write list where a Reply chunk was offered, too");
	session_remember_habit(t->s, SERVERS_NO_MIXED_CHUNKS, rs->route->version_memory);
}

int txn_check_reported(struct txn *t, struct rpc_error *e)
{
	struct nfs_chunk chunks[RPC_MAX_CHUNKS];
	int inline_data;
	bool changed;

	if (!is_to_filer(t))
		return 0;
	/* draft-07 7.3.5: the length needed is not known, so it is given as 0. */
	*e = (struct rpc_error){.code = RPC_ERROR_REPLY_RESOURCE};
	if (is_cut(t)) {
		if (txn_outgrew(t))
			session_close_for(t->s, t->rsp, ERR_TOOBIG, TXN_OUTGREW);
		return ERR_TOOBIG;
	}
	if (t->expected && txn_slack(t) && t->reply_body.len > t->expected)
		learn_large_reply(t);
	*e = (struct rpc_error){.code = RPC_ERROR_SYSTEM};
	for (unsigned i = 0; i < t->in.nwrites; i++)
		chunks[i] = (struct nfs_chunk){t->writes[i].cap, t->writes[i].len};
	inline_data =
		nfs_result_check(t->nfs_reads, t->reply_body, chunks, t->in.nwrites, &changed);
	if (changed) {
		fabric_sums_end(t->reply.sums);
		fabric_sums_end(leg_summed(&t->reply_held, t->reply_body.data).sums);
	}
	if (inline_data < 0)
		return ERR_XDR;
	if (inline_data && t->unlisted)
		learn_no_mixed_chunks(t);
	for (unsigned i = 0; i < t->in.nwrites; i++)
		t->writes[i].len = chunks[i].placed;
	return 0;
}
