/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/pause.h"
#include "fabric/verbs/cm.h"
#include "fabric/verbs/conn.h"
#include "fabric/verbs/conn_close.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/device_removal.h"
#include "fabric/verbs/end.h"
#include "fabric/verbs/queue.h"
#include "fabric/verbs/share_conn.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/srq.h"
#include "fabric/verbs/strings.h"
#include "fabric/verbs/submit.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"

/*
 * Operation
 *
 * 	initiator: RESOLVING (address, route) -> CONNECTING -.
 * 	acceptor:  REQUESTED -> ACCEPTED -------------------+-> OPEN
 *
 * Events are copied and acknowledged before they are processed: processing may destroy the
 * identifier that an event is about, and rdma_destroy_id() waits for the acknowledgement.
 *
 * A queue pair needs a device. An acceptor knows its device from the start. An initiator knows it
 * when the route is resolved; until then its posts wait in its ring.
 */

#define NO_DEVICE "no RDMA device leads there, see rdma link and ip route get"
#define NO_DEVICE_FROM                                                                             \
	"no RDMA device with that source address leads there, see rdma link and ip rule"
#define NO_ROUTE "no route, see ip route get, or the subnet manager of InfiniBand"

/* The private data of a CM event has a fixed size. All zeros means that there is none. */
static void copy_private_data(struct vevent *e, const struct rdma_conn_param *p)
{
	size_t len = p->private_data ? p->private_data_len : 0;
	bool any = false;

	if (len > sizeof(e->pd))
		len = sizeof(e->pd);
	for (size_t i = 0; i < len; i++)
		any |= (e->pd[i] = ((const uint8_t *)p->private_data)[i]) != 0;
	e->pd_len = any ? len : 0;
}

/* librdmacm does steps of its own while it reports an event. If one of them fails, the event's
 * status is -1, which would be EPERM, and errno has the cause. */
static int status_of(const struct rdma_cm_event *got)
{
	return got->status == -1 ? -(errno ? errno : EIO) : got->status;
}

bool cm_next(struct rdma_event_channel *channel, struct vevent *e)
{
	struct rdma_cm_event *got;

	errno = 0;
	if (rdma_get_cm_event(channel, &got))
		return false;
	*e = (struct vevent){.type = got->event,
			     .id = got->id,
			     .listen_id = got->listen_id,
			     .status = status_of(got),
			     .ird = got->param.conn.responder_resources,
			     .ord = got->param.conn.initiator_depth};
	switch (got->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_REJECTED:
		copy_private_data(e, &got->param.conn);
		break;
	default:
		e->ird = e->ord = 0;
	}
	(void)rdma_ack_cm_event(got);
	return true;
}

void cm_ready(struct loop_watch *w, unsigned events)
{
	struct verbs *v = container_of(w, struct verbs, watch);
	struct vevent e;

	(void)events;
	while (cm_next(v->channel, &e))
		if (e.id && e.id->context)
			cm_handle(e.id->context, &e);
}

static uint8_t cut_depth(uint32_t want, int device, uint32_t peer, bool rxe)
{
	uint32_t most = device < 0 ? 0 : (uint32_t)device;

	if (most > UINT8_MAX)
		most = UINT8_MAX;
	if (most > peer)
		most = peer;
	if (want < most)
		most = want;
	/* rxe would take the next power of two above it (rxe_qp_from_attr()). */
	while (rxe && most & (most - 1))
		most &= most - 1;
	return (uint8_t)most;
}

/* Parameters of the request or answer. Each read depth is the least of what both ends want and both
 * devices support. */
static struct rdma_conn_param conn_param(const struct verbs_conn *c, const void *pd, size_t pd_len)
{
	const struct ibv_device_attr *attr = &c->dev->attr;

	return (struct rdma_conn_param){
		.private_data = pd_len ? pd : NULL,
		.private_data_len = (uint8_t)pd_len,
		.responder_resources =
			cut_depth(c->ird, attr->max_qp_rd_atom,
				  c->initiator ? UINT8_MAX : c->peer_ird, c->dev->rxe),
		.initiator_depth = cut_depth(c->ord, attr->max_qp_init_rd_atom,
					     c->initiator ? UINT8_MAX : c->peer_ord, c->dev->rxe),
		.flow_control = 1,
		.retry_count = c->tuning.retry_count,
		.rnr_retry_count = c->tuning.rnr_retry_count,
	};
}

/* Logs that no queue pair could be made, with the limit of locked memory: with most adapters the
 * queues of each connection are locked memory. */
