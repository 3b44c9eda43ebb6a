/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/mem/world.h"

#include <string.h>

#include "base/mem.h"

const struct memnet_config world_quiet = {.seed = 1, .latency_min = 10, .latency_max = 1000};

struct fabric_conn_params world_params(void)
{
	return (struct fabric_conn_params){
		.max_recvs = WORLD_DEPTH, .max_sends = WORLD_DEPTH, .max_exposures = WORLD_DEPTH};
}

void world_start(struct world *w, const struct memnet_config *cfg)
{
	memset(w, 0, sizeof(*w));
	w->net = memnet_new(cfg);
	assert_non_null(w->net);
	assert_int_equal(fabric_addr_parse("::1", 20049, &w->addr), 0);
	for (int i = 0; i < 2; i++) {
		w->f[i] = memnet_fabric(w->net);
		assert_int_equal(fabric_register(w->f[i], w->mem[i], WORLD_ARENA), 0);
	}
	w->l = memnet_listen(w->net, &w->addr);
	assert_int_equal(fabric_attach(w->f[1], w->l, NULL), 0);
}

void world_stop(struct world *w)
{
	struct memnet_usage usage;

	if (w->a)
		fabric_destroy(w->a);
	if (w->b)
		fabric_destroy(w->b);
	fabric_detach(w->f[1], w->l);
	memnet_usage(w->net, &usage);
	assert_int_equal(usage.conns + usage.posted + usage.exposures + usage.exposed_bytes, 0);
	fabric_free(w->f[0]);
	fabric_free(w->f[1]);
	memnet_listener_free(w->l);
	memnet_free(w->net);
	assert_int_equal(mem_live(), 0);
}

static void on_request(struct world *w, struct fabric_conn *c)
{
	struct fabric_conn_params p = world_params();

	w->b = c;
	if (w->hold)
		return;
	if (fabric_accept(c, &p, NULL) == 0)
		return;
	fabric_reject(c, view_of("no memory", 9));
	w->b = NULL;
}

static void on_event(struct world *w, int side, const struct fabric_event *ev)
{
	w->trace = (w->trace ^ (uint64_t)ev->type ^ (uint64_t)side << 8 ^ ev->len ^
		    (uint64_t)(uint32_t)ev->status << 32 ^ memnet_now(w->net)) *
		   0x9e3779b97f4a7c15u;
	assert_false(w->gone[side]);
	switch (ev->type) {
	case FABRIC_EV_REQUEST:
		on_request(w, ev->conn);
		break;
	case FABRIC_EV_CONNECTED:
		w->connected[side] = true;
		break;
	case FABRIC_EV_RECV_LIMITED:
		break;
	case FABRIC_EV_DISCONNECTED:
		w->gone[side] = true;
		w->status[side] = ev->status;
		assert_int_equal(w->completed[side], w->posted[side]);
		break;
	case FABRIC_EV_RECV:
		if (w->f[side]->receives) {
			w->messages += ev->conn != NULL;
			w->returned += ev->conn == NULL;
			assert_int_equal(ev->status, ev->conn ? 0 : ERR_FLUSHED);
			break;
		}
		/* fall through */
	default:
		w->completed[side]++;
		w->flushed[side] += ev->status == ERR_FLUSHED;
	}
}

void world_pump(struct world *w)
{
	struct fabric_event ev;

	for (int i = 0; i < 2; i++) {
		fabric_flush(w->f[i]);
		while (fabric_poll(w->f[i], &ev))
			on_event(w, i, &ev);
	}
	fabric_flush(w->f[0]);
	fabric_flush(w->f[1]);
}

void world_run(struct world *w)
{
	do
		world_pump(w);
	while (memnet_step(w->net, NSEC_NEVER));
	world_pump(w);
}

int world_connect(struct world *w)
{
	struct fabric_conn_params p = world_params();

	return fabric_connect(w->f[0], &w->addr, &p, NULL, &w->a);
}

void world_join(struct world *w)
{
	assert_int_equal(world_connect(w), 0);
	world_run(w);
	assert_true(w->connected[0] && w->connected[1]);
}

void world_recv(struct world *w, int side, struct fabric_conn *c, size_t off, uint32_t len)
{
	if (fabric_post_recv(c, w->mem[side] + off, len, NULL) == 0)
		w->posted[side]++;
}

void world_send(struct world *w, int side, struct fabric_conn *c, size_t off, uint32_t len)
{
	struct fabric_sge sge = {w->mem[side] + off, len};
	int err = fabric_send(c, &sge, 1, 0, NULL);

	w->posted[side] += err == 0;
	w->post_failures += err == ERR_AGAIN;
}

void world_life(struct world *w)
{
	struct segment r, s;
	struct fabric_sge sge = {w->mem[1] + 4096, 5000};
	int err;

	if (world_connect(w))
		return;
	world_run(w);
	if (!w->connected[0] || !w->connected[1])
		return;
	for (unsigned i = 0; i < 6; i++) {
		world_recv(w, 0, w->a, i * 64, 64);
		world_recv(w, 1, w->b, i * 64, 64);
	}
	world_pump(w);
	err = fabric_expose(w->a, w->mem[0] + 65536, 5000, FABRIC_REMOTE_READ, &r);
	w->expose_failures += err == ERR_AGAIN;
	if (err == 0 && fabric_read(w->b, w->mem[1] + 32768, &r, NULL) == 0)
		w->posted[1]++;
	err = fabric_expose(w->a, w->mem[0] + 131072, 5000, FABRIC_REMOTE_WRITE, &s);
	w->expose_failures += err == ERR_AGAIN;
	if (err == 0 && fabric_write(w->b, &sge, 1, &s, NULL) == 0)
		w->posted[1]++;
	for (unsigned i = 0; i < 5; i++) {
		world_send(w, 0, w->a, 1024, i);
		world_send(w, 1, w->b, 1024, i);
	}
	world_run(w);
	if (!w->gone[0] && w->a->handles_live)
		w->posted[0] += fabric_withdraw(w->a, r.handle, NULL, NULL) == 0;
	world_run(w);
	fabric_disconnect(w->a);
	world_run(w);
}
