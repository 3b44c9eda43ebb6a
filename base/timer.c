/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A binary heap without an array: timers are linked as a tree. The binary digits of a place's
 * number, from the second on, are the way to it from the top. So the tree is always balanced, and
 * no call costs more than its depth.
 */
#include "base/timer.h"

void timer_queue_init(struct timer_queue *q)
{
	*q = (struct timer_queue){0};
}

void timer_init(struct timer *t, void (*fire)(struct timer *t, nsec_t now))
{
	*t = (struct timer){.fire = fire, .at = NSEC_NEVER};
}

static bool is_before(const struct timer *a, const struct timer *b)
{
	return a->key < b->key || (a->key == b->key && a->turn < b->turn);
}

/* The pointer to place @n, counted from 1; all places before it are taken. */
static struct timer **place(struct timer_queue *q, size_t n, struct timer **up)
{
	struct timer **link = &q->first;

	*up = NULL;
	for (int bit = 62 - __builtin_clzll(n); bit >= 0; bit--) {
		q->steps++;
		*up = *link;
		link = &(*link)->down[n >> bit & 1];
	}
	return link;
}

static struct timer **link_of(struct timer_queue *q, const struct timer *t)
{
	return t->up ? &t->up->down[t->up->down[1] == t] : &q->first;
}

static void hang(struct timer *t, struct timer *below, unsigned side)
{
	t->down[side] = below;
	if (below)
		below->up = t;
}

/* Swaps @t with its parent. */
static void rise(struct timer_queue *q, struct timer *t)
{
	struct timer *up = t->up, *left = t->down[0], *right = t->down[1];
	unsigned side = up->down[1] == t;

	q->steps++;
	*link_of(q, up) = t;
	t->up = up->up;
	hang(t, up->down[!side], !side);
	hang(t, up, side);
	hang(up, left, 0);
	hang(up, right, 1);
}

static struct timer *first_below(const struct timer *t)
{
	struct timer *left = t->down[0], *right = t->down[1];

	return right && is_before(right, left) ? right : left;
}

/* The key of @t has changed: moves it up or down to its place. */
static void settle(struct timer_queue *q, struct timer *t)
{
	struct timer *below;

	while (t->up && is_before(t, t->up))
		rise(q, t);
	while ((below = first_below(t)) && is_before(below, t))
		rise(q, below);
}

static void set_key(struct timer_queue *q, struct timer *t)
{
	t->key = t->at;
	t->turn = q->turn++;
}

void timer_arm(struct timer_queue *q, struct timer *t, nsec_t at)
{
	bool armed = timer_is_armed(t);

	if (at == NSEC_NEVER) {
		timer_disarm(q, t);
		return;
	}
	t->at = at;
	if (armed && t->key <= at)
		return;
	set_key(q, t);
	if (!armed) {
		t->down[0] = t->down[1] = NULL;
		*place(q, ++q->n, &t->up) = t;
	}
	settle(q, t);
}

void timer_take_out(struct timer_queue *q, struct timer *t)
{
	struct timer **link, *last, *up;

	link = place(q, q->n--, &up);
	last = *link;
	*link = NULL;
	if (last != t) {
		*link_of(q, t) = last;
		last->up = t->up;
		hang(last, t->down[0], 0);
		hang(last, t->down[1], 1);
		settle(q, last);
	}
	t->at = NSEC_NEVER;
	t->up = t->down[0] = t->down[1] = NULL;
}

bool timer_run(struct timer_queue *q, nsec_t now, unsigned most)
{
	while (timer_next(q) <= now && q->first) {
		struct timer *t = q->first;

		if (most-- == 0)
			return true;
		q->steps++;
		if (t->at > now) { /* put off since then */
			set_key(q, t);
			settle(q, t);
			continue;
		}
		timer_disarm(q, t);
		t->fire(t, now);
	}
	return false;
}
