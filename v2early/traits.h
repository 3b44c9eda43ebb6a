/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2EARLY_TRAITS_H
#define V2EARLY_TRAITS_H

#include "rpc/traits.h"

/** Properties of the early draft of version 2: header sizes and habits. */
extern const struct rpc_traits early_traits;

#endif
