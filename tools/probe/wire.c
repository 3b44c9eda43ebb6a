/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/probe/wire.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum {
	SENDS_AT = WIRE_RECVS * WIRE_RECV_BYTES,
	EXPOSED_AT = SENDS_AT + WIRE_SENDS * WIRE_SEND_BYTES,
	MEMORY = EXPOSED_AT + WIRE_EXPOSED,
	CLOSE_MS = 1000,
};

static struct fabric_conn_params params_of(struct view pdata)
{
	return (struct fabric_conn_params){
		.private_data = pdata.data,
		.private_data_len = pdata.len,
		.max_recvs = WIRE_RECVS,
		.max_sends = WIRE_SENDS + 1, /* one more for a Read */
		.max_exposures = WIRE_EXPOSURES,
	};
}

int wire_init(struct wire *w, const struct probe_env *env)
{
	int err;

	*w = (struct wire){.env = env};
	w->memory = mem_zalloc(MEMORY);
	if (!w->memory)
		return ERR_NOMEM;
	err = fabric_register(env->fabric, w->memory, MEMORY);
	if (err < 0) {
		mem_free(w->memory);
		w->memory = NULL;
	}
	return err;
}

void wire_fini(struct wire *w)
{
	if (!w->memory)
		return;
	wire_close(w);
	if (w->offered)
		fabric_destroy(w->offered);
	fabric_unregister(w->env->fabric, w->memory);
	mem_free(w->memory);
	w->memory = NULL;
}

/* Reset the state of a connection. */
static void reset(struct wire *w)
{
	w->state = WIRE_OPENING;
	w->conn = NULL;
	w->status = 0;
	w->why[0] = '\0';
	w->pdata_len = 0;
	w->head = w->count = 0;
	w->lent = NULL;
	w->sent = w->sends_done = 0;
	w->exposed = 0;
}

static size_t keep_pdata(uint8_t *to, struct view pdata)
{
	size_t len = pdata.len < WIRE_PDATA ? pdata.len : WIRE_PDATA;

	if (len > 0)
		memcpy(to, pdata.data, len);
	return len;
}

static void post_recv(struct wire *w, uint8_t *at)
{
	/* After the end of the connection nothing can be posted, and nothing needs to be. */
	(void)!fabric_post_recv(w->conn, at, WIRE_RECV_BYTES, at);
}

static void post_recvs(struct wire *w)
{
	for (size_t i = 0; i < WIRE_RECVS; i++)
		post_recv(w, w->memory + i * WIRE_RECV_BYTES);
}

static void on_recv(struct wire *w, const struct fabric_event *ev)
{
	struct wire_msg *m = &w->queue[(w->head + w->count) % WIRE_RECVS];

	if (ev->status < 0)
		return;
	assert(w->count < WIRE_RECVS);
	*m = (struct wire_msg){
		.octets = view_of(ev->cookie, ev->len),
		.invalidated = ev->invalidated,
		.at = probe_now(w->env),
	};
	w->count++;
	if (w->observe)
		w->observe(w->trace_arg, m);
}

static void on_disconnected(struct wire *w, const struct fabric_event *ev)
{
	w->state = WIRE_ENDED;
	w->status = ev->status;
	snprintf(w->why, sizeof(w->why), "%s", ev->why ? ev->why : wire_status_name(ev->status));
}

static void on_request(struct wire *w, const struct fabric_event *ev)
{
	if (w->offered) {
		fabric_reject(ev->conn, view_of(NULL, 0));
		return;
	}
	w->offered = ev->conn;
	w->offered->owner = w;
	w->offered_len = keep_pdata(w->offered_pdata, ev->private_data);
}

