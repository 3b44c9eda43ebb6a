/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2EARLY_TRAITS_H
#define V2EARLY_TRAITS_H

#include "rpc/traits.h"

/** What the early draft of version 2 can do, and how long its headers are. */
extern const struct rpc_traits early_traits;

#endif
