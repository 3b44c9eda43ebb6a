/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/recvq.h"

#include <assert.h>

#include "base/mem.h"
#include "fabric/iwarp/sums.h"

enum { LEAST = 32, MOST = 1024 };

int recvq_init(struct recvq *q, uint32_t len)
{
	*q = (struct recvq){.len = len, .left = UINT32_MAX};
	q->all = mem_zalloc(MOST * sizeof(*q->all));
	if (!q->all)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < MOST; i++) {
		q->all[i].next = q->free;
		q->free = &q->all[i];
	}
	fabric_depth_init(&q->depth, LEAST, MOST);
	return 0;
}

void recvq_fini(struct recvq *q)
{
	assert(q->depth.promised == 0);
	mem_free(q->all);
	*q = (struct recvq){0};
}

void recvq_promise(struct recvq *q, uint32_t n)
{
	q->depth.promised += n;
	if (n > q->window)
		q->window = n;
}

void recvq_release_promise(struct recvq *q, uint32_t n)
{
	assert(q->depth.promised >= n);
	q->depth.promised -= n;
}

uint32_t recvq_wanted(const struct recvq *q)
{
	return fabric_depth_missing(&q->depth, q->held);
}

/* The last posted is taken first, because its memory is in the CPU's cache. */
static void recvq_push(struct recvq *q, struct qp_recv *r)
{
	r->next = q->first;
	q->first = r;
	q->posted++;
}

int recvq_post(struct recvq *q, void *buf, void *cookie)
{
	struct qp_recv *r = q->free;

	if (!r)
		return ERR_AGAIN;
	q->free = r->next;
	r->buf = buf;
	r->len = q->len;
	r->done.cookie = cookie;
	recvq_push(q, r);
	q->held++;
	return 0;
}

struct qp_recv *recvq_take(struct recvq *q)
{
	struct qp_recv *r = q->first;

	if (!r) {
		fabric_depth_low(&q->depth);
		return NULL;
	}
	q->first = r->next;
	q->posted--;
	fabric_depth_see(&q->depth, q->posted);
	return r;
}

static void drop_sums(struct qp_recv *r)
{
	sums_give(r->sums);
	r->sums = NULL;
}

void recvq_return(struct recvq *q, struct qp_recv *r)
{
	drop_sums(r);
	recvq_push(q, r);
}

void recvq_forget(struct recvq *q, struct qp_recv *r)
{
	r->next = q->free;
	q->free = r;
	q->held--;
}

/* Returns @n posted Receives to the user. */
static void hand_back(struct recvq *q, uint32_t n)
{
	while (n-- > 0 && q->first) {
		struct qp_recv *r = recvq_take(q);

		r->next = q->back;
		q->back = r;
	}
}

bool recvq_period(struct recvq *q)
{
	uint32_t want;

	fabric_depth_see(&q->depth, q->posted);
	fabric_depth_period(&q->depth);
	want = q->depth.want < q->depth.promised ? q->depth.want : q->depth.promised;
	if (q->held > want)
		hand_back(q, q->held - want);
	return want > LEAST;
}

bool recvq_next_back(struct recvq *q, void **cookie)
{
	struct qp_recv *r = q->back;

	if (!r)
		return false;
	q->back = r->next;
	*cookie = r->done.cookie;
	recvq_forget(q, r);
	return true;
}
