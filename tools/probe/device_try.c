/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * There are two instances on one device. One connects to the other as often as a trial needs it. A
 * trial ends its connections, because most of them end with a breach. The result is read at the
 * side that is written to, read from, or sent to: in its memory, and in its events.
 */
#include "tools/probe/device_try.h"

#include <string.h>

#include "base/mem.h"
#include "daemon/loop.h"

enum {
	OCTETS = 256 * 1024, /* registered memory of each side */
	RECEIVE = 4096,
	RECEIVES = 4, /* of each connection, or shared; at the end of the memory */
	REGION = 8192,
	AT = 4096, /* offset of the exposed memory */
	PAIRS = 2,
	DEPTH = 16,
	PIECE = 100,
	BEYOND = 64, /* more octets than a device might round a region up to */
};

/** struct tried - one end of a connection, and its events. */
struct tried {
	struct fabric_conn *conn;
	bool up, ended;
	unsigned done[FABRIC_EV_RECV_LIMITED + 1], failed;
	const uint8_t *message; /* received last */
	uint32_t len, invalidated;
};

struct bench {
	struct loop *loop;
	nsec_t timeout;
	struct fabric *fabric[2]; /* [0] connects to [1] */
	uint8_t *memory[2];
	struct fabric_listener *listener;
	struct fabric_addr at;
	struct tried a[PAIRS], b[PAIRS];
	struct tried *next; /* the end whose connection request is awaited */
	bool shares;
	bool posted[RECEIVES]; /* of the shared Receives */
};

/* Address of Receive @i of a side. */
static uint8_t *receive_at(const struct bench *w, int side, unsigned i)
{
	return w->memory[side] + OCTETS - (size_t)(i + 1) * RECEIVE;
}

static void bench_took(struct bench *w, const struct fabric_event *ev)
{
	for (unsigned i = 0; w->shares && i < RECEIVES; i++)
		if (ev->cookie == receive_at(w, 1, i))
			w->posted[i] = false;
}

static void bench_note(struct bench *w, const struct fabric_event *ev)
{
	struct tried *e = ev->conn ? ev->conn->owner : NULL;

	if (ev->type == FABRIC_EV_REQUEST) {
		w->next->conn = ev->conn;
		return;
	}
	if (ev->type == FABRIC_EV_RECV)
		bench_took(w, ev);
	if (!e)
		return;
	if (ev->type == FABRIC_EV_CONNECTED) {
		e->up = true;
	} else if (ev->type == FABRIC_EV_DISCONNECTED) {
		e->ended = true;
	} else {
		e->done[ev->type]++;
		e->failed += ev->status != 0;
		if (ev->type == FABRIC_EV_RECV && ev->status == 0) {
			e->message = ev->cookie;
			e->len = ev->len;
			e->invalidated = ev->invalidated;
		}
	}
}

static void bench_refill(struct bench *w)
{
	uint32_t n = w->shares ? fabric_receives_wanted(w->fabric[1]) : 0;

	for (unsigned i = 0; n && i < RECEIVES; i++) {
		uint8_t *at = receive_at(w, 1, i);

		if (w->posted[i])
			continue;
		if (fabric_post_shared(w->fabric[1], at, at))
			return;
		w->posted[i] = true;
		n--;
	}
}

static nsec_t bench_turn(struct bench *w)
{
	struct fabric_event ev;
	nsec_t due = NSEC_NEVER;

	bench_refill(w);
	for (int i = 0; i < 2; i++) {
		fabric_flush(w->fabric[i]);
		while (fabric_poll(w->fabric[i], &ev))
			bench_note(w, &ev);
		fabric_tick(w->fabric[i], loop_now());
		due = nsec_min(due, fabric_deadline(w->fabric[i]));
	}
	return due;
}

/* Wait. Return: whether *@count reached @n before *@ended was set. */
static bool until(struct bench *w, const unsigned *count, unsigned n, const bool *ended)
{
	nsec_t end = loop_now() + w->timeout;

	while (*count < n && !*ended && loop_now() < end) {
		nsec_t due = nsec_min(bench_turn(w), loop_now() + 10 * NSEC_PER_MS);

		if (*count < n && !*ended && loop_run_once(w->loop, due))
			return false;
	}
	return *count >= n;
}

