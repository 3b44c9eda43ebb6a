/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_LISTEN_H
#define FABRIC_MEM_LISTEN_H

#include "fabric/mem/internal.h"

/** mem_attach to mem_reject - attach, detach, connect, prepare, accept and reject of struct
 * fabric_ops. */
int mem_attach(struct fabric *base, struct fabric_listener *l, void *owner);
void mem_detach(struct fabric *base, struct fabric_listener *l);
int mem_connect(struct fabric *base, const struct fabric_addr *to,
		const struct fabric_conn_params *params, void *owner, struct fabric_conn **conn);
int mem_prepare(struct fabric_conn *base, const struct fabric_conn_params *params);
int mem_accept(struct fabric_conn *base, const struct fabric_conn_params *params, void *owner);
void mem_reject(struct fabric_conn *base, struct view private_data);

/** mem_request_arrives, mem_accepted, mem_answer_arrives - the steps of set-up that are due. @from:
 * the initiator. @c of mem_accepted(): the acceptor. @c of mem_answer_arrives(): the initiator. */
void mem_request_arrives(struct mem_conn *from);
void mem_accepted(struct mem_conn *c);
void mem_answer_arrives(struct mem_conn *c);

#endif
