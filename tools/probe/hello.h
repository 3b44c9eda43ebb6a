/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_HELLO_H
#define TOOLS_PROBE_HELLO_H

#include "base/view.h"

/** hello - checks of a ClientHello, the first message of a TLS handshake, against
 * docs/hostauth-profile.md. */

enum { HELLO_MOST = 8192 };

/** hello_fault - check the ClientHello in @records, the TLS records of an initiator's first turn.
 * Return: NULL, or the fault; static storage. */
const char *hello_fault(struct view records);

/** hello_extension - data of extension @type of the ClientHello in @record, which is one whole
 * record; empty: absent. */
struct view hello_extension(struct view record, unsigned type);

/** hello_suites - the list of cipher suites of the ClientHello in @record. */
struct view hello_suites(struct view record);

#endif
