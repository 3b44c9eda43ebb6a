/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/probe/run.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "rtrext/structure.h"

int run_init(struct run *r, const struct probe_options *o, const struct probe_env *env)
{
	*r = (struct run){
		.o = o, .env = env, .next_xid = env->first_xid, .program = o->programs[0]};
	r->assembly = mem_zalloc(RUN_REPLY_MAX);
	return r->assembly ? wire_init(&r->w, env) : ERR_NOMEM;
}

void run_fini(struct run *r)
{
	wire_fini(&r->w);
	mem_free(r->assembly);
	r->assembly = NULL;
}

enum verdict passed(struct run *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->detail, sizeof(r->detail), fmt, args);
	va_end(args);
	return PASS;
}

enum verdict reads(struct run *r, const char *of, const char *reading, const char *fmt, ...)
{
	va_list args;

	r->reading_of = of;
	snprintf(r->reading, sizeof(r->reading), "%s", reading);
	va_start(args, fmt);
	vsnprintf(r->detail, sizeof(r->detail), fmt, args);
	va_end(args);
	return PASS;
}

enum verdict failed(struct run *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->detail, sizeof(r->detail), fmt, args);
	va_end(args);
	return FAIL;
}

enum verdict skipped(struct run *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->detail, sizeof(r->detail), fmt, args);
	va_end(args);
	return SKIP;
}

nsec_t run_deadline(const struct run *r)
{
	return probe_now(r->env) + r->o->timeout;
}

void run_pdata(uint8_t out[V1_PDATA_BYTES], bool remote_inv)
{
	const struct rpc_params own = {
		.send_bytes = RUN_INLINE, .recv_bytes = RUN_INLINE, .remote_inv = remote_inv};

	v1_pdata_encode(out, &own);
}

enum verdict run_connect(struct run *r, struct view pdata)
{
	int err;

	wire_close(&r->w);
	r->version = 0;
	r->has_final = false;
	r->prop_messages = 0;
	r->largest = 0;
	r->props = (struct v2_props){0};
	r->rtr_targets = 0;
	r->reply_chunk = NULL;
	r->keep_credit = false;
	watch_begin(r);
	r->w.tap = watch_tap;
	r->w.tap_arg = r;
	err = wire_connect(&r->w, &r->o->addr, pdata, run_deadline(r));
	return err < 0 ? failed(r, "cannot connect: %s", r->w.why) : PASS;
}

enum verdict raw_up(struct run *r)
{
	uint8_t pdata[V1_PDATA_BYTES];

	run_pdata(pdata, true);
	return run_connect(r, view_of(pdata, sizeof(pdata)));
}

enum verdict v1_up(struct run *r)
{
	enum verdict v = raw_up(r);

	r->version = 1;
	return v ?: null_call(r);
}

const char *run_version_name(unsigned version)
{
	static const char *const names[] = {
		[0] = "-", [1] = "1", [2] = "2", [RUN_EARLY] = "2-early"};

	return names[version];
}

enum verdict early_up(struct run *r)
{
	enum verdict v = raw_up(r);

	r->version = RUN_EARLY;
	return v ?: null_call(r);
}

bool take_properties(struct run *r, const struct wire_msg *m)
{
	struct rtr_structure structure;
	struct v2_hdr h;
	struct rpc_error fault;

	if (r->version != 2 || r->has_final ||
	    v2_decode(&h, &r->scratch, m->octets, RPC_MAX_SEGMENTS, &fault) < 0 ||
	    (h.htype != V2_CONNPROP_MIDDLE && h.htype != V2_CONNPROP_FINAL))
		return false;
	h.props.hostauth = view_of(NULL, 0);
	if (h.props.present & V2_HAS_RTR_STRUCTURE &&
	    !rtr_structure_decode(&structure, h.props.rtr_structure))
		r->rtr_targets = structure.targets;
	v2_props_merge(&r->props, &h.props);
	r->prop_messages++;
	r->has_final = h.htype == V2_CONNPROP_FINAL;
	return true;
}

enum verdict v2_negotiated(struct run *r)
{
	nsec_t deadline = r->is_mute ? probe_now(r->env) + QUIET_MS * NSEC_PER_MS : run_deadline(r);
	struct wire_msg m;
	int err;

	while (!r->has_final) {
		err = wire_await(&r->w, deadline, &m);
		if (err == ERR_TIMEOUT && r->flow.received > 0 && r->flow.is_on) {
			/* It has answered, with something. The defaults hold. */
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
