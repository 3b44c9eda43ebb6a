/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_TRAITS_H
#define V2_TRAITS_H

#include "rpc/traits.h"

/** Properties of version 2: header sizes and habits. */
extern const struct rpc_traits v2_traits;

#endif