static bool until_true(struct bench *w, const bool *flag)
{
	nsec_t end = loop_now() + w->timeout;

	while (!*flag && loop_now() < end) {
		nsec_t due = nsec_min(bench_turn(w), loop_now() + 10 * NSEC_PER_MS);

		if (!*flag && loop_run_once(w->loop, due))
			return false;
	}
	return *flag;
}

static const struct fabric_conn_params bench_params = {
	.max_recvs = RECEIVES, .max_sends = DEPTH, .max_exposures = DEPTH};

static bool bench_receive(struct bench *w, int side, struct fabric_conn *c)
{
	for (unsigned i = 0; i < RECEIVES; i++)
		if (fabric_post_recv(c, receive_at(w, side, i), RECEIVE, receive_at(w, side, i)))
			return false;
	return true;
}

static bool bench_accept(struct bench *w, struct tried *b, const struct fabric_conn_params *p)
{
	if (fabric_prepare(b->conn, p) || (!w->shares && !bench_receive(w, 1, b->conn)))
		return false;
	bench_refill(w);
	fabric_flush(w->fabric[1]);
	return fabric_accept(b->conn, p, b) == 0;
}

static bool has_conn(struct bench *w, const struct tried *b)
{
	nsec_t end = loop_now() + w->timeout;

	while (!b->conn && !w->a[b - w->b].ended && loop_now() < end)
		if (loop_run_once(w->loop, nsec_min(bench_turn(w), loop_now() + 10 * NSEC_PER_MS)))
			return false;
	return b->conn != NULL;
}

/* Connect pair @i in @domain, and exchange a message. */
static bool bench_open(struct bench *w, unsigned i, uint32_t domain)
{
	struct fabric_conn_params p = bench_params;
	struct tried *a = &w->a[i], *b = &w->b[i];
	struct fabric_sge none = {w->memory[0], 1};

	p.domain = domain;
	*a = *b = (struct tried){.conn = NULL};
	w->next = b;
	if (fabric_connect(w->fabric[0], &w->at, &p, a, &a->conn) ||
	    !bench_receive(w, 0, a->conn) || !has_conn(w, b) || !bench_accept(w, b, &p) ||
	    !until_true(w, &a->up))
		return false;
	return fabric_send(a->conn, &none, 1, 0, NULL) == 0 &&
	       until(w, &b->done[FABRIC_EV_RECV], 1, &b->ended) && !b->failed;
}

static void bench_close(struct bench *w)
{
	for (int i = 0; i < PAIRS; i++) {
		if (w->a[i].conn)
			fabric_destroy(w->a[i].conn);
		if (w->b[i].conn)
			fabric_destroy(w->b[i].conn);
		w->a[i].conn = w->b[i].conn = NULL;
	}
}

static void pattern(uint8_t *at, size_t len, unsigned key)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)(i * 7 + i / 251 + key);
}

static bool is_pattern(const uint8_t *at, size_t len, unsigned key)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] != (uint8_t)(i * 7 + i / 251 + key))
			return false;
	return true;
}

/* Send a message of @n pieces, in order, each of PIECE octets and far from the others. */
static bool say_pieces(struct bench *w, unsigned n, unsigned key)
{
	struct fabric_sge sge[FABRIC_MAX_SGE];
	struct tried *b = &w->b[0];
	unsigned heard = b->done[FABRIC_EV_RECV];
	uint8_t whole[FABRIC_MAX_SGE * PIECE];

	pattern(whole, (size_t)n * PIECE, key);
	for (unsigned i = 0; i < n; i++) {
		uint8_t *at = w->memory[0] + (size_t)i * 4096;

		memcpy(at, whole + (size_t)i * PIECE, PIECE);
		sge[i] = (struct fabric_sge){at, PIECE};
	}
	return fabric_send(w->a[0].conn, sge, n, 0, NULL) == 0 &&
	       until(w, &b->done[FABRIC_EV_RECV], heard + 1, &b->ended) && b->len == n * PIECE &&
	       is_pattern(b->message, (size_t)n * PIECE, key);
}

