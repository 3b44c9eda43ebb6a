/* SPDX-License-Identifier: BSD-2-Clause */
/* The servers of an upstream: one or several, addresses or names. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "config/address.h"
#include "config/reader.h"

enum { NAME_MOST = 253, LABEL_MOST = 63 }; /* RFC 1035 2.3.4 */

static bool is_label(const char *text, size_t len)
{
	if (len == 0 || len > LABEL_MOST || text[0] == '-' || text[len - 1] == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '-' && text[i] != '_')
			return false;
	return true;
}

/* RFC 1123 2.1: a name whose last label is digits alone is a mistyped address. A dot at the end
 * stands for the root. */
static bool is_name(const char *text)
{
	size_t len = strlen(text), last = 0, at = 0;

	if (len > 0 && text[len - 1] == '.')
		len--;
	if (len == 0 || len > NAME_MOST)
		return false;
	while (at <= len) {
		size_t n = 0;

		while (at + n < len && text[at + n] != '.')
			n++;
		if (!is_label(text + at, n))
			return false;
		last = at;
		at += n + 1;
	}
	return strspn(text + last, "0123456789") < len - last;
}

/* The port in "10.0.0.1:20049", "filer:20049" or "[fd00::1]:20049", as text; NULL: no port. */
static const char *port_of(const char *text)
{
	const char *colon = strrchr(text, ':'), *first = strchr(text, ':');

	if (!colon || colon == text || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
		return NULL;
	return colon == first || (text[0] == '[' && colon[-1] == ']') ? colon + 1 : NULL;
}

/* Return: whether @text has no port; an error is reported if it has one. */
static bool has_no_port(struct reader *r, const config_setting_t *s, const struct key *key,
			const char *text)
{
	const char *port = port_of(text);

	if (port)
		reader_error(r, reader_line(s),
			     "%s has \"%s\", with a port: write \"%.*s\", and the port by itself: "
			     "port = %s;",
			     key->name, text, (int)(port - 1 - text), text, port);
	return !port;
}

/* Whether @text is an address. Return: false after a reported error. */
static bool is_usable(struct reader *r, const config_setting_t *s, const struct key *key,
		      const char *text)
{
	struct address a = address_parse(text);

	if (!a.family)
		reader_error(
			r, reader_line(s),
			"%s is not an address: write an IPv4 or IPv6 address like \"10.0.0.1\" or "
			"\"fd00::1\"%s",
			key->name, key->kind == KEY_ADDRESS ? " (names are not looked up)" : "");
	else if (address_is_mapped(&a))
		reader_error(r, reader_line(s),
			     "%s has \"%s\", an IPv4 address in IPv6: write \"%u.%u.%u.%u\"",
			     key->name, text, a.octets[12], a.octets[13], a.octets[14],
			     a.octets[15]);
	else if (address_is_group(&a))
		reader_error(r, reader_line(s),
			     "%s has \"%s\", a multicast or broadcast address, to which nothing "
			     "connects: write the address of one machine",
			     key->name, text);
	else if (address_is_link_local(&a) && !*a.interface)
		reader_error(
			r, reader_line(s),
			"%s is link-local, and every interface has such addresses: add the one "
			"meant, like \"%s%%eth0\"",
			key->name, text);
	else if (!address_is_link_local(&a) && *a.interface)
		reader_error(r, reader_line(s),
			     "%s has an interface, which only link-local addresses (fe80::/10) "
			     "need: leave out \"%s\"",
			     key->name, a.interface);
	else
		return true;
	return false;
}

bool reader_address(struct reader *r, const config_setting_t *s, const struct key *key,
		    const char *text, char *bare)
{
	size_t len = strlen(text);

	if (!has_no_port(r, s, key, text))
		return false;
	if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	memset(bare, 0, CONFIG_ADDRESS_BYTES);
	if (len < CONFIG_ADDRESS_BYTES)
		snprintf(bare, CONFIG_ADDRESS_BYTES, "%.*s", (int)len, text);
	return is_usable(r, s, key, bare);
}

static bool is_one_host(struct reader *r, const config_setting_t *s, const char *text)
{
	struct address a = address_parse(text);
	bool is_any = address_is_any(&a);

	if (is_any)
		reader_error(r, reader_line(s),
			     "%s is not an address to connect to: give the server's own address",
			     text);
	return !is_any;
}

/* Text that looks like an address is read as one, so that an error in it is reported as an error of
 * an address. */
static bool read_host(struct reader *r, const config_setting_t *s, const struct key *key,
		      const char *text, char *bare)
{
	size_t len = strlen(text);

	if (is_name(text) && len < CONFIG_ADDRESS_BYTES) {
		memset(bare, 0, CONFIG_ADDRESS_BYTES);
		memcpy(bare, text, len + 1);
		return true;
	}
	if (text[0] == '[' || config_is_literal(text) || port_of(text))
		return reader_address(r, s, key, text, bare) && is_one_host(r, s, bare);
	reader_error(r, reader_line(s),
		     "%s has \"%s\", which is neither an address nor a name: write an address like "
		     "\"10.0.0.1\" or \"fd00::1\", or a name like \"filer.example.net\"",
		     key->name, text);
	return false;
}

void reader_host(struct reader *r, const config_setting_t *s, const struct key *key, void *field)
{
	const char *text = reader_text(r, s, key, "an address or a name");
	char bare[CONFIG_ADDRESS_BYTES];

	if (text && read_host(r, s, key, text, bare))
		memcpy(field, bare, sizeof(bare));
}

/* Two spellings of one address are the same. */
static bool is_same(const char *a, const char *b)
{
	struct address x = address_parse(a), y = address_parse(b);

	if (!x.family || x.family != y.family)
		return strcasecmp(a, b) == 0;
	return memcmp(x.octets, y.octets, sizeof(x.octets)) == 0 &&
	       strcmp(x.interface, y.interface) == 0;
}

static bool has(const struct config_names *hosts, const char *host)
{
	const char *at = hosts->text;

	for (uint32_t i = 0; i < hosts->n; i++, at += strlen(at) + 1)
		if (is_same(at, host))
			return true;
	return false;
}

static void add_host(struct reader *r, const config_setting_t *item, const struct key *key,
		     struct config_names *hosts, size_t *at)
{
	const char *text = reader_text(r, item, key, "each address or name");
	char bare[CONFIG_ADDRESS_BYTES];
	size_t len;

	if (!text || !read_host(r, item, key, text, bare))
		return;
	len = strlen(bare) + 1;
	if (has(hosts, bare))
		reader_error(r, reader_line(item), "%s has \"%s\" twice: once is enough", key->name,
			     bare);
	else if (*at + len > sizeof(hosts->text))
		reader_error(r, reader_line(item),
			     "%s are too long together: use at most %zu octets", key->name,
			     sizeof(hosts->text));
	else {
		memcpy(hosts->text + *at, bare, len);
		*at += len;
		hosts->n++;
	}
}

void reader_hosts(struct reader *r, const config_setting_t *s, const struct key *key, void *field)
{
	int n = reader_list(r, s, key, CONFIG_HOSTS_MAX,
			    "\"10.0.0.1\", \"filer.example.net\", ...");
	struct config_names *hosts = field;
	size_t at = 0;

	if (n < 0)
		return;
	memset(hosts, 0, sizeof(*hosts));
	hosts->line = reader_line(s);
	if (n == 0)
		reader_error(r, reader_line(s), "%s is empty: give at least one", key->name);
	for (int i = 0; i < n; i++)
		add_host(r, config_setting_get_elem(s, (unsigned)i), key, hosts, &at);
}

void check_hosts(struct reader *r, const config_setting_t *item, const struct config_route *route)
{
	const config_setting_t *group = reader_member(item, "upstream"), *one, *several, *balance;

	if (group->type != CONFIG_TYPE_GROUP || group == item)
		return;
	one = config_setting_get_member(group, "address");
	several = config_setting_get_member(group, "addresses");
	balance = config_setting_get_member(group, "balance");
	if (one && several)
		reader_error(r, reader_line(several),
			     "upstream has address and addresses: leave one of them out");
	else if (!one && !several)
		reader_error(r, reader_line(group), "address is missing: give it, or addresses");
	if (balance && route->upstream.balance == CONFIG_BALANCE_CLIENT &&
	    config_hosts(&route->upstream) == 1 &&
	    config_is_literal(config_host(&route->upstream, 0)))
		reader_error(r, reader_line(balance),
			     "balance does nothing with one address: give several, or a name, or "
			     "leave it out");
}
