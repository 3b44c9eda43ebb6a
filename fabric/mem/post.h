/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_POST_H
#define FABRIC_MEM_POST_H

#include "fabric/mem/internal.h"

/** mem_post_recv to mem_read - post_recv, post_pieces, send, write and read of struct
 * fabric_ops. */
int mem_post_recv(struct fabric_conn *base, void *buf, uint32_t len, void *cookie);
int mem_post_pieces(struct fabric_conn *base, const struct fabric_piece *pieces, unsigned n,
		    void *cookie);
int mem_send(struct fabric_conn *base, const struct fabric_sge *sge, unsigned nsge,
	     uint32_t inv_handle, void *cookie);
int mem_write(struct fabric_conn *base, const struct fabric_sge *sge, unsigned nsge,
	      const struct segment *remote, void *cookie);
int mem_read(struct fabric_conn *base, void *to, const struct segment *remote, void *cookie);

/** mem_post_flush - all operations posted on @c take effect. */
void mem_post_flush(struct mem_conn *c);

/** mem_post_reads - issue waiting Reads up to the read depth. */
void mem_post_reads(struct mem_conn *c);

/** mem_post_release - the initiator's first operation has arrived: send the posts of @c, the
 * acceptor, that waited for it. */
void mem_post_release(struct mem_conn *c);

#endif
