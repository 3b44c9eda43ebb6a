/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

#include "base/mem.h"

static const struct contract_provider *provider; /* the one under test */

static void start_side(struct side *s, struct contract *t, int which)
{
	memset(s, 0, sizeof(*s));
	s->t = t;
	s->f = t->fabric[which];
	s->mem = t->mem[which];
	memset(s->last, 0xff, sizeof(s->last));
}

void start_pair(struct contract *t, int i)
{
	struct pair *p = t->pair[i];

	drop(&p->a);
	drop(&p->b);
	start_side(&p->a, t, 0);
	start_side(&p->b, t, 1);
	p->a.peer = &p->b;
	p->b.peer = &p->a;
	p->a.pair = p->b.pair = i;
}

static int start(void **state, bool shares)
{
	uint64_t live = mem_live();
	struct contract *t = mem_zalloc(sizeof(*t));

	t->heap_live = live;
	t->provider = provider;
	t->shares = shares;
	t->provider->start(t);
	for (int i = 0; i < 2; i++) {
		t->mem[i] = mem_zalloc(CONTRACT_MEMORY);
		assert_int_equal(fabric_register(t->fabric[i], t->mem[i], CONTRACT_MEMORY), 0);
		if (shares)
			t->pool[i] = pool_new(t->fabric[i], t->mem[i]);
	}
	for (int i = 0; i < CONTRACT_PAIRS; i++) {
		t->pair[i] = mem_zalloc(sizeof(struct pair));
		start_pair(t, i);
	}
	assert_int_equal(fabric_attach(t->fabric[1], t->listener, t), 0);
	*state = t;
	return 0;
}

int contract_start(void **state)
{
	return start(state, false);
}

int contract_start_shared(void **state)
{
	return start(state, true);
}

int contract_stop(void **state)
{
	struct contract *t = *state;
	uint64_t live = t->heap_live;

	for (int i = 0; i < CONTRACT_PAIRS; i++) {
		drop(&t->pair[i]->a);
		drop(&t->pair[i]->b);
		mem_free(t->pair[i]);
	}
	fabric_detach(t->fabric[1], t->listener);
	for (int i = 0; i < 2; i++) {
		pool_free(t->pool[i]);
		fabric_unregister(t->fabric[i], t->mem[i]);
		mem_free(t->mem[i]);
	}
	t->provider->stop(t);
	mem_free(t);
	assert_int_equal(mem_live(), live);
	return 0;
}

struct fabric_conn_params default_params(void)
{
	return (struct fabric_conn_params){
		.max_recvs = CONTRACT_DEPTH,
		.max_sends = CONTRACT_DEPTH,
		.max_exposures = CONTRACT_EXPOSURES,
	};
}

static void record_setup(struct side *s, const struct fabric_event *ev)
{
	assert_true(ev->private_data.len <= sizeof(s->pd));
	if (ev->private_data.len)
		memcpy(s->pd, ev->private_data.data, ev->private_data.len);
	s->pd_len = ev->private_data.len;
	assert_false(s->disconnected);
	switch (ev->type) {
	case FABRIC_EV_REQUEST:
		assert_false(s->requested);
		s->requested = true;
		s->conn = ev->conn;
		break;
	case FABRIC_EV_CONNECTED:
		assert_false(s->connected);
		assert_ptr_equal(s->conn, ev->conn);
		s->connected = true;
		break;
	default:
		assert_ptr_equal(s->conn, ev->conn);
		assert_int_equal(s->ndone, s->nops);
		s->disconnected = true;
		s->status = ev->status;
	}
}

