/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/mem/listen.h"
#include "fabric/mem/conn.h"
#include "fabric/mem/due.h"
#include "fabric/mem/internal.h"
#include "fabric/mem/op.h"

/*
 * Operation. How a connection begins, in time:
 *
 *   initiator                          acceptor
 *   connect: CONNECTING
 *            -- request arrives ---->  REQUESTED, REQUEST queued
 *                                      prepare, Receives, accept: CONNECTING
 *                                      accepted: OPEN, CONNECTED queued
 *            <--- answer arrives ----
 *   OPEN, CONNECTED queued
 *
 * A refusal and a rejection end the initiator's side with their status.
 */

static bool same_addr(const struct fabric_addr *a, const struct fabric_addr *b)
{
	return a->len == b->len && memcmp(&a->ss, &b->ss, a->len) == 0;
}

static struct fabric_listener *find_listener(struct memnet *net, const struct fabric_addr *addr)
{
	for (struct list *it = net->listeners.next; it != &net->listeners; it = it->next) {
		struct fabric_listener *l = container_of(it, struct fabric_listener, link);

		if (same_addr(&l->addr, addr))
			return l;
	}
	return NULL;
}

struct fabric_listener *memnet_listen(struct memnet *net, const struct fabric_addr *addr)
{
	struct fabric_listener *l;

	if (find_listener(net, addr))
		return NULL;
	l = mem_zalloc(sizeof(*l));
	if (!l)
		return NULL;
	l->net = net;
	l->addr = *addr;
	list_init(&l->attached);
	list_add_tail(&net->listeners, &l->link);
	return l;
}

void memnet_listener_free(struct fabric_listener *l)
{
	if (!l)
		return;
	assert(list_is_empty(&l->attached));
	list_del(&l->link);
	mem_free(l);
}

int mem_attach(struct fabric *base, struct fabric_listener *l, void *owner)
{
	struct mem_attached *a = mem_zalloc(sizeof(*a));

	if (!a)
		return ERR_NOMEM;
	a->f = mem_fabric_of(base);
	a->owner = owner;
	list_add_tail(&l->attached, &a->link);
	return 0;
}

/* Requests from @l that were not polled are refused: their user must not get them any more. */
void mem_detach(struct fabric *base, struct fabric_listener *l)
{
	struct mem_fabric *f = mem_fabric_of(base);

	list_for_each_safe(it, tmp, &l->attached)
	{
		struct mem_attached *a = container_of(it, struct mem_attached, link);

		if (a->f != f)
			continue;
		list_del(it);
		mem_free(a);
	}
	list_for_each_safe(it, tmp, &f->conns)
	{
		struct mem_conn *c = container_of(it, struct mem_conn, link);

		if (c->state == MEM_REQUESTED && c->listener == l && !c->polled)
			mem_destroy(&c->base);
	}
}

/* The attachment of @l that gets the next request: a random one. */
static struct mem_attached *pick(struct memnet *net, struct fabric_listener *l)
{
	struct list *it = l->attached.next;
	unsigned n = 0;

	for (struct list *jt = it; jt != &l->attached; jt = jt->next)
		n++;
	if (n == 0)
		return NULL;
	for (uint64_t skip = memnet_random(net) % n; skip; skip--)
		it = it->next;
	return container_of(it, struct mem_attached, link);
}

void mem_request_arrives(struct mem_conn *from)
{
	struct mem_conn *c;
	struct memnet *net = mem_conn_net(from);
	struct fabric_listener *l = find_listener(net, &from->base.peer);
	struct mem_attached *a = l ? pick(net, l) : NULL;

	if (!a || memnet_fault_hits(net, MEMNET_REFUSE, &net->connects)) {
		mem_conn_end(from, ERR_REFUSED, "nobody listens there");
		return;
	}
	c = mem_conn_new(a->f, a->owner);
	if (!c) {
		mem_conn_end(from, ERR_REFUSED, "no memory at the listener");
		return;
	}
	c->state = MEM_REQUESTED;
	c->hold = true;
	c->listener = l;
	c->peer = from;
	c->delay = from->delay;
	from->peer = c;
	c->base.local = from->base.peer;
	c->base.peer = from->base.local;
	c->set_up.ev.type = FABRIC_EV_REQUEST;
	/* The initiator's private data were kept in its own .pd, which the answer will fill. */
	memcpy(c->pd, from->pd, from->pd_len);
	c->pd_len = from->pd_len;
	c->set_up.ev.private_data = view_of(c->pd, c->pd_len);
	mem_event_push(c, &c->set_up);
}

