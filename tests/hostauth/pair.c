/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/hostauth/pair.h"

#include "tests/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pair_expect(const struct pair_end *e, enum hostauth_cause cause, const char *why)
{
	struct hostauth_facts facts;

	hostauth_facts(e->h, &facts);
	assert_int_equal(hostauth_status(e->h), HOSTAUTH_FAILED);
	assert_string_equal(hostauth_cause_name(facts.cause), hostauth_cause_name(cause));
	if (!strstr(facts.why, why))
		fail_msg("\"%s\" is not \"%s\"", facts.why, why);
}

struct view pair_read(const char *path)
{
	uint8_t *octets = calloc(1, PAIR_FILE);
	FILE *f = fopen(path, "r");
	size_t len;

	if (!f)
		fail_msg("%s cannot be read", path);
	len = fread(octets, 1, PAIR_FILE - 1, f);
	fclose(f);
	return view_of(octets, len);
}

void pair_free(struct view file)
{
	free((void *)file.data);
}

static struct view read_key(const char *name, const char *suffix)
{
	char path[256];

	if (!name)
		return view_of(NULL, 0);
	snprintf(path, sizeof(path), "tests/hostauth/keys/%s.%s", name, suffix);
	return pair_read(path);
}

static void split(const char *names, char *copy, const char **list, unsigned *n)
{
	*n = 0;
	if (!names)
		return;
	strcpy(copy, names);
	for (char *name = strtok(copy, ","); name; name = strtok(NULL, ","))
		list[(*n)++] = name;
}

struct hostauth_creds *pair_creds(enum hostauth_role role, const char *name, const char *ca,
				  const char *crl, const char *names, char *why)
{
	bool psk = strncmp(name, "psk", 3) == 0;
	struct hostauth_refusal no = {.why = ""};
	char copy[256];
	struct hostauth_material m = {0};
	struct hostauth_creds *creds;
	const char *list[16];

	if (psk) {
		m.psk = read_key(name, "txt");
	} else {
		m.certificate = m.key = read_key(name, "pem");
		m.ca = read_key(ca, "pem");
		m.crl = read_key(crl, "pem");
	}
	split(names, copy, list, &m.nnames);
	m.names = list;
	creds = hostauth_creds_new(role, &m, &no);
	if (!creds && !why)
		fail_msg("%s: %s", name, no.why);
	if (why)
		memcpy(why, no.why, sizeof(no.why));
	pair_free(m.psk);
	pair_free(m.certificate);
	pair_free(m.ca);
	pair_free(m.crl);
	return creds;
}

void pair_again(struct pair_end end[2], const struct pair_setup *setup)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct hostauth_params p = {
			.role = end[i].role,
			.creds = end[i].creds,
			.request_data = setup->request_data,
			.accept_data = setup->accept_data,
			.now = PAIR_NOW,
		};

		hostauth_free(end[i].h);
		end[i].h = hostauth_new(&p);
		assert_non_null(end[i].h);
		end[i].credit = 8;
	}
}

void pair_begin(struct pair_end end[2], const struct pair_setup *setup)
{
	memset(end, 0, 2 * sizeof(*end));
	end[0].role = HOSTAUTH_INITIATOR;
	end[1].role = HOSTAUTH_ACCEPTOR;
	end[0].creds = pair_creds(HOSTAUTH_INITIATOR, setup->initiator, "ca", NULL,
				  setup->initiator_names, NULL);
	end[1].creds = pair_creds(HOSTAUTH_ACCEPTOR, setup->acceptor, setup->ca ? setup->ca : "ca",
				  setup->crl, setup->names, NULL);
	end[0].max = end[1].max = setup->max ? setup->max : PAIR_MESSAGE;
	pair_again(end, setup);
}

void pair_end(struct pair_end end[2])
{
	for (unsigned i = 0; i < 2; i++) {
		hostauth_free(end[i].h);
		hostauth_creds_put(end[i].creds);
	}
}

enum { PREFIX_AND_COUNT = V2_PREFIX_BYTES + 4, VALUE_HEAD = 12, FIVE = 5 * 12 };

static void set_properties(struct v2_props *props, size_t max)
{
	v2_props_set(props, V2_PROP_SBSIZ, (uint32_t)max);
	v2_props_set(props, V2_PROP_RBSIZ, (uint32_t)max);
	v2_props_set(props, V2_PROP_RSSIZ, 1 << 20);
	v2_props_set(props, V2_PROP_RCSIZ, 16);
	v2_props_set(props, V2_PROP_BRS, 1);
}

bool pair_next(struct pair_end *e, struct pair_message *m)
{
	struct v2_hdr h = {.xid = 0x1000u + e->role, .vers = V2_VERSION, .credit = e->credit++};
	struct hostauth_out out;
	size_t max = e->max;
	int len;

	hostauth_work(e->h);
	if (e->credit == 9 && e->role == HOSTAUTH_INITIATOR)
		max = V2_FIRST_MESSAGE_BYTES;
	if (!hostauth_next(e->h, (max - PREFIX_AND_COUNT - VALUE_HEAD) & ~(size_t)3, FIVE, &out))
		return false;
	h.htype = out.final ? V2_CONNPROP_FINAL : V2_CONNPROP_MIDDLE;
	if (out.first || out.final)
		set_properties(&h.props, e->max);
	h.props.present |= 1u << V2_PROP_HOSTAUTH;
	h.props.hostauth = out.value;
	len = v2_encode(&h, NULL, m->octets, max);
	if (len < 0)
		fail_msg("a value of %zu octets does not fit", out.value.len);
	m->len = (size_t)len;
	hostauth_sent(e->h, m->octets, m->len, m->len - xdr_pad(out.value.len) - out.value.len);
	return true;
}

enum hostauth_status pair_deliver(struct pair_end *e, const struct pair_message *m)
{
	struct rpc_error fault;
	struct rpc_msg msg;
	struct v2_hdr h = {0};
	int err = v2_decode(&h, &msg, view_of(m->octets, m->len), 16, &fault);
	struct hostauth_in in = {.message = view_of(m->octets, m->len)};

	/* A message that the protocol refuses before the profile applies ends the connection,
	 * too. */
	if (err || (h.htype != V2_CONNPROP_MIDDLE && h.htype != V2_CONNPROP_FINAL))
		return HOSTAUTH_FAILED;
	in.has_value = h.props.present & 1u << V2_PROP_HOSTAUTH;
	in.value = h.props.hostauth;
	in.final = h.htype == V2_CONNPROP_FINAL;
	in.again = h.props.hostauth_again;
	hostauth_recv(e->h, &in);
	hostauth_work(e->h);
	return hostauth_status(e->h);
}

unsigned pair_run(struct pair_end end[2])
{
	struct pair_message m;
	unsigned n = 0;

	for (unsigned turn = 0; pair_next(&end[turn], &m); turn = 1 - turn, n++)
		pair_deliver(&end[1 - turn], &m);
	return n;
}
