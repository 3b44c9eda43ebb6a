/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/iwarp/fpdu.h"
#include "tests/isolation/streams.h"

/*
 * Operation. How a connection begins, in time:
 *
 *   initiator                          acceptor
 *   connect: ASKING
 *            -- request_arrives() -->  OFFERED, REQUEST is reported
 *                                      accept: OPEN, CONNECTED is reported
 *            <-- answer_arrives() ---
 *   OPEN, CONNECTED is reported
 */

enum { DEPTH = 8 }; /* of Reads */

struct fabric_listener {
	struct streams *net;
	struct list link, attached;
	struct fabric_addr addr;
};

struct attached {
	struct list link;
	struct stream_fabric *f;
	void *owner;
};

static struct fabric_listener *find_listener(struct streams *net, const struct fabric_addr *addr)
{
	for (struct list *it = net->listeners.next; it != &net->listeners; it = it->next) {
		struct fabric_listener *l = container_of(it, struct fabric_listener, link);

		if (l->addr.len == addr->len && memcmp(&l->addr.ss, &addr->ss, addr->len) == 0)
			return l;
	}
	return NULL;
}

struct fabric_listener *streams_listen(struct streams *net, const struct fabric_addr *addr)
{
	struct fabric_listener *l = mem_zalloc(sizeof(*l));

	assert(l && !find_listener(net, addr));
	l->net = net;
	l->addr = *addr;
	list_init(&l->attached);
	list_add_tail(&net->listeners, &l->link);
	return l;
}

void streams_listener_free(struct fabric_listener *l)
{
	assert(list_is_empty(&l->attached));
	list_del(&l->link);
	mem_free(l);
}

int streams_attach(struct fabric *f, struct fabric_listener *l, void *owner)
{
	struct attached *a = mem_zalloc(sizeof(*a));

	if (!a)
		return ERR_NOMEM;
	a->f = stream_fabric_of(f);
	a->owner = owner;
	list_add_tail(&l->attached, &a->link);
	return 0;
}

void streams_detach(struct fabric *base, struct fabric_listener *l)
{
	struct stream_fabric *f = stream_fabric_of(base);

	list_for_each_safe(it, tmp, &l->attached)
	{
		struct attached *a = container_of(it, struct attached, link);

		if (a->f != f)
			continue;
		list_del(it);
		mem_free(a);
	}
	list_for_each_safe(it, tmp, &f->conns)
	{
		struct stream_conn *c = container_of(it, struct stream_conn, link);

		if (c->listener == l && !c->asked)
			streams_conn_free(c);
	}
}

static struct attached *pick(struct streams *net, struct fabric_listener *l)
{
	struct list *it = l->attached.next;
	unsigned n = 0;

	for (struct list *jt = it; jt != &l->attached; jt = jt->next)
		n++;
	if (n == 0)
		return NULL;
	for (unsigned skip = rng_below(&net->rng, n); skip; skip--)
		it = it->next;
	return container_of(it, struct attached, link);
}

static void set_up(struct timer *t, nsec_t now);

struct stream_conn *streams_conn_new(struct stream_fabric *f, void *owner)
{
	struct stream_conn *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->base.fabric = &f->base;
	c->base.owner = owner;
	c->base.remote_inv = f->base.remote_inv;
	list_init(&c->active);
	list_init(&c->dirty);
	list_init(&c->recv_wait);
	list_add_tail(&f->conns, &c->link);
	timer_init(&c->deliver, streams_deliver);
	timer_init(&c->setup, set_up);
	timer_init(&c->look, streams_look);
	if (f->wild)
		c->wire = wire_draw(&f->net->rng, f->net->cfg.misdeeds);
	pipe_init(&c->in, &f->net->rng);
	return c;
}

void streams_conn_free(struct stream_conn *c)
{
	struct timer_queue *q = &net_of_stream(c)->timers;

	streams_stop(c, 0, NULL);
	if (c->peer)
		c->peer->peer = NULL;
	if (c->has_qp)
		qp_fini(&c->qp);
	timer_disarm(q, &c->deliver);
	timer_disarm(q, &c->setup);
	timer_disarm(q, &c->look);
	list_del(&c->active);
	list_del(&c->dirty);
	list_del(&c->recv_wait);
	list_del(&c->link);
	pipe_fini(&c->in);
	mem_free(c);
}

/* Limit of exposures for a leg toward a rogue. Sometimes it is so small that places are used again
 * at once; otherwise that would need more calls in flight than a rogue is granted. */
static uint32_t exposures(const struct stream_conn *c, uint32_t asked)
{
	struct streams *net = net_of_stream(c);
	struct fabric_listener *l = find_listener(net, &c->base.peer);
	const struct attached *a;

	if (!l || list_is_empty(&l->attached))
		return asked;
	a = list_first(&l->attached, struct attached, link);
	return a->f->wild && rng_below(&net->rng, 2) == 0 ? 1 + rng_below(&net->rng, 6) : asked;
}

