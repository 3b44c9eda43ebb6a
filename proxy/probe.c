/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   due --> connect --> negotiate --> NULL call --> any answer to it: the server is up
 *              |            |             |
 *              +------------+-------------+--> the connection ends, or the time: the probe fails
 *
 * A connection alone proves little, because the kernel of a server that hangs still accepts it. So
 * each probe is a connection of its own with one call, the NULL procedure of NFS, which needs no
 * export and no rights. A server that does not know the program reports that, and so is up.
 *
 * One worker probes the servers of a route. If the gateway itself has no memory, place, Receive,
 * port or address for a probe, the probe says nothing about the server. The memory of a probe is
 * counted as connections' memory, as that of sessions, but no session is closed for it.
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "proxy/probe.h"
#include "proxy/internal.h"
#include "xdr/cursor.h"

enum {
	PROBE_PROGRAM = 100003, /* NFS */
	PROBE_VERSION = 4,	/* an answer reports other versions */
	PROBE_CALL = 40,	/* octets */
	PROBE_CREDITS = 2,	/* the fewest that version 2 allows */
};

struct probe {
	struct leg leg; /* first member */
	struct list link;
	struct route_state *rs;
	struct fabric_addr to;
	uint32_t slot;
	size_t bytes; /* octets counted in proxy.fixed_bytes */
	nsec_t end;
	nsec_t look; /* next of SETUP_LOOKS looks at .end (base/pause.h) */
	struct timer timer;
	struct leg_tx tx;
	bool tried_v1, tried_bare, answered, is_over;
	uint8_t *call;	    /* a block of the arena, because fabrics send only registered memory */
	struct rpc_msg msg; /* last member, because most of it is never touched */
};

static struct probe *probe_of(struct leg *leg)
{
	return (struct probe *)leg;
}

static void probe_free(struct probe *pr)
{
	struct proxy *p = pr->rs->proxy;

	leg_fini(&pr->leg);
	buf_free(&p->arena, pr->call);
	timer_disarm(&p->timers, &pr->timer);
	list_del(&pr->link);
	servers_probe_end(pr->rs->servers, pr->slot);
	p->fixed_bytes -= pr->bytes;
	mem_free(pr);
}

/*
 * State:  a probe began as remembered of its server (in version 1, or without host authentication)
 *         and got no answer.
 * Danger: the server may have been updated since. It would stay down as long as that is remembered,
 *         because no session goes there and finds out.
 * Rule:   what is remembered is dropped, unless the server spoke version 1 and did not answer the
 *         call in time. The next probe begins as if nothing were known.
 * Pinned: tests/session/test_probes.c:an_update_is_found
 */
static void forget(struct probe *pr, int status)
{
	struct servers *servers = pr->rs->servers;
	bool spoke = pr->leg.t && pr->leg.t->count.recvs > 0 && status != ERR_VERS;

	if (pr->leg.cfg == &pr->rs->probe_leg_v1 && !spoke)
		servers_remember_v1(servers, pr->slot, 0);
	if (pr->leg.bare)
		servers_remember_bare(servers, pr->slot, 0);
}

/* Note the result of a probe, once; then only its connection is left to end. @status: 0: the
 * server answered. */
static void conclude(struct probe *pr, int status, const char *why)
{
	bool answers = status == 0;
	const char *route = pr->rs->route->name;
	char server[FABRIC_ADDR_TEXT];

	if (pr->is_over)
		return;
	pr->is_over = true;
	if (!answers)
		forget(pr, status);
	fabric_addr_format(&pr->to, server);
	if (servers_probed(pr->rs->servers, pr->slot, answers, pr->rs->proxy->now)) {
		if (answers)
			log_peer(LOG_LEVEL_INFO, "upstream.up", route, "route=%s server=%s", route,
				 server);
		else
			log_peer(LOG_LEVEL_WARN, "upstream.down", route,
				 "route=%s server=%s why=\"probes: %s\"", route, server, why);
	}
	leg_close(&pr->leg, ERR_CLOSED, "probe over");
}

/* End a probe that says nothing about its server. */
static void give_up(struct probe *pr)
{
	pr->is_over = true;
	leg_close(&pr->leg, ERR_CLOSED, "probe over");
}

static void send_call(struct probe *pr)
{
	struct xdr_out x;

	xdr_out_init(&x, pr->call, PROBE_CALL);
	rpc_msg_reset(&pr->msg, (uint32_t)session_random(pr->rs->proxy), RPC_CALL);
	xdr_put_u32(&x, pr->msg.xid);
	xdr_put_u32(&x, 0); /* a call */
	xdr_put_u32(&x, 2); /* of RPC version 2 */
	xdr_put_u32(&x, PROBE_PROGRAM);
	xdr_put_u32(&x, PROBE_VERSION);
	xdr_put_u32(&x, 0); /* NULL */
	for (unsigned i = 0; i < 4; i++)
		xdr_put_u32(&x, 0); /* no credential, no verifier */
	pr->msg.nbody = 1;
	pr->msg.body[0] = view_of(pr->call, xdr_out_len(&x));
	pr->tx = (struct leg_tx){.tx = {.msg = &pr->msg}, .owner = pr};
	leg_send(&pr->leg, &pr->tx);
}

