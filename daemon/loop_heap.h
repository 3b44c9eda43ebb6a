/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOOP_HEAP_H
#define DAEMON_LOOP_HEAP_H

/**
 * loop_heap_use - make libevent use the allocator of this file. Call it before any other function
 * of libevent. Further calls have no effect.
 *
 * libevent keeps a few octets for every descriptor number it has ever seen. From the general
 * allocator these objects would be scattered among the memory of sessions, and each would hold a
 * page after the sessions have gone. Here they are together.
 */
void loop_heap_use(void);

#endif
