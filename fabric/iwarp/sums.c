/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/sums.h"

#include "fabric/iwarp/fpdu.h"

/* Points of the sums in the @i-th pool. */
static uint32_t room_of(unsigned i)
{
	return (uint32_t)SUMS_LEAST << 2 * i;
}

void sums_pools_init(struct pool pools[SUMS_SIZES])
{
	for (unsigned i = 0; i < SUMS_SIZES; i++) {
		size_t bytes = sizeof(struct sums) + room_of(i) * sizeof(struct sum_point);

		pool_init(&pools[i], bytes, SUMS_MOST / bytes);
	}
}

struct sums *sums_take(struct pool pools[SUMS_SIZES], uint32_t slice, uint32_t period,
		       uint32_t points)
{
	unsigned i = 0;
	struct sums *s;

	while (i + 1 < SUMS_SIZES && points > room_of(i))
		i++;
	s = pool_get(&pools[i]);
	if (!s)
		return NULL;
	s->base.fabric = NULL;
	s->pool = &pools[i];
	s->room = room_of(i);
	s->slice = slice;
	s->period = period < slice ? UINT32_MAX : period;
	sums_restart(s, false);
	return s;
}

void sums_give(struct sums *s)
{
	if (s)
		pool_put(s->pool, s);
}

void sums_restart(struct sums *s, bool keeps_ends)
{
	s->keeps_ends = keeps_ends;
	s->off = false;
	s->first = s->n = s->marks = 0;
}

void sums_end(struct sums *s)
{
	s->off = true;
	s->n = s->marks = 0;
}

static struct sum_point *point(const struct sums *s, uint32_t i)
{
	return (struct sum_point *)&s->points[(s->first + i) % s->room];
}

bool sums_begin(struct sums *s, uint32_t at)
{
	uint32_t known = s->n ? point(s, s->n - 1)->at : 0;

	s->marks = 0;
	if (s->n && at < known)
		sums_end(s);
	if (s->off)
		return false;
	if (!s->n || at > known) {
		s->n = 1;
		*point(s, 0) = (struct sum_point){at, 0};
	}
	return true;
}

uint32_t sums_next(const struct sums *s, uint32_t at)
{
	uint32_t in = at % s->period, next = in - in % s->slice + s->slice;

	return at - in + (next < s->period ? next : s->period);
}

void sums_mark(struct sums *s, uint32_t at, uint32_t crc)
{
	if (s->n + s->marks == s->room) {
		if (s->n == 1) { /* so many marks in one FPDU: the last is replaced */
			s->marks--;
		} else {
			s->first++;
			s->n--;
		}
	}
	*point(s, s->n + s->marks++) = (struct sum_point){at, crc};
}

/* Whether an FPDU of the other connection begins at @at, if that cuts the octets from their start. */
static bool is_cut(const struct sums *s, uint32_t at)
{
	return at % s->period % s->slice == 0;
}

void sums_commit(struct sums *s, uint32_t head, uint32_t end, uint32_t crc)
{
	struct sum_point before;
	uint32_t from, to;

	if (!s->marks || point(s, s->n + s->marks - 1)->at != end)
		sums_mark(s, end, crc);
	before = *point(s, s->n - 1);
	from = s->n;
	to = from - (from > 1 && !s->keeps_ends && !is_cut(s, before.at));
	for (; s->marks; s->marks--) {
		struct sum_point p = *point(s, from++);

		p.crc ^= fpdu_crc_shift(before.crc ^ head, p.at - before.at);
		*point(s, to++) = p;
	}
	s->n = to;
}

/* The index of the last point up to @at; .n: there is none. */
static uint32_t find(const struct sums *s, uint32_t at)
{
	uint32_t from = 0, end = s->n;

	while (from < end) {
		uint32_t middle = from + (end - from) / 2;

		if (point(s, middle)->at <= at)
			from = middle + 1;
		else
			end = middle;
	}
	return from ? from - 1 : s->n;
}

uint32_t sums_fit(const struct sums *s, uint32_t at, uint32_t len)
{
	uint32_t i = find(s, at + len);

	return i < s->n && point(s, i)->at > at ? point(s, i)->at - at : len;
}

/* The points around the octets are not at their ends: the CRC is computed, and so is that of the octets
 * around them, to compare both with the points. Not if the points are so far apart that most of the
 * work would be for other octets. */
static enum sums_found check(const struct sum_point *from, const struct sum_point *end, uint32_t at,
			     uint32_t len, const uint8_t *data, uint32_t *crc)
{
	uint32_t all = fpdu_crc(from->crc, data - (at - from->at), at - from->at);
	uint32_t mid = fpdu_crc(*crc, data, len);

	all = fpdu_crc(fpdu_crc(all, data, len), data + len, end->at - at - len);
	*crc = all == end->crc ? mid : ~mid;
	return SUMS_CHECKED;
}

enum sums_found sums_find(const struct sums *s, uint32_t at, uint32_t len, const uint8_t *data,
			  uint32_t *crc)
{
	uint32_t a = find(s, at), b = find(s, at + len);
	const struct sum_point *from, *end;

	if (a == s->n || b == s->n)
		return SUMS_UNKNOWN;
	if (point(s, b)->at < at + len && ++b == s->n)
		return SUMS_UNKNOWN;
	from = point(s, a);
	end = point(s, b);
	if (from->at < at || end->at > at + len)
		return end->at - from->at > 2 * (len > s->slice ? len : s->slice)
			       ? SUMS_UNKNOWN
			       : check(from, end, at, len, data, crc);
	*crc = end->crc ^ fpdu_crc_shift(*crc ^ from->crc, len);
	return SUMS_KNOWN;
}
