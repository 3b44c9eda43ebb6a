/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_ADDRESS_H
#define CONFIG_ADDRESS_H

#include <stdbool.h>

/** address - private to config/: a literal by its parts, so that two of them can be compared. */

struct address {
	int family; /* AF_INET, AF_INET6, or 0: it is none */
	unsigned char octets[16];
	const char *interface; /* in the text, with its '%'; empty: none */
};

/** address_parse - what @text says. Whether the interface exists is not asked: it may come later,
 * and the check needs no machine with it. */
struct address address_parse(const char *text);

/** address_is_any - zeros: all addresses of a family. */
bool address_is_any(const struct address *a);

/** address_is_link_local - in fe80::/10: the same one may be on another link, another host's. */
bool address_is_link_local(const struct address *a);

#endif
