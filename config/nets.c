/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks, and source addresses for clients. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/address.h"
#include "config/reader.h"

/* "192.0.2.0/24", "2001:db8::/32", or a single address. */
static bool parse_net(const char *text, struct config_net *net)
{
	size_t len = strcspn(text, "/");
	char bare[CONFIG_ADDRESS_BYTES] = "", *end;
	struct address a;
	unsigned long bits, most;

	if (len >= sizeof(bare))
		return false;
	memcpy(bare, text, len);
	a = address_parse(bare);
	if (!a.family || *a.interface)
		return false;
	*net = (struct config_net){.is_v6 = a.family == AF_INET6};
	memcpy(net->octets, a.octets, net->is_v6 ? 16 : 4);
	most = bits = net->is_v6 ? 128 : 32;
	if (text[len]) {
		if (!isdigit((unsigned char)text[len + 1]))
			return false;
		bits = strtoul(text + len + 1, &end, 10);
		if (*end || bits > most)
			return false;
	}
	net->bits = (uint8_t)bits;
	return true;
}

/* Whether bits are set beyond the prefix. Then it is not clear which network is meant. */
static bool has_host_bits(const struct config_net *net)
{
	for (unsigned i = net->bits; i < 128; i++)
		if (net->octets[i / 8] & 0x80u >> i % 8)
			return true;
	return false;
}

/* Whether the network has IPv4 addresses written as IPv6. Clients over IPv4 have IPv4 addresses
 * here, so none would be in the network. */
static bool is_mapped(const struct config_net *net)
{
	struct address a = {.family = net->is_v6 ? AF_INET6 : AF_INET};

	memcpy(a.octets, net->octets, sizeof(a.octets));
	return net->bits >= 96 && address_is_mapped(&a);
}

/* One network, from a text of @key. */
static bool read_net(struct reader *r, const config_setting_t *item, const struct key *key,
		     struct config_net *net)
{
	const char *text = reader_text(r, item, key, "each network");

	if (!text)
		return false;
	if (!parse_net(text, net)) {
		reader_error(r, reader_line(item),
			     "%s has \"%s\", which is not a network: write it like "
			     "\"192.0.2.0/24\" or \"2001:db8::/32\"",
			     key->name, text);
		return false;
	}
	if (is_mapped(net)) {
		reader_error(r, reader_line(item),
			     "%s has \"%s\", an IPv4 network in IPv6: write \"%u.%u.%u.%u/%u\"",
			     key->name, text, net->octets[12], net->octets[13], net->octets[14],
			     net->octets[15], net->bits - 96u);
		return false;
	}
	if (has_host_bits(net)) {
		reader_error(r, reader_line(item),
			     "%s has \"%s\", with bits behind its prefix: write the address "
			     "of the network, or a longer prefix",
			     key->name, text);
		return false;
	}
	return true;
}

void reader_nets(struct reader *r, const config_setting_t *s, const struct key *key, void *field)
{
	int n = reader_list(r, s, key, CONFIG_NETS_MAX, "\"192.0.2.0/24\", ...");
	struct config_nets *nets = field;

	if (n < 0)
		return;
	memset(nets, 0, sizeof(*nets));
	for (int i = 0; i < n; i++)
		if (read_net(r, config_setting_get_elem(s, (unsigned)i), key, &nets->nets[nets->n]))
			nets->n++;
}

static unsigned host_bits(const struct config_net *net)
{
	return (net->is_v6 ? 128u : 32u) - net->bits;
}

/* Return: true after a reported error: no connection is possible from an address of @net. */
static bool is_no_source(struct reader *r, const config_setting_t *s, const struct config_net *net)
{
	static const unsigned char zeros[sizeof(net->octets)];
	struct address a = {.family = net->is_v6 ? AF_INET6 : AF_INET};
	const char *what = NULL;

	memcpy(a.octets, net->octets, sizeof(a.octets));
	if (memcmp(net->octets, zeros, sizeof(zeros)) == 0)
		what = "an address of zeros";
	else if (address_is_group(&a))
		what = "a multicast or broadcast address";
	if (what)
		reader_error(r, reader_line(s),
			     "source has %s, from which nothing connects: give an address of this "
			     "machine",
			     what);
	return what;
}

