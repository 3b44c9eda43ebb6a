/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/keys.h"

#define NUMBER(text, type, member, low, high)                                                      \
	{                                                                                          \
		.name = (text), .kind = KEY_NUMBER, .offset = offsetof(type, member),              \
		.size = sizeof(((type *)NULL)->member), .min = (low), .max = (high), .multiple = 1 \
	}
#define BYTES(text, type, member, low, high, step)                                                 \
	{                                                                                          \
		.name = (text), .kind = KEY_BYTES, .offset = offsetof(type, member),               \
		.size = sizeof(((type *)NULL)->member), .min = (low), .max = (high),               \
		.multiple = (step)                                                                 \
	}
#define VERBS(text, type, member, low, high)                                                       \
	{                                                                                          \
		.name = (text), .kind = KEY_NUMBER, .offset = offsetof(type, member),              \
		.size = sizeof(((type *)NULL)->member), .min = (low), .max = (high),               \
		.multiple = 1, .fabric = "verbs"                                                   \
	}
#define OTHER(text, which, type, member)                                                           \
	{                                                                                          \
		.name = (text), .kind = (which), .offset = offsetof(type, member),                 \
		.size = sizeof(((type *)NULL)->member)                                             \
	}
#define WORD(text, type, member, list, count)                                                      \
	{                                                                                          \
		.name = (text), .kind = KEY_WORD, .offset = offsetof(type, member),                \
		.size = sizeof(((type *)NULL)->member), .words = (list), .nwords = (count)         \
	}
#define HOP(text, type, member)                                                                    \
	{                                                                                          \
		.name = (text), .kind = KEY_HOP, .offset = offsetof(type, member),                 \
		.size = sizeof(((type *)NULL)->member), .words = config_hop_words,                 \
		.nwords = CONFIG_HOP_WORDS                                                         \
	}
#define ADMITS(text, which, type, member)                                                          \
	{                                                                                          \
		.name = (text), .kind = (which), .offset = offsetof(type, member),                 \
		.size = sizeof(((type *)NULL)->member), .needs_items = true                        \
	}
#define REQUIRED(text, which, type, member)                                                        \
	{                                                                                          \
		.name = (text), .kind = (which), .offset = offsetof(type, member),                 \
		.size = sizeof(((type *)NULL)->member), .is_required = true                        \
	}
#define TABLE(keys)                                                                                \
	{                                                                                          \
		keys, sizeof(keys) / sizeof((keys)[0])                                             \
	}

enum { HOUR_S = 3600, DAY_S = 24 * HOUR_S, WEEK_S = 7 * DAY_S, SECOND_US = 1000000 };
#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

#define HOSTAUTH_KEYS                                                                              \
	{.name = "mode",                                                                           \
	 .kind = KEY_WORD,                                                                         \
	 .offset = offsetof(struct config_hostauth, mode),                                         \
	 .size = sizeof(enum config_hostauth_mode),                                                \
	 .words = config_hostauth_words,                                                           \
	 .nwords = CONFIG_HOSTAUTH_WORDS,                                                          \
	 .is_required = true},                                                                     \
		OTHER("certificate", KEY_FILE, struct config_hostauth, certificate),               \
		OTHER("key", KEY_FILE, struct config_hostauth, key),                               \
		OTHER("ca", KEY_FILE, struct config_hostauth, ca),                                 \
		OTHER("crl", KEY_FILE, struct config_hostauth, crl),                               \
		OTHER("psk_file", KEY_FILE, struct config_hostauth, psk),                          \
		ADMITS("names", KEY_NAMES, struct config_hostauth, names),                         \
		NUMBER("timeout", struct config_hostauth, timeout_s, 1, HOUR_S),                   \
		NUMBER("warn_days", struct config_hostauth, warn_days, 0, 3650)

static const struct key listen_hostauth_keys[] = {
	HOSTAUTH_KEYS,
	OTHER("unneeded_from", KEY_NETS, struct config_hostauth, unneeded),
	NUMBER("max_handshakes", struct config_hostauth, max_handshakes, 1, 65536),
};

static const struct key upstream_hostauth_keys[] = {HOSTAUTH_KEYS};

static const struct key_table listen_hostauth = TABLE(listen_hostauth_keys);
static const struct key_table upstream_hostauth = TABLE(upstream_hostauth_keys);

