/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Host authentication (draft-07 5.2.6): the values travel in v2/auth.c, what they mean is
 * known to hostauth/. Here the one is handed to the other, with what only a leg knows:
 * both ends' private data, the time, when to begin and when to end.
 */
#include "proxy/leg/leg_auth.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/leg/internal.h"

static struct leg_proof *proof_of(struct v2_auth *auth)
{
	return (struct leg_proof *)auth;
}

static enum v2_auth_verdict verdict_of(enum hostauth_status status)
{
	static const enum v2_auth_verdict verdicts[] = {
		[HOSTAUTH_GOING] = V2_AUTH_GOING,
		[HOSTAUTH_DONE] = V2_AUTH_DONE,
		[HOSTAUTH_ABSENT] = V2_AUTH_ABSENT,
		[HOSTAUTH_FAILED] = V2_AUTH_FAILED,
	};

	return verdicts[status];
}

static enum v2_auth_verdict on_recv(struct v2_auth *auth, struct view message,
				    const struct v2_hdr *h)
{
	const struct hostauth_in in = {
		.message = message,
		.has_value = h->props.present & 1u << V2_PROP_HOSTAUTH,
		.value = h->props.hostauth,
		.final = h->htype == V2_CONNPROP_FINAL,
	};

	return verdict_of(hostauth_recv(proof_of(auth)->h, &in));
}

static bool on_absent(struct v2_auth *auth)
{
	return hostauth_absent(proof_of(auth)->h);
}

static bool next_value(struct v2_auth *auth, size_t room, size_t properties,
		       struct v2_auth_out *out)
{
	struct hostauth_out said;

	if (!hostauth_next(proof_of(auth)->h, room, properties, &said))
		return false;
	*out = (struct v2_auth_out){said.value, said.first, said.final};
	return true;
}

static enum v2_auth_verdict on_sent(struct v2_auth *auth, uint8_t *message, size_t len,
				    size_t value_at)
{
	return verdict_of(hostauth_sent(proof_of(auth)->h, message, len, value_at));
}

static const struct v2_auth_ops ops = {
	.recv = on_recv,
	.absent = on_absent,
	.next = next_value,
	.sent = on_sent,
};

int leg_auth_begin(struct leg *leg, struct view request_data, struct view accept_data)
{
	const struct leg_auth *policy = leg->cfg->auth;
	struct hostauth_params p = {.request_data = request_data, .accept_data = accept_data};

	if (!policy)
		return 0;
	leg->proof = mem_zalloc(sizeof(*leg->proof));
	if (!leg->proof)
		return ERR_NOMEM;
	leg->proof->auth = (struct v2_auth){.ops = &ops, .required = policy->required};
	p.role = leg->role == RPC_INITIATOR ? HOSTAUTH_INITIATOR : HOSTAUTH_ACCEPTOR;
	p.now = policy->now(policy);
	p.creds = policy->creds(policy);
	leg->proof->h = p.creds ? hostauth_new(&p) : NULL;
	hostauth_creds_put(p.creds);
	return leg->proof->h ? 0 : ERR_NOMEM;
}

/* What is worth keeping; the rest goes, keys and all. */
static void conclude(struct leg_proof *proof)
{
	struct hostauth_facts facts;

	hostauth_facts(proof->h, &facts);
	proof->cause = facts.cause;
	proof->values = facts.values_in + facts.values_out;
	proof->octets = facts.octets_in + facts.octets_out;
	snprintf(proof->peer, sizeof(proof->peer), "%s", facts.peer);
	snprintf(proof->suite, sizeof(proof->suite), "%s", facts.suite);
	if (proof->auth.verdict != V2_AUTH_FAILED) {
		hostauth_free(proof->h);
		proof->h = NULL;
		return;
	}
	/* The FAIL is still to be sent. */
	snprintf(proof->why, sizeof(proof->why), "host authentication: %s",
		 *facts.why		 ? facts.why
		 : proof->auth.is_absent ? "the peer has none"
					 : "a message that cannot be read");
}

void leg_auth_go(struct leg *leg)
{
	struct leg_proof *proof = leg->proof;

	if (!proof || proof->is_over || !leg->t || leg->t->version != 2 || leg->closing)
		return;
	if (proof->auth.verdict == V2_AUTH_GOING && hostauth_is_work_due(proof->h)) {
		hostauth_work(proof->h);
		proof->auth.verdict = verdict_of(hostauth_status(proof->h));
	}
	if (proof->auth.verdict == V2_AUTH_GOING)
		return;
	proof->is_over = true; /* leg_close() sends, and comes here again */
	conclude(proof);
	if (proof->auth.verdict == V2_AUTH_FAILED)
		leg_close(leg, ERR_AUTH, proof->why);
	else if (leg->role == RPC_ACCEPTOR && proof->auth.verdict == V2_AUTH_DONE)
		leg->deadline = NSEC_NEVER;
}

void leg_auth_lacks(struct leg *leg)
{
	struct leg_proof *proof = leg->proof;

	if (!proof || proof->is_over)
		return;
	proof->auth.verdict = V2_AUTH_ABSENT;
	proof->auth.is_absent = true;
	proof->is_over = true;
	hostauth_free(proof->h);
	proof->h = NULL;
}

void leg_auth_refuse(struct leg *leg)
{
	struct leg_proof *proof = leg->proof;

	leg_auth_lacks(leg);
	proof->auth.verdict = V2_AUTH_FAILED;
	snprintf(proof->why, sizeof(proof->why),
		 "host authentication: the peer speaks version 1, which has none");
	leg_close(leg, ERR_AUTH, proof->why);
}

void leg_auth_end(struct leg *leg)
{
	if (!leg->proof)
		return;
	hostauth_free(leg->proof->h);
	mem_free(leg->proof);
	leg->proof = NULL;
}

const char *leg_peer_name(const struct leg *leg)
{
	return leg->proof && leg->proof->auth.verdict == V2_AUTH_DONE ? leg->proof->peer : "";
}

bool leg_is_unproved(const struct leg *leg)
{
	return leg->proof && (leg->proof->auth.verdict == V2_AUTH_GOING ||
			      leg->proof->auth.verdict == V2_AUTH_FAILED);
}

bool leg_auth_news(struct leg *leg)
{
	struct leg_proof *proof = leg->proof;

	if (!proof || proof->told || !proof->is_over)
		return false;
	proof->told = true;
	return true;
}
