/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that all files of a leg use: give Receives back to the connection, and end the
 * connection. */
#include "proxy/leg/leg_conn.h"
#include "proxy/leg/internal.h"

static int post(struct leg *leg, struct leg_rbuf *rb)
{
	const struct fabric_piece pieces[] = {{rb->data, leg->cfg->inline_bytes},
					      {leg_bulk(leg, rb), leg->cfg->bulk_bytes}};

	if (leg->bulks)
		return fabric_post_pieces(leg->conn, pieces, 2, rb);
	return fabric_post_recv(leg->conn, rb->data, leg->cfg->inline_bytes, rb);
}

void leg_post_recv(struct leg *leg, struct leg_rbuf *rb)
{
	int err;

	if (leg->recvs) {
		leg_drop_sums(rb);
		recv_pool_put(leg->recvs, rb);
		leg->posted++;
		leg->stuck_recvs -= rb->look != leg->recvs->look;
		leg->recvs->busy -= leg->posted == leg->nrbufs;
		if (leg->conn)
			fabric_gave_back(leg->conn);
		return;
	}
	if (leg->state == LEG_CLOSED || leg->closing) /* @rb may be freed already */
		return;
	leg_drop_sums(rb);
	err = post(leg, rb);
	if (err == 0)
		leg->posted++;
	else if (err != ERR_CLOSED) /* on ERR_CLOSED, DISCONNECTED follows */
		leg_stop(leg, err, "a Receive could not be posted");
}

void leg_stop(struct leg *leg, int status, const char *why)
{
	if (leg->closing || leg->state == LEG_CLOSED || !leg->conn)
		return;
	leg->close_status = status;
	leg->close_why = why;
	leg->closing = true;
	leg->deadline = NSEC_NEVER;
	fabric_disconnect(leg->conn);
}
