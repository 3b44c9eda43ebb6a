/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_CONN_H
#define FABRIC_MEM_CONN_H

#include "fabric/mem/internal.h"

/** mem_conn_new - a connection of @f. Return: owned by @f; NULL: no memory. */
struct mem_conn *mem_conn_new(struct mem_fabric *f, void *owner);

/** mem_conn_queues - allocate the queues of @c, once. Return: 0 or ERR_NOMEM. */
int mem_conn_queues(struct mem_conn *c, const struct fabric_conn_params *params);

/** mem_conn_end - end @c, but not the peer's side. Frees @c if no event has reported @c yet. */
void mem_conn_end(struct mem_conn *c, int status, const char *why);

/** mem_conn_breach - @c's peer broke the protocol: both ends end. */
void mem_conn_breach(struct mem_conn *c, int status, const char *why);

/** mem_conn_send_bye - send the disconnect of @c behind everything posted before; part of a
 * flush. */
void mem_conn_send_bye(struct mem_conn *c);

/** mem_conn_bye_goes_on - let the disconnect of @c arrive: the peer has taken everything that @c
 * sent before. */
void mem_conn_bye_goes_on(struct mem_conn *c);

/** mem_conn_bye_arrives - the disconnect arrives at the peer, where messages sent before may
 * still wait for Receives. */
void mem_conn_bye_arrives(struct mem_conn *c);

/** mem_conn_report_end - queue all completions that are left, and DISCONNECTED behind them. */
void mem_conn_report_end(struct mem_conn *c);

/** mem_disconnect, mem_destroy - disconnect and destroy of struct fabric_ops. */
void mem_disconnect(struct fabric_conn *base);
void mem_destroy(struct fabric_conn *base);

#endif
