/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"

/**
 * config - the operator's file as a checked, immutable structure of plain types.
 * Keys, defaults and limits: docs/rpcrdma-gw.conf.5; the one table is config/keys.c.
 */

enum { CONFIG_SESSIONS_MAX = 1000000 };
enum {
	CONFIG_ROUTES_MAX = 1024,
	CONFIG_ROUTES_SPARE =
		64, /* at a reload: new ones, and old settings that sessions have yet */
};
enum { CONFIG_NAME_BYTES = 64, CONFIG_FABRIC_BYTES = 16, CONFIG_ADDRESS_BYTES = 256 };

/* Versions of RPC-over-RDMA as a bit mask; "2-early" is draft-cel-nfsv4-rpcrdma-version-two-01. */
enum { CONFIG_V1 = 1, CONFIG_V2 = 2, CONFIG_V2_EARLY = 4, CONFIG_VERSIONS = 7 };

/* What an upstream is told that calls of its own may look like (draft-07 5.2.5). */
enum config_reverse {
	CONFIG_REVERSE_AUTO, /* what every client can do that the listener lets in */
	CONFIG_REVERSE_NONE,
	CONFIG_REVERSE_SIMPLE,
	CONFIG_REVERSE_CONT,
	CONFIG_REVERSE_GENL,
};

/* How far a peer is: found out, or said. */
enum config_hop { CONFIG_HOP_AUTO, CONFIG_HOP_NEAR, CONFIG_HOP_FAR };

/* Which of several servers a client gets: the first that serves, or one of its own. */
enum config_balance { CONFIG_BALANCE_ORDER, CONFIG_BALANCE_CLIENT };

/* Who has to prove who it is. */
enum config_hostauth_mode { CONFIG_HOSTAUTH_OFF, CONFIG_HOSTAUTH_ALLOW, CONFIG_HOSTAUTH_REQUIRE };

enum {
	CONFIG_PATH_BYTES = 256,
	CONFIG_NAMES_BYTES = 2048,
	CONFIG_NAMES_MAX = 64,
	CONFIG_NETS_MAX = 32,
	CONFIG_PORTS_MAX = 32,
	CONFIG_HOSTS_MAX = 16
};

/** struct config_file - a file that is named, not read; empty: none. */
struct config_file {
	char path[CONFIG_PATH_BYTES];
	uint32_t line; /* where it is named; 0: nowhere */
};

/** struct config_names - texts, one behind the other, each with its NUL. */
struct config_names {
	char text[CONFIG_NAMES_BYTES];
	uint32_t n, line;
};

/** struct config_net - addresses that begin with .bits bits of .octets. */
struct config_net {
	bool is_v6;
	uint8_t bits;
	uint8_t octets[16];
};

struct config_nets {
	struct config_net nets[CONFIG_NETS_MAX];
	uint32_t n;
};

/** struct config_source - clients on .clients have .addresses: one for all of them, or each its own. */
struct config_source {
	struct config_net clients, addresses;
	bool everywhere; /* clients of either family, on any network: .clients tells nothing */
	uint8_t name;	 /* that they prove, counted in .names from 1; 0: whoever they are */
};

/** struct config_sources - the first that has a client counts. */
struct config_sources {
	struct config_source at[CONFIG_NETS_MAX];
	struct config_names names; /* its .line is nothing */
	uint32_t n, line;
};

/** struct config_ports - each .first to .last, both included. */
struct config_port_range {
	uint16_t first, last;
};

struct config_ports {
	struct config_port_range at[CONFIG_PORTS_MAX];
	uint32_t n, line;
};

/** struct config_hostauth - host authentication on one side of a route (docs/hostauth-profile.md). */
struct config_hostauth {
	enum config_hostauth_mode mode;
	struct config_file certificate, key, ca, crl, psk;
	struct config_names
		names; /* of peers; none: any that the ca vouches for, or that has a key */
	struct config_nets unneeded; /* listen: peers that need not */
	uint32_t timeout_s;	     /* for the handshake */
	uint32_t warn_days;	     /* before something expires */
	uint32_t max_handshakes;     /* listen: under way at once, of the whole process */
	uint32_t line;		     /* of the group, for messages */
};

