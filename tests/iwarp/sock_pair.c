/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/iwarp/sock_pair.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/cmocka_all.h"

void sock_pair_init(struct sock_pair *p, const struct iwarp_config *cfg, const char *host)
{
	struct fabric_addr any;
	int err;

	memset(p, 0, sizeof(*p));
	p->params =
		(struct fabric_conn_params){.max_recvs = 32, .max_sends = 32, .max_exposures = 32};
	p->wait_ms = 100;
	assert_int_equal(poll_loop_init(&p->loop), 0);
	p->f = iwarp_new(cfg, &p->loop.loop);
	assert_non_null(p->f);
	assert_int_equal(fabric_addr_parse(host, 0, &any), 0);
	p->listener = iwarp_listen(&any, &err);
	assert_non_null(p->listener);
	iwarp_listener_addr(p->listener, &p->addr);
	assert_int_equal(fabric_attach(p->f, p->listener, p), 0);
}

void sock_pair_fini(struct sock_pair *p)
{
	if (p->client)
		fabric_destroy(p->client);
	if (p->server)
		fabric_destroy(p->server);
	fabric_detach(p->f, p->listener);
	iwarp_listener_free(p->listener);
	fabric_free(p->f);
	poll_loop_fini(&p->loop);
}

static void answer_request(struct sock_pair *p, struct fabric_conn *c)
{
	p->requests++;
	if (p->reject) {
		fabric_reject(c, view_of("no", 2));
		return;
	}
	assert_null(p->server);
	p->server = c;
	assert_int_equal(fabric_prepare(c, &p->params), 0);
	if (p->before_accept)
		p->before_accept(p, c);
	assert_int_equal(fabric_accept(c, &p->params, p), 0);
}

void sock_pair_step(struct sock_pair *p)
{
	struct fabric_event ev;

	fabric_flush(p->f);
	poll_loop_step(&p->loop, poll_loop_timeout(fabric_deadline(p->f), p->wait_ms));
	fabric_tick(p->f, poll_loop_now());
	while (fabric_poll(p->f, &ev)) {
		assert_true(p->logged < SOCK_LOG);
		p->log[p->logged++] = ev;
		if (ev.private_data.len) {
			assert_true(ev.private_data.len <= sizeof(p->private_data));
			memcpy(p->private_data, ev.private_data.data, ev.private_data.len);
			p->private_len = ev.private_data.len;
		}
		if (ev.type == FABRIC_EV_RECV && p->keeps && ev.conn)
			ev.conn->recvs_held++;
		if (ev.type == FABRIC_EV_REQUEST)
			answer_request(p, ev.conn);
	}
	fabric_flush(p->f);
}

unsigned sock_pair_count(const struct sock_pair *p, const struct fabric_conn *conn,
			 enum fabric_ev_type type)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->logged; i++)
		n += p->log[i].type == type && (!conn || p->log[i].conn == conn);
	return n;
}

struct fabric_event *sock_pair_wait(struct sock_pair *p, struct fabric_conn *conn,
				    enum fabric_ev_type type, unsigned n)
{
	nsec_t end = poll_loop_now() + 20 * NSEC_PER_SEC;
	unsigned seen = 0;

	while (sock_pair_count(p, conn, type) < n) {
		assert_true(poll_loop_now() < end);
		sock_pair_step(p);
	}
	for (unsigned i = 0;; i++)
		if (p->log[i].type == type && (!conn || p->log[i].conn == conn) && ++seen == n)
			return &p->log[i];
}

void sock_pair_connect(struct sock_pair *p)
{
	assert_int_equal(fabric_connect(p->f, &p->addr, &p->params, p, &p->client), 0);
	sock_pair_wait(p, p->client, FABRIC_EV_CONNECTED, 1);
	while (!p->server)
		sock_pair_step(p);
	sock_pair_wait(p, p->server, FABRIC_EV_CONNECTED, 1);
}

int sock_pair_raw(struct sock_pair *p)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(p->raw_from)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (p->raw_from)
		assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&p->addr.ss, p->addr.len), 0);
	return fd;
}

int sock_pair_raw_open(struct sock_pair *p)
{
	uint8_t reply[64];
	int fd = sock_pair_raw(p);

	assert_int_equal(send(fd, "MPA ID Req Frame\0\1\0\0", 20, 0), 20);
	while (!p->server || !sock_pair_count(p, p->server, FABRIC_EV_CONNECTED))
		sock_pair_step(p);
	assert_int_equal(recv(fd, reply, sizeof(reply), 0), 20);
	assert_memory_equal(reply, "MPA ID Rep Frame\x40\x01\0\0", 20);
	return fd;
}
