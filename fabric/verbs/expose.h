/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_EXPOSE_H
#define FABRIC_VERBS_EXPOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct fabric_conn;
struct segment;
struct verbs_conn;

/**
 * expose - exposed memory
 *
 * Functions of a struct fabric or fabric_conn that have no comment are those of struct fabric_ops
 * (fabric/fabric.h).
 */

/** expose_init - allocate the table of @c's exposures. Return: 0 or ERR_NOMEM. */
int expose_init(struct verbs_conn *c) WARN_UNUSED;

/** expose_add, expose_withdraw - expose and withdraw of struct fabric_ops. */
int expose_add(struct fabric_conn *fc, void *addr, uint32_t len, unsigned access,
	       struct segment *seg) WARN_UNUSED;
int expose_withdraw(struct fabric_conn *fc, uint32_t handle, void *cookie,
		    uint32_t *written) WARN_UNUSED;

/** expose_may_invalidate - whether a message of the peer may have invalidated @handle: @handle is
 * one of @c, or was withdrawn a short time ago. */
bool expose_may_invalidate(struct verbs_conn *c, uint32_t handle);

/** expose_invalidated - record that a message of the peer has invalidated @handle. */
void expose_invalidated(struct verbs_conn *c, uint32_t handle);

/** expose_fenced - the local invalidate of the exposure at @index completed with @status. */
void expose_fenced(struct verbs_conn *c, uint32_t index, int status);

/** expose_end - fence all exposures of @c. Call it before the queue pair is destroyed, and once
 * more after that, for exposures that the device did not release before. */
void expose_end(struct verbs_conn *c);

#endif
