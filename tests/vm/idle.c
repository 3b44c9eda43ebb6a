/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "fabric/provider/provider.h"
#include "tests/poll_loop.h"
#include "tests/vm/null_call.h"

/*
 * verbs_idle ADDR PORT COUNT - version 1 clients that stay and do nothing.
 *
 * Operation
 *
 *	COUNT times: connect --CONNECTED--> a NULL call --its reply--> the next
 *	"open=N refused=M", then nothing until SIGTERM; "ended=K": clients disconnected by then
 *
 * One that is refused is counted and none is tried after it: the server is full.
 */
enum { RECEIVES = 2, REPLY = 1024 };

static const nsec_t TIMEOUT = 60 * NSEC_PER_SEC;

struct client {
	struct fabric_conn *conn;
	bool connected, replied, ended;
	int status;
	const char *why;
};

struct idle {
	struct poll_loop loop;
	struct fabric *fabric;
	uint8_t *memory; /* the call, then RECEIVES replies of each */
	struct client *clients;
	unsigned long open, ended;
};

static volatile sig_atomic_t is_over;

static void on_signal(int signo)
{
	(void)signo;
	is_over = 1;
}

static void take(struct idle *d, const struct fabric_event *ev)
{
	struct client *c = ev->conn->owner;

	if (ev->type == FABRIC_EV_CONNECTED)
		c->connected = true;
	else if (ev->type == FABRIC_EV_RECV && ev->status == 0)
		c->replied = true;
	else if (ev->type == FABRIC_EV_DISCONNECTED) {
		c->ended = true;
		c->status = ev->status;
		c->why = ev->why;
		d->ended += c->replied;
	}
}

static void turn(struct idle *d)
{
	struct fabric_event ev;

	fabric_flush(d->fabric);
	while (fabric_poll(d->fabric, &ev))
		take(d, &ev);
	fabric_flush(d->fabric);
	poll_loop_step(&d->loop, poll_loop_timeout(fabric_deadline(d->fabric), 20));
	fabric_tick(d->fabric, poll_loop_now());
}

static bool wait_for(struct idle *d, const struct client *c, const bool *flag)
{
	nsec_t end = poll_loop_now() + TIMEOUT;

	while (!*flag && !c->ended && poll_loop_now() < end)
		turn(d);
	return *flag && !c->ended;
}

/* Return: whether client @i has its reply, and stays. */
static bool come(struct idle *d, const struct fabric_addr *to, unsigned long i)
{
	const struct fabric_conn_params params = {.max_recvs = RECEIVES, .max_sends = RECEIVES};
	const struct fabric_sge sge = {.addr = d->memory, .len = NULL_CALL};
	uint8_t *replies = d->memory + REPLY + i * RECEIVES * REPLY;
	struct client *c = &d->clients[i];
	int err = fabric_connect(d->fabric, to, &params, c, &c->conn);

	for (unsigned k = 0; err == 0 && k < RECEIVES; k++)
		err = fabric_post_recv(c->conn, replies + (size_t)k * REPLY, REPLY, NULL);
	if (err == 0 && wait_for(d, c, &c->connected))
		err = fabric_send(c->conn, &sge, 1, 0, NULL);
	if (err == 0 && c->connected && wait_for(d, c, &c->replied))
		return true;
	printf("client=%lu err=%s status=%s why=\"%s\"\n", i, err_name(err), err_name(c->status),
	       c->why ? c->why : "-");
	return false;
}

static void stay(struct idle *d, const struct fabric_addr *to, unsigned long count)
{
	while (d->open < count && come(d, to, d->open))
		d->open++;
	printf("open=%lu refused=%lu\n", d->open, (unsigned long)(d->open < count));
	fflush(stdout);
	while (!is_over)
		turn(d);
	printf("ended=%lu\n", d->ended);
	for (unsigned long i = 0; i < count; i++)
		if (d->clients[i].conn)
			fabric_destroy(d->clients[i].conn);
}

int main(int argc, char **argv)
{
	const struct provider_config cfg = {.kind = PROVIDER_VERBS, .setup_timeout_ms = 60000};
	unsigned long count = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	const size_t octets = REPLY + count * RECEIVES * REPLY;
	struct idle d = {.memory = NULL};
	struct fabric_addr to;

	if (!count || fabric_addr_parse(argv[1], (uint16_t)strtoul(argv[2], NULL, 10), &to))
		return 2;
	signal(SIGTERM, on_signal);
	d.memory = mem_zalloc(octets);
	d.clients = mem_zalloc(count * sizeof(*d.clients));
	if (!d.memory || !d.clients || poll_loop_init(&d.loop))
		return 1;
	d.fabric = provider_new(&cfg, &d.loop.loop);
	if (!d.fabric || fabric_register(d.fabric, d.memory, octets))
		return 1;
	null_call(d.memory, 1, 1);
	stay(&d, &to, count);
	fabric_unregister(d.fabric, d.memory);
	fabric_free(d.fabric);
	poll_loop_fini(&d.loop);
	mem_free(d.clients);
	mem_free(d.memory);
	return d.ended != 0;
}
