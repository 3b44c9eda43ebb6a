/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_NET_H
#define TESTS_ISOLATION_NET_H

#include "fabric/fabric.h"

/**
 * net - the network of a test world ("town"): fabric/mem, or queue pairs of fabric/iwarp with
 * streams between them (streams.h). Both have their own virtual time, and all randomness is drawn
 * from one seed.
 * net_sockets is fabric/iwarp over TCP in real time, around a gateway that is another process.
 */

/**
 * struct net_watcher - called for all octets that a message (FABRIC_EV_RECV), an RDMA Write, or the
 * answer to an RDMA Read (FABRIC_EV_READ) carries to the end @to
 *
 * A message is reported whole. Writes and Reads may be reported in pieces; @last is set for the
 * last one.
 */
struct net_watcher {
	void (*moved)(void *arg, struct fabric_conn *to, enum fabric_ev_type kind,
		      const uint8_t *octets, uint32_t len, bool last);
	/* The fabric reports that the end @by wrote these octets; not on every net. */
	void (*counted)(void *arg, struct fabric_conn *by, const uint8_t *octets, uint32_t len);
	void *arg;
};

struct net_config {
	uint64_t seed;
	nsec_t latency_min, latency_max;
	bool shares_receives, no_written, no_remote_inv;
	unsigned misdeeds; /* enum misdeed: faults that streams of wild instances may have */
};

/** struct net_pace - how slow an end is: time for each operation (over streams, for each FPDU) and
 * for each octet of it. */
struct net_pace {
	nsec_t take, take_octet;     /* for arriving Sends and Writes */
	nsec_t answer, answer_octet; /* for Reads that it answers */
	nsec_t say_octet;	     /* for each octet of its own Sends; ignored on fabric/mem */
};

struct net_ops {
	const char *name;
	void *(*new)(const struct net_config *cfg, const struct net_watcher *watcher);
	void (*free)(void *net);
	/* @wild: connections of this instance may also have faults in their octets. */
	struct fabric *(*fabric)(void *net, bool wild);
	struct fabric_listener *(*listen)(void *net, const struct fabric_addr *addr);
	void (*listener_free)(struct fabric_listener *l);
	nsec_t (*now)(void *net);
	/* Advance to the next event, at most to @until. Return: 1; or 0: the time is @until. */
	int (*step)(void *net, nsec_t until);
	/* The end of the Write behind the next message of @conn arrives much later than the rest;
	 * NULL: this net does not deliver in pieces. */
	void (*delay)(struct fabric_conn *conn);
	/* Make the connected end @conn as slow as @pace from now on. */
	void (*pace)(struct fabric_conn *conn, const struct net_pace *pace);
	/* Number of connections, handles and operations that are left. */
	uint64_t (*held)(void *net);
};

extern const struct net_ops net_mem, net_streams, net_sockets;

#endif