/* Gives an initiator a local address for logs: @from, or else 127.0.0.1, with a port of its own. */
static void name_local(struct memnet *net, const struct fabric_addr *from, struct fabric_addr *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&addr->ss;

	if (from) {
		*addr = *from;
	} else {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		addr->len = sizeof(*in);
	}
	in->sin_port = htons(++net->ports); /* is at the same offset as IPv6's */
}

static int take_private_data(struct mem_conn *c, struct view data)
{
	if (data.len > sizeof(c->pd))
		return ERR_TOOBIG;
	if (data.len)
		memcpy(c->pd, data.data, data.len);
	c->pd_len = data.len;
	return 0;
}

static struct view private_data_of(const struct fabric_conn_params *p)
{
	return view_of(p->private_data, p->private_data_len);
}

int mem_connect(struct fabric *base, const struct fabric_addr *to,
		const struct fabric_conn_params *params, void *owner, struct fabric_conn **conn)
{
	struct mem_fabric *f = mem_fabric_of(base);
	struct mem_conn *c = mem_conn_new(f, owner);
	int err;

	if (!c)
		return ERR_NOMEM;
	err = take_private_data(c, private_data_of(params));
	if (err == 0)
		err = mem_conn_queues(c, params);
	if (err) {
		mem_destroy(&c->base);
		return err;
	}
	c->state = MEM_CONNECTING;
	c->base.peer = *to;
	if (same_addr(to, &f->net->far))
		c->delay = f->net->far_delay;
	name_local(f->net, params->from, &c->base.local);
	memnet_due_init(&c->setup, c, MEM_REQUEST_ARRIVES);
	memnet_schedule(f->net, &c->setup, memnet_wire(c, &c->last_sent));
	*conn = &c->base;
	return 0;
}

int mem_prepare(struct fabric_conn *base, const struct fabric_conn_params *params)
{
	struct mem_conn *c = mem_conn_of(base);

	if (c->state == MEM_ENDED)
		return ERR_CLOSED;
	assert(c->state == MEM_REQUESTED && c->polled);
	return mem_conn_queues(c, params);
}

static void open_conn(struct mem_conn *c)
{
	c->state = MEM_OPEN;
	c->polled = false;
	c->set_up.ev.type = FABRIC_EV_CONNECTED;
	mem_event_push(c, &c->set_up);
}

void mem_answer_arrives(struct mem_conn *c)
{
	c->set_up.ev.private_data = view_of(c->pd, c->pd_len);
	open_conn(c);
}

void mem_accepted(struct mem_conn *c)
{
	struct mem_conn *peer = c->peer;

	c->set_up.ev.private_data = view_of(NULL, 0);
	open_conn(c);
	/* Everything that this end sends arrives after its answer. */
	memnet_due_init(&peer->setup, peer, MEM_ANSWER_ARRIVES);
	memnet_schedule(mem_conn_net(c), &peer->setup, memnet_wire(c, &c->last_sent));
}

static unsigned depth(uint16_t ord, uint16_t peer_ird)
{
	return ord < peer_ird ? ord : peer_ird;
}

int mem_accept(struct fabric_conn *base, const struct fabric_conn_params *params, void *owner)
{
	struct mem_conn *c = mem_conn_of(base), *peer = c->peer;
	int err;

	if (c->state == MEM_ENDED || !peer)
		return ERR_CLOSED;
	assert(c->state == MEM_REQUESTED && c->polled);
	if (params->private_data_len > sizeof(peer->pd))
		return ERR_TOOBIG;
	err = mem_conn_queues(c, params);
	if (err)
		return err;
	err = take_private_data(peer, private_data_of(params));
	assert(err == 0);
	c->base.owner = owner;
	c->state = MEM_CONNECTING;
	c->read_depth = depth(c->ord, peer->ird);
	peer->read_depth = depth(peer->ord, c->ird);
	memnet_due_init(&c->setup, c, MEM_ACCEPTED);
	memnet_schedule(mem_conn_net(c), &c->setup, memnet_here(c, &c->last_sent));
	return err;
}

void mem_reject(struct fabric_conn *base, struct view private_data)
{
	struct mem_conn *c = mem_conn_of(base), *peer = c->peer;

	if (c->state == MEM_REQUESTED && peer && !c->vanished) {
		int err = take_private_data(peer, private_data);

		assert(err == 0);
		(void)err;
		peer->ended.ev.private_data = view_of(peer->pd, peer->pd_len);
		mem_conn_end(peer, ERR_REJECTED, "rejected by the peer");
	}
	mem_destroy(base);
}
