/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_NET_H
#define TESTS_ISOLATION_NET_H

#include "fabric/fabric.h"

/**
 * net - what a town is built on: fabric/mem, or queue pairs of fabric/iwarp and streams between
 * them (streams.h). Either has its own, virtual time, and everything is drawn from one seed.
 */

/**
 * struct net_watcher - hears of all octets that a message (FABRIC_EV_RECV), an RDMA Write or the
 * answer to an RDMA Read (FABRIC_EV_READ) carries to the end @to
 *
 * A message is told whole, the others perhaps in pieces, of which one is the @last.
 */
struct net_watcher {
	void (*moved)(void *arg, struct fabric_conn *to, enum fabric_ev_type kind,
		      const uint8_t *octets, uint32_t len, bool last);
	/* These octets are said to be what the end @by wrote; not on every net. */
	void (*counted)(void *arg, struct fabric_conn *by, const uint8_t *octets, uint32_t len);
	void *arg;
};

struct net_config {
	uint64_t seed;
	nsec_t latency_min, latency_max;
	bool shares_receives, no_written, no_remote_inv;
	unsigned misdeeds; /* enum misdeed: what streams from wild instances may suffer */
};

/** struct net_pace - how slow an end is: time for each operation, over streams for each FPDU, and for each octet of it. */
struct net_pace {
	nsec_t take, take_octet;     /* Sends and Writes that arrive at it */
	nsec_t answer, answer_octet; /* Reads that it answers */
	nsec_t say_octet;	     /* of its own Sends, one by one; nothing on fabric/mem */
};

struct net_ops {
	const char *name;
	void *(*new)(const struct net_config *cfg, const struct net_watcher *watcher);
	void (*free)(void *net);
	/* @wild: its connections may misbehave in octets, too. */
	struct fabric *(*fabric)(void *net, bool wild);
	struct fabric_listener *(*listen)(void *net, const struct fabric_addr *addr);
	void (*listener_free)(struct fabric_listener *l);
	nsec_t (*now)(void *net);
	/* To the next thing due, not beyond @until. Return: 1, or 0: time is @until now. */
	int (*step)(void *net, nsec_t until);
	/* The end of the Write behind the next message @conn sends comes much later than the rest; NULL:
	 * nothing comes in pieces. */
	void (*delay)(struct fabric_conn *conn);
	/* From now on the end @conn, which is connected, is as slow as @pace. */
	void (*pace)(struct fabric_conn *conn, const struct net_pace *pace);
	/* Connections, handles and operations that are left. */
	uint64_t (*held)(void *net);
};

extern const struct net_ops net_mem, net_streams;

#endif
