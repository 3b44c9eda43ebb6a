/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections on which no message was sent yet. */
#include "tools/probe/run.h"

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
	r->w.observe = watch_observe;
	r->w.trace_arg = r;
	err = wire_connect(&r->w, &r->o->addr, pdata, run_deadline(r));
	return err < 0 ? failed(r, "cannot connect: %s", r->w.why) : PASS;
}

enum verdict raw_up(struct run *r)
{
	uint8_t pdata[V1_PDATA_BYTES];

	run_pdata(pdata, true);
	return run_connect(r, view_of(pdata, sizeof(pdata)));
}
