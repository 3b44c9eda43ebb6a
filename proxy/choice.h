/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_CHOICE_H
#define PROXY_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * choice - which of several servers a client gets: a pure function of the client, the servers and
 * their states
 *
 * The result is the same in every worker, after a restart, and in every gateway with the same
 * configuration. If clients are spread, each client has an order of all servers of its own. So when
 * a server fails only its own clients move, and when it is up again they come back.
 */
enum { CHOICE_KEY = 20, CHOICE_NONE = UINT32_MAX };

struct choice_server {
	uint8_t key[CHOICE_KEY]; /* the server's address */
	unsigned rank;		 /* order in the configuration; no two servers have the same */
	bool is_down;		 /* the server is chosen only if all others are down as well */
	bool is_out;		 /* the server is never chosen */
};

/**
 * choice_pick - choose one of @n servers
 * @client: key of its address; NULL: choose in order of .rank
 *
 * Return: its index, or CHOICE_NONE: none may be chosen.
 */
unsigned choice_pick(const struct choice_server *at, unsigned n, const uint8_t *client);

#endif
