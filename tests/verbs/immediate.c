/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/verbs/adapter.h"
#include "tests/poll_loop.h"
#include "tests/vm/null_call.h"

/*
 * verbs_immediate client|server ADDR PORT - what takes a Receive and is no message: RDMA Write with
 * Immediate, which fabric.h does not have, on a connection of fabric/verbs.
 *
 * Operation
 *
 *	client: NULL call --its reply--> a Write of no octets, for nothing was offered --> the end
 *	server: a call with a Write or Reply chunk --> a Write of all octets of the chunk's first segment -->
 *	        the end
 *
 * The completion of the second claims as many octets as were written elsewhere. It is a failure if the peer
 * does not end the connection within TIMEOUT.
 */
enum { RECVS = 32, RECEIVE = 4096, WORDS = RECEIVE / 4, OCTETS = 1 << 20 };

static const nsec_t TIMEOUT = 30 * NSEC_PER_SEC;

struct immediate {
	struct poll_loop loop;
	struct fabric *fabric;
	struct fabric_conn *conn;
	uint8_t *memory; /* RECVS Receives, then a call, then OCTETS to write */
	bool is_server, wrote, ended;
	int status;
	const char *why;
};

/* Unsignalled, and of no interest to complete.c if it fails. */
static void write_with_immediate(struct immediate *m, const struct segment *to)
{
	struct verbs_conn *c = vconn_of(m->conn);
	uint8_t *from = m->memory + (size_t)(RECVS + 1) * RECEIVE;
	struct ibv_sge sge = {.addr = (uintptr_t)from,
			      .length = to->length,
			      .lkey = memory_region(c->dev, from, OCTETS)->lkey};
	struct ibv_send_wr *bad, wr = {.wr_id = ID_BIND,
				       .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				       .imm_data = htobe32(to->length),
				       .sg_list = to->length ? &sge : NULL,
				       .num_sge = to->length ? 1 : 0};

	wr.wr.rdma.remote_addr = to->offset;
	wr.wr.rdma.rkey = to->handle;
	m->wrote = ibv_post_send(c->id->qp, &wr, &bad) == 0;
	printf("written=%u\n", to->length);
}

static uint32_t word(const uint8_t *message, uint32_t i)
{
	uint32_t be;

	memcpy(&be, message + (size_t)4 * i, sizeof(be));
	return be32toh(be);
}

/* The first segment to write to of a version 1 call of @words (RFC 8166 section 4.3). Return: whether
 * there is one. */
static bool first_segment(const uint8_t *call, uint32_t words, struct segment *to)
{
	uint32_t i = 4;

	while (i < words && word(call, i) == 1)
		i += 6; /* a Read segment */
	i++;
	if (i < words && word(call, i) == 0)
		i++; /* no Write chunk: a Reply chunk? */
	if (i + 5 >= words || word(call, i) != 1 || word(call, i + 1) == 0)
		return false;
	to->handle = word(call, i + 2);
	to->length = word(call, i + 3);
	to->offset = (uint64_t)word(call, i + 4) << 32 | word(call, i + 5);
	if (to->length > OCTETS)
		to->length = OCTETS;
	return true;
}

static void receive(struct immediate *m, const uint8_t *message, uint32_t len)
{
	struct segment to = {.handle = 0};

	if (!m->wrote && (!m->is_server || first_segment(message, len / 4, &to)))
		write_with_immediate(m, &to);
}

static int post_receives(struct immediate *m)
{
	int err = 0;

	for (unsigned i = 0; i < RECVS && !err; i++) {
		uint8_t *at = m->memory + (size_t)i * RECEIVE;

		err = fabric_post_recv(m->conn, at, RECEIVE, at);
	}
	return err;
}

static int call(struct immediate *m)
{
	uint8_t *at = m->memory + (size_t)RECVS * RECEIVE;
	struct fabric_sge sge = {at, NULL_CALL};

	null_call(at, 1, 8);
	return fabric_send(m->conn, &sge, 1, 0, NULL);
}

static const struct fabric_conn_params params = {
	.max_recvs = RECVS, .max_sends = 8, .max_exposures = 1};

static int take(struct immediate *m, const struct fabric_event *ev)
{
	switch (ev->type) {
	case FABRIC_EV_REQUEST:
		if (m->conn) {
			fabric_reject(ev->conn, view_of(NULL, 0));
			return 0;
		}
		m->conn = ev->conn;
		if (fabric_prepare(m->conn, &params) || post_receives(m))
			return ERR_IO;
		return fabric_accept(m->conn, &params, m);
	case FABRIC_EV_CONNECTED:
		return m->is_server ? 0 : call(m);
	case FABRIC_EV_RECV:
		if (ev->status == 0)
			receive(m, ev->cookie, ev->len);
		return 0;
	case FABRIC_EV_DISCONNECTED:
		m->ended = true;
		m->status = ev->status;
		m->why = ev->why;
		return 0;
	default:
		return 0;
	}
}

/* Return: 0 when the connection has ended. */
static int run(struct immediate *m)
{
	nsec_t end = poll_loop_now() + TIMEOUT;
	struct fabric_event ev;
	int err = 0;

	while (!m->ended && !err && poll_loop_now() < end) {
		fabric_flush(m->fabric);
		while (!m->ended && !err && fabric_poll(m->fabric, &ev))
			err = take(m, &ev);
		poll_loop_step(&m->loop, poll_loop_timeout(fabric_deadline(m->fabric), 50));
		fabric_tick(m->fabric, poll_loop_now());
	}
	printf("wrote=%d ended=%d status=%d why=\"%s\"\n", m->wrote, m->ended, m->status,
	       m->why ? m->why : "-");
	return err || !m->ended || !m->wrote;
}

static int start(struct immediate *m, const struct fabric_addr *at, struct fabric_listener **l)
{
	int err;

	if (m->is_server) {
		*l = verbs_listen(at, &err);
		if (!*l)
			return err;
		printf("listening\n");
		fflush(stdout);
		return fabric_attach(m->fabric, *l, m);
	}
	err = fabric_connect(m->fabric, at, &params, m, &m->conn);
	return err ? err : post_receives(m);
}

int main(int argc, char **argv)
{
	const size_t octets = (size_t)(RECVS + 1) * RECEIVE + OCTETS;
	struct immediate m = {.memory = NULL};
	struct fabric_listener *l = NULL;
	struct verbs_config cfg;
	struct fabric_addr at;
	int rc = 1;

	if (argc != 4 || fabric_addr_parse(argv[2], (uint16_t)strtoul(argv[3], NULL, 10), &at))
		return 2;
	m.is_server = strcmp(argv[1], "server") == 0;
	m.memory = mem_zalloc(octets);
	verbs_config_default(&cfg);
	if (!m.memory || poll_loop_init(&m.loop))
		return 1;
	m.fabric = verbs_new(&cfg, &m.loop.loop);
	if (!m.fabric || fabric_register(m.fabric, m.memory, octets))
		return 1;
	if (start(&m, &at, &l) == 0)
		rc = run(&m);
	if (l)
		fabric_detach(m.fabric, l);
	if (m.conn)
		fabric_destroy(m.conn);
	fabric_unregister(m.fabric, m.memory);
	fabric_free(m.fabric);
	verbs_listener_free(l);
	poll_loop_fini(&m.loop);
	mem_free(m.memory);
	return rc;
}
