/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/verbs/adapter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

struct adapter adapter;

static int failed(int error)
{
	errno = error;
	return -1;
}

/* libibverbs */

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	*attr = (struct ibv_device_attr){.device_cap_flags = adapter.flags,
					 .vendor_id = adapter.vendor,
					 .max_qp_wr = 1024,
					 .max_sge = (int)adapter.max_sge,
					 .max_cqe = 4096,
					 .max_srq = 1,
					 .max_srq_wr = 64,
					 .max_srq_sge = 1,
					 .max_qp_rd_atom = 16,
					 .max_qp_init_rd_atom = 16};
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = adapter.is_full ? NULL : mem_zalloc(sizeof(*pd));

	if (pd) {
		pd->context = context;
		adapter.pds++;
	}
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	adapter.pds--;
	mem_free(pd);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = mem_zalloc(sizeof(*channel));

	channel->context = context;
	channel->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	mem_free(channel);
	return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr;

	(void)access;
	assert_non_null(pd);
	if (adapter.short_of_regions && adapter.short_of_regions--) {
		errno = ENOMEM;
		return NULL;
	}
	mr = mem_zalloc(sizeof(*mr));
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->lkey = mr->rkey = 0x100 * ++adapter.regions;
	adapter.iova = (uintptr_t)addr;
	return adapter.region = mr;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, length, access);

	if (mr)
		adapter.iova = iova;
	return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (adapter.keeps && adapter.keeps--)
		return EIO;
	adapter.regions--;
	mem_free(mr);
	return 0;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw;

	if (!adapter.has_windows || (adapter.other_has_none && pd->context == &adapter.other)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (adapter.short_of_windows && adapter.short_of_windows--) {
		errno = ENOMEM;
		return NULL;
	}
	mw = mem_zalloc(sizeof(*mw));
	mw->pd = pd;
	mw->type = type;
	mw->context = pd->context;
	mw->rkey = 0x10000 + 0x100 * ++adapter.windows;
	return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	if (adapter.keeps && adapter.keeps--)
		return EIO;
	adapter.windows--;
	mem_free(mw);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *owner,
			     struct ibv_comp_channel *channel, int vector)
{
	struct adapter_cq *q = adapter.cq_errno ? NULL : mem_zalloc(sizeof(*q));

	(void)channel;
	if (!q) {
		failed(adapter.cq_errno);
		return NULL;
	}
	adapter.vector = vector;
	adapter.cqe = cqe;
	q->cq = (struct ibv_cq){.context = context, .cq_context = owner, .cqe = cqe};
	return &q->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	mem_free(container_of(cq, struct adapter_cq, cq));
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct adapter_cq *q = container_of(cq, struct adapter_cq, cq);

	if (q->broken)
		return -1;
	if (n > q->n)
		n = q->n;
	memcpy(wc, q->wc, (size_t)n * sizeof(*wc));
	q->n -= n;
	memmove(q->wc, q->wc + n, (size_t)q->n * sizeof(*wc));
	return n;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	(void)cq, (void)solicited;
	return adapter.arm_errno;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = mem_zalloc(sizeof(*srq));

	srq->context = pd->context;
	srq->srq_context = attr->srq_context;
	return srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	mem_free(srq);
	return 0;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	(void)srq, (void)attr, (void)mask;
	return 0;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)srq, (void)wr, (void)bad;
	return 0;
}

static int qp_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp, (void)wr, (void)bad;
	return 0;
}

/* As bnxt_re does: what is before the one it does not know is posted. */
static int qp_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	for (; wr; wr = wr->next) {
		adapter.stale += !wr->num_sge && wr->sg_list && wr->sg_list->length;
		adapter.listless += !wr->sg_list;
		adapter.keyless += wr->opcode == IBV_WR_RDMA_WRITE && !wr->wr.rdma.rkey;
		if (adapter.refuses_all ||
		    (wr->opcode == IBV_WR_SEND_WITH_INV && adapter.refuses_inv)) {
			adapter.refused++;
			*bad = wr;
			return -EINVAL;
		}
		adapter.sends += wr->opcode == IBV_WR_SEND;
		adapter.sends_inv += wr->opcode == IBV_WR_SEND_WITH_INV;
	}
	return 0;
}

