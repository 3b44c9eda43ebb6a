/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_SUBMIT_H
#define FABRIC_VERBS_SUBMIT_H

struct verbs;
struct verbs_conn;

/** submit - handing posts to the device */

/** submit_all - hand everything posted to the devices. */
void submit_all(struct verbs *v);

/** submit_conn - hand everything posted on one connection to its device. */
void submit_conn(struct verbs_conn *c);

/** submit_drop - drop the posts of @c that were not handed to the device. */
void submit_drop(struct verbs_conn *c);

#endif
