/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_NAMES_H
#define HOSTAUTH_NAMES_H

#include <stdbool.h>

#include "base/view.h"

/** Names of peers, as an operator lists them: docs/hostauth-profile.md section 4.4. */

/** hostauth_name_is_dns, hostauth_name_is_uri - whether @name of a certificate is one that the
 * pattern @want allows. A name with an octet 0 in it is allowed by none. */
bool hostauth_name_is_dns(const char *want, struct view name);
bool hostauth_name_is_uri(const char *want, struct view name);

/** hostauth_name_check - why @want can match nothing, or NULL. Static storage. */
const char *hostauth_name_check(const char *want);

#endif
