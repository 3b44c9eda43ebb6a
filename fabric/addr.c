/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

int fabric_addr_parse(const char *host, uint16_t port, struct fabric_addr *addr)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&addr->ss;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&addr->ss;
	char bare[INET6_ADDRSTRLEN];
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
	if (inet_pton(AF_INET6, bare, &v6->sin6_addr) != 1)
		return ERR_CONFIG;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	addr->len = sizeof(*v6);
	return 0;
}

const char *fabric_addr_format(const struct fabric_addr *addr, char *text)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addr->ss;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addr->ss;
	char host[INET6_ADDRSTRLEN] = "?";

	switch (addr->ss.ss_family) {
	case AF_INET:
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(text, FABRIC_ADDR_TEXT, "%s:%u", host, ntohs(v4->sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		snprintf(text, FABRIC_ADDR_TEXT, "[%s]:%u", host, ntohs(v6->sin6_port));
		break;
	default:
		snprintf(text, FABRIC_ADDR_TEXT, "-");
	}
	return text;
}
