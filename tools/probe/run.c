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

const char *run_version_name(unsigned version)
{
	static const char *const names[] = {
		[0] = "-", [1] = "1", [2] = "2", [RUN_EARLY] = "2-early"};

	return names[version];
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
