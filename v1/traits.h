/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V1_TRAITS_H
#define V1_TRAITS_H

#include "rpc/traits.h"

/** What version 1 can do, and how long its headers are. */
extern const struct rpc_traits v1_traits;

#endif
