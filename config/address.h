/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_ADDRESS_H
#define CONFIG_ADDRESS_H

#include <stdbool.h>

/** address - private to config/: a literal address in parts, so that two addresses can be
 * compared. */

struct address {
	int family; /* AF_INET, AF_INET6, or 0: the text is no address */
	unsigned char octets[16];
	const char *interface; /* points into the text, from '%' on; empty: none */
};

/** address_parse - the parts of @text. Whether the interface exists is not checked: it may appear
 * later, and the check must work on any machine. */
struct address address_parse(const char *text);

/** address_is_any - all octets are zero: the address stands for all addresses of the family. */
bool address_is_any(const struct address *a);

/** address_is_link_local - in fe80::/10. On another link the same address may belong to another
 * machine. */
bool address_is_link_local(const struct address *a);

/** address_is_group - multicast, or 255.255.255.255: the address of many machines, to which no
 * connection is possible. */
bool address_is_group(const struct address *a);

/** address_is_mapped - in ::ffff:0:0/96: an IPv4 address, written as IPv6. */
bool address_is_mapped(const struct address *a);

#endif
