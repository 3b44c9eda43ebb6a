/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SERVERS_NAMES_H
#define PROXY_SERVERS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"

struct fabric_addr;
struct servers;

/** servers_key - write the whole address @addr to @key, of CHOICE_KEY octets. Unlike
 * fabric_addr_key(), it does not take an IPv6 network of 64 bits for one client. */
void servers_key(const struct fabric_addr *addr, uint8_t *key);

/** servers_relist - update the slots to the configured hosts and the results of look-ups. Return:
 * 0 or ERR_NOMEM. */
int servers_relist(struct servers *s) WARN_UNUSED;

/** servers_are_known - whether the results of all look-ups are valid at @now. */
bool servers_are_known(const struct servers *s, nsec_t now);

/** servers_ask - request a look-up. Return: its ticket. */
uint64_t servers_ask(struct servers *s);

/** servers_notify - notify others that something changed (@has_changed) or that a look-up was
 * requested. The caller does not hold the lock. */
void servers_notify(struct servers *s, bool has_changed);

#endif
