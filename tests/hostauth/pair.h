/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HOSTAUTH_PAIR_H
#define TESTS_HOSTAUTH_PAIR_H

#include "hostauth/hostauth.h"
#include "v2/header.h"

/** pair - two handshakes, and the CONNPROP messages between them, delivered one at a time. */

enum { PAIR_MESSAGE = 4096, PAIR_NOW = 1800000000, PAIR_FILE = 1 << 18 };

struct pair_message {
	uint8_t octets[PAIR_MESSAGE];
	size_t len;
};

struct pair_end {
	enum hostauth_role role;
	struct hostauth_creds *creds;
	struct hostauth *h;
	size_t max;	 /* inline threshold, octets */
	uint32_t credit; /* credit value of the next message */
};

struct pair_setup {
	const char *initiator, *acceptor; /* NAME of keys/NAME.pem; "psk..." of keys/psk....txt */
	const char *ca, *crl;		  /* files that the acceptor trusts; default ca.pem, none */
	const char *names;		  /* names that the acceptor accepts, separated by commas */
	const char *initiator_names;
	size_t max; /* inline threshold, octets; 0: 4096 */
	struct view request_data, accept_data;
};

/** pair_creds - load credentials from keys/. @why may be NULL: then a failure fails the test. */
struct hostauth_creds *pair_creds(enum hostauth_role role, const char *name, const char *ca,
				  const char *crl, const char *names, char *why);

void pair_begin(struct pair_end end[2], const struct pair_setup *setup);
/** pair_again - begin another connection with the same credentials. */
void pair_again(struct pair_end end[2], const struct pair_setup *setup);
void pair_end(struct pair_end end[2]);

/** pair_next - get the next message of @e. Return: false: it has nothing to send. */
bool pair_next(struct pair_end *e, struct pair_message *m);

/** pair_deliver - deliver @m to @e. Return: the status of @e. */
enum hostauth_status pair_deliver(struct pair_end *e, const struct pair_message *m);

/** pair_run - deliver messages until neither end sends any. Return: number of messages. */
unsigned pair_run(struct pair_end end[2]);

/** pair_expect - check that @e failed with @cause, and that its text has @why. */
void pair_expect(const struct pair_end *e, enum hostauth_cause cause, const char *why);

/** pair_read - read a file of the tree, and append a NUL. Free it with pair_free(). */
struct view pair_read(const char *path);
void pair_free(struct view file);

#endif
