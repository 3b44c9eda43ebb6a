/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2EARLY_TRAITS_H
#define V2EARLY_TRAITS_H

#include "rpc/traits.h"

/** The abilities of the early draft of version 2, and the lengths of its headers. */
extern const struct rpc_traits early_traits;

#endif
