/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bad(char *why, const char *text, const char *what)
{
	snprintf(why, TARGET_WHY, "%.80s: %s", text, what);
	return ERR_CONFIG;
}

/* Copy the octets from @from to @end as a string. Return: whether they fit. */
static bool copy(char *to, size_t size, const char *from, const char *end)
{
	size_t len = (size_t)(end - from);

	if (len >= size)
		return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

/* Return: the port, or -1. */
static long port_of(const char *text)
{
	unsigned long port;
	char *end;

	errno = 0;
	port = strtoul(text, &end, 10);
	if (errno || text[0] < '0' || text[0] > '9' || *end || port > 65535)
		return -1;
	return (long)port;
}

int target_parse(const char *text, bool is_listen, struct target *to, char *why)
{
	char name[8], host[FABRIC_ADDR_TEXT];
	const char *first = strchr(text, ':'), *last = strrchr(text, ':');
	long port;
	int err;

	if (!first || !copy(name, sizeof(name), text, first) || provider_parse(name, &to->fabric))
		return bad(why, text, "must begin with \"iwarp:\" or \"verbs:\"");
	if (last == first || !copy(host, sizeof(host), first + 1, last))
		return bad(why, text, "FABRIC:ADDR:PORT is needed");
	port = port_of(last + 1);
	if (port < 0 || (port == 0 && !is_listen))
		return bad(why, text, "no usable port");
	err = fabric_addr_parse(host, (uint16_t)port, &to->addr);
	if (err == ERR_IO)
		return bad(why, text, "no such interface: ip link lists them");
	if (err)
		return bad(why, text, "no IPv4 or IPv6 address");
	if (fabric_addr_lacks_interface(&to->addr))
		return bad(why, text, "link-local: add the interface, [fe80::1%eth0]");
	return 0;
}

static unsigned version_of(const char *text, size_t len)
{
	static const char *const names[] = {"1", "2", "2-early"}; /* indexed by bit */

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (len == strlen(names[i]) && memcmp(text, names[i], len) == 0)
			return 1u << i;
	return 0;
}

unsigned target_versions(const char *text)
{
	unsigned mask = 0;

	for (;;) {
		size_t len = strcspn(text, ",");
		unsigned version = version_of(text, len);

		if (!version || (mask & version))
			return 0;
		mask |= version;
		if (!text[len])
			return mask;
		text += len + 1;
	}
}

const char *target_fabric(enum provider_kind fabric)
{
	return fabric == PROVIDER_VERBS ? "verbs" : "iwarp";
}
