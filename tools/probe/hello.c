/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 8446 section 4.1.2, octet by octet, independent of any TLS engine. */
#include "tools/probe/hello.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	RECORD_HEAD = 5,
	RECORD_HANDSHAKE = 22,
	CLIENT_HELLO = 1,
	LEGACY_VERSION = 0x303,
	TLS_1_3 = 0x304,
	RANDOM_BYTES = 32,
	AES_128_GCM_SHA256 = 0x1301,
	X25519 = 0x1d,
	SECP256R1 = 0x17,
	PSK_KE = 0,

	EXT_GROUPS = 10,
	EXT_SIGNATURES = 13,
	EXT_ALPN = 16,
	EXT_PSK = 41,
	EXT_EARLY_DATA = 42,
	EXT_VERSIONS = 43,
	EXT_PSK_MODES = 45,
	EXT_POST_HANDSHAKE = 49,
};

static const char alpn[] = "rpcrdma2-hostauth-1";

/* Octets left to read; .failed is sticky. */
struct octets {
	const uint8_t *at;
	size_t left;
	bool failed;
};

static struct octets octets_of(struct view v)
{
	return (struct octets){.at = v.data, .left = v.len};
}

static const uint8_t *take(struct octets *o, size_t n)
{
	const uint8_t *at = o->at;

	if (!o->at || n > o->left) {
		o->failed = true;
		o->left = 0;
		return NULL;
	}
	o->at += n;
	o->left -= n;
	return at;
}

static uint32_t number(struct octets *o, unsigned n)
{
	const uint8_t *at = take(o, n);
	uint32_t value = 0;

	for (unsigned i = 0; at && i < n; i++)
		value = value << 8 | at[i];
	return value;
}

/* Read a vector whose length field has @n octets. */
static struct octets vector(struct octets *o, unsigned n)
{
	size_t len = number(o, n);
	const uint8_t *at = take(o, len);

	return (struct octets){.at = at, .left = at ? len : 0, .failed = !at};
}

/* The parts that are checked. */
struct hello {
	struct octets suites, extensions;
};

static bool hello_read(struct hello *h, struct view message)
{
	struct octets o = octets_of(message), body;

	if (number(&o, 1) != CLIENT_HELLO)
		return false;
	body = vector(&o, 3);
	if (o.left || number(&body, 2) != LEGACY_VERSION)
		return false;
	(void)take(&body, RANDOM_BYTES);
	(void)vector(&body, 1); /* legacy_session_id */
	h->suites = vector(&body, 2);
	(void)vector(&body, 1); /* legacy_compression_methods */
	h->extensions = vector(&body, 2);
	return !body.failed && !h->extensions.failed && body.left == 0;
}

/* Return: whether the extension is present. */
static bool extension(const struct hello *h, unsigned type, struct octets *data)
{
	struct octets all = h->extensions;

	while (all.left) {
		unsigned which = number(&all, 2);

		*data = vector(&all, 2);
		if (!data->failed && which == type)
			return true;
	}
	*data = (struct octets){.failed = true};
	return false;
}

static bool has(struct octets list, unsigned size, uint32_t value)
{
	while (list.left)
		if (number(&list, size) == value && !list.failed)
			return true;
	return false;
}

/* RFC 8701: values without meaning. */
static bool is_grease(uint32_t value)
{
	return (value & 0x0f0f) == 0x0a0a && value >> 8 == (value & 0xff);
}

static const char *versions_fault(const struct hello *h)
{
	struct octets data, list;

	if (!extension(h, EXT_VERSIONS, &data))
		return "TLS 1.3 is not offered";
	list = vector(&data, 1);
	if (!has(list, 2, TLS_1_3))
		return "TLS 1.3 is not offered";
	while (list.left) {
		uint32_t version = number(&list, 2);

		if (version != TLS_1_3 && !is_grease(version))
			return "another version than TLS 1.3 is offered";
	}
	return NULL;
}

static const char *alpn_fault(const struct hello *h)
{
	struct octets data, list;

	if (!extension(h, EXT_ALPN, &data))
		return "no application protocol (ALPN) is offered";
	list = vector(&data, 2);
	while (list.left) {
		struct octets name = vector(&list, 1);

		if (name.left == sizeof(alpn) - 1 && memcmp(name.at, alpn, name.left) == 0)
			return NULL;
	}
	return "the application protocol rpcrdma2-hostauth-1 is not offered";
}

static const char *psk_fault(const struct hello *h)
{
	struct octets data;

	if (extension(h, EXT_EARLY_DATA, &data))
		return "early data is offered";
	if (extension(h, EXT_POST_HANDSHAKE, &data))
		return "authentication after the handshake is offered";
	if (extension(h, EXT_PSK_MODES, &data) && has(vector(&data, 1), 1, PSK_KE))
		return "psk_ke is offered";
	return NULL;
}

static const char *algorithms_fault(const struct hello *h)
{
	/* RFC 8446 section 9.1: rsa_pkcs1_sha256, ecdsa_secp256r1_sha256, rsa_pss_rsae_sha256. */
	static const uint32_t signatures[] = {0x0401, 0x0403, 0x0804};
	struct octets data, list;

	if (!has(h->suites, 2, AES_128_GCM_SHA256))
		return "TLS_AES_128_GCM_SHA256 is not offered";
	(void)extension(h, EXT_GROUPS, &data);
	list = vector(&data, 2);
	if (!has(list, 2, X25519) || !has(list, 2, SECP256R1))
		return "x25519 or secp256r1 is not offered";
	if (extension(h, EXT_PSK, &data))
		return NULL;
	(void)extension(h, EXT_SIGNATURES, &data);
	list = vector(&data, 2);
	for (unsigned i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++)
		if (!has(list, 2, signatures[i]))
			return "a signature algorithm of RFC 8446 section 9.1 is not offered";
	return NULL;
}

/* Join the handshake messages of @records. Return: octets, or 0. */
static size_t assemble(struct view records, uint8_t message[HELLO_MOST])
{
	struct octets o = octets_of(records);
	size_t len = 0;

	while (o.left >= RECORD_HEAD) {
		unsigned type = number(&o, 1);
		struct octets body;

		(void)number(&o, 2);
		body = vector(&o, 2);
		if (type != RECORD_HANDSHAKE || body.failed || body.left > HELLO_MOST - len)
			return 0;
		memcpy(message + len, body.at, body.left);
		len += body.left;
	}
	return o.left ? 0 : len;
}

const char *hello_fault(struct view records)
{
	uint8_t message[HELLO_MOST];
	struct hello h;
	const char *fault;

	if (!hello_read(&h, view_of(message, assemble(records, message))))
		return "it cannot be read";
	fault = versions_fault(&h);
	if (!fault)
		fault = alpn_fault(&h);
	if (!fault)
		fault = psk_fault(&h);
	return fault ? fault : algorithms_fault(&h);
}

static bool read_record(struct hello *h, struct view record)
{
	return record.len > RECORD_HEAD &&
	       hello_read(h, view_of(record.data + RECORD_HEAD, record.len - RECORD_HEAD));
}

struct view hello_extension(struct view record, unsigned type)
{
	struct octets data;
	struct hello h;

	if (!read_record(&h, record) || !extension(&h, type, &data))
		return view_of(NULL, 0);
	return view_of(data.at, data.left);
}

struct view hello_suites(struct view record)
{
	struct hello h;

	if (!read_record(&h, record))
		return view_of(NULL, 0);
	return view_of(h.suites.at, h.suites.left);
}