/** struct config_end - one side of a route: where it listens, or whom it connects to. */
struct config_end {
	char fabric[CONFIG_FABRIC_BYTES];   /* "iwarp" or "verbs" */
	char address[CONFIG_ADDRESS_BYTES]; /* a literal, "fe80::1%eth0" too; no brackets; of an
					     * upstream also a name, or empty: */
	struct config_names hosts;	    /* upstream: addresses, each a literal or a name */
	enum config_balance balance;	    /* upstream: among them */
	uint32_t probe_interval_s;	    /* upstream: 0: no probes */
	uint16_t port;
	uint8_t versions;	  /* accepted; or tried, 2 first when both ("auto") */
	enum config_hop hop;	  /* whether calls to this peer take their data along */
	bool crc;		  /* ask for CRC32c on the wire */
	bool rpcbind;		  /* listen: told to this machine's rpcbind */
	bool literal_credits;	  /* version 2, for labs: protocol decision 1 read literally */
	uint32_t inline_bytes;	  /* size of Receives and largest Send */
	uint32_t bulk_bytes;	  /* receive_structure, behind that in each Receive; 0: nothing */
	uint32_t credits;	  /* granted at most; or asked for */
	uint32_t reverse_credits; /* the same for the reverse direction */
	enum config_reverse reverse; /* upstream */
	uint32_t timeout_s;	     /* listen: setup_timeout; upstream: connect_timeout */
	uint32_t reply_timeout_s;    /* calls this peer does not answer are let go; 0: never */
	uint32_t retry_count, rnr_retry_count, resolve_timeout_s; /* verbs alone */
	uint32_t busy_poll_us;
	uint32_t version_memory_s;  /* upstream: how long "speaks only version 1" is remembered */
	struct config_nets clients; /* listen: who may connect at all; none: everybody */
	struct config_sources
		sources; /* upstream: from where to connect; none: as the system likes */
	struct config_ports
		side_ports; /* upstream: of the protocols beside version 3 of NFS; none: not carried */
	struct config_hostauth hostauth;
	uint32_t line; /* of the address in the file, for messages */
};

struct config_route {
	char name[CONFIG_NAME_BYTES];
	struct config_names names; /* "for": whose route it is, of several on one listener */
	uint32_t listener;	   /* the route that listens: this one, or an earlier one */
	struct config_end listen, upstream;
};

/* How fabric "verbs" keeps Receives: as its devices can, for all connections, or for each. */
enum config_receives { CONFIG_RECEIVES_AUTO, CONFIG_RECEIVES_SHARED, CONFIG_RECEIVES_OWN };

/* Whether RDMA devices are used whose handles are good for more than their connection. */
enum config_handles { CONFIG_HANDLES_REFUSE, CONFIG_HANDLES_ALLOW };

/** struct config_metrics - where they are to be had; no address: nowhere. */
struct config_metrics {
	char address[CONFIG_ADDRESS_BYTES];
	uint16_t port;
	struct config_names names; /* by which browsers may ask, beside this machine's own */
	uint32_t line;
};

struct config {
	uint32_t workers;		  /* 0: see config_workers() */
	uint32_t max_sessions;		  /* of the whole process; 0: see config_max_sessions() */
	uint32_t max_sessions_per_client; /* 0: max_sessions */
	uint32_t max_setups;		  /* 0: see config_max_setups() */
	uint32_t max_setups_per_second;	  /* of each client; 0: no limit */
	uint64_t memory_bytes; /* memory_limit: payload and Receive buffers of the whole process */
	uint32_t max_payload;  /* largest chunk or message, octets */
	uint32_t continue_max; /* longest message continued where it could go another way */
	bool cut_through;      /* large results may go on while their rest is coming */
	uint64_t cut_through_from; /* once RPCs of a session have so much memory, octets */
	uint32_t drain_timeout_s;
	uint32_t peer_timeout_s;       /* a silent peer that is asked and does not answer is gone */
	enum config_receives receives; /* receive_queue */
	enum config_handles handles;   /* insecure_handles */
	uint32_t adaptive_poll_us;     /* workers look so long before they sleep, while that pays */
	enum log_level log_level;
	struct config_file control; /* socket for rpcrdma-gwctl */
	struct config_metrics metrics;
	uint32_t nroutes; /* at least 1 */
	struct config_route routes[];
};