static int queues(struct stream_conn *c, const struct fabric_conn_params *p)
{
	struct qp_depths depths = {.max_recvs = p->max_recvs,
				   .pieces = p->recv_pieces,
				   .max_sends = p->max_sends,
				   .max_exposures = exposures(c, p->max_exposures)};
	uint64_t seed[5];
	int err;

	if (c->has_qp)
		return 0;
	depths.ird = c->ird = p->ird ? p->ird : DEPTH;
	depths.ord = c->ord = p->ord ? p->ord : DEPTH;
	for (int i = 0; i < 5; i++)
		seed[i] = rng_next(&net_of_stream(c)->rng);
	err = qp_init(&c->qp, &depths, seed, &fabric_of_stream(c)->store);
	c->has_qp = err == 0;
	return err;
}

static void take_private_data(struct stream_conn *c, const void *data, size_t len)
{
	assert(len <= sizeof(c->pd));
	if (len)
		memcpy(c->pd, data, len);
	c->pd_len = len;
}

static void name_local(struct streams *net, const struct fabric_addr *from,
		       struct fabric_addr *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&addr->ss;

	if (from) {
		*addr = *from;
	} else {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		addr->len = sizeof(*in);
	}
	in->sin_port = htons(++net->ports);
}

int streams_connect(struct fabric *f, const struct fabric_addr *to,
		    const struct fabric_conn_params *params, void *owner, struct fabric_conn **conn)
{
	struct streams *net = stream_fabric_of(f)->net;
	struct stream_conn *c = streams_conn_new(stream_fabric_of(f), owner);
	int err;

	if (!c)
		return ERR_NOMEM;
	take_private_data(c, params->private_data, params->private_data_len);
	c->base.peer = *to;
	err = queues(c, params);
	if (err) {
		streams_conn_free(c);
		return err;
	}
	name_local(net, params->from, &c->base.local);
	timer_arm(&net->timers, &c->setup, streams_soon(net));
	*conn = &c->base;
	return 0;
}

static void request_arrives(struct stream_conn *from)
{
	struct streams *net = net_of_stream(from);
	struct fabric_listener *l = find_listener(net, &from->base.peer);
	struct attached *a = l ? pick(net, l) : NULL;
	struct stream_conn *c = a ? streams_conn_new(a->f, a->owner) : NULL;

	if (!c) {
		streams_stop(from, ERR_REFUSED, "nobody listens there");
		return;
	}
	c->state = STREAM_OFFERED;
	c->listener = l;
	c->peer = from;
	from->peer = c;
	c->in.out = from->in.in = from->wire;
	from->in.out = c->in.in = c->wire;
	c->base.local = from->base.peer;
	c->base.peer = from->base.local;
	take_private_data(c, from->pd, from->pd_len);
	c->request_due = true;
	streams_activate(c);
}

static void open_stream(struct stream_conn *c, bool initiator, uint16_t peer_ird, uint32_t fpdu)
{
	const struct qp_stream s = {.initiator = initiator,
				    .crc = true,
				    .ord = c->ord < peer_ird ? c->ord : peer_ird,
				    .fpdu_max = fpdu};
	struct streams *net = net_of_stream(c);

	c->state = STREAM_OPEN;
	qp_start(&c->qp, &s);
	c->connected_due = true;
	timer_arm(&net->timers, &c->look, net->now + 15 * NSEC_PER_SEC);
	streams_activate(c);
}

int streams_prepare(struct fabric_conn *base, const struct fabric_conn_params *params)
{
	struct stream_conn *c = stream_of(base);

	return c->state == STREAM_ENDED ? ERR_CLOSED : queues(c, params);
}

int streams_accept(struct fabric_conn *base, const struct fabric_conn_params *params, void *owner)
{
	static const uint32_t emss[] = {256, 536, 1460, 1460, 8960, 65483};
	struct stream_conn *c = stream_of(base), *peer = c->peer;
	struct streams *net = net_of_stream(c);
	uint32_t fpdu = fpdu_max(emss[rng_below(&net->rng, 6)]);
	int err;

	if (c->state == STREAM_ENDED || !peer || peer->state == STREAM_ENDED)
		return ERR_CLOSED;
	assert(c->state == STREAM_OFFERED && c->asked);
	err = queues(c, params);
	if (err)
		return err;
	c->base.owner = owner;
	take_private_data(peer, params->private_data, params->private_data_len);
	c->pd_len = 0;
	open_stream(c, false, peer->ird, fpdu);
	peer->accepted = true;
	timer_arm(&net->timers, &peer->setup, streams_soon(net));
	return 0;
}

void streams_reject(struct fabric_conn *base, struct view private_data)
{
	struct stream_conn *c = stream_of(base), *peer = c->peer;

	if (peer && c->state == STREAM_OFFERED) {
		take_private_data(peer, private_data.data, private_data.len);
		streams_stop(peer, ERR_REJECTED, "rejected by the peer");
	}
	streams_conn_free(c);
}

/* An initiator's: it has got to the peer, or back. */
static void set_up(struct timer *t, nsec_t now)
{
	struct stream_conn *c = container_of(t, struct stream_conn, setup);

	(void)now;
	if (c->state != STREAM_ASKING)
		return;
	if (c->accepted && c->peer)
		open_stream(c, true, c->peer->ird, fpdu_max(1460));
	else if (c->accepted)
		streams_stop(c, ERR_CLOSED, "the peer is gone");
	else
		request_arrives(c);
}
