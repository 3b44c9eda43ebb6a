/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V1_TRAITS_H
#define V1_TRAITS_H

#include "rpc/traits.h"

/** Properties of version 1: header sizes and habits. */
extern const struct rpc_traits v1_traits;

#endif