/**
 * config_load - read and check a file
 * @path:   libconfig syntax
 * @out:    on success *@out is returned owned: config_free()
 * @errors: gets one line a problem, "FILE:LINE: what is wrong: what to do", all problems in the
 *          file, not the first alone; "FILE: ..." when it cannot be read
 *
 * Return: 0, ERR_CONFIG or ERR_NOMEM.
 */
int config_load(const char *path, struct config **out, FILE *errors) WARN_UNUSED;

/**
 * config_check_loops - routes that lead to their own listener, or to each other in a ring
 * @is_own: whether @host, an address, is one of this machine's, so that listeners on all addresses are there, too;
 *          NULL: loopback alone is, as config_load() has it
 * @errors: gets one line a loop, as config_load()'s
 *
 * Names are not looked up, but for "localhost". Return: how many loops there are.
 */
typedef bool config_is_own(const char *host);
unsigned config_check_loops(const struct config *cfg, const char *path, config_is_own *is_own,
			    FILE *errors);

/** config_name - the one at @i, which is less than @names->n. */
const char *config_name(const struct config_names *names, uint32_t i);

/** config_source_name - that clients of @source, one of @sources, prove; NULL: whoever they are. */
const char *config_source_name(const struct config_sources *sources,
			       const struct config_source *source);

/** config_free - takes @cfg, which may be NULL. */
void config_free(struct config *cfg);

/** config_print - the effective configuration, every key, in the syntax config_load() reads. */
void config_print(const struct config *cfg, FILE *out);

/** config_print_nft - rules by which the kernel carries what is beside RDMA to the servers of all routes
 * with side_ports, and their callbacks: what nft -f reads. */
void config_print_nft(const struct config *cfg, FILE *out);

/** config_forget_lines - as if it had been read from no file: what differs between a file and the same
 * as it is printed. */
void config_forget_lines(struct config *cfg);

/** config_is_same_route - whether both have the same settings; lines, and places in the file, do not matter. */
bool config_is_same_route(const struct config_route *a, const struct config_route *b);

/** config_is_one_place - whether both ends are the same address of the same fabric, in the same words. */
bool config_is_one_place(const struct config_end *a, const struct config_end *b);

/**
 * config_keep - what only a restart changes stays as in @running
 * @told: gets the name of each key that would have been another
 */
void config_keep(struct config *cfg, const struct config *running,
		 void (*told)(void *arg, const char *key), void *arg);

/** config_hosts - how many addresses and names an upstream has: at least 1, unless it could not be read. */
uint32_t config_hosts(const struct config_end *end);

/** config_host - the @i-th of them; valid as long as @end. */
const char *config_host(const struct config_end *end, uint32_t i);

/** config_is_literal - @host is an address, not a name. */
bool config_is_literal(const char *host);

/** config_worker_bytes - least memory one worker needs: a session of every route, one RPC. */
uint64_t config_worker_bytes(const struct config *cfg);

/**
 * config_workers - how many workers to run on a machine of @cpus CPUs
 *
 * What the file says; for 0 one a CPU, but no more than memory_limit feeds (at least 1).
 */
uint32_t config_workers(const struct config *cfg, uint32_t cpus);

/** config_session_bytes - what a session of @route may take for its life, on its fabrics. */
uint64_t config_session_bytes(const struct config_route *route);

/** config_session_least - what a session of @route takes at least: idle, where its Receives may be shared. */
uint64_t config_session_least(const struct config *cfg, const struct config_route *route);

/** config_share_bytes - what each of @workers has of memory_limit: whole steps of the budget. */
uint64_t config_share_bytes(const struct config *cfg, uint32_t workers);

/** config_route_sessions - sessions of @route alone, all idle, that memory is enough for: @worker_bytes for each of
 * @workers; at least one a worker. */
uint32_t config_route_sessions(const struct config *cfg, const struct config_route *route,
			       uint32_t workers, uint64_t worker_bytes);

/** config_max_sessions - what the file says; for 0 as many as memory_limit feeds, in @workers. */
uint32_t config_max_sessions(const struct config *cfg, uint32_t workers);

/** config_max_setups - what the file says; for 0 half of those sessions. */
uint32_t config_max_setups(const struct config *cfg, uint32_t workers);

#endif
