/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/reject.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/iwarp_internal.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/mem.h"

/*
 * Operation
 *
 * State:  the user has rejected a connection, and no longer knows it. The Reply Frame was sent.
 * Danger: close() of a socket with unread octets sends a reset, which overtakes the Reply Frame. A
 *         peer that has sent more than its Request would never learn the reason.
 * Rule:   this end closes only its direction of the stream, discards input, and frees the
 *         connection at the peer's FIN. The wait is limited in time (IWARP_LINGER_MS), octets
 *         (REJECT_OCTETS) and number of connections (REJECT_MAX; the oldest one ends).
 * Pinned: tests/iwarp/test_iwarp_faults.c:test_rejection_is_not_overtaken,
 *         :test_rejected_and_silent,
 *         tests/iwarp/test_iwarp_setups.c:a_rejected_peer_that_talks_on_is_closed.
 */

enum { REJECT_OCTETS = 65536, REJECT_MAX = 64 };

/* Return: whether the connection may be freed. */
static bool is_over(struct iwarp_conn *c)
{
	uint8_t sink[4096];

	while (c->unheard < REJECT_OCTETS) {
		ssize_t n = recv(c->fd, sink, sizeof(sink), 0);

		if (n > 0)
			c->unheard += (uint32_t)n;
		else if (n == 0 || errno != EINTR)
			return n == 0 || errno != EAGAIN;
	}
	return true;
}

void reject_ready(struct iwarp_conn *c)
{
	if (is_over(c))
		iwarp_conn_free(c);
}

void reject_begin(struct iwarp_conn *c)
{
	struct iwarp *iw = c->iw;

	if (shutdown(c->fd, SHUT_WR)) {
		iwarp_conn_free(c);
		return;
	}
	if (c->has_qp)
		qp_fini(&c->qp);
	mem_free(c->frames);
	c->frames = NULL;
	c->has_qp = c->request_due = false;
	list_del(&c->active);
	c->state = IWARP_REJECTED;
	list_add_tail(&iw->rejected, &c->setup);
	if (++iw->rejected_count > REJECT_MAX)
		iwarp_conn_free(list_first(&iw->rejected, struct iwarp_conn, setup));
	iwarp_conn_deadline(c, IWARP_LINGER_MS);
	reject_ready(c); /* octets that came with the Request cause no further edge event */
}
