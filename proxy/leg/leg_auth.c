/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Host authentication (draft-07 5.2.6)
 *
 * v2/auth.c carries the values of the handshake, and hostauth/ knows their meaning. This file
 * passes the values between the two. It adds what only a leg knows: the private data of both ends,
 * the time, when the handshake begins and when it ends.
 *
 * hostauth_work() takes long, so another thread does it if the leg has a jobs port. No message may
 * come meanwhile (profile 3.2): a peer that sends one has failed. If a leg ends while its job runs,
 * its proof is freed when the job comes back.
 */
#include "proxy/leg/leg_auth.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
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

static enum v2_auth_verdict auth_on_recv(struct v2_auth *auth, struct view message,
					 const struct v2_hdr *h)
{
	const struct hostauth_in in = {
		.message = message,
		.has_value = h->props.present & 1u << V2_PROP_HOSTAUTH,
		.value = h->props.hostauth,
		.final = h->htype == V2_CONNPROP_FINAL,
		.again = h->props.hostauth_again,
	};

	if (proof_of(auth)->working) {
		proof_of(auth)->disturbed = true;
		return V2_AUTH_FAILED;
	}
	return verdict_of(hostauth_recv(proof_of(auth)->h, &in));
}

static bool auth_on_absent(struct v2_auth *auth)
{
	return !proof_of(auth)->working && hostauth_absent(proof_of(auth)->h);
}

static bool auth_next_value(struct v2_auth *auth, size_t room, size_t properties,
			    struct v2_auth_out *out)
{
	struct hostauth_out said;

	if (proof_of(auth)->working || !hostauth_next(proof_of(auth)->h, room, properties, &said))
		return false;
	*out = (struct v2_auth_out){said.value, said.first, said.final};
	return true;
}

static enum v2_auth_verdict auth_on_sent(struct v2_auth *auth, uint8_t *message, size_t len,
					 size_t value_at)
{
	return verdict_of(hostauth_sent(proof_of(auth)->h, message, len, value_at));
}

static const struct v2_auth_ops auth_ops = {
	.recv = auth_on_recv,
	.absent = auth_on_absent,
	.next = auth_next_value,
	.sent = auth_on_sent,
};

static void auth_work(struct job *job)
{
	hostauth_work(container_of(job, struct leg_proof, job)->h);
}

int leg_auth_begin(struct leg *leg, struct view request_data, struct view accept_data)
{
	const struct leg_auth *policy = leg->cfg->auth;
	struct hostauth_params p = {.request_data = request_data, .accept_data = accept_data};

	if (!policy)
		return 0;
	leg->proof = mem_zalloc(sizeof(*leg->proof));
	if (!leg->proof)
		return ERR_NOMEM;
	leg->proof->auth = (struct v2_auth){.ops = &auth_ops, .required = policy->required};
	leg->proof->leg = leg;
	leg->proof->job.run = auth_work;
	p.role = leg->role == RPC_INITIATOR ? HOSTAUTH_INITIATOR : HOSTAUTH_ACCEPTOR;
	p.now = policy->now(policy);
	p.creds = policy->creds(policy);
	leg->proof->h = p.creds ? hostauth_new(&p) : NULL;
	hostauth_creds_put(p.creds);
	return leg->proof->h ? 0 : ERR_NOMEM;
}

/* Keep the results; free the handshake, with its keys. */
static void auth_conclude(struct leg_proof *proof)
{
	struct hostauth_facts facts;

	hostauth_facts(proof->h, &facts);
	proof->cause = facts.cause;
	proof->peer_kind = facts.peer_kind;
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
		 : proof->auth.why	 ? proof->auth.why
					 : "a message that cannot be read");
}

/* A message came while an answer was due and another thread computed it. */
static const char *auth_disturbed(struct leg_proof *proof)
{
	proof->is_over = true;
	proof->cause = HOSTAUTH_CAUSE_VALUE;
	snprintf(proof->why, sizeof(proof->why),
		 "host authentication: a message came while an answer was due");
	return proof->why;
}

/* Do the work that is due, or hand it to another thread. Return: whether it is done. */
static bool auth_work_done(struct leg *leg)
{
	struct leg_proof *proof = leg->proof;

	proof->awaits_slot = leg->gated && !proof->admitted;
	if (proof->awaits_slot)
		return false;
	if (!leg->jobs) {
		hostauth_work(proof->h);
		return true;
	}
	proof->working = true;
	jobs_submit(leg->jobs, &proof->job);
	return false;
}

const char *leg_auth_go(struct leg *leg)
{
	struct leg_proof *proof = leg->proof;

	if (!proof || proof->is_over || !leg->t || leg->closing)
		return NULL;
	if (proof->disturbed)
		return auth_disturbed(proof);
	if (proof->working)
		return NULL;
	if (proof->auth.verdict == V2_AUTH_GOING && hostauth_is_work_due(proof->h)) {
		if (!auth_work_done(leg))
			return NULL;
		proof->auth.verdict = verdict_of(hostauth_status(proof->h));
	}
	if (proof->auth.verdict == V2_AUTH_GOING)
		return NULL;
	proof->is_over = true;
	auth_conclude(proof);
	if (proof->auth.verdict == V2_AUTH_FAILED)
		return proof->why;
	if (leg->role == RPC_ACCEPTOR && proof->auth.verdict == V2_AUTH_DONE)
		leg->deadline = NSEC_NEVER;
	return NULL;
}

