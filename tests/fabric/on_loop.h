/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FABRIC_ON_LOOP_H
#define TESTS_FABRIC_ON_LOOP_H

#include "fabric/provider/provider.h"
#include "tests/fabric/contract.h"

/** on_loop - the contract over providers that wait for descriptors: two instances on one loop. */

/** on_loop_start - contract_provider.start: listen on @host, on a free port. */
void on_loop_start(struct contract *t, enum provider_kind kind, const char *host, bool crc);

/** on_loop_start_as - the same with any configuration. */
void on_loop_start_as(struct contract *t, const struct provider_config *cfg, const char *host);

/** on_loop_stop, on_loop_step - contract_provider.stop and .step. */
void on_loop_stop(struct contract *t);
int on_loop_step(struct contract *t);

#endif