static const struct key listen_keys[] = {
	OTHER("fabric", KEY_FABRIC, struct config_end, fabric),
	REQUIRED("address", KEY_ADDRESS, struct config_end, address),
	NUMBER("port", struct config_end, port, 1, 65535),
	ADMITS("clients", KEY_NETS, struct config_end, clients),
	OTHER("rpcbind", KEY_BOOL, struct config_end, rpcbind),
	OTHER("versions", KEY_VERSIONS, struct config_end, versions),
	HOP("hop", struct config_end, hop),
	BYTES("inline", struct config_end, inline_bytes, KIB(1), KIB(64), KIB(1)),
	BYTES("receive_structure", struct config_end, bulk_bytes, 0, MIB(8), KIB(4)),
	NUMBER("credits", struct config_end, credits, 1, 4096),
	NUMBER("reverse_credits", struct config_end, reverse_credits, 1, 1024),
	OTHER("crc", KEY_BOOL, struct config_end, crc),
	OTHER("literal_credits", KEY_BOOL, struct config_end, literal_credits),
	NUMBER("setup_timeout", struct config_end, timeout_s, 1, HOUR_S),
	NUMBER("reply_timeout", struct config_end, reply_timeout_s, 0, DAY_S),
	VERBS("retry_count", struct config_end, retry_count, 1, 7),
	VERBS("rnr_retry_count", struct config_end, rnr_retry_count, 0, 7),
	NUMBER("busy_poll_us", struct config_end, busy_poll_us, 0, SECOND_US),
	{.name = "hostauth",
	 .kind = KEY_GROUP,
	 .offset = offsetof(struct config_end, hostauth),
	 .sub = &listen_hostauth},
};

static const struct key upstream_keys[] = {
	OTHER("fabric", KEY_FABRIC, struct config_end, fabric),
	OTHER("address", KEY_HOST, struct config_end, address),
	OTHER("addresses", KEY_HOSTS, struct config_end, hosts),
	WORD("balance", struct config_end, balance, config_balance_words, CONFIG_BALANCE_WORDS),
	NUMBER("probe_interval", struct config_end, probe_interval_s, 0, HOUR_S),
	NUMBER("port", struct config_end, port, 1, 65535),
	OTHER("source", KEY_SOURCES, struct config_end, sources),
	OTHER("side_ports", KEY_PORTS, struct config_end, side_ports),
	OTHER("version", KEY_VERSION, struct config_end, versions),
	HOP("hop", struct config_end, hop),
	BYTES("inline", struct config_end, inline_bytes, KIB(1), KIB(64), KIB(1)),
	BYTES("receive_structure", struct config_end, bulk_bytes, 0, MIB(8), KIB(4)),
	NUMBER("credits", struct config_end, credits, 1, 4096),
	NUMBER("reverse_credits", struct config_end, reverse_credits, 1, 1024),
	WORD("reverse", struct config_end, reverse, config_reverse_words, CONFIG_REVERSE_WORDS),
	OTHER("crc", KEY_BOOL, struct config_end, crc),
	OTHER("literal_credits", KEY_BOOL, struct config_end, literal_credits),
	NUMBER("connect_timeout", struct config_end, timeout_s, 1, HOUR_S),
	NUMBER("reply_timeout", struct config_end, reply_timeout_s, 0, DAY_S),
	NUMBER("version_memory", struct config_end, version_memory_s, 0, WEEK_S),
	VERBS("retry_count", struct config_end, retry_count, 1, 7),
	VERBS("rnr_retry_count", struct config_end, rnr_retry_count, 0, 7),
	VERBS("resolve_timeout", struct config_end, resolve_timeout_s, 1, HOUR_S),
	NUMBER("busy_poll_us", struct config_end, busy_poll_us, 0, SECOND_US),
	{.name = "hostauth",
	 .kind = KEY_GROUP,
	 .offset = offsetof(struct config_end, hostauth),
	 .sub = &upstream_hostauth},
};

static const struct key log_keys[] = {
	OTHER("level", KEY_LEVEL, struct config, log_level),
};

static const struct key metrics_keys[] = {
	REQUIRED("address", KEY_ADDRESS, struct config_metrics, address),
	NUMBER("port", struct config_metrics, port, 1, 65535),
	OTHER("names", KEY_NAMES, struct config_metrics, names),
};

static const struct key_table metrics_table = TABLE(metrics_keys);

const struct key_table config_listen_keys = TABLE(listen_keys);
const struct key_table config_upstream_keys = TABLE(upstream_keys);
static const struct key_table log_table = TABLE(log_keys);

static const struct key route_keys[] = {
	REQUIRED("name", KEY_NAME, struct config_route, name),
	ADMITS("for", KEY_NAMES, struct config_route, names),
	{.name = "listen",
	 .kind = KEY_GROUP,
	 .offset = offsetof(struct config_route, listen),
	 .is_required = true,
	 .sub = &config_listen_keys},
	{.name = "upstream",
	 .kind = KEY_GROUP,
	 .offset = offsetof(struct config_route, upstream),
	 .is_required = true,
	 .sub = &config_upstream_keys},
};

const struct key_table config_route_keys = TABLE(route_keys);

