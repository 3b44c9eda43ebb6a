/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_NAMES_H
#define HOSTAUTH_NAMES_H

#include <stdbool.h>

#include "base/view.h"

/** Names of peers as an operator configures them: docs/hostauth-profile.md section 4.4. */

/** Kind of a name: from a certificate, or the identity of a shared key. */
enum hostauth_name_kind { HOSTAUTH_NAME_DNS, HOSTAUTH_NAME_URI, HOSTAUTH_NAME_KEY };

/** hostauth_name_allows - whether the configured @want allows @name; the identity of a shared key
 * matches only itself. */
bool hostauth_name_allows(const char *want, enum hostauth_name_kind kind, struct view name);

/** hostauth_name_is_dns, hostauth_name_is_uri - whether the pattern @want allows @name of a
 * certificate. A name that contains an octet 0 never matches. */
bool hostauth_name_is_dns(const char *want, struct view name);
bool hostauth_name_is_uri(const char *want, struct view name);

/** hostauth_name_check - why @want can match no name, in words; NULL: it can match one. Static
 * storage. */
const char *hostauth_name_check(const char *want);

#endif
