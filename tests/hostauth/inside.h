/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HOSTAUTH_INSIDE_H
#define TESTS_HOSTAUTH_INSIDE_H

/* What tests need of the inside: the TLS engine's key log. */
#include "hostauth/creds_internal.h"

#endif
