/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HOSTAUTH_INSIDE_H
#define TESTS_HOSTAUTH_INSIDE_H

/* Access of tests to the TLS engine's key log. */
#include "hostauth/creds_internal.h"

#endif