static void on_event(struct wire *w, const struct fabric_event *ev)
{
	switch (ev->type) {
	case FABRIC_EV_REQUEST:
		on_request(w, ev);
		return;
	case FABRIC_EV_DISCONNECTED:
		if (w->offered && ev->conn == w->offered) {
			fabric_destroy(w->offered);
			w->offered = NULL;
			return;
		}
		break;
	default:
		break;
	}
	if (ev->conn != w->conn)
		return;
	switch (ev->type) {
	case FABRIC_EV_REQUEST:
	case FABRIC_EV_WITHDRAWN:
	case FABRIC_EV_PLACED:
	case FABRIC_EV_RECV_LIMITED:
		break;
	case FABRIC_EV_CONNECTED:
		w->state = WIRE_OPEN;
		if (ev->private_data.len)
			w->pdata_len = keep_pdata(w->pdata, ev->private_data);
		break;
	case FABRIC_EV_DISCONNECTED:
		on_disconnected(w, ev);
		break;
	case FABRIC_EV_RECV:
		on_recv(w, ev);
		break;
	case FABRIC_EV_SEND:
		w->sends_done++;
		break;
	case FABRIC_EV_READ:
	case FABRIC_EV_WRITE:
		w->op_done = true;
		w->op_status = ev->status;
		break;
	}
}

void wire_turn(struct wire *w)
{
	struct fabric_event ev;

	fabric_flush(w->env->fabric);
	while (fabric_poll(w->env->fabric, &ev))
		on_event(w, &ev);
	fabric_flush(w->env->fabric);
}

/* Wait once. Return: false: no time is left. */
static bool wait_more(struct wire *w, nsec_t deadline)
{
	if (probe_now(w->env) >= deadline || probe_stopped(w->env))
		return false;
	w->env->wait(w->env->arg, deadline);
	wire_turn(w);
	return true;
}

static int await_open(struct wire *w, nsec_t deadline)
{
	wire_turn(w);
	while (w->state == WIRE_OPENING && wait_more(w, deadline))
		;
	if (w->state == WIRE_OPEN)
		return 0;
	if (w->state == WIRE_OPENING) {
		snprintf(w->why, sizeof(w->why), "no connection in time");
		wire_close(w);
		return ERR_TIMEOUT;
	}
	return w->status < 0 ? w->status : ERR_CLOSED;
}

int wire_connect(struct wire *w, const struct fabric_addr *to, struct view pdata, nsec_t deadline)
{
	const struct fabric_conn_params p = params_of(pdata);
	int err;

	wire_close(w);
	reset(w);
	err = fabric_connect(w->env->fabric, to, &p, w, &w->conn);
	if (err < 0) {
		w->conn = NULL;
		w->state = WIRE_ENDED;
		snprintf(w->why, sizeof(w->why), "%s", wire_status_name(err));
		return err;
	}
	post_recvs(w);
	return await_open(w, deadline);
}

int wire_offer(struct wire *w, nsec_t deadline)
{
	wire_turn(w);
	while (!w->offered && wait_more(w, deadline))
		;
	return w->offered ? 0 : ERR_TIMEOUT;
}

int wire_accept(struct wire *w, struct view pdata, nsec_t deadline)
{
	const struct fabric_conn_params p = params_of(pdata);
	int err;

	wire_close(w);
	reset(w);
	w->conn = w->offered;
	w->offered = NULL;
	w->pdata_len = keep_pdata(w->pdata, view_of(w->offered_pdata, w->offered_len));
	err = fabric_prepare(w->conn, &p);
	if (!err) {
		post_recvs(w);
		err = fabric_accept(w->conn, &p, w);
	}
	if (err < 0) {
		wire_close(w);
		return err;
	}
	return await_open(w, deadline);
}

void wire_close(struct wire *w)
{
	nsec_t deadline = probe_now(w->env) + CLOSE_MS * NSEC_PER_MS;

	if (!w->conn)
		return;
	if (w->state == WIRE_OPEN) {
		/* Nobody awaits messages that arrive now, so they need not fit into the queue. */
		w->observe = NULL;
		fabric_disconnect(w->conn);
		wire_turn(w);
		while (w->state == WIRE_OPEN && probe_now(w->env) < deadline) {
			w->env->wait(w->env->arg, deadline);
			wire_turn(w);
		}
	}
	fabric_destroy(w->conn);
	w->conn = NULL;
	w->state = WIRE_IDLE;
}

