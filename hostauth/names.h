/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_NAMES_H
#define HOSTAUTH_NAMES_H

#include <stdbool.h>

#include "base/view.h"

/** Names of peers, as an operator lists them: docs/hostauth-profile.md section 4.4. */

/** What a name is: of a certificate, or the identity of a shared key. */
enum hostauth_name_kind { HOSTAUTH_NAME_DNS, HOSTAUTH_NAME_URI, HOSTAUTH_NAME_KEY };

/** hostauth_name_allows - whether @want allows @name; an identity is allowed by the same alone. */
bool hostauth_name_allows(const char *want, enum hostauth_name_kind kind, struct view name);

/** hostauth_name_is_dns, hostauth_name_is_uri - whether @name of a certificate is one that the
 * pattern @want allows. A name with an octet 0 in it is allowed by none. */
bool hostauth_name_is_dns(const char *want, struct view name);
bool hostauth_name_is_uri(const char *want, struct view name);

/** hostauth_name_check - why @want can match nothing, or NULL. Static storage. */
const char *hostauth_name_check(const char *want);

#endif
