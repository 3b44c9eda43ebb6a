/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "fabric/provider/provider.h"
#include "tests/poll_loop.h"
#include "tests/vm/null_call.h"

/*
 * verbs_overrun ADDR PORT SESSIONS - version 1 clients that send far more calls at once than
 * any server grants, one session after the other, and wait to be disconnected.
 *
 * Operation
 *
 *	connect --CONNECTED--> CALLS NULL calls posted --DISCONNECTED--> the next
 *
 * What ends the session depends on the server: Sends that find no Receive (with a retry count
 * of 0, as here, the first one breaks the queue pair), or the server's count of the credits
 * it gave. A session that is not ended within TIMEOUT is a failure.
 */
enum { CALLS = 1024, MESSAGE = NULL_CALL, REPLY = 1024 };

static const nsec_t TIMEOUT = 60 * NSEC_PER_SEC;

struct overrun {
	struct poll_loop loop;
	struct fabric *fabric;
	struct fabric_conn *conn;
	uint8_t *memory; /* CALLS messages, then CALLS replies */
	unsigned replies;
	bool connected, ended, settled; /* the last: either */
	int status;
	const char *why;
};

static uint8_t *message(const struct overrun *o, unsigned i)
{
	return o->memory + (size_t)i * MESSAGE;
}

static uint8_t *reply(const struct overrun *o, unsigned i)
{
	return o->memory + (size_t)CALLS * MESSAGE + (size_t)i * REPLY;
}

static void take(struct overrun *o, const struct fabric_event *ev)
{
	switch (ev->type) {
	case FABRIC_EV_CONNECTED:
		o->connected = o->settled = true;
		break;
	case FABRIC_EV_DISCONNECTED:
		o->ended = o->settled = true;
		o->status = ev->status;
		o->why = ev->why;
		break;
	case FABRIC_EV_RECV:
		o->replies += ev->status == 0;
		break;
	default:
		break;
	}
}

/* Return: whether @flag came before time was up. */
static bool wait_for(struct overrun *o, const bool *flag)
{
	nsec_t end = poll_loop_now() + TIMEOUT;
	struct fabric_event ev;

	while (!*flag && poll_loop_now() < end) {
		fabric_flush(o->fabric);
		while (fabric_poll(o->fabric, &ev))
			take(o, &ev);
		if (*flag)
			break;
		poll_loop_step(&o->loop, poll_loop_timeout(fabric_deadline(o->fabric), 50));
		fabric_tick(o->fabric, poll_loop_now());
	}
	return *flag;
}

static int begin(struct overrun *o, const struct fabric_addr *to)
{
	const struct fabric_conn_params params = {.max_recvs = CALLS, .max_sends = CALLS};
	int err = fabric_connect(o->fabric, to, &params, o, &o->conn);

	if (err)
		return err;
	for (unsigned i = 0; err == 0 && i < CALLS; i++)
		err = fabric_post_recv(o->conn, reply(o, i), REPLY, NULL);
	if (err)
		return err;
	if (!wait_for(o, &o->settled))
		return ERR_TIMEOUT;
	return o->connected ? 0 : ERR_REFUSED;
}

static int one_session(struct overrun *o, const struct fabric_addr *to)
{
	int err;

	o->connected = o->ended = o->settled = false;
	o->replies = 0;
	o->why = NULL;
	err = begin(o, to);
	for (unsigned i = 0; err == 0 && i < CALLS; i++) {
		const struct fabric_sge sge = {.addr = message(o, i), .len = MESSAGE};

		err = fabric_send(o->conn, &sge, 1, 0, NULL);
	}
	if (err == 0 && !wait_for(o, &o->ended))
		err = ERR_TIMEOUT;
	printf("connected=%d ended=%d replies=%u status=%d why=\"%s\"\n", o->connected, o->ended,
	       o->replies, o->status, o->why ? o->why : "-");
	if (o->conn)
		fabric_destroy(o->conn);
	o->conn = NULL;
	return err;
}

int main(int argc, char **argv)
{
	const struct provider_config cfg = {.kind = PROVIDER_VERBS, .setup_timeout_ms = 60000};
	const size_t octets = (size_t)CALLS * (MESSAGE + REPLY);
	struct overrun o = {.memory = NULL};
	struct fabric_addr to;
	int err = 0;

	if (argc != 4 || fabric_addr_parse(argv[1], (uint16_t)strtoul(argv[2], NULL, 10), &to))
		return 2;
	o.memory = mem_zalloc(octets);
	if (!o.memory || poll_loop_init(&o.loop))
		return 1;
	o.fabric = provider_new(&cfg, &o.loop.loop);
	if (!o.fabric || fabric_register(o.fabric, o.memory, octets))
		return 1;
	for (unsigned i = 0; i < CALLS; i++)
		null_call(message(&o, i), i + 1, CALLS);
	for (unsigned long i = strtoul(argv[3], NULL, 10); err == 0 && i > 0; i--)
		err = one_session(&o, &to);
	fabric_unregister(o.fabric, o.memory);
	fabric_free(o.fabric);
	poll_loop_fini(&o.loop);
	mem_free(o.memory);
	return err != 0;
}