/* Limits that are granted are written back over the limits asked for. */
static int grant(struct ibv_qp_cap *cap)
{
	if (cap->max_inline_data > adapter.max_inline || cap->max_send_sge > adapter.max_send_sge)
		return failed(EINVAL);
	if (adapter.grants_inline && cap->max_inline_data > adapter.grants_inline)
		cap->max_inline_data = adapter.grants_inline;
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp;

	(void)pd;
	if (grant(&attr->cap))
		return NULL;
	qp = mem_zalloc(sizeof(*qp));
	assert_non_null(qp);
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	mem_free(qp);
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	(void)mask, (void)init;
	attr->qp_state = qp->state;
	return 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	(void)context;
	if (!adapter.nevents)
		return failed(EAGAIN);
	*event = adapter.events[--adapter.nevents];
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}

/* librdmacm */

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (adapter.pair_errno)
		return failed(adapter.pair_errno);
	if (grant(&attr->cap))
		return -1;
	adapter.cap = attr->cap;
	adapter.qp = (struct ibv_qp){.context = pd->context,
				     .qp_context = attr->qp_context,
				     .pd = pd,
				     .qp_num = 7,
				     .state = IBV_QPS_RTS};
	id->qp = &adapter.qp;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	id->qp = NULL;
}

static struct rdma_cm_id **find_id(const struct rdma_cm_id *id)
{
	for (int i = 0; i < ADAPTER_IDS; i++)
		if (adapter.ids[i] == id)
			return &adapter.ids[i];
	return NULL;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	struct rdma_cm_id **at = find_id(NULL);

	if (adapter.create_errno)
		return failed(adapter.create_errno);
	assert_non_null(at);
	*id = *at = mem_zalloc(sizeof(**id));
	(*id)->channel = channel;
	(*id)->context = context;
	(*id)->ps = ps;
	return 0;
}

/* The identifier of the tests is none of these. */
int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct rdma_cm_id **at = find_id(id);

	if (!at)
		return 0;
	mem_free(id);
	*at = NULL;
	return 0;
}

/* All addresses have the last octet of a device, or are nobody's. */
int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	unsigned last = ntohl(in->sin_addr.s_addr) & 0xff;

	if (in->sin_addr.s_addr == 0)
		return 0; /* any */
	last = last - 1 + adapter.moved;
	if (adapter.leads_nowhere || last >= ADAPTER_DEVICES || !adapter.contexts[last])
		return failed(ENODEV);
	id->verbs = adapter.contexts[last];
	return 0;
}

