/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_IWARP_SOCK_PAIR_H
#define TESTS_IWARP_SOCK_PAIR_H

#include "fabric/iwarp/iwarp.h"
#include "tests/poll_loop.h"

/** sock_pair - one instance that listens, and connects to itself over loopback. */
enum { SOCK_LOG = 256 };

struct sock_pair {
	struct poll_loop loop;
	struct fabric *f;
	struct fabric_listener *listener;
	struct fabric_addr addr;
	struct fabric_conn *client, *server;
	struct fabric_conn_params params;
	struct fabric_event log[SOCK_LOG]; /* everything polled, in order */
	unsigned logged;
	char private_data[64]; /* of the last event that had private data */
	size_t private_len;
	int wait_ms;	   /* longest wait of a step */
	int reject;	   /* refuse incoming connections */
	bool keeps;	   /* the test keeps received buffers: fabric_conn.recvs_held counts them */
	unsigned requests; /* number of connection requests */
	uint32_t raw_from; /* source address of plain sockets; 0: any */
	/* called for a connection request before it is accepted */
	void (*before_accept)(struct sock_pair *p, struct fabric_conn *c);
};

/** sock_pair_init - make the instance and a listener on @host, port 0. */
void sock_pair_init(struct sock_pair *p, const struct iwarp_config *cfg, const char *host);

/** sock_pair_fini - destroy what is left. */
void sock_pair_fini(struct sock_pair *p);

/** sock_pair_step - one round of loop, tick, poll and flush. */
void sock_pair_step(struct sock_pair *p);

/** sock_pair_wait - step until the log has @n events of @type on @conn (NULL: any); fails the test
 * after some seconds. Return: the nth. */
struct fabric_event *sock_pair_wait(struct sock_pair *p, struct fabric_conn *conn,
				    enum fabric_ev_type type, unsigned n);

/** sock_pair_count - events of @type on @conn so far. */
unsigned sock_pair_count(const struct sock_pair *p, const struct fabric_conn *conn,
			 enum fabric_ev_type type);

/** sock_pair_connect - connect client and server. */
void sock_pair_connect(struct sock_pair *p);

/** sock_pair_raw - connect a plain socket as peer. Return: the socket. */
int sock_pair_raw(struct sock_pair *p);

/** sock_pair_raw_open - a plain socket that has done set-up, too; @p->server is the other end. */
int sock_pair_raw_open(struct sock_pair *p);

#endif
