/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_SOCK_H
#define FABRIC_IWARP_SOCK_H

#include "fabric/iwarp/iwarp_internal.h"

/** sock_options - set the options of a connection's socket: no delay, keepalive, and the time-outs
 * of @cfg. Failures are ignored. */
void sock_options(int fd, const struct iwarp_config *cfg);

/** sock_addresses - fill .local and .peer of @c from the socket. */
void sock_addresses(int fd, struct fabric_conn *c);

/** sock_emss - the effective maximum segment size of the TCP connection, in octets. */
uint32_t sock_emss(int fd);

/**
 * sock_unpace, sock_pace - connections within this machine send without pacing
 * @usual: the machine's congestion control; at first "", and filled when it is needed
 *
 * State:  the machine's congestion control is BBR, which paces. Some peers are on this machine,
 *         where no link is congested.
 * Danger: pacing sets a timer for every few segments, which takes much of a busy worker's time.
 *         Once a socket paces, it paces on with another congestion control.
 * Rule:   - sock_unpace(), before connect() or listen(): the socket gets Reno.
 *         - sock_pace(), when the connection opens: if the peer is on another machine, the socket
 *           gets the machine's congestion control.
 *         - If the machine has another congestion control than BBR, nothing changes.
 * Pinned: tests/daemon/run.sh:case_pacing, tests/iwarp/test_iwarp_sock.c:test_loopback_is_not_paced
 */
void sock_unpace(int fd);
void sock_pace(int fd, char usual[SOCK_CONGESTION]);

/** sock_backlog - octets sent that the peer has not acknowledged yet. */
uint32_t sock_backlog(int fd);

/** sock_peer_ended - whether the peer has ended the stream: no octets follow those in the
 * socket. */
bool sock_peer_ended(int fd);

/** sock_has_failed - the connection is gone, by a reset or because the peer does not answer. Octets
 * that arrived before may be unread. */
bool sock_has_failed(int fd);

/** sock_take_error - the socket's error, as an errno; 0: none. The next call does not return the
 * same one. A connection that is open may have one, such as EHOSTUNREACH: TCP goes on. */
int sock_take_error(int fd);

/** sock_is_local - whether packets to the IPv6 address @addr stay on this machine, because the
 * address or its network is local; true if that is unknown. */
bool sock_is_local(const struct fabric_addr *addr);

/** sock_has_address_for - whether this machine has an address from which it can send to @to; true
 * if that is unknown. */
bool sock_has_address_for(const struct fabric_addr *to);

/**
 * sock_free_port - close() of @fd, which has to be the next call, sends a reset instead of a FIN
 * and frees the local port at once
 *
 * After its own FIN the kernel keeps the port for a minute (TIME-WAIT, RFC 9293 3.3.2).
 * The call has no effect in two cases:
 * - The peer has not acknowledged all octets, because a reset would lose them.
 * - The peer has sent its FIN, because then the kernel does not keep the port.
 */
void sock_free_port(int fd);

/** sock_within - close @fd if it is not less than @descriptors (0: no limit). Return: @fd; or -1
 * with errno EMFILE: it was closed; -1 if @fd is -1. */
int sock_within(int fd, uint32_t descriptors);

/** sock_error - the enum err for @err, an errno of a socket call. */
int sock_error(int err);

#endif
