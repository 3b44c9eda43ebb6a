/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>
#include <string.h>

#include "config/config.h"

/* Interface names that the kernel accepts, without the characters that addresses and the printed
 * file use. */
static bool is_interface(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)name[i]) || strchr("/:%[]\"\\", name[i]))
			return false;
	return len > 0 && len < IF_NAMESIZE && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

struct address address_parse(const char *text)
{
	size_t len = strcspn(text, "%");
	struct address a = {.interface = text + len};
	char bare[INET6_ADDRSTRLEN] = "";

	if (len < sizeof(bare))
		memcpy(bare, text, len);
	if (inet_pton(AF_INET, text, a.octets) == 1)
		a.family = AF_INET;
	else if ((!*a.interface || is_interface(a.interface + 1)) &&
		 inet_pton(AF_INET6, bare, a.octets) == 1)
		a.family = AF_INET6;
	return a;
}

bool address_is_any(const struct address *a)
{
	static const unsigned char any[sizeof(a->octets)];

	return a->family && memcmp(a->octets, any, sizeof(any)) == 0;
}

bool address_is_link_local(const struct address *a)
{
	return a->family == AF_INET6 && a->octets[0] == 0xfe && (a->octets[1] & 0xc0) == 0x80;
}

bool address_is_group(const struct address *a)
{
	static const unsigned char all[4] = {0xff, 0xff, 0xff, 0xff};

	if (a->family == AF_INET6)
		return a->octets[0] == 0xff;
	return a->family == AF_INET &&
	       ((a->octets[0] & 0xf0) == 0xe0 || memcmp(a->octets, all, sizeof(all)) == 0);
}

bool address_is_mapped(const struct address *a)
{
	static const unsigned char mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return a->family == AF_INET6 && memcmp(a->octets, mapped, sizeof(mapped)) == 0;
}

bool config_is_literal(const char *host)
{
	return address_parse(host).family != 0;
}

uint32_t config_hosts(const struct config_end *end)
{
	return end->hosts.n ? end->hosts.n : *end->address != '\0';
}

const char *config_host(const struct config_end *end, uint32_t i)
{
	const char *at = end->hosts.text;

	if (!end->hosts.n)
		return end->address;
	while (i-- > 0)
		at += strlen(at) + 1;
	return at;
}
