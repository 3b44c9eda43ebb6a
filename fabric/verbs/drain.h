/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_DRAIN_H
#define FABRIC_VERBS_DRAIN_H

struct vcq;
struct verbs_conn;
struct vshare;

/** drain - polling of completion queues */

/** drain_look - process a batch of completions of @q, which is in no list, and put @q into the list
 * of queues to be polled again, if it belongs there. */
void drain_look(struct vcq *q);

/** drain_conn - process all completions for @c that are there. */
void drain_conn(struct verbs_conn *c);

/** drain_shared - process all completions in a shared queue. */
void drain_shared(struct vshare *s);

#endif
