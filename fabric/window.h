/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_WINDOW_H
#define FABRIC_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/runs.h"

/**
 * window - the memory behind a stream (fabric_stream()), used as a ring
 *
 * Pure counting, for every provider that has streams. What the peer writes is placed at .head, one
 * segment at a time, each in one piece. Segments that continue where the one before ended form one
 * piece, until that is reported. Pieces come back in the order reported. A segment that does not
 * fit before the end of the memory goes to its beginning, as soon as that is free. When the window
 * is empty it is used from its beginning again: so a peer that is not slow uses only a small part,
 * which stays in the caches.
 *
 * 	segment --place, placed--> .piece --report--> the user's --back--> free
 */
struct fabric_window {
	uint8_t *addr;
	uint32_t bytes; /* 0: there is no window */
	uint32_t tail, head;
	uint32_t end;	      /* octets from here on are not used until .tail wraps */
	uint32_t used;	      /* octets placed and not given back */
	uint32_t at;	      /* where the segment under way is placed */
	unsigned user_pieces; /* pieces that the user has */
	struct {
		uint32_t at, offset, len; /* the piece not reported yet; .len 0: there is none */
	} piece;
};

/** fabric_window_init - an empty window of @bytes octets at @addr. */
void fabric_window_init(struct fabric_window *w, uint8_t *addr, uint32_t bytes);

/** fabric_window_place - where to place a segment of @len octets that belongs at @offset.
 * Return: NULL, and nothing happened: there is no room for it yet. */
uint8_t *fabric_window_place(struct fabric_window *w, uint32_t offset, uint32_t len) WARN_UNUSED;

/**
 * fabric_window_behind - room behind the segment of @len octets just placed, for segments that
 * continue it
 *
 * 0 if no more pieces may be reported, because the one under way then ends with that segment. Valid
 * until the next fabric_window_report().
 */
uint32_t fabric_window_behind(const struct fabric_window *w, uint32_t len);

/** fabric_window_placed - the segment is complete. Return: whether it begins a piece, which is
 * to be reported. */
bool fabric_window_placed(struct fabric_window *w, uint32_t offset, uint32_t len) WARN_UNUSED;

/** fabric_window_report - reports the piece in @ev: it is the user's, and counts as @written. */
void fabric_window_report(struct fabric_window *w, struct fabric_runs *written,
			  struct fabric_event *ev);

/** fabric_window_back - the oldest piece reported, of @len octets, is free. */
void fabric_window_back(struct fabric_window *w, uint32_t len);

#endif