static void log_no_pair(const struct verbs_conn *c, const char *event, int err)
{
	char host[FABRIC_ADDR_TEXT];
	const char *hint = errno == ENOMEM ? " (locked memory? LimitMEMLOCK=, ulimit -l)" : "";

	log_peer(LOG_LEVEL_WARN, event, fabric_addr_host(&c->base.peer, host),
		 "cause=%s why=\"no queue pair: %s%s\"", err_name(err), strerror(errno), hint);
}

/* A step of set-up failed with the errno @err, of either sign; 0: unknown. An errno without words
 * of its own is logged, because @why then says only which step failed. */
static void note_failed(struct verbs_conn *c, int err, int otherwise, const char *why)
{
	const char *step = why;
	int status = strings_setup(err, otherwise, &why);
	char host[FABRIC_ADDR_TEXT];

	if (why == step && err && abs(err) != ENODEV)
		log_peer(LOG_LEVEL_WARN, "verbs.connect", fabric_addr_host(&c->base.peer, host),
			 "cause=%s why=\"%s: %s\"", err_name(status), step, strerror(abs(err)));
	conn_close_note_cause(c, status, why);
}

static void finish_failed(struct verbs_conn *c, int err, int otherwise, const char *why)
{
	note_failed(c, err, otherwise, why);
	end_finish(c, c->status, c->why);
}

static void on_route(struct verbs_conn *c)
{
	struct rdma_conn_param param;
	int err = queue_make(c);

	if (err) {
		log_no_pair(c, "verbs.connect", err);
		end_finish(c, err, "the device has no queue pair for it");
		return;
	}
	if (c->v->base.remote_inv && !c->dev->windows) {
		/* The peer was promised something that this device, opened just now, cannot do. */
		c->v->base.remote_inv = false;
		end_finish(c, ERR_LOCAL, "a device without Memory Windows came up");
		return;
	}
	param = conn_param(c, c->own_pd, c->own_pd_len);
	c->state = VERBS_CONNECTING;
	if (rdma_connect(c->id, &param))
		finish_failed(c, errno, ERR_IO, "the device cannot connect");
}

static void on_address(struct verbs_conn *c)
{
	if (!device_adopt(c->v, c->id))
		end_finish(c, ERR_LOCAL, "the RDMA device cannot be used");
	else if (rdma_resolve_route(c->id, (int)c->tuning.resolve_ms))
		finish_failed(c, errno, ERR_REFUSED, NO_ROUTE);
}

static void on_established(struct verbs_conn *c, const struct vevent *e)
{
	if (c->state == VERBS_CONNECTING) {
		memcpy(c->pd, e->pd, e->pd_len);
		c->pd_len = e->pd_len;
		c->peer_ord = e->ord;
	}
	conn_opened(c);
}

static void on_rejected(struct verbs_conn *c, const struct vevent *e)
{
	const char *why;
	int status = strings_reject(c->dev && c->dev->iwarp, e->status, &why);

	memcpy(c->pd, e->pd, e->pd_len);
	c->pd_len = e->pd_len;
	end_finish(c, status, why);
}

static void on_removal(struct verbs_conn *c)
{
	if (c->dev) {
		device_removal_lost(c->dev); /* ends @c with the others */
		c->v->look = 0;
	} else {
		end_finish(c, ERR_LOCAL, "the RDMA device was removed");
	}
}

void cm_handle(struct verbs_conn *c, const struct vevent *e)
{
	if (c->state == VERBS_ENDED)
		return;
	switch (e->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		on_address(c);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		on_route(c);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR: /* ports were chosen before, so an address is missing */
		finish_failed(c, e->status == -EADDRNOTAVAIL ? 0 : e->status, ERR_REFUSED,
			      NO_DEVICE);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		finish_failed(c, e->status, ERR_REFUSED, NO_ROUTE);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(c, e);
		break;
	case RDMA_CM_EVENT_REJECTED:
		on_rejected(c, e);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		end_finish(c, ERR_TIMEOUT, "no answer to the connection request");
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		finish_failed(c, e->status, ERR_IO, "the connection could not be set up");
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		end_by_peer(c, e->status);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		on_removal(c);
		break;
	default: /* multicast, changed addresses */
		break;
	}
}

/* The time for set-up begins. It has SETUP_LOOKS looks (base/pause.h). */
static void begin_setup_time(struct verbs_conn *c)
{
	c->setup_looks = 0;
	wake_conn_in(c, c->v->cfg.setup_timeout_ms / SETUP_LOOKS);
}

