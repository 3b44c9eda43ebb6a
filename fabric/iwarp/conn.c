/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection of an instance, whatever its state: begun, woken, ended, freed. */
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/random.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/iwarp_internal.h"
#include "fabric/iwarp/sock.h"

nsec_t iwarp_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (nsec_t)ts.tv_sec * NSEC_PER_SEC + (nsec_t)ts.tv_nsec;
}

uint64_t iwarp_draw(struct iwarp *iw)
{
	uint64_t z;

	if (!iw->cfg.seed && getrandom(&z, sizeof(z), 0) == (ssize_t)sizeof(z))
		return z;
	return random_next(&iw->rng);
}

struct iwarp_conn *iwarp_conn_new(struct iwarp *iw, int fd, enum iwarp_state state, void *owner)
{
	struct iwarp_conn *c = mem_zalloc(sizeof(*c));

	if (c)
		c->frames = mem_zalloc(sizeof(*c->frames));
	if (!c || !c->frames) {
		mem_free(c);
		close(fd);
		return NULL;
	}
	c->base.fabric = &iw->base;
	c->base.owner = owner;
	c->base.remote_inv = true;
	c->iw = iw;
	c->fd = fd;
	c->state = state;
	timer_init(&c->deadline, iw->wake.expired);
	timer_init(&c->stall, iw->wake.stalled);
	c->frames->in_need = MPA_HEADER_BYTES;
	c->watch.ready = iw->wake.ready;
	c->offer = (struct mpa_local){iw->cfg.crc, iw->cfg.ird, iw->cfg.ord};
	list_init(&c->active);
	list_init(&c->dirty);
	list_init(&c->yielded);
	list_init(&c->recv_wait);
	list_init(&c->read_turn_link);
	list_init(&c->inside);
	list_init(&c->probe);
	list_init(&c->setup);
	list_add_tail(&iw->conns, &c->all);
	if (!timer_is_armed(&iw->trim))
		timer_arm(&iw->timers, &iw->trim, iwarp_now() + IWARP_TRIM_INTERVAL);
	sock_options(fd, &iw->cfg);
	return c;
}

static void close_socket(struct iwarp_conn *c)
{
	if (c->watched)
		c->iw->loop->ops->del(c->iw->loop, &c->watch);
	c->watched = false;
	if (c->fd >= 0 && c->resets)
		sock_free_port(c->fd);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	timer_disarm(&c->iw->timers, &c->deadline);
	timer_disarm(&c->iw->timers, &c->stall);
	list_del(&c->dirty);
	list_del(&c->yielded);
	list_del(&c->recv_wait);
	iwarp_conn_end_read_turn(c);
	list_del(&c->inside);
	list_del(&c->probe);
	if (!list_is_empty(&c->setup) && c->state == IWARP_REJECTED)
		c->iw->rejected_count--;
	preauth_queue_leave(&c->iw->preauth_queue, &c->silent);
	c->iw->base.arrived = c->iw->preauth_queue.count;
	list_del(&c->setup);
}

/* When the last connection has ended, no Receive is needed: starts the period, at whose end posted
 * Receives are returned to the user. */
static void look_at_receives(struct iwarp *iw)
{
	if (iw->recvq.held > 0 && iw->recvq.depth.promised == 0 && !timer_is_armed(&iw->period))
		timer_arm(&iw->timers, &iw->period, iwarp_now() + NSEC_PER_SEC);
}

void iwarp_conn_free(struct iwarp_conn *c)
{
	close_socket(c);
	list_del(&c->active);
	list_del(&c->all);
	if (c->has_qp)
		qp_fini(&c->qp);
	look_at_receives(c->iw);
	if (c->iw->greeted == c)
		c->iw->greeted = NULL;
	mem_free(c->frames);
	mem_free(c);
}

void iwarp_conn_activate(struct iwarp_conn *c)
{
	if (list_is_empty(&c->active))
		list_add_tail(&c->iw->active, &c->active);
}

void iwarp_conn_end(struct iwarp_conn *c, int status, const char *why)
{
	if (c->state == IWARP_CLOSED)
		return;
	c->state = IWARP_CLOSED;
	close_socket(c);
	if (c->has_qp) {
		qp_stop(&c->qp, status, why);
		status = c->qp.status;
		why = c->qp.why;
		c->base.handles_live = 0;
	}
	c->status = status;
	c->why = why;
	iwarp_conn_activate(c);
}

void iwarp_conn_deadline(struct iwarp_conn *c, uint32_t ms)
{
	timer_arm(&c->iw->timers, &c->deadline, ms ? iwarp_now() + ms * NSEC_PER_MS : NSEC_NEVER);
}

int iwarp_conn_queues(struct iwarp_conn *c, const struct fabric_conn_params *p)
{
	struct qp_depths depths = {.max_recvs = p->max_recvs,
				   .max_sends = p->max_sends,
				   .max_exposures = p->max_exposures,
				   .pieces = p->recv_pieces};
	uint64_t seed[5];
	int rc;

	if (c->has_qp)
		return 0;
	c->busy_poll_us = p->tuning.busy_poll_us;
	c->offer.ird = p->ird ? p->ird : c->iw->cfg.ird;
	c->offer.ord = p->ord ? p->ord : c->iw->cfg.ord;
	depths.ird = c->offer.ird;
	depths.ord = c->offer.ord;
	for (int i = 0; i < 5; i++)
		seed[i] = iwarp_draw(c->iw);
	rc = qp_init(&c->qp, &depths, seed, &c->iw->store);
	if (!rc && c->qp.recvq)
		c->qp.recvs_held = &c->base.recvs_held;
	c->has_qp = !rc;
	return rc;
}
