/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_TRAITS_H
#define V2_TRAITS_H

#include "rpc/traits.h"

/** What version 2 can do, and how long its headers are. */
extern const struct rpc_traits v2_traits;

#endif
