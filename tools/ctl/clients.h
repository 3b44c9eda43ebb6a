/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_CLIENTS_H
#define TOOLS_CTL_CLIENTS_H

#include <stdbool.h>
#include <stdio.h>

/**
 * clients - adds up sessions by client and by the protocol version that the client speaks, says which
 * clients would gain from version 2, and how much of the gateway's memory each client's sessions hold
 */
struct clients;
struct json_object;

/** clients_new - Return: owned, or NULL. */
struct clients *clients_new(void);

/** clients_add - add one session. Return: 0 or ERR_NOMEM. */
int clients_add(struct clients *c, struct json_object *session);

/** clients_show - print all clients to @to, as text or as JSON. Those that hold most memory are
 * first. */
void clients_show(struct clients *c, FILE *to, bool json);

/** clients_free - takes @c, which may be NULL. */
void clients_free(struct clients *c);

#endif
