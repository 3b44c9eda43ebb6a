/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_IWARP_H
#define FABRIC_IWARP_IWARP_H

#include "fabric/fabric.h"

/** fabric/iwarp - RDMAP/DDP/MPA (RFC 5040, 5041, 5044, 6581) over TCP in user space. */

struct iwarp_config {
	bool crc;		   /* this end asks for CRC32c; used if either asks; default true */
	uint32_t setup_timeout_ms; /* TCP connect and MPA exchange; default 10000 */
	/* the connection ends if for this time the peer acknowledges none of the octets sent to it,
	 * or sends nothing and does not answer keepalives; default 30000 */
	uint32_t stall_timeout_ms;
	uint16_t ird, ord; /* for connections whose parameters have 0 (fabric.h); default 32 */
	uint32_t
		max_setups; /* incoming connections still in MPA set-up, per instance; default 256 */
	/* octets that one connection moves each way in a turn, and all connections together before
	 * sockets are polled again; default 524288 */
	uint32_t turn_octets;
	/* sockets whose file descriptor is not below this number are closed; 0: no limit */
	uint32_t descriptors;
	uint64_t seed; /* for STags; 0: from the system's random source */
};

struct iwarp_counters {
	uint64_t fpdus_in, fpdus_out, bytes_in, bytes_out;
	uint64_t syscalls_read, syscalls_write;
	/* tagged payload octets that were copied, because they were not read straight to their
	 * place */
	uint64_t copied_bytes;
	/* payload octets sent without a copy, with the CRC they arrived with, or a computed one */
	uint64_t crc_carried, crc_computed;
	/* checks of connections that wait because their user holds too many shared Receives */
	uint64_t recv_limited_looks;
	uint64_t receive_waits; /* messages that waited for a shared Receive */
	uint64_t crc_errors, terminates_sent, terminates_received, setup_failures;
};

/** iwarp_config_default - every field at its default. */
void iwarp_config_default(struct iwarp_config *cfg);

/** iwarp_new - an instance for one worker on @loop, which is borrowed until fabric_free(). @cfg is
 * copied. Returns owned, or NULL. */
struct fabric *iwarp_new(const struct iwarp_config *cfg, struct loop *loop);

/** iwarp_listen - a listener at @addr, which several instances may attach. Return: owned; or NULL,
 * with *@err set to an enum err and errno to the reason. */
struct fabric_listener *iwarp_listen(const struct fabric_addr *addr, int *err);

/** iwarp_adopt - a listener from @fd, a non-blocking socket that listens already. Takes @fd on
 * success. Return: owned, or NULL. */
struct fabric_listener *iwarp_adopt(int fd);

/** iwarp_listener_fd - the socket of @l, borrowed. */
int iwarp_listener_fd(const struct fabric_listener *l);

/** iwarp_listener_addr - fill @addr with the address of @l. If port 0 was asked for, the port is
 * the one that the system chose. */
void iwarp_listener_addr(const struct fabric_listener *l, struct fabric_addr *addr);

/** iwarp_listener_free - takes @l, which no instance is attached to. */
void iwarp_listener_free(struct fabric_listener *l);

/** iwarp_counters - the counters of @f; borrowed until fabric_free(), and counted on meanwhile. */
const struct iwarp_counters *iwarp_counters(const struct fabric *f);

#endif