int wire_send(struct wire *w, struct view octets, uint32_t inv_handle)
{
	uint8_t *at = w->memory + SENDS_AT + (size_t)(w->sent % WIRE_SENDS) * WIRE_SEND_BYTES;
	struct fabric_sge sge = {at, (uint32_t)octets.len};
	nsec_t deadline = probe_now(w->env) + CLOSE_MS * NSEC_PER_MS;
	int err;

	if (octets.len > WIRE_SEND_BYTES)
		return ERR_TOOBIG;
	while (w->state == WIRE_OPEN && w->sent - w->sends_done >= WIRE_SENDS &&
	       wait_more(w, deadline))
		;
	if (w->state != WIRE_OPEN)
		return ERR_CLOSED;
	if (w->sent - w->sends_done >= WIRE_SENDS)
		return ERR_AGAIN;
	if (octets.len > 0)
		memcpy(at, octets.data, octets.len);
	err = fabric_send(w->conn, &sge, 1, inv_handle, NULL);
	if (err < 0)
		return err;
	w->sent++;
	fabric_flush(w->env->fabric);
	return 0;
}

int wire_await(struct wire *w, nsec_t deadline, struct wire_msg *m)
{
	if (w->lent && w->state == WIRE_OPEN)
		post_recv(w, w->memory + (w->lent - w->memory));
	w->lent = NULL;
	wire_turn(w);
	while (w->count == 0 && w->state == WIRE_OPEN && wait_more(w, deadline))
		;
	if (w->count == 0)
		return w->state == WIRE_OPEN ? ERR_TIMEOUT : ERR_CLOSED;
	*m = w->queue[w->head];
	w->head = (w->head + 1) % WIRE_RECVS;
	w->count--;
	w->lent = m->octets.data;
	return 0;
}

void wire_unget(struct wire *w)
{
	w->head = (w->head + WIRE_RECVS - 1) % WIRE_RECVS;
	w->count++;
	w->lent = NULL;
}

void wire_pause(struct wire *w, nsec_t deadline)
{
	wire_turn(w);
	while (w->state == WIRE_OPEN && wait_more(w, deadline))
		;
}

int wire_expose(struct wire *w, uint32_t len, unsigned access, struct segment *seg, uint8_t **at)
{
	int err;

	if (!w->conn || w->state != WIRE_OPEN)
		return ERR_CLOSED;
	if (len > WIRE_EXPOSED - w->exposed)
		return ERR_NOSPACE;
	*at = w->memory + EXPOSED_AT + w->exposed;
	memset(*at, 0, len);
	err = fabric_expose(w->conn, *at, len, access, seg);
	if (err == 0)
		w->exposed += len;
	return err;
}

int wire_read(struct wire *w, const struct segment *seg, nsec_t deadline, uint8_t **at)
{
	int err;

	if (!w->conn || w->state != WIRE_OPEN)
		return ERR_CLOSED;
	if (seg->length > WIRE_EXPOSED - w->exposed)
		return ERR_NOSPACE;
	*at = w->memory + EXPOSED_AT + w->exposed;
	w->exposed += seg->length;
	w->op_done = false;
	err = fabric_read(w->conn, *at, seg, w);
	if (err < 0)
		return err;
	wire_turn(w);
	while (!w->op_done && w->state == WIRE_OPEN && wait_more(w, deadline))
		;
	if (!w->op_done)
		return w->state == WIRE_OPEN ? ERR_TIMEOUT : ERR_CLOSED;
	return w->op_status;
}

const char *wire_status_name(int status)
{
	switch (status) {
	case 0:
		return "closed by the peer";
	case ERR_REFUSED:
		return "nobody listens there";
	case ERR_REJECTED:
		return "the peer rejected the connection";
	case ERR_TIMEOUT:
		return "nothing in time";
	case ERR_CLOSED:
		return "the connection is closed";
	default:
		return err_name(status);
	}
}
