/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_DEVICE_H
#define TOOLS_PROBE_DEVICE_H

#include <stdio.h>

#include "tools/probe/env.h"
#include "tools/probe/options.h"

/**
 * device - what an RDMA device of this machine can do, and how a gateway would use it
 *
 * The device's own statements are what fabric/verbs finds when it opens the device, as in a
 * gateway. After that the device is tried, on connections with itself.
 */

/** enum trial - result of a trial. */
enum trial {
	TRIAL_NOT_TRIED,
	TRIAL_YES,
	TRIAL_NO,
};

/** struct device_trials - the result of each trial. A trial has connections of its own. */
struct device_trials {
	enum trial connects; /* the device connects to its own address */
	enum trial messages; /* messages of several pieces arrive whole, small ones too */
	/* RDMA Write, RDMA Read: data arrives whole and at the right place */
	enum trial written, read;
	enum trial bounded;	     /* the peer cannot reach an octet beyond an exposure */
	enum trial fenced;	     /* the peer cannot reach a withdrawn exposure */
	enum trial connection_alone; /* another connection cannot use the handle */
	enum trial domain_alone;     /* a connection of another domain cannot use the handle */
	enum trial invalidated;	     /* messages with invalidation invalidate handles */
	enum trial shares;	     /* connections can share Receives */
};

/** device_run - examine @o->device and report to @to. Return: exit status: 0; 1: the device does
 * not do what it says, or cannot be used; 3: no such device. */
int device_run(const struct probe_options *o, FILE *to);

#endif
