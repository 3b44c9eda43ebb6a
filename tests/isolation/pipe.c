/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/isolation/pipe.h"

#include <assert.h>
#include <stdlib.h>

#include "tests/isolation/rogue.h"
#include "tests/iwarp/qp_tools.h"

/*
 * Operation.
 *
 *	0 ... .begin <= .from ... .last ... .sent ... .len
 *	      delivered | whole FPDUs, shown      | the beginning of one
 *
 * What a wild sender does to an FPDU is done when it is whole and nothing of it was delivered;
 * when and in what pieces it comes out is drawn then.
 */

struct wire wire_draw(struct rng *rng, unsigned allowed)
{
	static const unsigned often[] = {3, 10, 30, 100, 400};

	return (struct wire){(unsigned)rng_next(rng) & allowed, often[rng_below(rng, 5)]};
}

static bool will(struct pipe *p, const struct wire *w, enum misdeed deed)
{
	return (w->knows & (unsigned)deed) && rng_below(p->rng, w->often) == 0;
}

void pipe_init(struct pipe *p, struct rng *rng)
{
	*p = (struct pipe){.rng = rng, .last = SIZE_MAX, .late = SIZE_MAX};
	p->octets = malloc(PIPE_BYTES);
	if (!p->octets)
		abort();
}

void pipe_fini(struct pipe *p)
{
	free(p->octets);
	p->octets = NULL;
}

static size_t moved_down(size_t at, size_t n)
{
	return at == SIZE_MAX || at < n ? SIZE_MAX : at - n;
}

/* Remove delivered octets, except those of the FPDU being delivered. */
static void compact(struct pipe *p)
{
	size_t n = p->begin;

	if (n < PIPE_BYTES / 4 && p->from < p->len)
		return;
	memmove(p->octets, p->octets + n, p->len - n);
	p->from -= n;
	p->sent -= n;
	p->len -= n;
	p->begin = 0;
	p->last = moved_down(p->last, n);
	p->late = moved_down(p->late, n);
}

static size_t fpdu_at(const struct pipe *p, size_t at)
{
	return fpdu_bytes(wire_get16(p->octets + at));
}

/* Tells the watcher what the FPDU at @at carries. */
static void show(struct pipe *p, size_t at, struct fabric_conn *to, const struct net_watcher *w)
{
	const uint8_t *f = p->octets + at + FPDU_LEN_BYTES;
	struct ddp_header h;
	struct ddp_term term;
	uint32_t head = ddp_header_bytes(f[0]), len = wire_get16(p->octets + at) - head;
	int err = ddp_header_decode(f, &h, &term);

	assert(err == 0); /* it is what our own queue pair says */
	(void)err;
	switch ((enum ddp_opcode)h.opcode) {
	case RDMAP_WRITE:
		w->moved(w->arg, to, FABRIC_EV_WRITE, f + head, len, h.last);
		break;
	case RDMAP_READ_RESPONSE:
		w->moved(w->arg, to, FABRIC_EV_READ, f + head, len, h.last);
		break;
	case RDMAP_READ_REQUEST:
		break;
	case RDMAP_TERMINATE:
		w->moved(w->arg, to, FABRIC_EV_RECV, f + head, len, true);
		break;
	default:
		assert(h.offset + len <= PIPE_MESSAGE);
		memcpy(p->message + h.offset, f + head, len);
		if (h.last)
			w->moved(w->arg, to, FABRIC_EV_RECV, p->message, (uint32_t)h.offset + len,
				 true);
	}
}

static bool is_write(const struct pipe *p, size_t at)
{
	return (p->octets[at + FPDU_LEN_BYTES] & 0x80) &&
	       (p->octets[at + FPDU_LEN_BYTES + 1] & 0xf) == RDMAP_WRITE;
}

static bool is_send(const struct pipe *p, size_t at)
{
	return !(p->octets[at + FPDU_LEN_BYTES] & 0x80);
}

/* @n octets more at @at, with room for them. */
static bool open_gap(struct pipe *p, size_t at, size_t n)
{
	if (p->len + n > PIPE_BYTES)
		return false;
	memmove(p->octets + at + n, p->octets + at, p->len - at);
	p->len += n;
	return true;
}

static void close_gap(struct pipe *p, size_t at, size_t n)
{
	memmove(p->octets + at, p->octets + at + n, p->len - at - n);
	p->len -= n;
}

