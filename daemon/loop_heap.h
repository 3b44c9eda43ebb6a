/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOOP_HEAP_H
#define DAEMON_LOOP_HEAP_H

/**
 * loop_heap_use - libevent takes its memory here; before anything else of it is called, again is
 * harmless
 *
 * It keeps a few octets for every descriptor it ever saw. Taken from the allocator as descriptors
 * come, they lie one by one between the sessions of a busy hour, and hold a page each when these are
 * gone. Here they lie side by side.
 */
void loop_heap_use(void);

#endif