void cm_expired(struct verbs_conn *c)
{
	if (c->state == VERBS_DRAINING)
		conn_close_begin(c, ERR_TIMEOUT, "the peer does not take what was sent");
	else if (c->state == VERBS_LEAVING)
		end_finish(c, 0, NULL);
	else if (!c->caused && ++c->setup_looks < SETUP_LOOKS)
		wake_conn_in(c, c->v->cfg.setup_timeout_ms / SETUP_LOOKS);
	else
		end_finish(c, ERR_TIMEOUT, "connection set-up took too long");
}

/* Operations of the contract */

/* With @from, the kernel has one error for an address without a device and for a lack of ports. */
static void note_unresolved(struct verbs_conn *c, int err, const struct fabric_addr *from)
{
	note_failed(c, err, ERR_REFUSED, from ? NO_DEVICE_FROM : NO_DEVICE);
	if (from && err == EADDRNOTAVAIL)
		c->why = NO_DEVICE_FROM ", or it has no port left";
}

/* A failure is reported by DISCONNECTED, as any later one. */
static void resolve(struct verbs_conn *c, const struct fabric_addr *from,
		    const struct fabric_addr *to)
{
	struct sockaddr_storage ss = to->ss, own = {0};

	if (from)
		own = from->ss;
	if (rdma_create_id(c->v->channel, &c->id, c, RDMA_PS_TCP))
		note_failed(c, errno, ERR_LOCAL, "no RDMA device works here, see rdma link");
	else if (rdma_resolve_addr(c->id, from ? (struct sockaddr *)&own : NULL,
				   (struct sockaddr *)&ss, (int)c->tuning.resolve_ms))
		note_unresolved(c, errno, from);
	if (c->caused)
		wake_conn_in(c, 1);
	else
		begin_setup_time(c);
}

int cm_connect(struct fabric *f, const struct fabric_addr *to,
	       const struct fabric_conn_params *params, void *owner, struct fabric_conn **conn)
{
	struct verbs_conn *c;
	int err;

	if (params->private_data_len > PD_REQUEST_MAX)
		return ERR_TOOBIG;
	c = conn_new(verbs_of(f), NULL, VERBS_RESOLVING, owner);
	if (!c)
		return ERR_NOMEM;
	c->initiator = true;
	c->base.peer = *to;
	c->own_pd_len = params->private_data_len;
	if (c->own_pd_len)
		memcpy(c->own_pd, params->private_data, c->own_pd_len);
	err = queue_depths(c, params);
	if (err) {
		end_free(c);
		return err;
	}
	resolve(c, params->from, to);
	*conn = &c->base;
	return 0;
}

int cm_prepare(struct fabric_conn *fc, const struct fabric_conn_params *params)
{
	struct verbs_conn *c = vconn_of(fc);
	int err;

	if (c->state != VERBS_REQUESTED)
		return ERR_CLOSED;
	err = queue_depths(c, params);
	if (!err)
		err = queue_make(c);
	if (err)
		log_no_pair(c, "verbs.accept", err);
	return err;
}

/* An accept fails most often because the peer is gone. */
static int accept_failed(const struct verbs_conn *c, int err)
{
	const char *why = NULL;
	char host[FABRIC_ADDR_TEXT];

	if (strings_setup(err, ERR_CLOSED, &why) == ERR_LOCAL)
		log_peer(LOG_LEVEL_WARN, "verbs.accept", fabric_addr_host(&c->base.peer, host),
			 "cause=%s why=\"%s\"", err_name(ERR_LOCAL), why);
	return ERR_CLOSED;
}

int cm_accept(struct fabric_conn *fc, const struct fabric_conn_params *params, void *owner)
{
	struct verbs_conn *c = vconn_of(fc);
	struct rdma_conn_param param;
	int err = cm_prepare(fc, params);

	if (err)
		return err;
	if (params->private_data_len > PD_ACCEPT_MAX)
		return ERR_TOOBIG;
	c->base.owner = owner;
	/* After the answer the peer may send at once. */
	if (c->share)
		srq_flush(c->share);
	submit_conn(c);
	param = conn_param(c, params->private_data, params->private_data_len);
	if (rdma_accept(c->id, &param))
		return accept_failed(c, errno);
	share_set_timer(c);
	c->state = VERBS_ACCEPTED;
	begin_setup_time(c);
	return 0;
}

void cm_reject(struct fabric_conn *fc, struct view pd)
{
	struct verbs_conn *c = vconn_of(fc);
	size_t len = pd.len < PD_REJECT_MAX ? pd.len : PD_REJECT_MAX;

	if (c->state == VERBS_REQUESTED)
		(void)rdma_reject(c->id, len ? pd.data : NULL, (uint8_t)len);
	end_free(c);
}