static void right_crc(struct pipe *p, size_t at)
{
	size_t n = fpdu_at(p, at) - FPDU_CRC_BYTES;

	fpdu_crc_put(p->octets + at + n, fpdu_crc(FPDU_CRC_INIT, p->octets + at, n));
}

/* The FPDU at @at and the one before it, .last, change places. */
static void swap(struct pipe *p, size_t at)
{
	static uint8_t other[PIPE_BYTES];
	size_t before = at - p->last, n = fpdu_at(p, at);

	memcpy(other, p->octets + p->last, before);
	memmove(p->octets + p->last, p->octets + at, n);
	memcpy(p->octets + p->last + n, other, before);
	p->last += n;
}

static void terminate(struct pipe *p, size_t at)
{
	const struct ddp_header h = {
		.last = true, .opcode = RDMAP_TERMINATE, .queue = DDP_QUEUE_TERMINATE, .msn = 1};
	uint8_t text[RDMAP_TERM_MAX], fpdu[128];
	size_t n =
		make_fpdu(fpdu, &h, text, ddp_term_encode(TERM_DDP_BOUNDS, NULL, 0, 0, text), true);

	if (open_gap(p, at, n))
		memcpy(p->octets + at, fpdu, n);
}

/* A fault that ends a session. */
static void break_fpdu(struct pipe *p, size_t at)
{
	size_t n = fpdu_at(p, at), to = at + FPDU_LEN_BYTES;

	switch (rng_below(p->rng, 4)) {
	case 0: /* in mid-message, or between two */
		terminate(p, at);
		break;
	case 1:
		p->octets[at + n - 1] ^= 1;
		break;
	case 2: /* twice */
		if (open_gap(p, at, n))
			memcpy(p->octets + at, p->octets + at + n, n);
		break;
	default: /* anything else in its header */
		to += rng_below(p->rng, ddp_header_bytes(p->octets[to]));
		p->octets[to] ^= (uint8_t)(1 << rng_below(p->rng, 8));
		right_crc(p, at);
	}
}

/* The FPDU at .sent is whole: what the sender makes of it. Return: whether it is still there. */
static bool spoil(struct pipe *p)
{
	size_t at = p->sent;

	if (will(p, &p->out, MISDEED_ANY_FPDU) && is_write(p, at)) {
		if (rng_below(p->rng, 4) == 0) {
			close_gap(p, at, fpdu_at(p, at));
			return false;
		}
		if (p->last != SIZE_MAX && p->last >= p->from && is_write(p, p->last)) {
			size_t end = at + fpdu_at(p, at);

			swap(p, at);
			p->sent = end;
			return false;
		}
	}
	if (will(p, &p->out, MISDEED_BREAK) && rng_below(p->rng, 20) == 0)
		break_fpdu(p, at);
	return true;
}

/* A Write behind a message: when its end comes, what it went to may be another's. */
static void consider_late(struct pipe *p)
{
	size_t at = p->sent;

	if (!p->delay || p->last == SIZE_MAX || !is_write(p, at) || !is_send(p, p->last))
		return;
	p->delay = false;
	p->late = at;
}

static void take_whole(struct pipe *p, struct fabric_conn *to, const struct net_watcher *w)
{
	while (p->len - p->sent >= FPDU_LEN_BYTES && p->len - p->sent >= fpdu_at(p, p->sent)) {
		show(p, p->sent, to, w);
		if (!spoil(p))
			continue;
		consider_late(p);
		p->last = p->sent;
		p->sent += fpdu_at(p, p->sent);
	}
}

size_t pipe_put(struct pipe *p, const struct iovec *iov, unsigned n, struct fabric_conn *to,
		const struct net_watcher *w)
{
	size_t took = 0, room = pipe_room(p);

	compact(p);
	if (room > PIPE_BYTES - p->len)
		room = PIPE_BYTES - p->len;
	for (unsigned i = 0; i < n && took < room; i++) {
		size_t piece = iov[i].iov_len < room - took ? iov[i].iov_len : room - took;

		memcpy(p->octets + p->len, iov[i].iov_base, piece);
		p->len += piece;
		took += piece;
	}
	take_whole(p, to, w);
	return took;
}

