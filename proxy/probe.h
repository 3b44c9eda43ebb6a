/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PROBE_H
#define PROXY_PROBE_H

#include "proxy/internal.h"

/** probes_init - @rs has no probes; due before probes_end(). */
void probes_init(struct route_state *rs);

/** probes_begin - start to probe the servers of @rs, if this relay is the one that probes them. */
void probes_begin(struct route_state *rs);

/** probes_end - stop probing; probes under way are closed. */
void probes_end(struct route_state *rs);

/** probe_input - handle one fabric event of a probe's leg. */
void probe_input(struct leg *leg, const struct fabric_event *ev);

#endif
