/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/isolation/streams.h"

#include <assert.h>

#include "base/mem.h"

nsec_t streams_soon(struct streams *net)
{
	nsec_t span = net->cfg.latency_max - net->cfg.latency_min;

	return net->now + net->cfg.latency_min + (span ? rng_next(&net->rng) % (span + 1) : 0);
}

/* The verbs. */

static int op_register_memory(struct fabric *f, void *base, size_t len)
{
	(void)f, (void)base, (void)len;
	return 0;
}

static void op_unregister_memory(struct fabric *f, void *base)
{
	(void)f, (void)base;
}

static void op_disconnect(struct fabric_conn *base)
{
	struct stream_conn *c = stream_of(base);

	if (c->state == STREAM_OPEN)
		streams_disconnect(c);
	else if (c->state < STREAM_OPEN)
		streams_stop(c, 0, "disconnected during set-up");
}

static void op_destroy(struct fabric_conn *base)
{
	streams_conn_free(stream_of(base));
}

static int op_post_recv(struct fabric_conn *base, void *buf, uint32_t len, void *cookie)
{
	struct stream_conn *c = stream_of(base);

	return c->has_qp ? qp_post_recv(&c->qp, buf, len, cookie) : ERR_CLOSED;
}

static int op_post_pieces(struct fabric_conn *base, const struct fabric_piece *pieces, unsigned n,
			  void *cookie)
{
	struct stream_conn *c = stream_of(base);

	return c->has_qp ? qp_post_pieces(&c->qp, pieces, n, cookie) : ERR_CLOSED;
}

static int posted(struct stream_conn *c, int err)
{
	if (!err && list_is_empty(&c->dirty))
		list_add_tail(&fabric_of_stream(c)->dirty, &c->dirty);
	return err;
}

static int op_send(struct fabric_conn *base, const struct fabric_sge *sge, unsigned nsge,
		   uint32_t inv_handle, void *cookie)
{
	struct stream_conn *c = stream_of(base);

	return c->has_qp ? posted(c, qp_send(&c->qp, sge, nsge, inv_handle, cookie)) : ERR_CLOSED;
}

static bool op_send_short(struct fabric_conn *base, const struct fabric_sge *sge, unsigned nsge,
			  uint32_t inv_handle)
{
	struct stream_conn *c = stream_of(base);

	return c->has_qp && qp_send_short(&c->qp, sge, nsge, inv_handle) && !posted(c, 0);
}

static int op_write(struct fabric_conn *base, const struct fabric_sge *sge, unsigned nsge,
		    const struct segment *remote, void *cookie)
{
	struct stream_conn *c = stream_of(base);

	return c->has_qp ? posted(c, qp_write(&c->qp, sge, nsge, remote, cookie)) : ERR_CLOSED;
}

static int op_read(struct fabric_conn *base, void *to, const struct segment *remote, void *cookie)
{
	struct stream_conn *c = stream_of(base);

	return c->has_qp ? posted(c, qp_read(&c->qp, to, remote, cookie)) : ERR_CLOSED;
}

static int op_expose(struct fabric_conn *base, void *addr, uint32_t len, unsigned access,
		     struct segment *seg)
{
	struct stream_conn *c = stream_of(base);
	int err = c->has_qp ? qp_expose(&c->qp, addr, len, access, seg) : ERR_CLOSED;

	c->base.handles_live = c->has_qp ? c->qp.stags.live : 0;
	return err;
}

static int op_stream(struct fabric_conn *base, const struct fabric_piece *window, uint32_t len,
		     void *cookie, struct segment *seg)
{
	struct stream_conn *c = stream_of(base);
	int err = c->has_qp ? qp_stream(&c->qp, window, len, cookie, seg) : ERR_CLOSED;

	c->base.handles_live = c->has_qp ? c->qp.stags.live : 0;
	return err;
}

static void op_went_on(struct fabric_conn *base, uint32_t handle, uint32_t len)
{
	struct stream_conn *c = stream_of(base);

	if (!c->has_qp)
		return;
	qp_went_on(&c->qp, handle, len);
	streams_try_full(c);
}

static int op_withdraw(struct fabric_conn *base, uint32_t handle, void *cookie, uint32_t *written)
{
	struct stream_conn *c = stream_of(base);
	const struct net_watcher *w = net_of_stream(c)->watcher;
	const struct exposure *e = c->has_qp ? stag_owned(&c->qp.stags, handle) : NULL;
	/* NULL: octets of a stream were reported before */
	const uint8_t *octets = e ? e->addr : NULL;
	uint32_t n = 0;
	int rc;

	if (written)
		*written = 0;
	if (!c->has_qp)
		return ERR_CLOSED;
	rc = qp_withdraw(&c->qp, handle, cookie, &n);
	if (n && octets && c->peer)
		w->counted(w->arg, &c->peer->base, octets, n);
	if (written)
		*written = n;
	c->base.handles_live = c->qp.stags.live;
	streams_try_full(c);
	if (c->qp.state > QP_DRAINING && c->state < STREAM_ENDED)
		(void)posted(c, 0);
	return rc;
}

