/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_ADDR_H
#define FABRIC_ADDR_H

#include <stdint.h>
#include <sys/socket.h>

/** addr - addresses of hosts, and their text. */

/** struct fabric_addr - a host address and port, resolved. */
struct fabric_addr {
	struct sockaddr_storage ss;
	socklen_t len;
};

/** fabric_addr_parse - "10.0.0.1", "[::1]" or "::1" and a port; ERR_CONFIG when it is no address. */
int fabric_addr_parse(const char *host, uint16_t port, struct fabric_addr *addr);

enum { FABRIC_ADDR_TEXT = 64 };

/** fabric_addr_format - "10.0.0.1:20049" or "[::1]:20049" into @text of FABRIC_ADDR_TEXT. */
const char *fabric_addr_format(const struct fabric_addr *addr, char *text);

#endif
