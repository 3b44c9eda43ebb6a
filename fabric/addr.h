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
 * Only a link-local address may name an interface. A link-local address without one is accepted,
 * but cannot be reached: see fabric_addr_lacks_interface().
 *
 * Return: 0, ERR_CONFIG when it is no address, or ERR_IO when there is no such interface.
 */
int fabric_addr_parse(const char *host, uint16_t port, struct fabric_addr *addr);

/** fabric_addr_lacks_interface - whether @addr is link-local without an interface: it cannot be
 * connected to or listened on. */
bool fabric_addr_lacks_interface(const struct fabric_addr *addr);

/* Brackets, the longest address, '%', the longest interface, ':' and port. */
enum { FABRIC_ADDR_TEXT = 72 };

/** fabric_addr_format - "10.0.0.1:20049", "[::1]:20049" or "[fe80::1%eth0]:20049" into @text of
 * FABRIC_ADDR_TEXT. */
const char *fabric_addr_format(const struct fabric_addr *addr, char *text);

/**
 * fabric_addr_host - the host that the peer at @addr counts as, into @text of FABRIC_ADDR_TEXT
 *
 * That is an IPv4 address, or an IPv6 network of 64 bits ("2001:db8:0:1::/64"), because a host can
 * use any number of addresses of its network. Link-local addresses are counted one by one. An IPv4
 * address that is mapped into IPv6 counts as IPv4.
 */
const char *fabric_addr_host(const struct fabric_addr *addr, char *text);

/** fabric_addr_key - the same as FABRIC_ADDR_KEY octets, which are equal for the same host. */
enum { FABRIC_ADDR_KEY = 20 };
void fabric_addr_key(const struct fabric_addr *addr, uint8_t *key);

/** struct fabric_net - addresses of one family that begin with .bits bits of .octets. */
struct fabric_net {
	bool is_v6;
	uint8_t bits; /* length of the prefix; at most 128, for IPv4 32 */
	uint8_t octets[16];
};

/** fabric_net_has - whether @addr is in @net. An IPv4 address that is mapped into IPv6 counts as
 * IPv4. */
bool fabric_net_has(const struct fabric_net *net, const struct fabric_addr *addr);

/** fabric_net_host_bits - number of bits behind the prefix of @net. */
static inline unsigned fabric_net_host_bits(const struct fabric_net *net)
{
	return (net->is_v6 ? 128u : 32u) - net->bits;
}

/**
 * fabric_net_move - the address in @to that stands for @addr, which is in @from
 *
 * The bits of @addr behind @from's prefix are put behind @to's prefix. @to has room for as many
 * bits, so no two addresses become the same; or @to is one address for all. @out has port 0.
 */
void fabric_net_move(const struct fabric_net *from, const struct fabric_net *to,
		     const struct fabric_addr *addr, struct fabric_addr *out);

#endif