static void record(struct side *s, const struct fabric_event *ev)
{
	struct op *op = ev->cookie;

	assert_ptr_equal(s->conn, ev->conn);
	assert_false(s->disconnected);
	assert_true(op >= s->ops && op < s->ops + s->nops);
	assert_false(op->done);
	assert_int_equal(op->type, ev->type);
	assert_true(ev->status <= 0);
	assert_true(s->last[op->type] < (int)(op - s->ops));
	s->last[op->type] = (int)(op - s->ops);
	op->done = true;
	op->status = ev->status;
	if (ev->type == FABRIC_EV_RECV && ev->status == 0) {
		assert_true(ev->len <= op->len);
		op->len = ev->len;
		op->invalidated = ev->invalidated;
	}
	if (ev->type == FABRIC_EV_WITHDRAWN && ev->status == 0) {
		assert_int_equal(ev->handle, op->withdrawn);
		s->written = ev->written;
	}
	if (s->stop_at == (int)(op - s->ops) + 1)
		s->placed_at = s->placed;
	s->ndone++;
}

static void record_placed(struct side *s, const struct fabric_event *ev)
{
	assert_ptr_equal(s->conn, ev->conn);
	assert_false(s->disconnected);
	assert_ptr_equal(ev->cookie, &s->placed);
	assert_int_not_equal(s->streamed, 0);
	assert_int_equal(ev->handle, s->streamed);
	assert_int_equal(ev->status, 0);
	assert_true(ev->len > 0 && ev->offset < s->stream_len &&
		    ev->len <= s->stream_len - ev->offset);
	memcpy(s->mem + s->shadow + ev->offset, ev->at, ev->len);
	if (s->nheld < FABRIC_STREAM_PIECES) {
		s->held_at[s->nheld] = ev->at;
		s->held[s->nheld++] = ev->len;
	} else {
		assert_ptr_equal(ev->at, s->held_at[s->nheld - 1] + s->held[s->nheld - 1]);
		s->held[s->nheld - 1] += ev->len;
	}
	s->placed += ev->len;
	s->nplaced++;
	if (!s->keeps)
		give_back(s);
}

static struct side *side_of(struct contract *t, const struct fabric_event *ev)
{
	return ev->conn->owner == t ? &t->pair[t->next_request]->b : ev->conn->owner;
}

static void dispatch(struct contract *t, struct pool *pool, const struct fabric_event *ev)
{
	switch (ev->type) {
	case FABRIC_EV_REQUEST:
		assert_ptr_equal(ev->conn->owner, t);
		assert_in_range(t->next_request, 0, CONTRACT_PAIRS - 1);
		/* Until accept its owner is the attachment's: find it by number. */
		record_setup(&t->pair[t->next_request]->b, ev);
		break;
	case FABRIC_EV_CONNECTED:
	case FABRIC_EV_DISCONNECTED:
		if (ev->conn->owner == t)
			record_setup(&t->pair[t->next_request]->b, ev);
		else
			record_setup(ev->conn->owner, ev);
		break;
	case FABRIC_EV_RECV:
		if (pool && !(ev->conn && side_of(t, ev)->has_own)) {
			pool_record(pool, ev);
			break;
		}
		/* fall through */
	default:
		if (ev->type == FABRIC_EV_PLACED)
			record_placed(side_of(t, ev), ev);
		else
			record(side_of(t, ev), ev);
	}
}

void pump(struct contract *t)
{
	struct fabric_event ev;
	int got;

	do {
		got = 0;
		for (int i = 0; i < 2; i++) {
			if (t->pool[i])
				pool_refill(t->pool[i]);
			fabric_flush(t->fabric[i]);
			while (!t->deaf[i] && fabric_poll(t->fabric[i], &ev)) {
				dispatch(t, t->pool[i], &ev);
				got = 1;
			}
		}
	} while (got);
}

void settle(struct contract *t)
{
	unsigned idle = 0;

	while (idle < t->provider->timeout) {
		pump(t);
		idle = t->provider->step(t) ? 0 : idle + 1;
	}
	pump(t);
}

void until(struct contract *t, const bool *flag)
{
	unsigned idle = 0;

	for (pump(t); !*flag && idle < 150 * t->provider->timeout; pump(t))
		idle = t->provider->step(t) ? 0 : idle + 1;
	assert_true(*flag);
}

struct pair *begin(struct contract *t, int i, const struct fabric_conn_params *params)
{
	struct pair *p = t->pair[i];

