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
 * Pure counting, for every provider that has streams.
 * - Each segment that the peer writes is placed at .head, in one piece.
 * - A segment that continues where the one before ended belongs to the same piece, until that piece
 *   is reported. The user gives pieces back in the order reported.
 * - If the user has FABRIC_STREAM_PIECES pieces, only octets that continue the last piece have
 *   room, and the report of these octets makes that piece longer.
 * - A segment that does not fit before the end of the memory is placed at the beginning, as soon as
 *   there is room.
 * - If the memory is as long as the stream, a segment behind a gap is stored: it goes to its own
 *   place, counts as written, and is not reported. So are all later ones, except those that write
 *   octets again that were reported. These wait until the user has no piece.
 * - An empty window is used from its beginning again. So while the user is fast enough, only a
 *   small part of the window is used, which stays in the CPU's caches.
 *
 * 	segment --place, placed--> .piece --report--> the user's --back--> free
 */
struct fabric_window {
	uint8_t *addr;
	uint32_t bytes; /* size of the memory; 0: there is no window */
	uint32_t tail, head;
	uint32_t end;	      /* octets from here on are not used until .tail wraps */
	uint32_t used;	      /* octets placed and not given back */
	uint32_t at;	      /* offset in .addr of the segment under way */
	unsigned user_pieces; /* pieces that the user has */
	bool is_whole;	      /* there is memory for every octet of the stream */
	bool stores;	      /* a segment came behind a gap: octets from .next on are stored */
	uint32_t next;	      /* if .is_whole: octets before this one go to the user */
	struct {
		uint32_t at, offset, len; /* the piece not reported yet; .len 0: there is none */
	} piece;
	uint32_t told_at, told_offset; /* where the piece reported last ends */
};

/** fabric_window_init - an empty window of @bytes octets at @addr, for a stream of @len octets. */
void fabric_window_init(struct fabric_window *w, uint8_t *addr, uint32_t bytes, uint32_t len);

/** fabric_window_place - where to place a segment of @len octets that belongs at @offset.
 * Return: NULL, and nothing happened: there is no room for it yet. */
uint8_t *fabric_window_place(struct fabric_window *w, uint32_t offset, uint32_t len) WARN_UNUSED;

/**
 * fabric_window_behind - octets of room behind the segment of @len octets just placed, for segments
 * that continue it
 * @written: as for fabric_window_placed(); no room is given that has stored octets
 */
uint32_t fabric_window_behind(const struct fabric_window *w, const struct fabric_runs *written,
			      uint32_t len);

/** fabric_window_placed - the segment is complete. If it is stored, it is added to @written, and
 * octets that have to be zero are (fabric/runs.h). Return: whether it begins a piece, which is to
 * be reported. */
bool fabric_window_placed(struct fabric_window *w, struct fabric_runs *written, uint32_t offset,
			  uint32_t len) WARN_UNUSED;

/** fabric_window_report - fill @ev with the piece, which is the user's now, and add it to
 * @written. */
void fabric_window_report(struct fabric_window *w, struct fabric_runs *written,
			  struct fabric_event *ev);

/** fabric_window_back - the oldest piece reported, of @len octets, is free. */
void fabric_window_back(struct fabric_window *w, uint32_t len);

#endif
