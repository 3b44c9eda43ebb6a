/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_V1_GEN_H
#define TESTS_V1_GEN_H

#include "rpc/msg.h"
#include "rpc/transport.h"
#include "tests/rng.h"
#include "xdr/cursor.h"

/** Messages for the version 1 tests: built by hand, drawn at random, read from the corpus. */

enum { GEN_BODY_MAX = 512, GEN_BUF_BYTES = 16384 };

/** gen_rpc - the smallest RPC call (40 octets) or accepted reply (24); returns its length. */
size_t gen_rpc(uint8_t *out, uint32_t xid, enum rpc_dir dir);

/** gen_simple - a chunkless message with that body; @body of 40 octets backs it. */
void gen_simple(struct rpc_msg *m, uint8_t *body, uint32_t xid, enum rpc_dir dir);

/** gen_msg - a random valid message; @body of GEN_BODY_MAX octets backs it. */
void gen_msg(struct rng *r, struct rpc_msg *m, uint8_t *body);

/** gen_same - whether two messages have the same contents, wherever their segments are stored. */
bool gen_same(const struct rpc_msg *a, const struct rpc_msg *b);

/** gen_wire - header and body of @m into @out; returns the length. */
size_t gen_wire(const struct rpc_msg *m, uint32_t credit, uint8_t *out, size_t cap);

/** gen_exact - a copy of @len octets in a heap block of exactly that size: a sanitizer sees
 * any access beyond. Free with free(). */
uint8_t *gen_exact(const void *data, size_t len);

/** gen_load - a corpus file into @out; returns its length. Paths count from the tree's root. */
size_t gen_load(const char *path, uint8_t *out, size_t cap);

/** gen_header - the four fixed words. */
void gen_header(struct xdr_out *x, uint32_t xid, uint32_t vers, uint32_t credit, uint32_t proc);

/** gen_words - @n words. */
void gen_words(struct xdr_out *x, unsigned n, const uint32_t *words);
#define GEN_WORDS(x, ...)                                                                          \
	gen_words(x, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (const uint32_t[]){__VA_ARGS__})

/** gen_params - a plausible end: 4096 octets both ways, 32 credits, 2 in reverse, R set. */
struct rpc_params gen_params(enum rpc_role role);

#endif