/* An exposure is valid when a message sent behind it has arrived. */
static bool expose_at(struct bench *w, const struct tried *b, unsigned access, struct segment *seg)
{
	struct fabric_sge none = {receive_at(w, 1, 0), 1};
	struct tried *a = &w->a[b - w->b];
	unsigned heard = a->done[FABRIC_EV_RECV];

	memset(w->memory[1], 0xee, OCTETS - (size_t)RECEIVES * RECEIVE);
	return fabric_expose(b->conn, w->memory[1] + AT, REGION, access, seg) == 0 &&
	       fabric_send(b->conn, &none, 1, 0, NULL) == 0 &&
	       until(w, &a->done[FABRIC_EV_RECV], heard + 1, &a->ended) && !a->failed;
}

static bool is_untouched(const struct bench *w, size_t at, size_t len)
{
	for (size_t i = at; i < at + len; i++)
		if (w->memory[1][i] != 0xee)
			return false;
	return true;
}

static enum trial as_trial(bool yes)
{
	return yes ? TRIAL_YES : TRIAL_NO;
}

static enum trial try_messages(struct bench *w)
{
	if (!bench_open(w, 0, 0))
		return TRIAL_NO;
	/* The smallest usable device has two pieces. */
	return as_trial(say_pieces(w, 1, 1) && say_pieces(w, 2, 2));
}

/* Return: whether the Write of @len octets completed, and a message behind it arrived. */
static bool write_to(struct bench *w, struct tried *a, struct tried *b, const struct segment *to,
		     uint32_t len)
{
	struct fabric_sge sge = {w->memory[0], len}, none = {w->memory[0], 1};
	unsigned heard = b->done[FABRIC_EV_RECV];

	if (fabric_write(a->conn, &sge, 1, to, NULL) || fabric_send(a->conn, &none, 1, 0, NULL))
		return false;
	return until(w, &b->done[FABRIC_EV_RECV], heard + 1, &b->ended) && !b->failed;
}

static enum trial try_write(struct bench *w)
{
	struct segment seg;

	pattern(w->memory[0], REGION, 3);
	if (!bench_open(w, 0, 0) || !expose_at(w, &w->b[0], FABRIC_REMOTE_WRITE, &seg))
		return TRIAL_NO;
	return as_trial(write_to(w, &w->a[0], &w->b[0], &seg, REGION) &&
			is_pattern(w->memory[1] + AT, REGION, 3) && is_untouched(w, 0, AT) &&
			is_untouched(w, AT + REGION, AT));
}

static enum trial try_read(struct bench *w)
{
	struct tried *a = &w->a[0];
	struct segment seg;

	if (!bench_open(w, 0, 0) || !expose_at(w, &w->b[0], FABRIC_REMOTE_READ, &seg))
		return TRIAL_NO;
	pattern(w->memory[1] + AT, REGION, 4);
	memset(w->memory[0], 0, REGION);
	return as_trial(fabric_read(a->conn, w->memory[0], &seg, NULL) == 0 &&
			until(w, &a->done[FABRIC_EV_READ], 1, &a->ended) && !a->failed &&
			is_pattern(w->memory[0], REGION, 4));
}

/* Return: whether @a reached an octet that it must not reach. */
static bool reaches(struct bench *w, struct tried *a, struct tried *b, const struct segment *to,
		    size_t at)
{
	bool through = write_to(w, a, b, to, BEYOND);

	return through || !is_untouched(w, at, BEYOND);
}

static enum trial try_bounds(struct bench *w)
{
	struct segment seg;

	if (!bench_open(w, 0, 0) || !expose_at(w, &w->b[0], FABRIC_REMOTE_WRITE, &seg))
		return TRIAL_NO;
	seg.offset += REGION;
	return as_trial(!reaches(w, &w->a[0], &w->b[0], &seg, AT + REGION));
}

static bool withdraw(struct bench *w, struct tried *b, const struct segment *seg)
{
	int pending = fabric_withdraw(b->conn, seg->handle, NULL, NULL);

	return pending == 1 ||
	       (pending == 0 && until(w, &b->done[FABRIC_EV_WITHDRAWN], 1, &b->ended) &&
		!b->failed);
}

static enum trial try_fence(struct bench *w)
{
	struct segment seg;

	if (!bench_open(w, 0, 0) || !expose_at(w, &w->b[0], FABRIC_REMOTE_WRITE, &seg) ||
	    !withdraw(w, &w->b[0], &seg))
		return TRIAL_NO;
	return as_trial(!reaches(w, &w->a[0], &w->b[0], &seg, AT));
}

