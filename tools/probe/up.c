/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that speak a version. */
#include "tools/probe/run.h"

enum verdict v1_up(struct run *r)
{
	enum verdict v = raw_up(r);

	r->version = 1;
	return v ?: null_call(r);
}

enum verdict early_up(struct run *r)
{
	enum verdict v = raw_up(r);

	r->version = RUN_EARLY;
	return v ?: null_call(r);
}

enum verdict v2_negotiated(struct run *r)
{
	nsec_t deadline = r->is_mute ? probe_now(r->env) + QUIET_MS * NSEC_PER_MS : run_deadline(r);
	struct wire_msg m;
	int err;

	while (!r->has_final) {
		err = wire_await(&r->w, deadline, &m);
		if (err == ERR_TIMEOUT && r->flow.received > 0 && r->flow.is_on) {
			/* The server has answered, and sends no properties: the defaults apply. */
			r->is_mute = true;
			return PASS;
		}
		if (err == ERR_TIMEOUT)
			return failed(r, "no answer to the first message");
		if (err < 0)
			return failed(r, "closed after the first message: %s", r->w.why);
		if (!is_grant(r, &m) && !take_properties(r, &m))
			return failed(r, "instead of properties: %s", msg_words(r, m.octets));
	}
	return PASS;
}

enum verdict v2_open(struct run *r)
{
	r->version = 2;
	return msg_send(r) ?: v2_negotiated(r);
}

enum verdict v2_up(struct run *r)
{
	enum verdict v = r->o->identity.is_given ? prove_up(r) : raw_up(r);

	if (v || r->o->identity.is_given)
		return v;
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put_props(r);
	return v2_open(r);
}

enum verdict version_up(struct run *r, unsigned version)
{
	return version == 1 ? v1_up(r) : version == RUN_EARLY ? early_up(r) : v2_up(r);
}

enum verdict case_up(struct run *r)
{
	return version_up(r, r->wanted);
}
