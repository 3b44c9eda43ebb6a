/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_EXPOSE_H
#define FABRIC_MEM_EXPOSE_H

#include "fabric/mem/internal.h"

/** mem_expose to mem_withdraw - expose, stream, went_on and withdraw of struct fabric_ops. */
int mem_expose(struct fabric_conn *base, void *addr, uint32_t len, unsigned access,
	       struct segment *seg);
int mem_stream(struct fabric_conn *base, const struct fabric_piece *window, uint32_t len,
	       void *cookie, struct segment *seg);
void mem_went_on(struct fabric_conn *base, uint32_t handle, uint32_t len);
int mem_withdraw(struct fabric_conn *base, uint32_t handle, void *cookie, uint32_t *written);

/** mem_exposure_find - exposure of @handle on @c that the peer can reach, or NULL. */
struct mem_exposure *mem_exposure_find(struct mem_conn *c, uint32_t handle);

/** mem_exposure_check - the exposure in which @remote lies; NULL if @access to all of it is not
 * granted. */
struct mem_exposure *mem_exposure_check(struct mem_conn *c, const struct segment *remote,
					unsigned access);

/** mem_exposure_invalidate - the peer can no longer reach @e, which its owner has still to
 * withdraw. */
void mem_exposure_invalidate(struct mem_conn *c, struct mem_exposure *e);

/** mem_exposure_release - the slot of @e is free again. */
void mem_exposure_release(struct mem_conn *c, struct mem_exposure *e);

/** mem_exposure_written - the peer placed @len octets at @from. */
void mem_exposure_written(struct mem_exposure *e, uint32_t from, uint32_t len);

/** mem_exposure_report - fabric_poll() returns @placed, a PLACED event, as @ev. */
void mem_exposure_report(struct mem_event *placed, struct fabric_event *ev);

/** mem_exposure_streamed - the peer placed a segment of @len octets at @from of a stream. */
void mem_exposure_streamed(struct mem_conn *c, struct mem_exposure *e, uint32_t from, uint32_t len);

/** mem_exposure_unread - a Read of @e was served. */
void mem_exposure_unread(struct mem_conn *c, struct mem_exposure *e);

/** mem_exposure_fenced - the withdrawal @op completes. */
void mem_exposure_fenced(struct mem_op *op);

#endif
