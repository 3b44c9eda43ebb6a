/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/window.h"

#include <assert.h>
#include <string.h>

enum { NOWHERE = UINT32_MAX };

void fabric_window_init(struct fabric_window *w, uint8_t *addr, uint32_t bytes, uint32_t len)
{
	*w = (struct fabric_window){
		.addr = addr, .bytes = bytes, .end = bytes, .is_whole = bytes >= len};
}

/* Whether the used part of the memory is one piece: it does not wrap around the end. */
static bool is_straight(const struct fabric_window *w)
{
	return w->head > w->tail;
}

static uint32_t find(const struct fabric_window *w, uint32_t len)
{
	if (w->used == 0)
		return len <= w->bytes ? 0 : NOWHERE;
	if (!is_straight(w))
		return len <= w->tail - w->head ? w->head : NOWHERE;
	if (len <= w->bytes - w->head)
		return w->head;
	return len <= w->tail ? 0 : NOWHERE;
}

/* Whether a segment at @at, for @offset, extends the piece not reported yet. */
static bool goes_on(const struct fabric_window *w, uint32_t at, uint32_t offset)
{
	return at == w->piece.at + w->piece.len && offset == w->piece.offset + w->piece.len;
}

/* Whether octets at @at, for @offset, make the piece reported last longer. */
static bool continues_last(const struct fabric_window *w, uint32_t at, uint32_t offset)
{
	return at == w->told_at && offset == w->told_offset;
}

/* Octets that come again wait until the user has none that it may be sending. */
static bool may_place(const struct fabric_window *w, uint32_t at, uint32_t offset)
{
	if (w->is_whole && offset < w->next)
		return w->used == 0;
	if (w->piece.len)
		return goes_on(w, at, offset);
	return w->user_pieces < FABRIC_STREAM_PIECES || continues_last(w, at, offset);
}

/* Whether a segment at @offset is stored. */
static bool is_stored(const struct fabric_window *w, uint32_t offset)
{
	return w->is_whole && (w->stores ? offset >= w->next : offset > w->next);
}

/* Octets that are sent on are never behind their own places. So a segment behind all of them can go
 * to its own place. Before the first one, all octets that came are reported, and count. */
static uint8_t *place_stored(struct fabric_window *w, uint32_t offset)
{
	if (w->piece.len)
		return NULL;
	w->at = offset;
	return w->addr + offset;
}

uint8_t *fabric_window_place(struct fabric_window *w, uint32_t offset, uint32_t len)
{
	uint32_t at;

	if (is_stored(w, offset))
		return place_stored(w, offset);
	at = find(w, len);
	if (at == NOWHERE || !may_place(w, at, offset))
		return NULL;
	w->at = at;
	return w->addr + at;
}

uint32_t fabric_window_behind(const struct fabric_window *w, const struct fabric_runs *written,
			      uint32_t len)
{
	uint32_t limit = w->used == 0 || w->at >= w->tail ? w->bytes : w->tail, end = w->at + len;

	if (w->stores && fabric_runs_reach(written) > end)
		return 0;
	return limit - end;
}

static void store(struct fabric_window *w, struct fabric_runs *written, uint32_t len)
{
	struct fabric_run gap;

	w->stores = true;
	if (fabric_runs_add(written, w->at, len, &gap))
		memset(w->addr + gap.from, 0, gap.end - gap.from);
}

bool fabric_window_placed(struct fabric_window *w, struct fabric_runs *written, uint32_t offset,
			  uint32_t len)
{
	bool begins = w->piece.len == 0;

	if (is_stored(w, offset)) {
		store(w, written, len);
		return false;
	}
	if (offset + len > w->next)
		w->next = offset + len;
	if (w->used == 0) {
		w->tail = w->at;
		w->end = w->bytes;
	} else if (w->at < w->head) {
		w->end = w->head;
	}
	w->head = w->at + len;
	w->used += len;
	if (begins) {
		w->piece.at = w->at;
		w->piece.offset = offset;
	}
	w->piece.len += len;
	return begins;
}

void fabric_window_report(struct fabric_window *w, struct fabric_runs *written,
			  struct fabric_event *ev)
{
	struct fabric_run gap; /* ignored: no event reports its octets, so they need no zeros */

	ev->at = w->addr + w->piece.at;
	ev->offset = w->piece.offset;
	ev->len = w->piece.len;
	if (w->user_pieces < FABRIC_STREAM_PIECES)
		w->user_pieces++;
	else
		assert(continues_last(w, w->piece.at, w->piece.offset));
	w->told_at = w->piece.at + w->piece.len;
	w->told_offset = w->piece.offset + w->piece.len;
	w->piece.len = 0;
	/* If there are too many runs, a gap between pieces counts as written. */
	(void)!fabric_runs_add(written, ev->offset, ev->len, &gap);
}

void fabric_window_back(struct fabric_window *w, uint32_t len)
{
	assert(w->user_pieces > 0 && w->used >= len);
	w->user_pieces--;
	w->used -= len;
	w->tail += len;
	if (w->tail == w->end) {
		w->tail = 0;
		w->end = w->bytes;
	}
}
