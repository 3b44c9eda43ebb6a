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
 * Keys, defaults and limits: docs/rpcrdma-gw.conf.5. The only table of keys is config/keys.c.
 */

enum { CONFIG_SESSIONS_MAX = 1000000 };
enum {
	CONFIG_ROUTES_MAX = 1024,
	CONFIG_ROUTES_SPARE = 64, /* slots beyond .nroutes for a reload: new and outgoing routes */
};
enum { CONFIG_NAME_BYTES = 64, CONFIG_FABRIC_BYTES = 16, CONFIG_ADDRESS_BYTES = 256 };

/* Versions of RPC-over-RDMA as a bit mask; "2-early" is draft-cel-nfsv4-rpcrdma-version-two-01. */
enum { CONFIG_V1 = 1, CONFIG_V2 = 2, CONFIG_V2_EARLY = 4, CONFIG_VERSIONS = 7 };

/* Which calls of its own an upstream server may send, as the gateway declares it to the server
 * (draft-07 5.2.5). */
enum config_reverse {
	CONFIG_REVERSE_AUTO, /* what every client that the listener admits can do */
	CONFIG_REVERSE_NONE,
	CONFIG_REVERSE_SIMPLE,
	CONFIG_REVERSE_CONT,
	CONFIG_REVERSE_GENL,
};

/* Distance of a peer: measured (AUTO), or set by the operator. */
enum config_hop { CONFIG_HOP_AUTO, CONFIG_HOP_NEAR, CONFIG_HOP_FAR };

/* Choice among several servers: the first that serves (ORDER), or one chosen for each client
 * (CLIENT). */
enum config_balance { CONFIG_BALANCE_ORDER, CONFIG_BALANCE_CLIENT };

/* Whether peers must authenticate (draft-07 5.2.6). */
enum config_hostauth_mode { CONFIG_HOSTAUTH_OFF, CONFIG_HOSTAUTH_ALLOW, CONFIG_HOSTAUTH_REQUIRE };

enum {
	CONFIG_PATH_BYTES = 256,
	CONFIG_NAMES_BYTES = 2048,
	CONFIG_NAMES_MAX = 64,
	CONFIG_NETS_MAX = 32,
	CONFIG_PORTS_MAX = 32,
	CONFIG_HOSTS_MAX = 16
};

/** struct config_file - name of a file that the reader does not open; empty .path: no file. */
struct config_file {
	char path[CONFIG_PATH_BYTES];
	uint32_t line; /* where the file is named; 0: nowhere */
};

/** struct config_names - .n texts in a row, each with its NUL. .line: line of the setting in the
 * file, 0 if the file has none. */
struct config_names {
	char text[CONFIG_NAMES_BYTES];
	uint32_t n, line;
};

/** struct config_net - the addresses whose first .bits bits are those of .octets. */
struct config_net {
	bool is_v6;
	uint8_t bits;
	uint8_t octets[16];
};

struct config_nets {
	struct config_net nets[CONFIG_NETS_MAX];
	uint32_t n;
};

/** struct config_source - source addresses for the clients in .clients: one for all clients, or one
 * for each. */
struct config_source {
	struct config_net clients, addresses;
	/* the entry holds for clients of both families on any network; .clients is unused */
	bool everywhere;
	/* name that these clients prove, an index into .names from 1; 0: any client */
	uint8_t name;
};

/** struct config_sources - the first entry that matches a client is used. */
struct config_sources {
	struct config_source at[CONFIG_NETS_MAX];
	struct config_names names; /* its .line is unused */
	uint32_t n, line;
};

/** struct config_port_range - the ports from .first to .last, both included. */
struct config_port_range {
	uint16_t first, last;
};

/** struct config_ports - .n ranges. .line: line of the setting in the file, 0 if the file has
 * none. */
struct config_ports {
	struct config_port_range at[CONFIG_PORTS_MAX];
	uint32_t n, line;
};

/** struct config_hostauth - host authentication on one side of a route
 * (docs/hostauth-profile.md). */
struct config_hostauth {
	enum config_hostauth_mode mode;
	struct config_file certificate, key, ca, crl, psk;
	/* accepted names of peers; none: any peer with a certificate of the ca, or with a key */
	struct config_names names;
	struct config_nets unneeded; /* listen: peers that need no authentication */
	uint32_t timeout_s;	     /* limit for the whole handshake */
	uint32_t warn_days;	     /* days before an expiry from which the log warns */
	uint32_t max_handshakes;     /* listen: concurrent handshakes of the whole process */
	uint32_t line;		     /* line of the group, for messages */
};