void pipe_end(struct pipe *p, bool reset)
{
	p->fin = true;
	p->reset |= reset;
	p->sent = p->len;
	p->last = p->late = SIZE_MAX;
	p->hold_until = 0;
}

static void follow_begin(struct pipe *p)
{
	while (p->from - p->begin >= FPDU_LEN_BYTES && p->begin + fpdu_at(p, p->begin) <= p->from)
		p->begin += fpdu_at(p, p->begin);
}

/* Up to shortly before the end of an FPDU, whose rest comes much later. */
static size_t cut(struct pipe *p, size_t n, nsec_t now)
{
	size_t end = p->begin, skip = rng_below(p->rng, 3);
	uint32_t rest = rng_below(p->rng, 3) ? 1 + rng_below(p->rng, 4) : 1 + rng_below(p->rng, 40);

	do
		end += fpdu_at(p, end);
	while (skip-- && end + FPDU_LEN_BYTES <= p->sent && end + fpdu_at(p, end) <= p->sent);
	if (end > p->sent || end < p->from + rest + 1)
		return n;
	p->hold_until = now + rng_below(p->rng, 1u << (10 + rng_below(p->rng, 18)));
	return end - rest - p->from;
}

/* All up to a part of that Write's CRC, or of its payload, which comes when there were many other calls. */
static size_t all_but_late(struct pipe *p, nsec_t now)
{
	size_t n = fpdu_at(p, p->late), end = p->late + n - 1;
	uint32_t payload = (uint32_t)n - FPDU_LEN_BYTES - DDP_TAGGED_BYTES - FPDU_CRC_BYTES;

	end -= rng_below(p->rng, FPDU_CRC_BYTES);
	if (rng_below(p->rng, 2))
		end -= rng_below(p->rng, payload + 1);
	p->late = SIZE_MAX;
	if (end <= p->from || end > p->sent)
		return p->sent - p->from;
	p->hold_until = now + rng_below(p->rng, 1u << (15 + rng_below(p->rng, 12)));
	return end - p->from;
}

static bool is_slow(const struct net_pace *t)
{
	return t->take || t->take_octet || t->answer || t->answer_octet || t->say_octet;
}

/* The rest of an FPDU, or an octet of it; then it takes its time until the next. */
static size_t slow_piece(struct pipe *p, nsec_t now)
{
	const struct net_pace *t = &p->pace;
	size_t n = p->begin + fpdu_at(p, p->begin) - p->from;
	bool is_answer = p->octets[p->begin + FPDU_LEN_BYTES] & 0x80 && !is_write(p, p->begin);
	bool is_request = (p->octets[p->begin + FPDU_LEN_BYTES + 1] & 0xf) == RDMAP_READ_REQUEST;

	if (is_request)
		return n;
	if (is_send(p, p->begin) && t->say_octet) {
		p->hold_until = now + t->say_octet;
		return 1;
	}
	p->hold_until =
		now + (is_answer ? t->answer + n * t->answer_octet : t->take + n * t->take_octet);
	return n;
}

size_t pipe_piece(struct pipe *p, nsec_t now)
{
	size_t n = p->sent - p->from;

	if (n == 0 || now < p->hold_until)
		return 0;
	if (is_slow(&p->pace) && !p->fin)
		return slow_piece(p, now);
	if (p->drip) {
		p->drip--;
		return 1;
	}
	if (p->fin)
		return n;
	if (p->late != SIZE_MAX)
		return all_but_late(p, now);
	if (will(p, &p->in, MISDEED_HANG) && rng_below(p->rng, 20) == 0) {
		p->hold_until = now + rng_below(p->rng, 40) * NSEC_PER_SEC;
		return 0;
	}
	if (will(p, &p->out, MISDEED_GATHER)) {
		p->hold_until = now + rng_below(p->rng, 1u << 26);
		return 0;
	}
	if (will(p, &p->out, MISDEED_DRIP))
		p->drip = rng_below(p->rng, 200);
	if (will(p, &p->out, MISDEED_CUT))
		return cut(p, n, now);
	return rng_below(p->rng, 8) ? n : 1 + rng_below(p->rng, (uint32_t)n);
}

void pipe_took(struct pipe *p, size_t n)
{
	p->from += n;
	follow_begin(p);
	if (p->from == p->len)
		p->begin = p->from;
}
