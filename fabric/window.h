/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_WINDOW_H
#define FABRIC_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/runs.h"

/**
 * window - the memory behind a stream (fabric_stream()), used over and over
 *
 * Pure counting, for every provider that has streams. What the peer writes is placed at .head, a segment at a time, each
 * in one piece; segments that go on where the one before ended become one piece, until that is told. Pieces come back in
 * the order told. Where a segment does not fit before the end of the memory it goes to its beginning, as soon as that is
 * free. When nothing is in it the window is used from its beginning on again: so as little of it as is enough for a peer
 * that is not slow, and that stays in the caches.
 *
 *	segment --place, placed--> .piece --tell--> the user's --back--> free
 */
struct fabric_window {
	uint8_t *addr;
	uint32_t bytes; /* 0: there is none */
	uint32_t tail, head;
	uint32_t end;  /* octets from there on are not used in this lap */
	uint32_t used; /* placed, and not back */
	uint32_t at;   /* the segment under way goes there */
	unsigned told; /* pieces that are the user's */
	struct {
		uint32_t at, offset, len; /* not told yet; .len 0: there is none */
	} piece;
};

/** fabric_window_init - of @bytes octets at @addr, empty. */
void fabric_window_init(struct fabric_window *w, uint8_t *addr, uint32_t bytes);

/** fabric_window_place - where a segment of @len octets, which belongs at @offset, goes. Return: NULL, and nothing happened:
 * there is no room for it yet. */
uint8_t *fabric_window_place(struct fabric_window *w, uint32_t offset, uint32_t len) WARN_UNUSED;

/** fabric_window_behind - octets there are behind that one, for segments that go on where it ends: 0 where no more pieces
 * may be told, as the one under way ends that then. Good until the next fabric_window_tell(). */
uint32_t fabric_window_behind(const struct fabric_window *w, uint32_t len);

/** fabric_window_placed - all of that segment is there. Return: whether a piece begins with it, which is to be told. */
bool fabric_window_placed(struct fabric_window *w, uint32_t offset, uint32_t len) WARN_UNUSED;

/** fabric_window_tell - the piece there is, as @ev has it, is the user's, and counts as @written. */
void fabric_window_tell(struct fabric_window *w, struct fabric_runs *written,
			struct fabric_event *ev);

/** fabric_window_back - the oldest piece told, of @len octets, is free. */
void fabric_window_back(struct fabric_window *w, uint32_t len);

#endif
