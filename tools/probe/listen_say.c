/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending messages, and finding the version of a message. */
#include "tools/probe/listen.h"
#include "v2/header.h"
#include "v2early/header.h"

void listener_send(struct listener *l, const struct xdr_out *x)
{
	/* If the connection has ended, the next wait reports it. */
	(void)!wire_send(&l->w, view_of(x->start, xdr_out_len(x)), 0);
	l->sent++;
	l->answered = true;
}

uint32_t listener_credit(struct listener *l)
{
	if (l->version == 2) {
		l->granted = l->arrived + LISTEN_CREDITS;
		return l->granted;
	}
	l->granted = LISTEN_CREDITS;
	return LISTEN_CREDITS;
}

/* Both drafts of version 2 have the number 2; the form of the first message tells them apart. */
unsigned listener_version_of(const struct listener *l, struct view in)
{
	uint32_t number = in.len >= V2_PREFIX_BYTES ? xdr_peek_u32(in.data + 4) : 0;
	unsigned version = number == 1 ? 1 : number != 2 ? 0 : early_is_first(in) ? RUN_EARLY : 2;

	return l->o->versions & 1u << version ? version : 0;
}
