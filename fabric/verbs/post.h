/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_POST_H
#define FABRIC_VERBS_POST_H

#include <stdint.h>

#include "base/err.h"

struct fabric_conn;
struct fabric_piece;
struct fabric_sge;
struct ibv_mw;
struct ibv_mw_bind_info;
struct segment;
struct verbs;
struct verbs_conn;
struct vop;

/**
 * post - posting operations to send queues and Receives
 *
 * Functions of a struct fabric or fabric_conn that have no comment are those of struct fabric_ops
 * (fabric/fabric.h).
 */

/** post_init, post_fini - allocate and free the store of work requests of @v. Return: 0 or
 * ERR_NOMEM. */
int post_init(struct verbs *v) WARN_UNUSED;
void post_fini(struct verbs *v);

/** post_bind - post the bind of @mw with @key to the memory in @info. Return: 0 or ERR_CLOSED. */
int post_bind(struct verbs_conn *c, struct ibv_mw *mw, uint32_t key,
	      const struct ibv_mw_bind_info *info) WARN_UNUSED;

/** post_invalidate - post the local invalidate of @key; its completion is WITHDRAWN with @cookie.
 * Return: its record, or NULL: nothing can be posted any more. */
struct vop *post_invalidate(struct verbs_conn *c, uint32_t key, void *cookie);

/** post_held - the withdrawal of the exposure at @index completes when the queue pair is gone. */
void post_held(struct verbs_conn *c, uint32_t index, uint32_t handle, void *cookie);

/** post_ask - probe the peer by an RDMA Write of no octets, on a connection with nothing under
 * way. */
void post_ask(struct verbs_conn *c);

/** post_recv, post_pieces, post_send, post_write, post_read - those of struct fabric_ops. */
int post_recv(struct fabric_conn *fc, void *buf, uint32_t len, void *cookie) WARN_UNUSED;
int post_pieces(struct fabric_conn *fc, const struct fabric_piece *pieces, unsigned n,
		void *cookie) WARN_UNUSED;
int post_send(struct fabric_conn *fc, const struct fabric_sge *sge, unsigned nsge,
	      uint32_t inv_handle, void *cookie) WARN_UNUSED;
int post_write(struct fabric_conn *fc, const struct fabric_sge *sge, unsigned nsge,
	       const struct segment *remote, void *cookie) WARN_UNUSED;
int post_read(struct fabric_conn *fc, void *to, const struct segment *remote,
	      void *cookie) WARN_UNUSED;

#endif
