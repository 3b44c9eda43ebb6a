/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_SOCK_H
#define FABRIC_IWARP_SOCK_H

#include "fabric/iwarp/iwarp_internal.h"

/** sock_options - set the options of a connection's socket: no delay, keepalive, and the time-outs of @cfg; failures are ignored. */
void sock_options(int fd, const struct iwarp_config *cfg);

/** sock_addresses - fill .local and .peer of @c from the socket. */
void sock_addresses(int fd, struct fabric_conn *c);

/** sock_emss - the effective maximum segment size of the TCP connection, octets. */
uint32_t sock_emss(int fd);

/**
 * sock_unpace, sock_pace - connections within this machine send without pacing
 * @usual: the machine's congestion control; at first "", and filled when it is needed
 *
 * State:  the machine's congestion control is BBR, which paces, and some peers are on this machine, where no link is congested.
 * Danger: pacing sets a timer for every few segments, which takes a tenth of a busy worker's time. Pacing that has begun on a
 *         socket goes on when the socket gets another congestion control.
 * Rule:   a socket has Reno before connect() or listen(). When the connection opens and the peer is on another machine, the
 *         connection gets the machine's congestion control. A machine whose congestion control does not pace is left alone.
 * Pinned: tests/daemon/run.sh:case_pacing, tests/iwarp/test_iwarp_sock.c:test_loopback_is_not_paced
 */
void sock_unpace(int fd);
void sock_pace(int fd, char usual[SOCK_CONGESTION]);

/** sock_backlog - octets sent that the peer has not acknowledged yet. */
uint32_t sock_backlog(int fd);

/** sock_peer_ended - whether the peer has ended: nothing follows what is in the socket. */
bool sock_peer_ended(int fd);

/** sock_has_address_for - whether this machine has any address from which @to can be reached;
 * true where that cannot be found out. */
bool sock_has_address_for(const struct fabric_addr *to);

/**
 * sock_free_port - makes closing @fd, the next step, free its port at once: with a reset instead of
 * a FIN
 *
 * After a FIN the kernel keeps the port for a minute (TIME-WAIT, RFC 9293 3.3.2).
 * Takes effect only if the peer has acknowledged all octets, so none are lost, and has not ended
 * itself: the kernel keeps no port after the peer's FIN. Otherwise closing is not changed.
 */
void sock_free_port(int fd);

/** sock_within - @fd if it is less than @descriptors (0: no limit); otherwise closes it. Return:
 * @fd, or -1 with errno EMFILE; -1 for -1. */
int sock_within(int fd, uint32_t descriptors);

/** sock_error - an errno as enum err. */
int sock_error(int err);

#endif