static struct fabric_sums *op_sums_take(struct fabric_conn *from, struct fabric_conn *to,
					uint32_t len, uint32_t period)
{
	struct stream_conn *in = stream_of(from), *out = stream_of(to);
	struct sums *s = NULL;

	if (in->has_qp && out->has_qp && out->qp.state == QP_OPEN)
		s = sums_take(&fabric_of_stream(in)->store.sums, in->qp.host, out->qp.tx.max_tagged,
			      period, len / 512);
	if (!s)
		return NULL;
	s->base.fabric = from->fabric;
	return &s->base;
}

static void op_sums_give(struct fabric_sums *s)
{
	sums_give(container_of(s, struct sums, base));
}

static void op_sums_end(struct fabric_sums *s)
{
	sums_end(container_of(s, struct sums, base));
}

static void op_sum_exposure(struct fabric_conn *base, uint32_t handle, struct fabric_sums *s,
			    uint32_t at)
{
	if (stream_of(base)->has_qp)
		qp_sum_exposure(&stream_of(base)->qp, handle, container_of(s, struct sums, base),
				at);
}

static void op_sum_posted(struct fabric_conn *base, unsigned piece, struct fabric_sums *s,
			  uint32_t at)
{
	qp_sum_posted(&stream_of(base)->qp, piece, container_of(s, struct sums, base), at);
}

/* Receives that are shared: receives.c. */

static int share_receives(struct fabric *base, uint32_t len)
{
	struct stream_fabric *f = stream_fabric_of(base);
	int err = f->net->cfg.shares_receives ? recvq_init(&f->recvq, len) : ERR_CONFIG;

	if (!err)
		f->store.recvq = &f->recvq;
	return err;
}

static void unshare_receives(struct fabric *base)
{
	struct stream_fabric *f = stream_fabric_of(base);

	recvq_fini(&f->recvq);
	f->store.recvq = NULL;
	timer_disarm(&f->net->timers, &f->period);
}

static uint32_t receives_wanted(const struct fabric *f)
{
	return recvq_wanted(&stream_fabric_of(f)->recvq);
}

static int post_shared(struct fabric *base, void *buf, void *cookie)
{
	struct stream_fabric *f = stream_fabric_of(base);
	int err = recvq_post(&f->recvq, buf, cookie);

	if (!err && !timer_is_armed(&f->period))
		timer_arm(&f->net->timers, &f->period, f->net->now + NSEC_PER_SEC);
	return err;
}

static void receives_period(struct timer *t, nsec_t now)
{
	struct stream_fabric *f = container_of(t, struct stream_fabric, period);

	(void)qp_store_trim(&f->store);
	if (recvq_period(&f->recvq) || f->recvq.held > 0)
		timer_arm(&f->net->timers, t, now + NSEC_PER_SEC);
}

static void op_flush(struct fabric *base)
{
	struct stream_fabric *f = stream_fabric_of(base);
	struct list *last = f->recv_waiters.prev, *item = NULL;

	while (f->recvq.posted && item != last && (item = list_pop(&f->recv_waiters)))
		streams_resume(container_of(item, struct stream_conn, recv_wait));
	while ((item = list_pop(&f->dirty)))
		streams_pump(container_of(item, struct stream_conn, dirty));
}

static bool next_event(struct stream_conn *c, struct fabric_event *ev)
{
	*ev = (struct fabric_event){.conn = &c->base, .private_data = view_of(c->pd, c->pd_len)};
	if (c->request_due || c->connected_due) {
		ev->type = c->request_due ? FABRIC_EV_REQUEST : FABRIC_EV_CONNECTED;
		c->request_due = c->connected_due = false;
		c->asked = true;
		return true;
	}
	if (c->has_qp && qp_next_event(&c->qp, ev)) {
		ev->conn = &c->base;
		if (ev->sums)
			ev->sums->fabric = c->base.fabric;
		c->base.handles_live = c->qp.stags.live;
		return true;
	}
	if (c->state != STREAM_ENDED || c->end_reported)
		return false;
	c->end_reported = true;
	ev->type = FABRIC_EV_DISCONNECTED;
	ev->status = c->status;
	ev->why = c->why;
	return true;
}

/* The watcher gets octets that are reported as placed, too. */
static void count_event(struct stream_conn *c, const struct fabric_event *ev)
{
	const struct net_watcher *w = net_of_stream(c)->watcher;

	if (ev->type == FABRIC_EV_PLACED && c->peer)
		w->counted(w->arg, &c->peer->base, ev->at, ev->len);
}

static int op_poll(struct fabric *base, struct fabric_event *ev)
{
	struct stream_fabric *f = stream_fabric_of(base);
	void *cookie;

	while (!list_is_empty(&f->active)) {
		struct stream_conn *c = list_first(&f->active, struct stream_conn, active);

		if (next_event(c, ev)) {
			count_event(c, ev);
			streams_try_full(c);
			return 1;
		}
		list_del(&c->active);
	}
	if (!recvq_next_back(&f->recvq, &cookie))
		return 0;
	*ev = (struct fabric_event){
		.type = FABRIC_EV_RECV, .cookie = cookie, .status = ERR_FLUSHED};
	return 1;
}

