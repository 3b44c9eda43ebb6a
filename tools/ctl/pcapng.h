/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_PCAPNG_H
#define TOOLS_CTL_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * pcapng - messages of legs as a capture file for Wireshark
 *
 * Each message becomes a Send on a reliable connection of RoCE version 2 between the addresses of
 * its leg, whatever the fabric of the leg. Before the first message of a leg the file has the
 * set-up of a connection, from which Wireshark knows both ends. There are two interfaces: one for
 * client legs, one for server legs. The session number is in comments.
 */
struct pcapng_leg;

struct pcapng {
	FILE *to; /* borrowed */
	uint64_t bytes, most;
	struct pcapng_leg *legs; /* hash table */
	size_t nlegs, room;
	uint8_t *frame;
};

/** struct pcapng_message - texts and octets are borrowed. */
struct pcapng_message {
	uint64_t session, time_ns;	  /* .time_ns: since 1970 */
	const char *route, *peer, *local; /* addresses with ports */
	bool is_server_leg, is_sent;	  /* .is_sent: the gateway sent the message */
	const uint8_t *octets;
	/* .len: number of .octets; .whole: length of the message, of which .octets may be only
	 * the beginning */
	size_t len, whole;
};

enum pcapng_result { PCAPNG_OK, PCAPNG_FULL, PCAPNG_FAILED };

/** pcapng_begin - begin a capture of at most @most octets. Return: whether it could begin. The
 * caller must call pcapng_end(). */
bool pcapng_begin(struct pcapng *p, FILE *to, uint64_t most);

/** pcapng_add - add a message. PCAPNG_FULL: no room for it; PCAPNG_FAILED: a write failed, or
 * memory is short. */
enum pcapng_result pcapng_add(struct pcapng *p, const struct pcapng_message *m);

/** pcapng_end - free memory; @to stays open. */
void pcapng_end(struct pcapng *p);

#endif
