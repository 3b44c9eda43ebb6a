/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V1_TRAITS_H
#define V1_TRAITS_H

#include "rpc/traits.h"

/** The abilities of version 1, and the lengths of its headers. */
extern const struct rpc_traits v1_traits;

#endif
