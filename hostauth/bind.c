/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostauth/bind.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <string.h>

static const char label[] = "rpcrdma2-hostauth-1";

static void add(struct hostauth_bind *b, const void *data, size_t len)
{
	if (len && EVP_DigestUpdate(b->t, data, len) != 1)
		b->failed = true;
}

/* Removes trailing zeros, because some networks pad private data with them. */
static void add_private(struct hostauth_bind *b, uint8_t role, struct view data)
{
	uint8_t head[3] = {role};

	while (data.len && data.data[data.len - 1] == 0)
		data.len--;
	head[1] = (uint8_t)(data.len >> 8);
	head[2] = (uint8_t)data.len;
	add(b, head, sizeof(head));
	add(b, data.data, data.len);
}

int hostauth_bind_init(struct hostauth_bind *b, struct view request_data, struct view accept_data)
{
	*b = (struct hostauth_bind){.t = EVP_MD_CTX_new()};
	if (!b->t || EVP_DigestInit_ex(b->t, EVP_sha256(), NULL) != 1)
		return ERR_NOMEM;
	add(b, label, sizeof(label) - 1);
	add_private(b, HOSTAUTH_INITIATOR, request_data);
	add_private(b, HOSTAUTH_ACCEPTOR, accept_data);
	return b->failed ? ERR_NOMEM : 0;
}

void hostauth_bind_fini(struct hostauth_bind *b)
{
	EVP_MD_CTX_free(b->t);
	b->t = NULL;
	OPENSSL_cleanse(b->keys, sizeof(b->keys));
	b->has_keys = false;
}

int hostauth_bind_keys(struct hostauth_bind *b, SSL *ssl)
{
	static const char *const labels[] = {
		[HOSTAUTH_INITIATOR] = "EXPERIMENTAL rpcrdma2 hostauth 1 initiator",
		[HOSTAUTH_ACCEPTOR] = "EXPERIMENTAL rpcrdma2 hostauth 1 acceptor",
	};

	for (unsigned i = 0; i < 2; i++)
		if (SSL_export_keying_material(ssl, b->keys[i], sizeof(b->keys[i]), labels[i],
					       strlen(labels[i]), NULL, 0, 0) != 1)
			return ERR_NOMEM;
	b->has_keys = true;
	return 0;
}

static void add_head(struct hostauth_bind *b, enum hostauth_role from, size_t len)
{
	const uint8_t head[5] = {(uint8_t)from, (uint8_t)(len >> 24), (uint8_t)(len >> 16),
				 (uint8_t)(len >> 8), (uint8_t)len};

	add(b, head, sizeof(head));
}

void hostauth_bind_message(struct hostauth_bind *b, enum hostauth_role from, struct view message)
{
	add_head(b, from, message.len);
	add(b, message.data, message.len);
}

int hostauth_bind_digest(struct hostauth_bind *b, enum hostauth_role from, struct view message,
			 size_t at, uint8_t digest[HOSTAUTH_BINDING_BYTES])
{
	static const uint8_t zeros[HOSTAUTH_BINDING_BYTES];
	EVP_MD_CTX *now = b->t, *t = EVP_MD_CTX_new();
	size_t end = at + HOSTAUTH_BINDING_BYTES;
	int err = ERR_NOMEM;

	if (t && EVP_MD_CTX_copy_ex(t, now) == 1) {
		b->t = t;
		add_head(b, from, message.len);
		add(b, message.data, at);
		add(b, zeros, sizeof(zeros));
		add(b, message.data + end, message.len - end);
		b->t = now;
		if (!b->failed && EVP_DigestFinal_ex(t, digest, NULL) == 1)
			err = 0;
	}
	EVP_MD_CTX_free(t);
	return err;
}

int hostauth_bind_value(const struct hostauth_bind *b, enum hostauth_role from,
			const uint8_t digest[HOSTAUTH_BINDING_BYTES],
			uint8_t out[HOSTAUTH_BINDING_BYTES])
{
	unsigned len;

	return !b->failed && b->has_keys &&
			       HMAC(EVP_sha256(), b->keys[from], HOSTAUTH_BINDING_BYTES, digest,
				    HOSTAUTH_BINDING_BYTES, out, &len)
		       ? 0
		       : ERR_NOMEM;
}