/* The one local address that servers of this family see for all clients; false: there is none. */
static bool has_source(const struct probe *pr, struct fabric_addr *from)
{
	const struct proxy_route *route = pr->rs->route;

	for (unsigned i = 0; i < route->nsources; i++) {
		const struct fabric_net *net = &route->sources[i].addresses;

		if (fabric_net_host_bits(net) > 0 ||
		    net->is_v6 != (pr->to.ss.ss_family == AF_INET6))
			continue;
		fabric_net_move(net, net, &pr->to, from);
		return true;
	}
	return false;
}

static void begin_time(struct probe *pr, nsec_t time)
{
	pr->end = pr->rs->proxy->now + time;
	pr->look = pr->rs->proxy->now + time / SETUP_LOOKS;
}

/* Return: as leg_connect(). */
static int probe_connect(struct probe *pr)
{
	struct route_state *rs = pr->rs;
	struct fabric_addr from;
	struct proxy *p = rs->proxy;
	const struct leg_config *cfg = &rs->probe_leg;
	struct leg_target target = {.fabric = p->cfg.fabrics[rs->route->upstream_fabric],
				    .to = &pr->to,
				    .resets = true};
	struct via via = {.n = 0};

	if ((cfg->versions & LEG_V1) &&
	    (pr->tried_v1 || p->now < servers_v1_until(rs->servers, pr->slot)))
		cfg = &rs->probe_leg_v1;
	if (has_source(pr, &from))
		target.from = &from;
	route_pass(rs, &via);
	target.via = &via;
	leg_init(&pr->leg, RPC_INITIATOR);
	pr->leg.is_probe = true;
	pr->leg.bare = session_goes_bare(rs, pr->slot, pr->tried_bare);
	pr->leg.after_silence = pr->tried_bare;
	/* Each connection has its own time, because a server may be silent for all of the first
	 * one's. The leg's own deadline is earlier. */
	begin_time(pr, rs->route->server.setup_timeout + NSEC_PER_SEC);
	pr->leg.first_xid = (uint32_t)session_random(p);
	return leg_connect(&pr->leg, cfg, &p->arena, &target, 1, p->now);
}

static void await(struct probe *pr)
{
	nsec_t end = pr->is_over ? pr->end : nsec_min(pr->look, pr->end);

	timer_arm(&pr->rs->proxy->timers, &pr->timer, nsec_min(pr->leg.deadline, end));
}

/* Connect again as sessions do, in version 1 or without host authentication. Return: whether
 * another connection is under way. */
static bool again(struct probe *pr, int *status)
{
	int err;

	if (pr->is_over)
		return false;
	if (!pr->tried_bare && session_may_be_bare(&pr->leg, *status))
		pr->tried_bare = true;
	else if (!pr->tried_v1 && session_may_be_v1(&pr->leg, *status))
		pr->tried_v1 = true;
	else
		return false;
	leg_fini(&pr->leg);
	err = probe_connect(pr);
	if (err < 0)
		*status = err;
	return err == 0;
}

/* The errors are named one by one: other limits of ours concern what the server sends, and count
 * against the server. */
static bool is_own_want(int status)
{
	return status == ERR_NOMEM || status == ERR_AGAIN || status == ERR_LOCAL ||
	       status == ERR_CONFIG;
}

static void on_closed(struct probe *pr, const struct leg_out *out)
{
	int status = out->status;

	if (again(pr, &status))
		return;
	if (is_own_want(status))
		pr->is_over = true;
	else
		conclude(pr, status ? status : ERR_CLOSED, out->why ? out->why : err_name(status));
}

static void on_out(struct probe *pr, struct leg_out *out)
{
	switch (out->kind) {
	case LEG_OUT_READY:
		begin_time(pr, pr->rs->route->server.setup_timeout);
		send_call(pr);
		break;
	case LEG_OUT_MSG:
		pr->answered |= out->msg->dir == RPC_REPLY && out->msg->xid == pr->msg.xid;
		leg_put(&pr->leg, &out->held);
		break;
	case LEG_OUT_ERROR:
		pr->answered |= out->xid == pr->msg.xid;
		break;
	case LEG_OUT_CLOSED:
		on_closed(pr, out);
		break;
	case LEG_OUT_NONE:
	case LEG_OUT_SENT:
	case LEG_OUT_OP:
	case LEG_OUT_RECV_LIMITED:
		break;
	}
	if (pr->answered)
		conclude(pr, 0, NULL);
}

