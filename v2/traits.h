/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_TRAITS_H
#define V2_TRAITS_H

#include "rpc/traits.h"

/** The abilities of version 2, and the lengths of its headers. */
extern const struct rpc_traits v2_traits;

#endif
