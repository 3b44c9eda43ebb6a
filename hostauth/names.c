/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostauth/names.h"

#include <string.h>
#include <strings.h>

static bool is_same_dns(const char *want, struct view name)
{
	return name.len > 0 && strlen(want) == name.len &&
	       strncasecmp(want, (const char *)name.data, name.len) == 0 &&
	       !memchr(name.data, '\0', name.len);
}

static bool is_uri(const char *want)
{
	return strchr(want, ':') != NULL;
}

bool hostauth_name_is_dns(const char *want, struct view name)
{
	const uint8_t *dot;

	if (is_uri(want) || name.len == 0)
		return false;
	if (is_same_dns(want, name))
		return true;
	dot = memchr(name.data, '.', name.len);
	/* The wildcard matches one label, and not a name that is a pattern itself. */
	if (want[0] != '*' || want[1] != '.' || !dot || dot == name.data || name.data[0] == '*')
		return false;
	return !memchr(name.data, '\0', name.len) &&
	       is_same_dns(want + 1, view_of(dot, name.len - (size_t)(dot - name.data)));
}

bool hostauth_name_is_uri(const char *want, struct view name)
{
	return is_uri(want) && strlen(want) == name.len && memcmp(want, name.data, name.len) == 0;
}

bool hostauth_name_allows(const char *want, enum hostauth_name_kind kind, struct view name)
{
	switch (kind) {
	case HOSTAUTH_NAME_DNS:
		return hostauth_name_is_dns(want, name);
	case HOSTAUTH_NAME_URI:
		return hostauth_name_is_uri(want, name);
	case HOSTAUTH_NAME_KEY:
		return name.len > 0 && strlen(want) == name.len &&
		       memcmp(want, name.data, name.len) == 0;
	}
	return false;
}

const char *hostauth_name_check(const char *want)
{
	const char *star = strchr(want, '*');

	if (!*want)
		return "it is empty";
	if (is_uri(want))
		return NULL;
	if (star && (star != want || want[1] != '.' || !want[2] || strchr(want + 1, '*')))
		return "a wildcard stands for the whole first label, like *.example.net";
	return NULL;
}
