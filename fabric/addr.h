/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_ADDR_H
#define FABRIC_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/** addr - addresses of hosts, and their text. */

/** struct fabric_addr - a host address and port, resolved. */
struct fabric_addr {
	struct sockaddr_storage ss;
	socklen_t len;
};

/**
 * fabric_addr_parse - "10.0.0.1", "::1", "fe80::1%eth0" or "fe80::1%2", in brackets or not, and a
 * port
 *
 * Only a link-local address may have an interface. Without one it is an address, too, but of no
 * host: see fabric_addr_lacks_interface().
 *
 * Return: 0, ERR_CONFIG when it is no address, or ERR_IO when there is no such interface.
 */
int fabric_addr_parse(const char *host, uint16_t port, struct fabric_addr *addr);

/** fabric_addr_lacks_interface - link-local, and on which link is not said: nothing can be reached
 * or listened on there. */
bool fabric_addr_lacks_interface(const struct fabric_addr *addr);

/* Brackets, the longest address, '%', the longest interface, ':' and port. */
enum { FABRIC_ADDR_TEXT = 72 };

/** fabric_addr_format - "10.0.0.1:20049", "[::1]:20049" or "[fe80::1%eth0]:20049" into @text of
 * FABRIC_ADDR_TEXT. */
const char *fabric_addr_format(const struct fabric_addr *addr, char *text);

/** fabric_addr_host - whom to count for the peer at @addr, into @text of FABRIC_ADDR_TEXT: an IPv4
 * address, or an IPv6 network of 64 bits, for a host has as many addresses of it as it likes
 * ("2001:db8:0:1::/64"); but link-local addresses are counted one by one. */
const char *fabric_addr_host(const struct fabric_addr *addr, char *text);

/** fabric_addr_key - the same as octets that are equal for the same host; FABRIC_ADDR_KEY of them. */
enum { FABRIC_ADDR_KEY = 20 };
void fabric_addr_key(const struct fabric_addr *addr, uint8_t *key);

/** struct fabric_net - addresses of one family that begin with .bits bits of .octets. */
struct fabric_net {
	bool is_v6;
	uint8_t bits; /* at most 128, of IPv4 32 */
	uint8_t octets[16];
};

/** fabric_net_has - whether @addr is one of them. IPv4 addresses that an IPv6 socket shows, mapped, are
 * IPv4's. */
bool fabric_net_has(const struct fabric_net *net, const struct fabric_addr *addr);

/** fabric_net_host_bits - how many bits its prefix leaves. */
static inline unsigned fabric_net_host_bits(const struct fabric_net *net)
{
	return (net->is_v6 ? 128u : 32u) - net->bits;
}

/**
 * fabric_net_move - the address of @to that stands for @addr, which @from has
 *
 * Its bits behind @from's prefix come behind @to's, which leaves room for as many (so no two have the
 * same), or is one address for all. @out has port 0.
 */
void fabric_net_move(const struct fabric_net *from, const struct fabric_net *to,
		     const struct fabric_addr *addr, struct fabric_addr *out);

#endif