static const struct key top_keys[] = {
	NUMBER("workers", struct config, workers, 0, 256),
	BYTES("memory_limit", struct config, memory_bytes, MIB(1), GIB(1024), 1),
	BYTES("max_payload", struct config, max_payload, KIB(64), MIB(16), KIB(4)),
	BYTES("continue_max", struct config, continue_max, 0, MIB(16), 1),
	OTHER("cut_through", KEY_BOOL, struct config, cut_through),
	BYTES("cut_through_from", struct config, cut_through_from, 0, GIB(16384), 1),
	NUMBER("max_sessions", struct config, max_sessions, 0, CONFIG_SESSIONS_MAX),
	NUMBER("max_sessions_per_client", struct config, max_sessions_per_client, 0,
	       CONFIG_SESSIONS_MAX),
	NUMBER("max_setups", struct config, max_setups, 0, CONFIG_SESSIONS_MAX),
	NUMBER("max_setups_per_second", struct config, max_setups_per_second, 0,
	       CONFIG_SESSIONS_MAX),
	NUMBER("drain_timeout", struct config, drain_timeout_s, 0, HOUR_S),
	NUMBER("peer_timeout", struct config, peer_timeout_s, 6, HOUR_S),
	WORD("receive_queue", struct config, receives, config_receives_words,
	     CONFIG_RECEIVES_WORDS),
	WORD("insecure_handles", struct config, handles, config_handles_words,
	     CONFIG_HANDLES_WORDS),
	NUMBER("adaptive_poll_us", struct config, adaptive_poll_us, 0, SECOND_US),
	{.name = "log", .kind = KEY_GROUP, .offset = 0, .sub = &log_table},
	OTHER("control", KEY_FILE, struct config, control),
	{.name = "metrics",
	 .kind = KEY_GROUP,
	 .offset = offsetof(struct config, metrics),
	 .sub = &metrics_table},
	{.name = "routes", .kind = KEY_ROUTES, .is_required = true, .sub = &config_route_keys},
};

const struct key_table config_keys = TABLE(top_keys);

const char *const config_receives_words[CONFIG_RECEIVES_WORDS] = {
	[CONFIG_RECEIVES_AUTO] = "auto",
	[CONFIG_RECEIVES_SHARED] = "shared",
	[CONFIG_RECEIVES_OWN] = "own",
};

const char *const config_handles_words[CONFIG_HANDLES_WORDS] = {
	[CONFIG_HANDLES_REFUSE] = "refuse",
	[CONFIG_HANDLES_ALLOW] = "allow",
};

const char *const config_balance_words[CONFIG_BALANCE_WORDS] = {
	[CONFIG_BALANCE_ORDER] = "order",
	[CONFIG_BALANCE_CLIENT] = "client",
};

const char *const config_hop_words[CONFIG_HOP_WORDS] = {
	[CONFIG_HOP_AUTO] = "auto",
	[CONFIG_HOP_NEAR] = "near",
	[CONFIG_HOP_FAR] = "far",
};

const char *const config_reverse_words[CONFIG_REVERSE_WORDS] = {
	[CONFIG_REVERSE_AUTO] = "auto",	    [CONFIG_REVERSE_NONE] = "none",
	[CONFIG_REVERSE_SIMPLE] = "simple", [CONFIG_REVERSE_CONT] = "continued",
	[CONFIG_REVERSE_GENL] = "general",
};

const char *const config_hostauth_words[CONFIG_HOSTAUTH_WORDS] = {
	[CONFIG_HOSTAUTH_OFF] = "off",
	[CONFIG_HOSTAUTH_ALLOW] = "allow",
	[CONFIG_HOSTAUTH_REQUIRE] = "require",
};

const struct config config_defaults = {
	.workers = 0,
	.memory_bytes = GIB(1),
	.max_payload = MIB(8),
	.continue_max = KIB(64),
	.cut_through = true,
	.cut_through_from = MIB(32),
	.max_setups_per_second = 1000,
	.drain_timeout_s = 10,
	.peer_timeout_s = 30,
	.receives = CONFIG_RECEIVES_AUTO,
	.handles = CONFIG_HANDLES_REFUSE,
	.adaptive_poll_us = 250,
	.log_level = LOG_LEVEL_INFO,
	.metrics = {.port = 9749},
};

/* Timeout: hostauth-profile section 8. A handshake takes some 100 KiB, with long certificate chains
 * twice that. */
#define HOSTAUTH_DEFAULTS                                                                          \
	{                                                                                          \
		.timeout_s = 10, .warn_days = 30, .max_handshakes = 256                            \
	}

/* IANA gave port 20049 to NFS/RDMA. Retry counts and the time to resolve are those of the Linux
 * client. */
const struct config_route config_route_defaults = {
	.listen = {.fabric = "iwarp",
		   .port = 20049,
		   .versions = CONFIG_V1 | CONFIG_V2,
		   .crc = true,
		   .inline_bytes = 4096,
		   .credits = 64,
		   .reverse_credits = 16,
		   .retry_count = 6,
		   .timeout_s = 30,
		   .hostauth = HOSTAUTH_DEFAULTS},
	.upstream = {.fabric = "iwarp",
		     .port = 20049,
		     .versions = CONFIG_V1 | CONFIG_V2,
		     .crc = true,
		     .inline_bytes = 4096,
		     .credits = 64,
		     .reverse_credits = 16,
		     .retry_count = 6,
		     .resolve_timeout_s = 5,
		     .timeout_s = 10,
		     .version_memory_s = 600,
		     .hostauth = HOSTAUTH_DEFAULTS},
};
