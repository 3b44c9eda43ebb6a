/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_CHAIN_H
#define HOSTAUTH_CHAIN_H

#include "base/view.h"

/**
 * chain - limits a peer's certificates before they are parsed. For hostauth/ only.
 *
 * State:  a peer has sent a TLS message with certificates, and has not proved its identity.
 * Danger: a parsed certificate takes some KiB of memory however short it is, and a parsed list of
 *         names takes many times its octets. A message of 24 KiB becomes a megabyte.
 * Rule:   a message with more than CHAIN_CERTIFICATES certificates or CHAIN_ELEMENTS DER elements
 *         fails before it is parsed.
 * Pinned: tests/hostauth/test_strict.c:chains_are_counted,
 *         long_chains_are_refused_before_they_are_looked_at
 */

enum {
	CHAIN_CERTIFICATES = 10,
	/* DER elements (ITU-T X.690) in all certificates, nested ones included. */
	CHAIN_ELEMENTS = 640,
};

/**
 * chain_fault - why the TLS handshake message @message must not be parsed
 *
 * Return: words, static storage; NULL: the message may be parsed, or has no certificates.
 */
const char *chain_fault(struct view message);

#endif
