/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SHARES_H
#define PROXY_SHARES_H

#include "fabric/host_table.h"
#include "proxy/memory/quota.h"

/**
 * shares - the accounts by which the memory of one route in one worker is shared: one for each
 * client address, and one for each server
 *
 * quota.c has the rules. A client address is an IPv4 address or an IPv6 network of 64 bits
 * (fabric_addr_key()). One thread only.
 */

/** struct share - one client or one server: an account for each purpose. */
struct share {
	struct host host; /* entry in shares.clients; unused for a server */
	struct quota_account accounts[QUOTA_PURPOSES];
};

struct shares {
	struct host_table clients;
};

/** shares_init - room for @most clients at once. Return: 0 or ERR_NOMEM; shares_fini() is due. */
int shares_init(struct shares *s, size_t most, uint64_t seed) WARN_UNUSED;
void shares_fini(struct shares *s);

/** shares_enter - a session of the client at @addr begins. Return: its share; NULL: the table is
 * full. */
struct share *shares_enter(struct shares *s, const struct fabric_addr *addr);

/** shares_leave - the session ends and holds nothing any more; @share may be NULL. */
void shares_leave(struct shares *s, struct share *share);

/** share_account - the account for @purpose of @share, which may be NULL. */
static inline struct quota_account *share_account(struct share *share, enum buf_purpose purpose)
{
	return share ? &share->accounts[purpose] : NULL;
}

#endif