static int step(int error)
{
	return error ? failed(error) : 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int ms)
{
	(void)from, (void)to, (void)ms;
	id->verbs = &adapter.context;
	return step(adapter.resolve_errno);
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
	(void)id, (void)ms;
	return step(adapter.route_errno);
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	(void)id, (void)param;
	return step(adapter.connect_errno);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	(void)id, (void)param;
	return step(adapter.accept_errno);
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	id->channel = channel;
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	(void)id, (void)backlog;
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t len)
{
	(void)id, (void)level, (void)name, (void)value, (void)len;
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	(void)id;
	return htons(20049);
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel = mem_zalloc(sizeof(*channel));

	channel->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
	mem_free(channel);
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel;
	if (!adapter.has_cm_event)
		return failed(EAGAIN);
	adapter.has_cm_event = false;
	*event = &adapter.cm_event;
	if (adapter.cm_event_errno)
		errno = adapter.cm_event_errno;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	(void)event;
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

struct ibv_context **rdma_get_devices(int *n)
{
	if (n)
		*n = 1 + adapter.has_other;
	return adapter.contexts;
}

void rdma_free_devices(struct ibv_context **list)
{
	(void)list;
}

/* The world around it */

static int loop_add(struct loop *loop, struct loop_watch *w, int fd, unsigned events, int edge)
{
	(void)loop, (void)fd, (void)events, (void)edge;
	adapter.watch = w;
	return 0;
}

static void loop_del(struct loop *loop, struct loop_watch *w)
{
	(void)loop, (void)w;
}

static const struct loop_ops loop_ops = {.add = loop_add, .del = loop_del};
static struct loop loop = {&loop_ops};

static void start_context(struct ibv_context *context, struct ibv_device *device)
{
	context->device = device;
	context->async_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	context->ops.alloc_mw = alloc_mw;
	context->ops.dealloc_mw = dealloc_mw;
	context->ops.poll_cq = poll_cq;
	context->ops.req_notify_cq = req_notify_cq;
	context->ops.post_send = qp_post_send;
	context->ops.post_recv = qp_post_recv;
	context->ops.post_srq_recv = post_srq_recv;
}

int adapter_start(void **state)
{
	struct verbs *v = &adapter.v;
	struct verbs_config cfg;

	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	memset(&adapter, 0, sizeof(adapter));
	adapter.max_inline = 1024;
	adapter.max_send_sge = 16;
	adapter.max_sge = 16;
	adapter.flags = IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
	snprintf(adapter.device.name, sizeof(adapter.device.name), "adapter0");
	snprintf(adapter.other_device.name, sizeof(adapter.other_device.name), "adapter1");
	start_context(&adapter.context, &adapter.device);
	start_context(&adapter.other, &adapter.other_device);
	adapter.contexts[0] = &adapter.context;
	adapter.id.verbs = &adapter.context;
	verbs_config_default(&cfg);
	verbs_init(v, &cfg, &loop);
	return post_init(v);
}

void adapter_restart(const struct verbs_config *cfg)
{
	assert_true(list_is_empty(&adapter.v.devs) && list_is_empty(&adapter.v.conns));
	post_fini(&adapter.v);
	memset(&adapter.v, 0, sizeof(adapter.v));
	verbs_init(&adapter.v, cfg, &loop);
	assert_int_equal(post_init(&adapter.v), 0);
}

int adapter_stop(void **state)
{
	struct verbs *v = &adapter.v;

	(void)state;
	while (!list_is_empty(&v->conns))
		end_free(list_first(&v->conns, struct verbs_conn, all));
	srq_free_all(v);
	while (!list_is_empty(&v->ranges))
		memory_unregister(&v->base, list_first(&v->ranges, struct vrange, link)->base);
	while (!list_is_empty(&v->devs))
		device_free(list_first(&v->devs, struct verbs_dev, link));
	post_fini(v);
	close(adapter.context.async_fd);
	close(adapter.other.async_fd);
	assert_int_equal(adapter.regions + adapter.windows + adapter.pds, 0);
	assert_int_equal(mem_live(), 0);
	return 0;
}

void adapter_open(void)
{
	adapter.dev = device_get(&adapter.v, &adapter.context, 0);
}

void adapter_add_other(void)
{
	adapter.has_other = true;
	adapter.contexts[1] = &adapter.other;
}

void adapter_cm_event(enum rdma_cm_event_type type, struct rdma_cm_id *id)
{
	adapter.cm_event = (struct rdma_cm_event){.event = type, .id = id};
	adapter.has_cm_event = true;
}

void adapter_connect(const struct fabric_conn_params *params)
{
	struct rdma_cm_id *id = &adapter.id;
	struct verbs_conn *c;

	if (id->qp) {
		assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
		id->verbs = &adapter.context;
	}
	c = conn_new(&adapter.v, id, VERBS_CONNECTING, NULL);
	assert_int_equal(queue_depths(c, params), 0);
	assert_int_equal(queue_make(c), 0);
	c->state = VERBS_OPEN;
	adapter.conn = c;
	adapter.dev = c->dev;
}

void adapter_complete(struct vcq *q, const struct ibv_wc *wc)
{
	struct adapter_cq *to = container_of(q->cq, struct adapter_cq, cq);

	assert_in_range(to->n, 0, ADAPTER_WCS - 1);
	to->wc[to->n++] = *wc;
}
