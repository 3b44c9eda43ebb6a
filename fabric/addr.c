/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { SCOPE_TEXT = 1 + IF_NAMESIZE }; /* with the '%' */

_Static_assert((int)FABRIC_ADDR_TEXT >=
		       (int)INET6_ADDRSTRLEN + (int)SCOPE_TEXT + (int)sizeof("[]:65535") - 1,
	       "the longest address fits");

/* The index of the interface with the name @text. If no interface has that name, @text may be the
 * index itself, as for getaddrinfo(3). Return: 0: there is no such interface. */
static uint32_t interface_index(const char *text)
{
	uint32_t index = if_nametoindex(text);
	char name[IF_NAMESIZE];
	unsigned long number;
	char *end;

	if (index || text[0] < '0' || text[0] > '9')
		return index;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || *end || number > UINT32_MAX || !if_indextoname((unsigned)number, name))
		return 0;
	return (uint32_t)number;
}

/* Parses an IPv6 address, perhaps with an interface. Changes @text. */
static int parse_v6(char *text, struct sockaddr_in6 *v6)
{
	char *interface = strchr(text, '%');

	if (interface)
		*interface++ = '\0';
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
		return ERR_CONFIG;
	v6->sin6_family = AF_INET6;
	if (!interface)
		return 0;
	if (!IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) || !*interface)
		return ERR_CONFIG;
	v6->sin6_scope_id = interface_index(interface);
	return v6->sin6_scope_id ? 0 : ERR_IO;
}

int fabric_addr_parse(const char *host, uint16_t port, struct fabric_addr *addr)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&addr->ss;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&addr->ss;
	char bare[INET6_ADDRSTRLEN + SCOPE_TEXT];
	size_t len = strlen(host);

	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		addr->len = sizeof(*v4);
		return 0;
	}
	if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
	}
	if (len >= sizeof(bare))
		return ERR_CONFIG;
	memcpy(bare, host, len);
	bare[len] = '\0';
	v6->sin6_port = htons(port);
	addr->len = sizeof(*v6);
	return parse_v6(bare, v6);
}

bool fabric_addr_lacks_interface(const struct fabric_addr *addr)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addr->ss;

	return addr->ss.ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) &&
	       !v6->sin6_scope_id;
}

/* The suffix of @v6 that names its interface, if it has one: the number if the interface is
 * gone. */
static void format_interface(const struct sockaddr_in6 *v6, char scope[SCOPE_TEXT])
{
	scope[0] = '\0';
	if (!v6->sin6_scope_id)
		return;
	scope[0] = '%';
	if (!if_indextoname(v6->sin6_scope_id, scope + 1))
		snprintf(scope, SCOPE_TEXT, "%%%u", v6->sin6_scope_id);
}

const char *fabric_addr_format(const struct fabric_addr *addr, char *text)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addr->ss;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addr->ss;
	char host[INET6_ADDRSTRLEN] = "?", scope[SCOPE_TEXT];

	switch (addr->ss.ss_family) {
	case AF_INET:
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(text, FABRIC_ADDR_TEXT, "%s:%u", host, ntohs(v4->sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		format_interface(v6, scope);
		snprintf(text, FABRIC_ADDR_TEXT, "[%s%s]:%u", host, scope, ntohs(v6->sin6_port));
		break;
	default:
		snprintf(text, FABRIC_ADDR_TEXT, "-");
	}
	return text;
}

const char *fabric_addr_host(const struct fabric_addr *addr, char *text)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addr->ss;
	struct sockaddr_in6 v6 = *(const struct sockaddr_in6 *)&addr->ss;
	char host[INET6_ADDRSTRLEN] = "?", scope[SCOPE_TEXT];
	bool local = IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr);

	switch (addr->ss.ss_family) {
	case AF_INET:
		inet_ntop(AF_INET, &v4->sin_addr, text, FABRIC_ADDR_TEXT);
		break;
	case AF_INET6:
		if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
			inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, text, FABRIC_ADDR_TEXT);
			break;
		}
		if (!local)
			memset(v6.sin6_addr.s6_addr + 8, 0, 8);
		inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
		format_interface(&v6, scope);
		snprintf(text, FABRIC_ADDR_TEXT, "%s%s%s", host, scope, local ? "" : "/64");
		break;
	default:
		snprintf(text, FABRIC_ADDR_TEXT, "-");
	}
	return text;
}

void fabric_addr_key(const struct fabric_addr *addr, uint8_t *key)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addr->ss;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addr->ss;

	memset(key, 0, FABRIC_ADDR_KEY);
	if (addr->ss.ss_family == AF_INET) {
		memcpy(key + 12, &v4->sin_addr, 4);
		key[10] = key[11] = 0xff; /* as if mapped into IPv6 */
	} else if (addr->ss.ss_family == AF_INET6) {
		bool whole = IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) ||
			     IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);

		memcpy(key, &v6->sin6_addr, whole ? 16 : 8);
		memcpy(key + 16, &v6->sin6_scope_id, sizeof(v6->sin6_scope_id));
	}
}

/* The octets of @addr, as IPv4 if it is IPv4 or mapped; NULL: another family. */
static const uint8_t *octets_of(const struct fabric_addr *addr, bool *is_v6)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addr->ss;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addr->ss;

	*is_v6 = false;
	if (addr->ss.ss_family == AF_INET)
		return (const uint8_t *)&v4->sin_addr;
	if (addr->ss.ss_family != AF_INET6)
		return NULL;
	*is_v6 = !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
	return v6->sin6_addr.s6_addr + (*is_v6 ? 0 : 12);
}

bool fabric_net_has(const struct fabric_net *net, const struct fabric_addr *addr)
{
	unsigned whole = net->bits / 8, rest = net->bits % 8;
	bool is_v6;
	const uint8_t *octets = octets_of(addr, &is_v6);

	if (!octets || is_v6 != net->is_v6 || memcmp(octets, net->octets, whole) != 0)
		return false;
	return rest == 0 || (octets[whole] ^ net->octets[whole]) >> (8 - rest) == 0;
}

/* Composes the address from its last octet to its first. */
void fabric_net_move(const struct fabric_net *from, const struct fabric_net *to,
		     const struct fabric_addr *addr, struct fabric_addr *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&out->ss;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->ss;
	unsigned to_bits = to->is_v6 ? 128 : 32;
	unsigned own = (from->is_v6 ? 128u : 32u) - from->bits; /* host bits */
	uint8_t octets[16];
	bool is_v6;
	const uint8_t *host = octets_of(addr, &is_v6);
	unsigned last = is_v6 ? 15 : 3;

	memcpy(octets, to->octets, sizeof(octets));
	for (unsigned bit = 0; to->bits < to_bits && bit < own; bit++)
		if (host[last - bit / 8] & 1u << bit % 8)
			octets[to_bits / 8 - 1 - bit / 8] |= (uint8_t)(1u << bit % 8);
	*out = (struct fabric_addr){.ss.ss_family = to->is_v6 ? AF_INET6 : AF_INET,
				    .len = to->is_v6 ? sizeof(*v6) : sizeof(*v4)};
	if (to->is_v6)
		memcpy(&v6->sin6_addr, octets, 16);
	else
		memcpy(&v4->sin_addr, octets, 4);
}
