/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_ADDR_H
#define FABRIC_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/** addr - addresses of peers, and their text; for numeric addresses only. */

/** struct fabric_addr - an address and a port, resolved. */
struct fabric_addr {
	struct sockaddr_storage ss;
	socklen_t len;
};

/**
 * fabric_addr_parse - fill @addr from the text @host and @port
 * @host: "10.0.0.1", "::1", "fe80::1%eth0" or "fe80::1%2", in brackets or not
 *
 * Only a link-local address may name an interface. A link-local address without an interface is
 * accepted, but cannot be reached: see fabric_addr_lacks_interface().
 *
 * Return: 0, ERR_CONFIG when it is no address, or ERR_IO when there is no such interface.
 */
int fabric_addr_parse(const char *host, uint16_t port, struct fabric_addr *addr);

/** fabric_addr_lacks_interface - whether @addr is link-local without an interface. Such an address
 * can be neither connected to nor listened on. */
bool fabric_addr_lacks_interface(const struct fabric_addr *addr);

/* Octets of the longest text, with its NUL: brackets, address, '%', interface, ':' and port. */
enum { FABRIC_ADDR_TEXT = 72 };

/** fabric_addr_format - write "10.0.0.1:20049", "[::1]:20049" or "[fe80::1%eth0]:20049" to @text,
 * which has FABRIC_ADDR_TEXT octets. Return: @text. */
const char *fabric_addr_format(const struct fabric_addr *addr, char *text);

/**
 * fabric_addr_host - write the client address of the peer at @addr to @text; a server's counts in
 * the same way
 * @text: room for FABRIC_ADDR_TEXT octets
 *
 * A client address is an IPv4 address, or an IPv6 network of 64 bits ("2001:db8:0:1::/64"), because
 * a machine can use any number of addresses of its network. Each link-local address is a client
 * address of its own. An IPv4 address that is mapped into IPv6 counts as IPv4.
 * Return: @text.
 */
const char *fabric_addr_host(const struct fabric_addr *addr, char *text);

/** fabric_addr_key - write the client address of @addr (fabric_addr_host()) to @key as
 * FABRIC_ADDR_KEY octets. Two keys are equal if their client addresses are. */
enum { FABRIC_ADDR_KEY = 20 };
void fabric_addr_key(const struct fabric_addr *addr, uint8_t *key);

/** struct fabric_net - a network: the addresses of one family whose first .bits bits are those of
 * .octets. */
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
 * fabric_net_move - fill @out with the address in @to that stands for @addr, which is in @from
 *
 * The bits of @addr behind @from's prefix are put behind @to's prefix. @to has either room for as
 * many bits, so no two addresses become the same, or is one address for all. @out has port 0.
 */
void fabric_net_move(const struct fabric_net *from, const struct fabric_net *to,
		     const struct fabric_addr *addr, struct fabric_addr *out);

#endif
