/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_PCAPNG_H
#define TOOLS_CTL_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * pcapng - messages of legs as a capture that Wireshark reads
 *
 * Each becomes a Send on a reliable connection of RoCE version 2, whatever it travelled on, between the addresses
 * of its leg; before the first of a leg stands a connection's set-up, by which Wireshark knows both ends.
 * There are two interfaces, for legs to clients and to servers; the session stands in comments.
 */
struct pcapng_leg;

struct pcapng {
	FILE *to; /* borrowed */
	uint64_t bytes, most;
	struct pcapng_leg *legs; /* hashed */
	size_t nlegs, room;
	uint8_t *frame;
};

/** struct pcapng_message - texts and octets are borrowed. */
struct pcapng_message {
	uint64_t session, time_ns;	  /* since 1970 */
	const char *route, *peer, *local; /* addresses, with their ports */
	bool is_server_leg, is_sent;	  /* by the gateway */
	const uint8_t *octets;
	size_t len, whole; /* .whole: of the message, if that is more than these octets */
};

enum pcapng_result { PCAPNG_OK, PCAPNG_FULL, PCAPNG_FAILED };

/** pcapng_begin - a capture of at most @most octets. Return: whether it begins; pcapng_end() is due. */
bool pcapng_begin(struct pcapng *p, FILE *to, uint64_t most);

/** pcapng_add - PCAPNG_FULL: it has no room for that one; PCAPNG_FAILED: it cannot be written, or there is no
 * memory. */
enum pcapng_result pcapng_add(struct pcapng *p, const struct pcapng_message *m);

/** pcapng_end - gives back memory; @to stays open. */
void pcapng_end(struct pcapng *p);

#endif