/** struct config_end - one side of a route: the address of its listener, or of its servers. */
struct config_end {
	char fabric[CONFIG_FABRIC_BYTES]; /* "iwarp" or "verbs" */
	/* A literal address without brackets, "fe80::1%eth0" included. On an upstream also a host
	 * name, or empty when .hosts is set. */
	char address[CONFIG_ADDRESS_BYTES];
	struct config_names hosts;   /* upstream: several servers, each an address or a name */
	enum config_balance balance; /* upstream: choice among .hosts */
	uint32_t probe_interval_s;   /* upstream; 0: no probes */
	uint16_t port;
	/* listen: versions accepted; upstream: versions tried, version 2 first when both are set
	 * ("auto") */
	uint8_t versions;
	/* distance: calls to a far peer carry their data inline or continued, not in chunks */
	enum config_hop hop;
	bool crc;     /* the gateway asks for CRC32c (MPA) */
	bool rpcbind; /* listen: the gateway registers this address with the local rpcbind */
	/* version 2, for labs: the gateway counts credits as draft-07 4.2.1 reads literally, not as
	 * protocol decision 1 does */
	bool literal_credits;
	/* inline threshold: size of each Receive and of the largest Send, octets */
	uint32_t inline_bytes;
	/* receive_structure: octets behind .inline_bytes in each Receive; 0: none */
	uint32_t bulk_bytes;
	uint32_t credits;	     /* listen: most credits granted; upstream: credits asked for */
	uint32_t reverse_credits;    /* .credits of the reverse direction */
	enum config_reverse reverse; /* upstream: calls that its servers may send */
	uint32_t timeout_s;	     /* listen: setup_timeout; upstream: connect_timeout */
	/* how long the gateway waits for a reply of this peer; 0: no limit */
	uint32_t reply_timeout_s;
	uint32_t retry_count, rnr_retry_count, resolve_timeout_s; /* verbs only */
	uint32_t busy_poll_us;
	/* upstream: how long the gateway remembers that a server speaks only version 1 */
	uint32_t version_memory_s;
	struct config_nets clients; /* listen: clients that may connect; none: all */
	struct config_sources
		sources; /* upstream: local addresses to connect from; none: chosen by the system */
	/* upstream: ports of the side protocols, which the kernel forwards; none: it forwards
	 * nothing */
	struct config_ports side_ports;
	struct config_hostauth hostauth;
	uint32_t line; /* line of the address in the file, for messages */
};

struct config_route {
	char name[CONFIG_NAME_BYTES];
	/* "for": names of the clients that use this route, if several routes share a listener */
	struct config_names names;
	uint32_t listener; /* index of the route that listens: this route, or an earlier one */
	struct config_end listen, upstream;
};

/* Receives on fabric "verbs": as the device allows, shared by all connections, or separate for each
 * connection. */
enum config_receives { CONFIG_RECEIVES_AUTO, CONFIG_RECEIVES_SHARED, CONFIG_RECEIVES_OWN };

/* Whether the gateway uses RDMA devices whose handles are valid for a whole protection domain, not
 * for one connection alone. */
enum config_handles { CONFIG_HANDLES_REFUSE, CONFIG_HANDLES_ALLOW };

/** struct config_metrics - the metrics listener; an empty address: no listener. */
struct config_metrics {
	char address[CONFIG_ADDRESS_BYTES];
	uint16_t port;
	/* host names that HTTP requests may use, besides this machine's own */
	struct config_names names;
	uint32_t line;
};

struct config {
	uint32_t workers;		  /* 0: see config_workers() */
	uint32_t max_sessions;		  /* of the whole process; 0: see config_max_sessions() */
	uint32_t max_sessions_per_client; /* 0: max_sessions */
	uint32_t max_setups;		  /* 0: see config_max_setups() */
	uint32_t max_setups_per_second;	  /* for each client; 0: no limit */
	uint64_t memory_bytes; /* memory_limit: payload and Receive buffers of the whole process */
	uint32_t max_payload;  /* largest chunk or message, octets */
	uint32_t continue_max; /* longest continued message if another form is possible, octets */
	/* the gateway may forward large results while their rest is still arriving */
	bool cut_through;
	/* cut_through applies from this much payload memory of the RPCs of a session, octets */
	uint64_t cut_through_from;
	uint32_t drain_timeout_s;
	/* how long a peer that sends nothing may take to answer a keepalive */
	uint32_t peer_timeout_s;
	enum config_receives receives; /* key receive_queue */
	enum config_handles handles;   /* key insecure_handles */
	/* longest busy-poll before a worker sleeps, while polling pays */
	uint32_t adaptive_poll_us;
	enum log_level log_level;
	struct config_file control; /* socket for rpcrdma-gwctl */
	struct config_metrics metrics;
	uint32_t nroutes; /* 1 or more */
	struct config_route routes[];
};

