/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_CREDS_INTERNAL_H
#define HOSTAUTH_CREDS_INTERNAL_H

#include <openssl/ssl.h>
#include <stdatomic.h>

#include "hostauth/creds.h"
#include "hostauth/psk.h"

struct hostauth_creds {
	atomic_uint holders;
	enum hostauth_role role;
	SSL_CTX *ctx;
	struct psk_set psks; /* shared keys; none: the credentials are certificates */
	struct hostauth_times times;
	unsigned nnames;
	char **names;
};

#endif
