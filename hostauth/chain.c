/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostauth/chain.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	CERTIFICATE = 11, /* RFC 8446 section 4.4.2 */
	MESSAGE_HEAD = 4,
	DER_CONSTRUCTED = 0x20,
	DER_LONG_TAG = 0x1f,
	DER_OCTET_STRING = 4,
	DER_INDEFINITE = 0x80,
	DEPTH = 32, /* nesting; certificates have far less */
};

/* Takes the first @n octets off @v. Return: whether there are that many. */
static bool cut(struct view *v, size_t n, struct view *first)
{
	if (n > v->len)
		return false;
	*first = view_of(v->data, n);
	*v = view_of(v->data + n, v->len - n);
	return true;
}

static bool number(struct view *v, unsigned octets, size_t *value)
{
	struct view first;

	if (!cut(v, octets, &first))
		return false;
	*value = 0;
	for (size_t i = 0; i < octets; i++)
		*value = *value << 8 | first.data[i];
	return true;
}

/* Reads a TLS vector with a length field of @octets octets. */
static bool vector(struct view *v, unsigned octets, struct view *data)
{
	size_t len;

	return number(v, octets, &len) && cut(v, len, data);
}

/* Reads the head of a DER value. Return: whether there is one; a value of indefinite length is the
 * whole rest. */
static bool element(struct view *v, uint8_t *tag, struct view *data)
{
	size_t octet, len;

	if (!number(v, 1, &octet))
		return false;
	*tag = (uint8_t)octet;
	for (bool more = (octet & DER_LONG_TAG) == DER_LONG_TAG; more; more = octet & 0x80)
		if (!number(v, 1, &octet))
			return false;
	if (!number(v, 1, &len))
		return false;
	if (len == DER_INDEFINITE)
		len = v->len;
	else if (len > DER_INDEFINITE &&
		 (len > DER_INDEFINITE + sizeof(len) || !number(v, (unsigned)len & 0x7f, &len)))
		return false;
	return cut(v, len, data);
}

/* Number of DER values, nested ones included; if the octets are no DER, those before the error. An
 * OCTET STRING may contain DER, as an extension's does. Stops counting beyond @most. */
static size_t elements(struct view v, size_t most)
{
	struct view above[DEPTH];
	unsigned depth = 0;
	size_t n = 0;

	for (;;) {
		struct view data;
		uint8_t tag;

		while (!element(&v, &tag, &data)) {
			if (depth == 0)
				return n;
			v = above[--depth];
		}
		if (++n > most)
			return n;
		if (!(tag & DER_CONSTRUCTED) && tag != DER_OCTET_STRING)
			continue;
		if (depth == DEPTH)
			return most + 1;
		above[depth++] = v;
		v = data;
	}
}

const char *chain_fault(struct view message)
{
	struct view rest = message, context, list, certificate, extensions;
	size_t n = 0, left = CHAIN_ELEMENTS;

	if (message.len < MESSAGE_HEAD || message.data[0] != CERTIFICATE)
		return NULL;
	/* A message that cannot be parsed here is for the TLS engine to reject. */
	if (!cut(&rest, MESSAGE_HEAD, &list) || !vector(&rest, 1, &context) ||
	    !vector(&rest, 3, &list))
		return NULL;
	while (vector(&list, 3, &certificate)) {
		size_t found = elements(certificate, left);

		if (++n > CHAIN_CERTIFICATES)
			return "more certificates than are accepted";
		if (found > left)
			return "certificates with more DER elements than are accepted";
		left -= found;
		if (!vector(&list, 2, &extensions))
			return NULL;
	}
	return NULL;
}
