/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOOP_HEAP_H
#define DAEMON_LOOP_HEAP_H

/**
 * loop_heap_use - make libevent allocate here; call before any other function of libevent; may be
 * called again
 *
 * libevent keeps a few octets for every descriptor number it has ever seen. From the general
 * allocator these objects would be scattered among the memory of sessions, and each would hold a
 * page after the sessions have gone. Here they are together.
 */
void loop_heap_use(void);

#endif
