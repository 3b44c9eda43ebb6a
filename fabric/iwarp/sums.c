/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/sums.h"

#include "fabric/iwarp/fpdu.h"

/* Most points of sums of size @i. */
static uint32_t room_of(unsigned i)
{
	return (uint32_t)SUMS_LEAST << 2 * i;
}

void sums_store_init(struct sums_store *store)
{
	*store = (struct sums_store){0};
	for (unsigned i = 0; i < SUMS_SIZES; i++) {
		size_t bytes = sizeof(struct sums) + room_of(i) * sizeof(struct sum_point);

		pool_init(&store->pools[i], bytes, SUMS_MOST / bytes);
	}
}

void sums_store_fini(struct sums_store *store)
{
	for (unsigned i = 0; i < SUMS_SIZES; i++)
		pool_fini(&store->pools[i]);
}

size_t sums_store_bytes(const struct sums_store *store)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < SUMS_SIZES; i++)
		bytes += store->pools[i].bytes;
	return bytes;
}

struct sums *sums_take(struct sums_store *store, uint8_t host, uint32_t slice, uint32_t period,
		       uint32_t points)
{
	uint8_t i = 0;
	struct pool *pool;
	struct sums *s;

	while (i + 1 < SUMS_SIZES && points > room_of(i))
		i++;
	pool = &store->pools[i];
	if (store->held[i][host] >= SUMS_OF_HOST * (pool->max_objects - pool->used))
		return NULL;
	s = pool_get(pool);
	if (!s)
		return NULL;
	store->held[i][host]++;
	s->base.fabric = NULL;
	s->store = store;
	s->size = i;
	s->host = host;
	s->room = room_of(i);
	s->slice = slice;
	s->period = period < slice ? UINT32_MAX : period;
	sums_restart(s, false);
	return s;
}

struct sums *sums_of_message(struct sums_store *store, uint8_t host, uint32_t len, uint32_t fpdu)
{
	enum { SPARE = 16, LEAST_FPDU = 512 };
	uint32_t fpdus = fpdu >= LEAST_FPDU ? len / fpdu : 0;
	struct sums *s =
		sums_take(store, host, SUMS_SLICE, UINT32_MAX, len / SUMS_SLICE + fpdus + SPARE);

	if (s)
		s->keeps_ends = fpdu >= LEAST_FPDU;
	return s;
}

void sums_give(struct sums *s)
{
	if (!s)
		return;
	s->store->held[s->size][s->host]--;
	pool_put(&s->store->pools[s->size], s);
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

/* Whether an FPDU of the other connection begins at @at, if that cuts the octets from their
 * start. */
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

/* The index of the first point at or behind @at; .n: there is none. */
static uint32_t find(const struct sums *s, uint32_t at)
{
	uint32_t from = 0, end = s->n;

	while (from < end) {
		uint32_t middle = from + (end - from) / 2;

		if (point(s, middle)->at < at)
			from = middle + 1;
		else
			end = middle;
	}
	return from;
}

uint32_t sums_fit(const struct sums *s, uint32_t at, uint32_t len)
{
	uint32_t n = find(s, at + len + 1), end = n ? point(s, n - 1)->at : 0;

	return end > at ? end - at : len;
}

/* Records @p before point number @i, if few points have to be moved. If there is no room, the
 * oldest point is dropped. */
static void insert(struct sums *s, uint32_t i, struct sum_point p)
{
	uint32_t end = s->n + s->marks;

	if (end - i > SUMS_MOVED || (end == s->room && i < 2))
		return;
	if (end == s->room) {
		s->first++;
		s->n--;
		end--;
		i--;
	}
	for (uint32_t k = end; k > i; k--)
		*point(s, k) = *point(s, k - 1);
	*point(s, i) = p;
	s->n++;
}

/* The CRC up to @at, which lies between the point before the @i-th and that one; @data is the octet
 * there. The CRCs of the octets before it and behind it are computed. If these do not yield the CRC
 * of the @i-th point, octets have changed, and the Return is a wrong CRC. */
static uint32_t split(struct sums *s, uint32_t i, uint32_t at, const uint8_t *data)
{
	const struct sum_point *from = point(s, i - 1), *end = point(s, i);
	uint32_t crc = fpdu_crc(from->crc, data - (at - from->at), at - from->at);

	if (fpdu_crc(crc, data, end->at - at) != end->crc)
		return ~crc;
	insert(s, i, (struct sum_point){at, crc});
	return crc;
}

/* Whether @at is a point, or lies between two points at most @most octets apart. @i is the first
 * point at or behind @at. */
static bool is_near(const struct sums *s, uint32_t i, uint32_t at, uint32_t most)
{
	return i < s->n &&
	       (point(s, i)->at == at || (i > 0 && point(s, i)->at - point(s, i - 1)->at <= most));
}

enum sums_found sums_find(struct sums *s, uint32_t at, uint32_t len, const uint8_t *data,
			  uint32_t *crc)
{
	uint32_t most = 2 * (len > s->slice ? len : s->slice), a = find(s, at),
		 b = find(s, at + len);
	uint32_t from, end;
	bool known;

	if (!is_near(s, a, at, most) || !is_near(s, b, at + len, most))
		return SUMS_UNKNOWN;
	known = point(s, a)->at == at && point(s, b)->at == at + len;
	from = point(s, a)->at == at ? point(s, a)->crc : split(s, a, at, data);
	b = find(s, at + len); /* again, because there may be one point more */
	end = point(s, b)->at == at + len ? point(s, b)->crc : split(s, b, at + len, data + len);
	*crc = end ^ fpdu_crc_shift(*crc ^ from, len);
	return known ? SUMS_KNOWN : SUMS_CHECKED;
}