void leg_auth_lacks(struct leg *leg)
{
	struct leg_proof *proof = leg->proof;

	if (!proof || proof->is_over)
		return;
	proof->auth.verdict = V2_AUTH_ABSENT;
	proof->auth.is_absent = true;
	proof->is_over = true;
	if (proof->working) /* the job uses .h: leg_auth_end() frees the proof later */
		return;
	hostauth_free(proof->h);
	proof->h = NULL;
}

const char *leg_auth_refuse(struct leg *leg)
{
	struct leg_proof *proof = leg->proof;

	leg_auth_lacks(leg);
	proof->auth.verdict = V2_AUTH_FAILED;
	snprintf(proof->why, sizeof(proof->why),
		 "host authentication: the peer speaks version 1, which has none");
	return proof->why;
}

static void auth_free(struct leg_proof *proof)
{
	hostauth_free(proof->h);
	mem_free(proof);
}

void leg_auth_end(struct leg *leg)
{
	struct leg_proof *proof = leg->proof;

	if (!proof)
		return;
	leg->proof = NULL;
	proof->leg = NULL;
	if (!proof->working || jobs_cancel(&proof->job))
		auth_free(proof);
}

/*
 * State:  a handshake waits here, for a place or for a thread.
 * Danger: little of the time for set-up is left for the peer, and a server is taken for down
 *         because of it.
 * Rule:   the time for set-up is extended by the time of the wait.
 * Pinned: tests/session/test_hostauth.c:what_waits_here_is_not_the_servers_fault,
 *         tests/session/test_hostauth_handshakes.c:taken_slots_are_not_the_servers_fault
 */
void leg_auth_clock(struct leg *leg, nsec_t now)
{
	bool waits = leg_awaits_handshake_slot(leg) || leg_is_worked_on(leg);
	struct leg_proof *proof = leg->proof;

	if (!proof || waits == (proof->waits_since > 0))
		return;
	if (!waits)
		leg->setup_end += now - proof->waits_since;
	proof->waits_since = waits ? now : 0;
}

struct leg *leg_auth_back(struct job *job, nsec_t now)
{
	struct leg_proof *proof = container_of(job, struct leg_proof, job);

	proof->working = false;
	if (!proof->leg) {
		auth_free(proof);
		return NULL;
	}
	leg_auth_clock(proof->leg, now);
	if (proof->auth.verdict == V2_AUTH_GOING)
		proof->auth.verdict = verdict_of(hostauth_status(proof->h));
	return proof->leg;
}

bool leg_proves(const struct leg *leg)
{
	return leg->proof && !leg->proof->is_over && !leg->closing && leg->state != LEG_CLOSED;
}

bool leg_is_silent(const struct leg *leg)
{
	return leg->role == RPC_INITIATOR && leg->proof && !leg->proof->auth.required &&
	       leg->proof->auth.verdict == V2_AUTH_GOING && leg->t && leg->t->count.sends > 0 &&
	       leg->t->count.recvs == 0;
}

bool leg_is_worked_on(const struct leg *leg)
{
	return leg_proves(leg) && leg->proof->working && !leg->proof->disturbed;
}

bool leg_auth_must_wait(struct leg *leg)
{
	struct leg_proof *proof = leg->proof;

	if (!proof || !leg->gated || proof->admitted || proof->awaits_slot || proof->is_over ||
	    leg->role != RPC_ACCEPTOR)
		return false;
	proof->awaits_slot = true;
	return true;
}

void leg_admit(struct leg *leg, nsec_t now)
{
	leg->proof->awaits_slot = false;
	leg->proof->admitted = true;
	leg_auth_clock(leg, now);
}

const char *leg_peer_name(const struct leg *leg)
{
	return leg->proof && leg->proof->auth.verdict == V2_AUTH_DONE ? leg->proof->peer : "";
}

bool leg_peer_is(const struct leg *leg, const char *want)
{
	const char *name = leg_peer_name(leg);

	return *name &&
	       hostauth_name_allows(want, leg->proof->peer_kind, view_of(name, strlen(name)));
}

void leg_go_on(struct leg *leg)
{
	leg->held = false;
}

bool leg_is_unproved(const struct leg *leg)
{
	return leg->proof && (leg->proof->auth.verdict == V2_AUTH_GOING ||
			      leg->proof->auth.verdict == V2_AUTH_FAILED);
}

bool leg_auth_take_result(struct leg *leg)
{
	struct leg_proof *proof = leg->proof;

	if (!proof || proof->reported || !proof->is_over)
		return false;
	proof->reported = true;
	return true;
}