/* Handle all results of the probe's leg; @out: the first one. */
static void go_on(struct probe *pr, struct leg_out *out)
{
	for (; out->kind != LEG_OUT_NONE; leg_next(&pr->leg, out))
		on_out(pr, out);
	leg_pump(&pr->leg);
	for (leg_next(&pr->leg, out); out->kind != LEG_OUT_NONE; leg_next(&pr->leg, out))
		on_out(pr, out);
	if (pr->is_over && leg_ended(&pr->leg))
		probe_free(pr);
	else
		await(pr);
}

void probe_input(struct leg *leg, const struct fabric_event *ev)
{
	struct leg_out out;

	leg_input(leg, ev, &out);
	if (out.kind == LEG_OUT_NONE)
		leg_next(leg, &out);
	go_on(probe_of(leg), &out);
}

/* By so much as a look comes late, the end is put off (base/pause.h). */
static void look_at_time(struct probe *pr, nsec_t now)
{
	if (now < pr->look)
		return;
	pr->end += now - pr->look;
	pr->look = now + pr->rs->route->server.setup_timeout / SETUP_LOOKS;
}

static void on_time(struct timer *timer, nsec_t now)
{
	struct probe *pr = container_of(timer, struct probe, timer);
	struct leg_out out;

	if (pr->is_over) { /* the result is known, but the connection has not ended in time */
		probe_free(pr);
		return;
	}
	look_at_time(pr, now);
	leg_tick(&pr->leg, now);
	if (now >= pr->end) {
		if (leg_input_is_blocked(&pr->leg)) /* the answer may lie unread here */
			give_up(pr);
		else
			conclude(pr, ERR_TIMEOUT, "no answer in time");
		begin_time(pr, pr->rs->route->server.setup_timeout);
	}
	leg_next(&pr->leg, &out);
	go_on(pr, &out);
}

static bool is_under_way(const struct route_state *rs, uint32_t slot)
{
	for (const struct list *it = rs->probes.next; it != &rs->probes; it = it->next)
		if (container_of(it, const struct probe, link)->slot == slot)
			return true;
	return false;
}

static void probe(struct route_state *rs, uint32_t slot)
{
	struct proxy *p = rs->proxy;
	size_t bytes =
		leg_fixed_bytes(&rs->probe_leg, p->cfg.fabrics[rs->route->upstream_fabric], 1) +
		sizeof(struct probe);
	struct probe *pr;

	if (p->fixed_bytes + bytes > p->fixed_limit || !(pr = mem_zalloc(sizeof(*pr))))
		return;
	pr->rs = rs;
	pr->slot = slot;
	pr->bytes = bytes;
	p->fixed_bytes += bytes;
	timer_init(&pr->timer, on_time);
	list_add_tail(&rs->probes, &pr->link);
	servers_probe_begin(rs->servers, slot, &pr->to);
	leg_init(&pr->leg, RPC_INITIATOR);
	pr->call = buf_alloc(&p->arena, PROBE_CALL, BUF_CONN);
	if (!pr->call || probe_connect(pr) < 0)
		probe_free(pr);
	else
		await(pr);
}

static void on_due(struct timer *timer, nsec_t now)
{
	struct route_state *rs = container_of(timer, struct route_state, probing);
	uint32_t slots[SERVERS_MOST];
	unsigned n = servers_list(rs->servers, slots, now);

	timer_arm(&rs->proxy->timers, timer, now + rs->route->probe_interval);
	if (rs->proxy->draining)
		return;
	for (unsigned i = 0; i < n; i++)
		if (!is_under_way(rs, slots[i]))
			probe(rs, slots[i]);
}

void probes_init(struct route_state *rs)
{
	list_init(&rs->probes);
	timer_init(&rs->probing, on_due);
}

void probes_begin(struct route_state *rs)
{
	const struct proxy_config *cfg = &rs->proxy->cfg;
	unsigned workers = cfg->workers ? cfg->workers : 1;

	rs->probe_leg = rs->route->server;
	rs->probe_leg.credits = PROBE_CREDITS;
	rs->probe_leg.rev_credits = 1;
	rs->probe_leg.bulk_bytes = rs->probe_leg.exposures = 0;
	/* A continued reply is refused, because its memory would be in no account. The refused
	 * reply counts as an answer all the same. */
	rs->probe_leg.max_message = 0;
	rs->probe_leg.reply_timeout = 0;
	rs->probe_leg_v1 = rs->probe_leg;
	rs->probe_leg_v1.versions = LEG_V1;
	if (rs->route->probe_interval && rs->slot % workers == cfg->worker)
		timer_arm(&rs->proxy->timers, &rs->probing, rs->proxy->now + NSEC_PER_SEC);
}

void probes_end(struct route_state *rs)
{
	timer_disarm(&rs->proxy->timers, &rs->probing);
	while (!list_is_empty(&rs->probes))
		probe_free(list_first(&rs->probes, struct probe, link));
}
