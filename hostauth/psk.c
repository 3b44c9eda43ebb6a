/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostauth/psk.h"

#include <openssl/crypto.h>
#include <string.h>

#include "base/mem.h"

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int key_parse(struct psk *psk, struct view hex)
{
	if (hex.len % 2 || hex.len / 2 < PSK_KEY_MIN || hex.len / 2 > PSK_KEY_MAX)
		return ERR_CONFIG;
	for (size_t i = 0; i < hex.len; i += 2) {
		int high = hex_digit(hex.data[i]), low = hex_digit(hex.data[i + 1]);

		if (high < 0 || low < 0)
			return ERR_CONFIG;
		psk->key[i / 2] = (uint8_t)(high << 4 | low);
	}
	psk->key_len = (unsigned)(hex.len / 2);
	return 0;
}

static int line_parse(struct psk *psk, struct view line)
{
	const uint8_t *colon = memchr(line.data, ':', line.len);
	size_t len = colon ? (size_t)(colon - line.data) : 0;

	if (len == 0 || len > PSK_IDENTITY_MAX)
		return ERR_CONFIG;
	for (size_t i = 0; i < len; i++)
		if (line.data[i] <= ' ' || line.data[i] > '~')
			return ERR_CONFIG;
	memcpy(psk->identity, line.data, len);
	return key_parse(psk, view_of(colon + 1, line.len - len - 1));
}

static struct view next_line(struct view *text)
{
	const uint8_t *end = memchr(text->data, '\n', text->len);
	size_t len = end ? (size_t)(end - text->data) : text->len;
	struct view line = view_of(text->data, len);

	len += end != NULL;
	*text = view_of(text->data + len, text->len - len);
	while (line.len && (line.data[line.len - 1] == '\r' || line.data[line.len - 1] == ' '))
		line.len--;
	return line;
}

static bool is_empty(struct view line)
{
	return line.len == 0 || line.data[0] == '#';
}

int psk_parse(struct psk_set *set, struct view text, unsigned *line)
{
	unsigned lines = 0;

	*set = (struct psk_set){0};
	*line = 0;
	for (struct view rest = text; rest.len;)
		lines += !is_empty(next_line(&rest));
	if (lines == 0 || lines > PSK_SET_MAX)
		return ERR_CONFIG;
	set->psks = mem_zalloc(lines * sizeof(*set->psks));
	if (!set->psks)
		return ERR_NOMEM;
	set->n = lines;
	lines = 0;
	while (text.len) {
		struct view one = next_line(&text);

		++*line;
		if (!is_empty(one) && line_parse(&set->psks[lines++], one))
			return ERR_CONFIG;
	}
	return 0;
}

void psk_fini(struct psk_set *set)
{
	if (set->psks)
		OPENSSL_cleanse(set->psks, set->n * sizeof(*set->psks));
	mem_free(set->psks);
	*set = (struct psk_set){0};
}

const struct psk *psk_find(const struct psk_set *set, struct view identity)
{
	for (unsigned i = 0; i < set->n; i++)
		if (strlen(set->psks[i].identity) == identity.len &&
		    memcmp(set->psks[i].identity, identity.data, identity.len) == 0)
			return &set->psks[i];
	return NULL;
}