/* Use a handle of the first connection on the second one, in @domain. */
static enum trial try_foreign(struct bench *w, uint32_t domain)
{
	struct segment seg;

	if (!bench_open(w, 0, 0) || !bench_open(w, 1, domain) ||
	    !expose_at(w, &w->b[0], FABRIC_REMOTE_WRITE, &seg) ||
	    /* On its own connection the handle works. */
	    !write_to(w, &w->a[0], &w->b[0], &seg, 1))
		return TRIAL_NOT_TRIED;
	seg.offset += BEYOND;
	return as_trial(!reaches(w, &w->a[1], &w->b[1], &seg, AT + BEYOND));
}

static enum trial try_invalidate(struct bench *w)
{
	struct fabric_sge none = {w->memory[0], 1};
	struct tried *a = &w->a[0], *b = &w->b[0];
	struct segment seg;

	/* the rxe kernel driver might not survive an invalidation without a window */
	if (!w->fabric[1]->remote_inv)
		return TRIAL_NOT_TRIED;
	if (!bench_open(w, 0, 0) || !expose_at(w, b, FABRIC_REMOTE_WRITE, &seg))
		return TRIAL_NO;
	return as_trial(fabric_send(a->conn, &none, 1, seg.handle, NULL) == 0 &&
			until(w, &b->done[FABRIC_EV_RECV], 2, &b->ended) &&
			b->invalidated == seg.handle);
}

static bool bench_init(struct bench *w, const char *device, bool shares)
{
	struct verbs_config cfg;
	int err;

	verbs_config_default(&cfg);
	cfg.only = device;
	cfg.receives = shares ? VERBS_RECEIVES_SHARED : VERBS_RECEIVES_OWN;
	cfg.setup_timeout_ms = (uint32_t)(w->timeout / NSEC_PER_MS);
	for (int i = 0; i < 2; i++) {
		w->fabric[i] = verbs_new(&cfg, w->loop);
		w->memory[i] = mem_zalloc(OCTETS);
		if (!w->fabric[i] || !w->memory[i] ||
		    fabric_register(w->fabric[i], w->memory[i], OCTETS))
			return false;
	}
	w->shares = shares && fabric_share_receives(w->fabric[1], RECEIVE, w) == 0;
	w->listener = verbs_listen(&w->at, &err);
	if (!w->listener || fabric_attach(w->fabric[1], w->listener, NULL))
		return false;
	verbs_listener_addr(w->listener, &w->at);
	return !shares || w->shares;
}

static void bench_fini(struct bench *w)
{
	bench_close(w);
	if (w->listener && w->fabric[1])
		fabric_detach(w->fabric[1], w->listener);
	if (w->shares && w->fabric[1])
		fabric_unshare_receives(w->fabric[1]);
	for (int i = 0; i < 2; i++) {
		if (w->fabric[i])
			fabric_free(w->fabric[i]);
		mem_free(w->memory[i]);
	}
	verbs_listener_free(w->listener);
}

static void try_rest(struct device_trials *t, struct bench *w)
{
	t->messages = try_messages(w);
	bench_close(w);
	t->written = try_write(w);
	bench_close(w);
	t->read = try_read(w);
	bench_close(w);
	t->bounded = try_bounds(w);
	bench_close(w);
	t->fenced = try_fence(w);
	bench_close(w);
	t->connection_alone = try_foreign(w, 0);
	bench_close(w);
	t->domain_alone = try_foreign(w, 1);
	bench_close(w);
	t->invalidated = try_invalidate(w);
	bench_close(w);
}

void device_try(struct device_trials *t, struct loop *loop, const char *device,
		const struct fabric_addr *at, nsec_t timeout)
{
	struct bench own = {.loop = loop, .timeout = timeout, .at = *at}, shared = own;

	*t = (struct device_trials){.connects = TRIAL_NO};
	if (bench_init(&own, device, false))
		t->connects = as_trial(bench_open(&own, 0, 0));
	bench_close(&own);
	if (t->connects == TRIAL_YES)
		try_rest(t, &own);
	bench_fini(&own);
	if (t->connects != TRIAL_YES)
		return;
	t->shares =
		as_trial(bench_init(&shared, device, true) && try_messages(&shared) == TRIAL_YES);
	bench_fini(&shared);
}