/**
 * config_load - read and check a file
 * @path:   libconfig syntax
 * @out:    on success *@out is returned owned: config_free()
 * @errors: gets one line for each problem, "FILE:LINE: what is wrong: what to do"; all problems of
 *          the file are reported, not only the first; "FILE: ..." if the file cannot be read
 *
 * Return: 0, ERR_CONFIG or ERR_NOMEM.
 */
int config_load(const char *path, struct config **out, FILE *errors) WARN_UNUSED;

/**
 * config_check_loops - report routes that lead to their own listener, or to each other in a ring
 * @is_own: whether @host, an address, belongs to this machine: such an address leads to listeners
 *          on all addresses; NULL: only loopback addresses belong to this machine, as in
 *          config_load()
 * @errors: gets one line for each loop, in the form of config_load()
 *
 * Host names are not resolved, except "localhost". Return: the number of loops.
 */
typedef bool config_is_own(const char *host);
unsigned config_check_loops(const struct config *cfg, const char *path, config_is_own *is_own,
			    FILE *errors);

/** config_name - name @i of @names; @i is less than @names->n. */
const char *config_name(const struct config_names *names, uint32_t i);

/** config_source_name - the name that the clients of @source must prove; @source is an entry of
 * @sources. Return: NULL if any client matches. */
const char *config_source_name(const struct config_sources *sources,
			       const struct config_source *source);

/** config_free - takes @cfg, which may be NULL. */
void config_free(struct config *cfg);

/** config_print - the effective configuration, every key, in the syntax config_load() reads. */
void config_print(const struct config *cfg, FILE *out);

/** config_print_nft - write rules for nft -f: with these the kernel forwards the protocols beside
 * RDMA to the servers of all routes with side_ports, and the servers' callbacks to the clients. */
void config_print_nft(const struct config *cfg, FILE *out);

/** config_forget_lines - set all line numbers to 0, so that a configuration read from a file equals
 * the same configuration read from config_print(). */
void config_forget_lines(struct config *cfg);

/** config_is_same_route - whether both routes have the same settings; line numbers and order in the
 * file do not count. */
bool config_is_same_route(const struct config_route *a, const struct config_route *b);

/** config_is_one_place - whether both ends have the same fabric, port and address text. */
bool config_is_one_place(const struct config_end *a, const struct config_end *b);

/**
 * config_keep - copy from @running every setting that only a restart can change
 * @report: called with the name of each key whose new value is not used
 */
void config_keep(struct config *cfg, const struct config *running,
		 void (*report)(void *arg, const char *key), void *arg);

/** config_hosts - number of addresses and names of an upstream: 1 or more, unless the setting was
 * unusable. */
uint32_t config_hosts(const struct config_end *end);

/** config_host - address or name @i of @end; valid as long as @end. */
const char *config_host(const struct config_end *end, uint32_t i);

/** config_is_literal - whether @host is an address and not a name. */
bool config_is_literal(const char *host);

/** config_worker_bytes - least memory one worker needs, octets: one session of every route and one
 * RPC. */
uint64_t config_worker_bytes(const struct config *cfg);

/**
 * config_workers - how many workers to run on a machine of @cpus CPUs
 *
 * The number in the file. If it is 0: one for each CPU, but no more than memory_limit allows (at
 * least 1).
 */
uint32_t config_workers(const struct config *cfg, uint32_t cpus);

/** config_session_bytes - octets of memory that a session of @route may hold for its life, at
 * most. */
uint64_t config_session_bytes(const struct config_route *route);

/** config_session_least - least memory a session of @route holds, octets: an idle session, with
 * shared Receives if its fabrics have them. */
uint64_t config_session_least(const struct config *cfg, const struct config_route *route);

/** config_share_bytes - part of memory_limit for each of @workers, octets, a multiple of the
 * budget's step. */
uint64_t config_share_bytes(const struct config *cfg, uint32_t workers);

/** config_route_sessions - how many idle sessions fit into the memory of @workers with
 * @worker_bytes octets each, if all are of @route; at least one for each worker. */
uint32_t config_route_sessions(const struct config *cfg, const struct config_route *route,
			       uint32_t workers, uint64_t worker_bytes);

/** config_max_sessions - the number in the file; if it is 0, as many as memory_limit allows with
 * @workers. */
uint32_t config_max_sessions(const struct config *cfg, uint32_t workers);

/** config_max_setups - the number in the file; if it is 0, half of config_max_sessions(). */
uint32_t config_max_setups(const struct config *cfg, uint32_t workers);

#endif