	t->next_request = i;
	assert_int_equal(fabric_connect(t->fabric[0], &t->addr, params, &p->a, &p->a.conn), 0);
	until(t, &p->b.requested);
	return p;
}

struct pair *establish_prepared(struct contract *t, int i, uint32_t len, int *recv)
{
	struct fabric_conn_params params = default_params();
	struct pair *p = begin(t, i, &params);

	assert_int_equal(fabric_prepare(p->b.conn, &params), 0);
	*recv = do_recv(&p->b, 0, len);
	assert_true(*recv >= 0);
	assert_int_equal(fabric_accept(p->b.conn, &params, &p->b), 0);
	until(t, &p->a.connected);
	return p;
}

void greet(struct pair *p)
{
	int r;

	if (p->b.t->shares) {
		succeed(&p->a, say(&p->a, 0));
		hear(&p->b, 1);
		return;
	}
	r = do_recv(&p->b, 0, 0);
	pump(p->a.t);
	succeed(&p->a, do_send(&p->a, 0, 0));
	succeed(&p->b, r);
	p->a.nops = p->a.ndone = p->b.nops = p->b.ndone = 0;
	memset(p->a.last, 0xff, sizeof(p->a.last));
	memset(p->b.last, 0xff, sizeof(p->b.last));
}

struct pair *establish(struct contract *t, int i)
{
	struct fabric_conn_params params = default_params();
	struct pair *p;

	params.domain = (uint32_t)i;
	p = begin(t, i, &params);
	assert_int_equal(fabric_accept(p->b.conn, &params, &p->b), 0);
	until(t, &p->a.connected);
	until(t, &p->b.connected);
	greet(p);
	return p;
}

void both_end(struct contract *t, struct pair *p)
{
	until(t, &p->a.disconnected);
	until(t, &p->b.disconnected);
}

void drop(struct side *s)
{
	if (s->conn)
		fabric_destroy(s->conn);
	s->conn = NULL;
}

const struct op *done(struct side *s, int n)
{
	assert_in_range(n, 0, s->nops - 1);
	until(s->t, &s->ops[n].done);
	return &s->ops[n];
}

const struct op *succeed(struct side *s, int n)
{
	const struct op *op = done(s, n);

	assert_int_equal(op->status, 0);
	return op;
}

uint32_t fence(struct side *s, uint32_t handle)
{
	int n = do_withdraw(s, handle);

	if (n >= 0)
		succeed(s, n);
	else
		assert_int_equal(n, -1);
	return s->written;
}

void barrier(struct contract *t, struct side *from, struct side *to)
{
	int r = do_recv(to, CONTRACT_MEMORY - 8, 8);

	pump(t);
	do_send(from, CONTRACT_MEMORY - 16, 8);
	succeed(to, r);
}

const struct contract_provider *contract_provider_now(void)
{
	return provider;
}

static const struct {
	const char *name;
	int (*run)(void);
} groups[] = {
	{"setup", contract_run_setup},
	{"message", contract_run_message},
	{"pieces", contract_run_pieces},
	{"rdma", contract_run_rdma},
	{"written", contract_run_written},
	{"placed", contract_run_placed},
	{"access", contract_run_access},
	{"end", contract_run_end},
	{"soak", contract_run_soak},
	{"shared", contract_run_shared},
	{"shared_end", contract_run_shared_end},
	{"shared_soak", contract_run_shared_soak},
};

/* Whether the command line names @group, or no group. */
static bool is_wanted(const char *group, int argc, char **argv)
{
	if (provider->access_alone && strcmp(group, "access"))
		return false;
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], group) == 0)
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (unsigned i = 0; (provider = contract_providers[i]); i++) {
		printf("contract of fabric.h: %s\n", provider->name);
		for (unsigned k = 0; k < sizeof(groups) / sizeof(groups[0]); k++)
			if (is_wanted(groups[k].name, argc, argv))
				failed += groups[k].run();
	}
	return failed ? 1 : 0;
}
