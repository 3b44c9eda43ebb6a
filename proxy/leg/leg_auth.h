/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_AUTH_H
#define PROXY_LEG_LEG_AUTH_H

#include "base/jobs.h"
#include "hostauth/hostauth.h"
#include "v2/auth.h"

/**
 * leg_auth - host authentication on a leg: connects v2/auth.h with hostauth/
 *
 * A leg whose configuration has a struct leg_auth proves its name and asks the peer to do the same.
 */

/** struct leg_auth - one end's settings, shared by many legs; outlives them. */
struct leg_auth {
	/* The leg ends if the peer does not prove its name; if false, a peer without host
	 * authentication is accepted. */
	bool required;
	nsec_t timeout; /* ns, for the whole handshake; it is a part of the time for set-up */
	/* The credentials for connections made now; adds a holder, which the caller puts. Any
	 * thread may call it. */
	struct hostauth_creds *(*creds)(const struct leg_auth *auth);
	int64_t (*now)(const struct leg_auth *auth); /* seconds since 1970 */
};

/* Octets of a text that says why a leg ended, the final NUL included. */
enum { LEG_WHY_BYTES = HOSTAUTH_TEXT_BYTES + 32 };

/** struct leg_proof - host authentication of one leg. */
struct leg_proof {
	struct v2_auth auth; /* first member */
	struct hostauth *h;  /* the handshake; NULL when it is over */
	/* The handshake is over; leg_auth_take_result() has reported that. */
	bool is_over, reported;
	bool awaits_slot, admitted; /* see leg_awaits_handshake_slot() */
	struct job job;		    /* hostauth_work() in another thread */
	bool working;		    /* the job runs, and .h belongs to it */
	bool disturbed;		    /* a message came while the job ran, which is a breach */
	/* Since when the leg waits for the job or for a place: leg_auth_clock(); 0: it does not
	 * wait. */
	nsec_t waits_since;
	struct leg *leg; /* the leg; NULL: it ended while its job ran */
	unsigned values; /* values sent and received */
	size_t octets;	 /* octets of these values */
	/* The result of the handshake: why it failed; the peer's name and its kind; a text for the
	 * log; the cipher suite. */
	enum hostauth_cause cause;
	enum hostauth_name_kind peer_kind;
	char peer[HOSTAUTH_NAME_BYTES];
	char why[LEG_WHY_BYTES];
	char suite[32];
};

struct leg;

/** leg_peer_name - the name that the peer proved; "" if none. */
const char *leg_peer_name(const struct leg *leg);

/** leg_peer_is - whether the peer proved a name that @want, of an operator's list, allows. */
bool leg_peer_is(const struct leg *leg, const char *want);

/** leg_go_on - end the wait of leg_holds_back(). leg_next() is due after that. */
void leg_go_on(struct leg *leg);

/** leg_is_unproved - the peer has yet to prove its name, or has failed to. */
bool leg_is_unproved(const struct leg *leg);

/** leg_proves - the handshake of @leg is under way. */
bool leg_proves(const struct leg *leg);

/** leg_is_silent - @leg is an initiator that began host authentication without requiring it, and
 * its peer has sent no message. */
bool leg_is_silent(const struct leg *leg);

/** leg_is_worked_on - the next step of the handshake is computed, or queued, in another thread of
 * this process. This time does not count against the peer. */
bool leg_is_worked_on(const struct leg *leg);

/** leg_admit - end the wait of leg_awaits_handshake_slot(). */
void leg_admit(struct leg *leg, nsec_t now);

/**
 * leg_auth_clock - measure the time in which the handshake waits for this end, and extend the time
 * for set-up by that time
 *
 * Call it when such a wait may have begun or ended.
 */
void leg_auth_clock(struct leg *leg, nsec_t now);

/** leg_auth_back - a job that a leg gave to leg->jobs is done. Return: the leg, which is to be
 * pumped; NULL: it has ended. */
struct leg *leg_auth_back(struct job *job, nsec_t now);

/** leg_auth_take_result - true once, when the handshake has succeeded or failed. */
bool leg_auth_take_result(struct leg *leg);

#endif
