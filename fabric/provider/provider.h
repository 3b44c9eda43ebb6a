/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_PROVIDER_PROVIDER_H
#define FABRIC_PROVIDER_PROVIDER_H

#include <stddef.h>

#include "fabric/fabric.h"

/**
 * provider - the fabrics of this build by name, for programs whose user chooses the fabric
 */
enum provider_kind { PROVIDER_IWARP, PROVIDER_VERBS, PROVIDER_KINDS };

enum { PROVIDER_WHY = 256 };

/** enum provider_receives - what fabric_share_receives() makes of an instance of verbs. */
enum provider_receives {
	PROVIDER_RECEIVES_AUTO, /* shared if every device supports it well */
	PROVIDER_RECEIVES_SHARED,
	PROVIDER_RECEIVES_OWN, /* never shared */
};

/** struct provider_config - settings of an instance. A comment that begins with a provider's name
 * is on a field that only this provider uses. */
struct provider_config {
	enum provider_kind kind;
	bool crc; /* iwarp: ask for CRC32c */
	uint32_t setup_timeout_ms;
	/* ms until a peer that vanished silently is noticed; 0: the provider's default */
	uint32_t peer_timeout_ms;
	uint32_t turn_octets; /* iwarp: octets moved in a turn; 0: its default */
	uint32_t max_setups;  /* iwarp: incoming connections in set-up; 0: its default */
	uint32_t descriptors; /* iwarp: sockets have descriptors below this number; 0: no limit */
	enum provider_receives receives; /* verbs */
	/* verbs: devices without Memory Windows, whose handles are not limited to a connection, are
	 * not used */
	bool needs_windows;
	bool no_windows; /* verbs, for tests: windows are not used */
	/* verbs: borrowed for provider_new(); which devices to open */
	const struct fabric_use *uses;
	unsigned nuses;
};

/** provider_parse - fill @kind from @name, "iwarp" or "verbs". Return: 0, or ERR_CONFIG for another
 * word. */
int provider_parse(const char *name, enum provider_kind *kind) WARN_UNUSED;

/**
 * provider_check - whether the build and the machine support @kind
 *
 * Return: 0; otherwise an error and @why (PROVIDER_WHY octets): what is missing and what to do.
 */
int provider_check(enum provider_kind kind, char *why) WARN_UNUSED;

/** provider_new - an instance for one worker on @loop, which is borrowed until fabric_free(). @from
 * is borrowed for the call. Returns owned, or NULL. */
struct fabric *provider_new(const struct provider_config *from, struct loop *loop);

/** provider_listen - bind and listen. Return: owned, or NULL with *@err set and errno kept. */
struct fabric_listener *provider_listen(enum provider_kind kind, const struct fabric_addr *addr,
					int *err);

/** provider_adopt - a listener from a socket that listens already and is non-blocking; takes @fd
 * on success. Return: owned; or NULL: no memory, or @kind has no sockets. */
struct fabric_listener *provider_adopt(enum provider_kind kind, int fd);

/** provider_listener_fd - the socket of @l, borrowed; -1: @l has no socket that another process
 * could use. */
int provider_listener_fd(enum provider_kind kind, const struct fabric_listener *l);

/** provider_listener_addr - fill @addr with the address of @l. If port 0 was asked for, the port is
 * the one that the system chose. */
void provider_listener_addr(enum provider_kind kind, const struct fabric_listener *l,
			    struct fabric_addr *addr);

/** provider_listener_free - takes @l, which no instance is attached to, or which is NULL. */
void provider_listener_free(enum provider_kind kind, struct fabric_listener *l);

/** struct provider_counter - a counter of an instance, a uint64_t in its structure. */
struct provider_counter {
	const char *name;
	size_t offset;
	const char *help; /* one sentence, without its full stop */
	bool is_state;	  /* the value may fall: a gauge */
};

/** provider_counters - set *@table to all counters of @kind (static storage), in the order in which
 * they are reported. Return: how many. */
unsigned provider_counters(enum provider_kind kind, const struct provider_counter **table);

/** provider_count - the value of @counter of the instance @f of @kind. */
uint64_t provider_count(enum provider_kind kind, const struct fabric *f,
			const struct provider_counter *counter);

#endif
