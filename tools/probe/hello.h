/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_HELLO_H
#define TOOLS_PROBE_HELLO_H

#include "base/view.h"

/** hello - the message that begins a TLS handshake, as docs/hostauth-profile.md wants it. */

enum { HELLO_MOST = 8192 };

/** hello_fault - what is wrong with the ClientHello in @records, the TLS records of an initiator's first turn:
 * NULL, or words. Static storage. */
const char *hello_fault(struct view records);

/** hello_extension - the data of extension @type within the ClientHello in @record, one whole record;
 * no data: it has none. */
struct view hello_extension(struct view record, unsigned type);

/** hello_suites - its list of cipher suites, likewise. */
struct view hello_suites(struct view record);

#endif
