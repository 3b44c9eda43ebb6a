/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_DEVICE_H
#define TOOLS_PROBE_DEVICE_H

#include <stdio.h>

#include "tools/probe/env.h"
#include "tools/probe/options.h"

/**
 * device - what an RDMA device of this machine can do, and what a gateway does with it
 *
 * What it says of itself is what fabric/verbs found when it took it into use, as a gateway does. Then it is
 * tried, on connections of the device with itself.
 */

/** enum trial - what became of one. */
enum trial {
	TRIAL_NOT_TRIED,
	TRIAL_YES,
	TRIAL_NO,
};

/** struct device_trials - "is it so?", each on connections of its own. */
struct device_trials {
	enum trial connects;	     /* to its own address */
	enum trial messages;	     /* of several pieces arrive whole; small ones, too */
	enum trial written, read;    /* what is exposed, whole and where it should be */
	enum trial bounded;	     /* an octet beyond it is not reached */
	enum trial fenced;	     /* nor anything, once it is withdrawn */
	enum trial connection_alone; /* nor by another connection */
	enum trial domain_alone;     /* nor by one of another domain */
	enum trial invalidated;	     /* messages invalidate handles */
	enum trial shares;	     /* Receives are for all connections */
};

/** device_run - examine @o->device and tell @to. Return: exit status: 0; 1: it does not do what it says, or
 * can not be used; 3: there is no such device. */
int device_run(const struct probe_options *o, FILE *to);

#endif
