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
	DEPTH = 32, /* far beyond any certificate's */
};

/* The first @n octets of @v, which loses them. Return: whether there are so many. */
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

/* A vector of TLS, whose length is @octets long. */
static bool vector(struct view *v, unsigned octets, struct view *data)
{
	size_t len;

	return number(v, octets, &len) && cut(v, len, data);
}

/* The head of a value. Return: whether there is one; of indefinite length it is all that follows. */
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

/*
 * How many values there are, those within others included; of what is no DER as many as stand before that. What is in
 * an OCTET STRING may be DER: an extension's is. Stops counting beyond @most.
 */
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
	/* What cannot be read is the engine's to refuse, once it gets there. */
	if (!cut(&rest, MESSAGE_HEAD, &list) || !vector(&rest, 1, &context) ||
	    !vector(&rest, 3, &list))
		return NULL;
	while (vector(&list, 3, &certificate)) {
		size_t found = elements(certificate, left);

		if (++n > CHAIN_CERTIFICATES)
			return "more certificates than are taken";
		if (found > left)
			return "certificates of more elements than are taken";
		left -= found;
		if (!vector(&list, 2, &extensions))
			return NULL;
	}
	return NULL;
}