static nsec_t deadline(const struct fabric *base)
{
	const struct stream_fabric *f = stream_fabric_of(base);

	return list_is_empty(&f->active) && !f->recvq.back ? NSEC_NEVER : 0;
}

static void op_tick(struct fabric *f, nsec_t now)
{
	(void)f, (void)now; /* the net's step does all that is due */
}

static void free_instance(struct fabric *base)
{
	struct stream_fabric *f = stream_fabric_of(base);

	assert(list_is_empty(&f->conns) && !f->store.recvq);
	timer_disarm(&f->net->timers, &f->period);
	qp_store_fini(&f->store);
	list_del(&f->link);
	mem_free(f);
}

static const struct fabric_ops stream_ops = {
	.name = "streams",
	.register_memory = op_register_memory,
	.unregister_memory = op_unregister_memory,
	.attach = streams_attach,
	.detach = streams_detach,
	.connect = streams_connect,
	.accept = streams_accept,
	.reject = streams_reject,
	.disconnect = op_disconnect,
	.destroy = op_destroy,
	.prepare = streams_prepare,
	.post_recv = op_post_recv,
	.post_pieces = op_post_pieces,
	.share_receives = share_receives,
	.unshare_receives = unshare_receives,
	.receives_wanted = receives_wanted,
	.post_shared = post_shared,
	.send = op_send,
	.send_short = op_send_short,
	.write = op_write,
	.read = op_read,
	.expose = op_expose,
	.stream = op_stream,
	.went_on = op_went_on,
	.withdraw = op_withdraw,
	.sums_take = op_sums_take,
	.sums_give = op_sums_give,
	.sums_end = op_sums_end,
	.sum_exposure = op_sum_exposure,
	.sum_posted = op_sum_posted,
	.flush = op_flush,
	.poll = op_poll,
	.deadline = deadline,
	.tick = op_tick,
	.free = free_instance,
};

/* The net. */

static struct fabric *new_instance(void *arg, bool wild)
{
	struct streams *net = arg;
	struct stream_fabric *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->base.ops = &stream_ops;
	f->base.remote_inv = f->base.reports_written = f->base.streams = true;
	f->net = net;
	f->wild = wild;
	list_init(&f->conns);
	list_init(&f->active);
	list_init(&f->dirty);
	list_init(&f->recv_waiters);
	qp_store_init(&f->store, &f->counters);
	timer_init(&f->period, receives_period);
	list_add_tail(&net->fabrics, &f->link);
	return &f->base;
}

static void *net_new(const struct net_config *cfg, const struct net_watcher *watcher)
{
	struct streams *net = mem_zalloc(sizeof(*net));

	assert(net);
	net->cfg = *cfg;
	net->watcher = watcher;
	net->rng.state = ~cfg->seed;
	timer_queue_init(&net->timers);
	list_init(&net->fabrics);
	list_init(&net->listeners);
	return net;
}

static void net_free(void *arg)
{
	struct streams *net = arg;

	assert(list_is_empty(&net->fabrics) && list_is_empty(&net->listeners));
	mem_free(net);
}

static struct fabric_listener *listen_at(void *net, const struct fabric_addr *addr)
{
	return streams_listen(net, addr);
}

static nsec_t now(void *net)
{
	return ((struct streams *)net)->now;
}

static int step(void *arg, nsec_t until)
{
	struct streams *net = arg;
	nsec_t at = timer_next(&net->timers);

	if (at > until || at == NSEC_NEVER) {
		if (until != NSEC_NEVER && until > net->now)
			net->now = until;
		return 0;
	}
	if (at > net->now)
		net->now = at;
	(void)timer_run(&net->timers, net->now, 1);
	return 1;
}

static uint64_t held(void *arg)
{
	struct streams *net = arg;
	uint64_t n = 0;

	for (struct list *it = net->fabrics.next; it != &net->fabrics; it = it->next) {
		struct stream_fabric *f = container_of(it, struct stream_fabric, link);

		for (struct list *jt = f->conns.next; jt != &f->conns; jt = jt->next)
			n += 1 + container_of(jt, struct stream_conn, link)->base.handles_live;
	}
	return n;
}

static void delay(struct fabric_conn *conn)
{
	struct stream_conn *c = stream_of(conn);

	if (c->peer)
		c->peer->in.delay = true;
}

/* Incoming octets are in its own pipe; answers and messages are in the peer's. */
static void pace(struct fabric_conn *conn, const struct net_pace *p)
{
	struct stream_conn *c = stream_of(conn);

	c->in.pace = (struct net_pace){.take = p->take, .take_octet = p->take_octet};
	if (c->peer)
		c->peer->in.pace = (struct net_pace){.answer = p->answer,
						     .answer_octet = p->answer_octet,
						     .say_octet = p->say_octet};
}

const struct net_ops net_streams = {
	.name = "iwarp",
	.new = net_new,
	.free = net_free,
	.fabric = new_instance,
	.listen = listen_at,
	.listener_free = streams_listener_free,
	.now = now,
	.step = step,
	.delay = delay,
	.pace = pace,
	.held = held,
};
