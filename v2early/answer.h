/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2EARLY_ANSWER_H
#define V2EARLY_ANSWER_H

#include "v2early/conn.h"

/** early_drop - nobody is told of what was received. */
static inline void early_drop(struct early_conn *c)
{
	c->t.count.dropped++;
}

/** early_answer_with - the peer's message is no good, and draws @report. Return: as rpc_transport_ops.recv. */
int early_answer_with(struct early_conn *c, const struct early_report *report) WARN_UNUSED;

/** early_option_of - the call @xid of ours, if it is an option that has not been answered; else NULL. */
struct early_option *early_option_of(struct early_conn *c, uint32_t xid);

/**
 * early_answered - an answer to the call @xid of ours has come: what it took comes back with it
 * @was: what it was if an option, else all zero
 *
 * Return: whether it is waited for.
 */
bool early_answered(struct early_conn *c, uint32_t xid, struct early_option *was);

/** early_option_answered - the same by what can only be the answer to an option: where that was let go nobody waits for it, for a
 * call that has its XID now went in another form, and has an answer of its own. */
bool early_option_answered(struct early_conn *c, uint32_t xid, struct early_option *was);

/** early_fail - early_answered() by what is no answer: if it was waited for, @rx is, also, that the call @xid fails; with
 * @code, if that is all it is. Return: whether it was. */
bool early_fail(struct early_conn *c, uint32_t xid, enum rpc_error_code code, struct rpc_rx *rx);

/** early_fail_option - the same by what is about an option, as early_option_answered(). */
bool early_fail_option(struct early_conn *c, uint32_t xid, enum rpc_error_code code,
		       struct rpc_rx *rx);

#endif
