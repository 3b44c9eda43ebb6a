/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress of a leg's Reads and Writes, and how long the peer's input was blocked here; for
 * session_debts.c. */
#include "proxy/session_flow.h"
#include "proxy/internal.h"
#include "proxy/session_debts.h"

/* Operations complete in order. So @f->timed_octets octets are taken when the measured one is. */
uint64_t session_flow_window(const struct session_flow *f, nsec_t now)
{
	if (f->timed && now - f->timed_at > FLOW_TIME)
		return FLOW_WINDOW;
	return f->window ? f->window : OP_PIECE;
}

static nsec_t sample_time(const struct session_flow *f, nsec_t now)
{
	return f->sample_time + (f->posted ? now - f->busy_since : 0);
}

bool session_flow_is_fast(const struct session_flow *f, nsec_t now)
{
	return f->was_fast && sample_time(f, now) <= FLOW_SAMPLE_TIME;
}

/* @octets more were taken. */
static void sampled(struct session_flow *f, uint64_t octets, nsec_t now)
{
	f->sample_time += now - f->busy_since;
	f->busy_since = now;
	f->sample_octets += octets;
	if (f->sample_octets < FLOW_SAMPLE)
		return;
	f->was_fast = f->sample_time <= FLOW_SAMPLE_TIME;
	f->sample_octets = 0;
	f->sample_time = 0;
}

static void measured(struct session_flow *f, nsec_t now)
{
	uint64_t window = session_flow_window(f, now);

	f->timed = 0;
	if (now - f->timed_at <= FLOW_TIME && window < 2 * f->timed_octets)
		window = 2 * f->timed_octets;
	f->window = window;
}

void session_posted(struct session_flow *f, uint32_t bytes, nsec_t now)
{
	if (f->posted == 0)
		f->busy_since = now;
	f->posted++;
	f->octets += bytes;
	if (f->timed)
		return;
	f->timed = f->done + f->posted;
	f->timed_octets = f->octets;
	f->timed_at = now;
}

/* The length of the completed operation is not known, so the average of those outstanding is
 * counted. When all have completed, the sum is right. */
void session_completed(struct session_flow *f, nsec_t now)
{
	uint64_t octets = f->octets / f->posted;

	f->octets -= octets;
	f->posted--;
	f->done++;
	f->moved += octets;
	sampled(f, octets, now);
	if (f->done == f->timed)
		measured(f, now);
}

nsec_t session_blocked_ns(struct session *s, const struct leg *leg)
{
	struct session_ops *ops = session_ops(s, leg);
	nsec_t now = s->proxy->now;

	if (ops->blocked_since != NSEC_NEVER)
		ops->blocked_ns += now - ops->blocked_since;
	ops->blocked_since = leg_input_is_blocked(leg) ? now : NSEC_NEVER;
	return ops->blocked_ns;
}