/* One source address for all clients of both families. */
static void read_one_source(struct reader *r, const config_setting_t *s, const struct key *key,
			    struct config_sources *to)
{
	struct config_net net;

	if (!read_net(r, s, key, &net) || is_no_source(r, s, &net))
		return;
	if (host_bits(&net) > 0) {
		reader_error(r, reader_line(s),
			     "source is a network: give one address, or say which clients have its "
			     "addresses: source = ( { clients = \"192.0.2.0/24\"; addresses = "
			     "\"198.51.100.0/24\"; } );");
		return;
	}
	to->n = 2;
	to->at[0] = (struct config_source){.clients = {.is_v6 = false}, .addresses = net};
	to->at[1] = (struct config_source){.clients = {.is_v6 = true}, .addresses = net};
}

/* struct item - the parts of an item of "source" in the file; NULL: absent. */
struct item {
	const config_setting_t *clients, *name, *addresses;
};

static bool read_item(struct reader *r, const config_setting_t *s, struct item *item)
{
	bool is_group = s->type == CONFIG_TYPE_GROUP;

	*item = (struct item){0};
	if (is_group)
		*item = (struct item){config_setting_get_member(s, "clients"),
				      config_setting_get_member(s, "name"),
				      config_setting_get_member(s, "addresses")};
	if (item->addresses && (item->clients || item->name) &&
	    config_setting_length(s) == 1 + !!item->clients + !!item->name)
		return true;
	reader_error(r, reader_line(s),
		     "each source must be { clients = \"NETWORK\"; addresses = \"NETWORK\"; }, "
		     "with name = \"NAME\"; beside clients or in their place");
	return false;
}

/* Each client has an address of its own, or all clients of the entry have the same one. */
static bool check_addresses(struct reader *r, const struct item *item,
			    const struct config_source *source)
{
	unsigned many = host_bits(&source->addresses);

	if (many == 0)
		return true;
	if (source->everywhere)
		reader_error(r, reader_line(item->addresses),
			     "addresses are a network, and clients with the name may come from any "
			     "address: add clients, or give one address");
	else if (host_bits(&source->clients) > many)
		reader_error(r, reader_line(item->addresses),
			     "addresses are fewer than clients: give as large a network, or one "
			     "address for all of them");
	else
		return true;
	return false;
}

static void read_source(struct reader *r, const config_setting_t *s, struct config_sources *to)
{
	static const struct key clients = {.name = "clients"}, addresses = {.name = "addresses"},
				name = {.name = "name"};
	struct config_source *source = &to->at[to->n];
	struct item item;

	if (!read_item(r, s, &item))
		return;
	source->everywhere = !item.clients;
	if ((item.clients && !read_net(r, item.clients, &clients, &source->clients)) ||
	    !read_net(r, item.addresses, &addresses, &source->addresses) ||
	    is_no_source(r, item.addresses, &source->addresses) ||
	    (item.name && !reader_name(r, item.name, &name, &to->names)) ||
	    !check_addresses(r, &item, source))
		return;
	if (item.name)
		source->name = (uint8_t)to->names.n;
	to->n++;
}

void reader_sources(struct reader *r, const config_setting_t *s, const struct key *key, void *field)
{
	struct config_sources *to = field;
	int n;

	memset(to, 0, sizeof(*to));
	to->line = reader_line(s);
	if (s->type == CONFIG_TYPE_STRING) {
		read_one_source(r, s, key, to);
		return;
	}
	n = reader_list(r, s, key, CONFIG_NETS_MAX,
			"{ clients = \"NETWORK\"; addresses = \"NETWORK\"; }, ...");
	for (int i = 0; i < n; i++)
		read_source(r, config_setting_get_elem(s, (unsigned)i), to);
}
