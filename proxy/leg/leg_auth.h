/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_AUTH_H
#define PROXY_LEG_LEG_AUTH_H

#include "base/jobs.h"
#include "hostauth/hostauth.h"
#include "v2/auth.h"

/**
 * leg_auth - host authentication on a leg: where v2/auth.h meets hostauth/
 *
 * A leg whose configuration has a struct leg_auth proves who it is and asks for the same.
 */

/** struct leg_auth - shared by many legs; outlives them. */
struct leg_auth {
	bool required;	/* who does not, is no peer; else whoever cannot is taken as he is */
	nsec_t timeout; /* for all of it, within that for set-up */
	/* What connections made now use: a holder more, the caller's to put. Any thread may ask. */
	struct hostauth_creds *(*creds)(const struct leg_auth *auth);
	int64_t (*now)(const struct leg_auth *auth); /* seconds since 1970 */
};

enum { LEG_WHY_BYTES = HOSTAUTH_TEXT_BYTES + 32 }; /* why a leg ended, its zero included */

/** struct leg_proof - of one leg. */
struct leg_proof {
	struct v2_auth auth;	/* first member */
	struct hostauth *h;	/* until it is over */
	bool is_over, told;	/* told: by leg_auth_news() */
	bool at_door, admitted; /* see leg_is_at_door() */
	struct job job;		/* hostauth_work() in another thread: */
	bool working;		/* .h is not ours meanwhile, */
	bool disturbed;		/* and the peer has something to say all the same */
	nsec_t waits_since;	/* for that, or at the door: leg_auth_clock(); 0: it does not */
	struct leg *leg;	/* whose; NULL: it ended while its job ran */
	unsigned values;	/* both ways */
	size_t octets;
	enum hostauth_cause cause;
	enum hostauth_name_kind peer_kind;
	char peer[HOSTAUTH_NAME_BYTES];
	char why[LEG_WHY_BYTES];
	char suite[32];
};

struct leg;

/** leg_peer_name - the name the peer proved; "" without. */
const char *leg_peer_name(const struct leg *leg);

/** leg_peer_is - the peer proved a name that @want, of an operator's list, allows. */
bool leg_peer_is(const struct leg *leg, const char *want);

/** leg_go_on - see leg_holds_back(). leg_next() is due after that. */
void leg_go_on(struct leg *leg);

/** leg_is_unproved - the peer is still to say who it is, or failed to. */
bool leg_is_unproved(const struct leg *leg);

/** leg_proves - it is under way. */
bool leg_proves(const struct leg *leg);

/** leg_is_silent - of an initiator that began it and does not require it: its peer has not said a word yet. */
bool leg_is_silent(const struct leg *leg);

/** leg_is_worked_on - its next step is in others' hands here, or waits for these: that is no time of the peer's. */
bool leg_is_worked_on(const struct leg *leg);

/** leg_admit - see leg_is_at_door(). */
void leg_admit(struct leg *leg, nsec_t now);

/** leg_auth_clock - it may have begun to wait, or wait no more, for what is done here: its set-up may take as much longer. */
void leg_auth_clock(struct leg *leg, nsec_t now);

/** leg_auth_back - a job that a leg gave leg->jobs is done. Return: the leg, which is to be pumped; NULL:
 * it has gone. */
struct leg *leg_auth_back(struct job *job, nsec_t now);

/** leg_auth_news - it is over, one way or the other, and this has not said so yet. */
bool leg_auth_news(struct leg *leg);

#endif
