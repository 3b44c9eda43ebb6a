/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_CHOICE_H
#define PROXY_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * choice - which of several servers a client gets: a pure function of both and of what is known of the servers
 *
 * It is the same in every worker, after a restart, and in every gateway with the same configuration. Spread by
 * client, a server that goes takes along its own clients' places and no others' (each client has an order of its
 * own of all servers), and when it comes back these come back to it.
 */
enum { CHOICE_KEY = 20, CHOICE_NONE = UINT32_MAX };

struct choice_server {
	uint8_t key[CHOICE_KEY]; /* its address */
	unsigned rank;		 /* its place in the configuration, no two have the same */
	bool is_down;		 /* taken only where all are */
	bool is_out;		 /* never */
};

/**
 * choice_pick - one of @n
 * @client: its address; NULL: in order of .rank, for whoever it is
 *
 * Return: its index, or CHOICE_NONE: all are out.
 */
unsigned choice_pick(const struct choice_server *at, unsigned n, const uint8_t *client);

#endif
