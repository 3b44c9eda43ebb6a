/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/isolation/taint.h"

#include <string.h>

#include "rpc/msg.h"
#include "rtrext/message.h"
#include "v1/header.h"
#include "v2/header.h"
#include "v2early/header.h"

/* As many octets of one mark in a row are no accident. Between two segments' handles there is a
 * length with at least one octet of zero: the longest row of random octets has 15. */
enum { RUN = 16 };

static bool defect(struct taint_defect *d, const char *what, struct view in, size_t at)
{
	size_t n = in.len - at < sizeof(d->octets) ? in.len - at : sizeof(d->octets);

	*d = (struct taint_defect){.what = what, .at = at, .len = in.len};
	memcpy(d->octets, in.data + at, n);
	return false;
}

/* In bit 7 of each octet: whether one of its upper four is set, and all others are clear. */
static uint64_t any_of_upper(uint64_t upper)
{
	return (upper | upper << 1 | upper << 2 | upper << 3) & 0x8080808080808080u;
}

/* Whether an octet of @word has a mark, and not that of @own. */
static uint64_t others_in(uint64_t word, uint64_t own)
{
	uint64_t upper = word & mark_word(MARKS - 1, 0);

	return any_of_upper(upper) & any_of_upper(upper ^ own);
}

/* By far the most of a town's time goes into this loop. */
static bool has_others(unsigned mark, struct view data)
{
	const uint64_t own = mark_word(mark, 0);
	uint64_t word[8], other = 0;
	size_t at = 0;

	for (; at + sizeof(word) <= data.len && !other; at += sizeof(word)) {
		memcpy(word, data.data + at, sizeof(word));
		for (unsigned i = 0; i < 8; i++)
			other |= others_in(word[i], own);
	}
	for (; at < data.len; at++)
		other |= others_in(data.data[at], own & 0xff);
	return other;
}

bool taint_data(unsigned mark, struct view data, struct taint_defect *d)
{
	size_t i = 0;

	if (!has_others(mark, data))
		return true;
	while (data.data[i] >> 4 == mark || data.data[i] >> 4 == MARK_NONE)
		i++;
	return defect(d, "payload that is not the session's", data, i);
}

bool taint_has(unsigned mark, struct view octets)
{
	unsigned run = 0;

	for (size_t i = 0; i < octets.len && run < RUN; i++)
		run = (unsigned)octets.data[i] >> 4 == mark ? run + 1 : 0;
	return run == RUN;
}

static bool header(unsigned mark, struct view in, struct taint_defect *d)
{
	unsigned seen = MARK_NONE, run = 0;

	for (size_t i = 0; i < in.len; i++) {
		unsigned m = in.data[i] >> 4;

		run = m == seen ? run + 1 : 1;
		seen = m;
		if (run == RUN && m != MARK_NONE && m != mark)
			return defect(d, "a header with another session's octets", in, i + 1 - RUN);
	}
	return true;
}

/* The round-trip extension: all behind the header is payload stream, zeros and data. So decodes that of draft -07. */
static bool option(struct rpc_msg *m, const struct early_header *h)
{
	if (h->opttype != RTR_REQUEST && h->opttype != RTR_RESPONSE && h->opttype != RTR_CONTINUE)
		return false;
	rpc_msg_reset(m, h->xid, h->optdir);
	m->body[0] = h->payload;
	m->nbody = 1;
	return true;
}

/* Return: whether @m was filled: @in is a call, a reply, or a part of one. */
static bool decode(struct rpc_msg *m, struct view in)
{
	struct v1_header h1;
	struct early_header h;
	struct v2_hdr h2;
	enum rpc_dir dir = RPC_CALL;
	struct rpc_error fault;
	bool dir_known;

	if (v1_header_decode(&h1, m, &dir_known, in) == 0)
		return h1.proc == V1_MSG || h1.proc == V1_NOMSG;
	if (early_is_first(in) && early_header_decode(&h, m, &dir, in) == 0)
		return h.proc != EARLY_OPTIONAL || option(m, &h);
	if (v2_prefix_decode(&h2, in) < 0 || h2.vers != V2_VERSION ||
	    v2_decode(&h2, m, in, RPC_MAX_SEGMENTS, &fault) < 0)
		return false;
	return (v2_type_find(h2.htype)->flags & V2_IS_CONTROL) == 0;
}

bool taint_message(unsigned *mark, struct view in, struct taint_defect *d)
{
	static struct rpc_msg m;
	size_t head = in.len;

	rpc_msg_reset(&m, 0, RPC_CALL);
	if (!decode(&m, in))
		return header(*mark, in, d);
	if (*mark == MARK_NONE)
		*mark = mark_of_xid(m.xid);
	if (!taint_data(*mark, view_of(in.data, 4), d)) {
		d->what = "another session's XID";
		return false;
	}
	for (unsigned i = 0; i < m.nbody; i++) {
		if (!taint_data(*mark, m.body[i], d))
			return false;
		head = m.body[0].len ? (size_t)(m.body[0].data - in.data) : head;
	}
	return header(*mark, view_of(in.data, head), d);
}
