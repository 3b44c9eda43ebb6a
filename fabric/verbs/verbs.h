/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_VERBS_H
#define FABRIC_VERBS_VERBS_H

#include "fabric/fabric.h"

/**
 * fabric/verbs - librdmacm and libibverbs: InfiniBand, RoCE and iWARP adapters, rxe and siw.
 *
 * Differences from the other providers, because of reliable-connected queue pairs and the
 * InfiniBand connection manager:
 * - Private data has fields of fixed size: zeros follow what the peer gave. 56 octets fit a
 *   request, 196 an answer, 148 a rejection.
 * - An end that broke the protocol may learn only that the connection ended.
 * - fabric_withdraw() cannot tell how much of an exposure was written.
 * - Without Memory Windows a handle is valid for its worker and domain, not only for its
 *   connection. The user may refuse such devices (verbs_config.needs_windows).
 */

/** enum verbs_receives - what fabric_share_receives() makes of an instance. */
enum verbs_receives {
	VERBS_RECEIVES_AUTO,   /* shared if every device can and none is iWARP */
	VERBS_RECEIVES_SHARED, /* shared if every device can */
	VERBS_RECEIVES_OWN,    /* never shared */
};

struct verbs_config {
	uint32_t setup_timeout_ms; /* for resolving and connecting; default 10000 */
	/* a disconnect waits this long, in ms, for posted Sends and Writes, and then as long again
	 * for the peer's answer; default 5000 */
	uint32_t linger_ms;
	/* retries of a message that is not acknowledged; default 6, as Linux */
	uint8_t retry_count;
	uint8_t rnr_retry_count; /* retries of a Send that finds no Receive; default 0, as Linux */
	/* ms to resolve an address, and then as long again for a route; default 5000, as Linux */
	uint32_t resolve_timeout_ms;
	/* interval, in ms, at which a silent peer is probed (alive.c); default 15000, 0: never */
	uint32_t idle_ms;
	/* for connections whose parameters have 0 (fabric.h), limited by the device; default 32 */
	uint16_t ird, ord;
	enum verbs_receives receives; /* default AUTO */
	/* devices without Memory Windows of type 2 are not used; default false */
	bool needs_windows;
	bool no_windows; /* for tests: Memory Windows are not used; default false */
	/* Borrowed for verbs_new(). Only the devices of these addresses are opened; others when a
	 * connection uses them. None (default): all devices are opened. */
	const struct fabric_use *uses;
	unsigned nuses;
	/* borrowed for verbs_new(): use only the device of that name; default NULL: any */
	const char *only;
};

struct verbs_counters {
	uint64_t sends, receives, reads, writes;
	uint64_t binds, invalidates, remote_invalidates, registrations;
	/* calls of ibv_post_*, completions requested, messages sent inline */
	uint64_t posts, signals, inlines;
	/* calls of ibv_poll_cq, completions returned, wake-ups */
	uint64_t polls, completions, events;
	uint64_t setup_failures, breaches, removals;
	uint64_t asked;		  /* probes of silent peers */
	uint64_t receives_low;	  /* times that a shared receive queue ran low */
	uint64_t receives_out;	  /* times that a shared receive queue had no Receive left */
	uint64_t receives_posted; /* Receives in shared receive queues now */
};

/** struct verbs_agreed - settings of a queue pair that are in force. */
struct verbs_agreed {
	unsigned reads_issued, reads_served; /* most at once */
	unsigned retry_count, rnr_retry_count;
	/* how long a peer whose Send found no Receive waits, in InfiniBand's encoding */
	unsigned rnr_timer;
	uint32_t max_inline; /* most octets of a message that is sent inline */
};

/** struct verbs_caps - a device as an instance found it; the same words and numbers as in the
 * log. */
struct verbs_caps {
	char name[64];
	bool is_usable; /* the device can be used; if not, the log has the reason */
	bool is_iwarp, windows, send_inv, can_share;
	const char *exposures, *handles; /* static storage */
	unsigned max_sge, max_inline;
	int max_qp_wr, max_srq_wr, reads_served, reads_issued, max_mr, max_mw;
};

enum { VERBS_WHY = 256 };

/** verbs_check - whether this machine has RDMA devices and the kernel's support. Return: 0, or
 * ERR_IO with @why in VERBS_WHY octets: what is missing, and what to do. */
int verbs_check(char *why) WARN_UNUSED;

/** verbs_config_default - every field at its default. */
void verbs_config_default(struct verbs_config *cfg);

/** verbs_new - an instance for one worker on @loop, which is borrowed until fabric_free(). Returns
 * owned, or NULL (logged). */
struct fabric *verbs_new(const struct verbs_config *cfg, struct loop *loop);

/** verbs_listen - a listener at @addr, which several instances may attach. Return: owned; or NULL,
 * with *@err set to an enum err and errno to the reason. */
struct fabric_listener *verbs_listen(const struct fabric_addr *addr, int *err);

/** verbs_listener_addr - fill @addr with the address of @l. If port 0 was asked for, the port is
 * the one that the system chose. */
void verbs_listener_addr(const struct fabric_listener *l, struct fabric_addr *addr);

/** verbs_listener_free - takes @l, which no instance is attached to. */
void verbs_listener_free(struct fabric_listener *l);

/** verbs_agreed - fill @agreed with the settings of an established connection. Return: 0 or
 * ERR_CLOSED. */
int verbs_agreed(const struct fabric_conn *c, struct verbs_agreed *agreed) WARN_UNUSED;

/** verbs_caps - fills @caps for the device @name. Return: 0, or ERR_IO: @f has no such device. */
int verbs_caps(const struct fabric *f, const char *name, struct verbs_caps *caps) WARN_UNUSED;

/** verbs_device_address - an address of this machine that leads to the device @name of @f, port
 * 0. Return: 0, or ERR_IO: there is none. */
int verbs_device_address(struct fabric *f, const char *name, struct fabric_addr *addr) WARN_UNUSED;

/** verbs_counters - the counters of @f; borrowed until fabric_free(), and counted on meanwhile. */
const struct verbs_counters *verbs_counters(const struct fabric *f);

#endif
