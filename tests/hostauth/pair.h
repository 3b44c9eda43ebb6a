/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HOSTAUTH_PAIR_H
#define TESTS_HOSTAUTH_PAIR_H

#include "hostauth/hostauth.h"
#include "v2/header.h"

/** pair - two handshakes and the CONNPROP messages between them, one at a time. */

enum { PAIR_MESSAGE = 4096, PAIR_NOW = 1800000000, PAIR_FILE = 1 << 18 };

struct pair_message {
	uint8_t octets[PAIR_MESSAGE];
	size_t len;
};

struct pair_end {
	enum hostauth_role role;
	struct hostauth_creds *creds;
	struct hostauth *h;
	size_t max;	 /* threshold */
	uint32_t credit; /* in the next message */
};

struct pair_setup {
	const char *initiator, *acceptor; /* NAME of keys/NAME.pem; "psk..." of keys/psk....txt */
	const char *ca, *crl;		  /* files the acceptor believes; ca.pem, none */
	const char *names;		  /* separated by commas, that the acceptor allows */
	const char *initiator_names;
	size_t max; /* threshold, 0: 4096 */
	struct view request_data, accept_data;
};

/** pair_creds - of keys/; @why may be NULL: then it has to work. */
struct hostauth_creds *pair_creds(enum hostauth_role role, const char *name, const char *ca,
				  const char *crl, const char *names, char *why);

void pair_begin(struct pair_end end[2], const struct pair_setup *setup);
/** pair_again - another connection with the same credentials. */
void pair_again(struct pair_end end[2], const struct pair_setup *setup);
void pair_end(struct pair_end end[2]);

/** pair_next - the next message of @e, if it has something to say. */
bool pair_next(struct pair_end *e, struct pair_message *m);

/** pair_deliver - @m to @e. Return: its status. */
enum hostauth_status pair_deliver(struct pair_end *e, const struct pair_message *m);

/** pair_run - until nobody has anything to say. Return: messages. */
unsigned pair_run(struct pair_end end[2]);

/** pair_expect - @e failed, of @cause, and says so with @why in its words. */
void pair_expect(const struct pair_end *e, enum hostauth_cause cause, const char *why);

/** pair_read - a file of the tree, whole; a NUL follows. pair_free() it. */
struct view pair_read(const char *path);
void pair_free(struct view file);

#endif
