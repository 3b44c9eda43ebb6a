/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_CHAIN_H
#define HOSTAUTH_CHAIN_H

#include "base/view.h"

/**
 * chain - what a peer's certificates would cost, before anything is made of them. Inside of hostauth/ only.
 *
 * A certificate that is taken apart takes some KiB however short it is, and so does a list of names: by their octets
 * alone 24 KiB of them would become a megabyte.
 */

enum {
	CHAIN_CERTIFICATES = 10,
	/* Of DER (ITU-T X.690) in all of them: each value, those within others as well. */
	CHAIN_ELEMENTS = 640,
};

/**
 * chain_fault - why the TLS handshake message @message is not to be looked at: more than these
 *
 * Return: words, static storage; NULL: it is to be, or holds no certificates.
 */
const char *chain_fault(struct view message);

#endif
