/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2EARLY_ANSWER_H
#define V2EARLY_ANSWER_H

#include "v2early/conn.h"

/** early_drop - count a received message that is dropped silently. */
static inline void early_drop(struct early_conn *c)
{
	c->t.count.dropped++;
}

/** early_answer_with - answer a bad message of the peer with @report. Return: as
 * rpc_transport_ops.recv. */
int early_answer_with(struct early_conn *c, const struct early_report *report) WARN_UNUSED;

/** early_option_of - the call @xid of this end, if it was sent as an option and is not answered;
 * otherwise NULL. */
struct early_option *early_option_of(struct early_conn *c, uint32_t xid);

/**
 * early_answered - an answer to the call @xid of this end came: frees the credits and Receives of
 * the call
 * @was: set to the option that the call was, or to all zero
 *
 * Return: whether a call waits for it.
 */
bool early_answered(struct early_conn *c, uint32_t xid, struct early_option *was);

/**
 * early_option_answered - as early_answered(), for an answer that only an option can have. If that
 * option was abandoned, no call waits for the answer: a call that has its XID now was sent in
 * another form, and gets another answer.
 */
bool early_option_answered(struct early_conn *c, uint32_t xid, struct early_option *was);

/**
 * early_fail - early_answered() for a message that is no reply. If a call waits for an answer, @rx
 * reports that the call @xid fails, with @code if @rx has no other report. Return: whether a call
 * waited.
 */
bool early_fail(struct early_conn *c, uint32_t xid, enum rpc_error_code code, struct rpc_rx *rx);

/** early_fail_option - early_fail() for a message about an option, as early_option_answered(). */
bool early_fail_option(struct early_conn *c, uint32_t xid, enum rpc_error_code code,
		       struct rpc_rx *rx);

#endif
