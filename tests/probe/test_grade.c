/* SPDX-License-Identifier: BSD-2-Clause */
/* Every grade can be lost: a valid client, with a defect put in on the way. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/hostauth/pair.h"
#include "tests/probe/world.h"

enum {
	V1_MSG_T = 0,
	ERROR_T = 4,
	GRANT_T = 5,
	MIDDLE_PROP_T = 6,
	FINAL_T = 7,
	CALL_T = 10,
	REPLY_T = 13,
};

#define ON(way_, version_, type_, action_, ...)                                                    \
	{                                                                                          \
		.way = way_, .version = version_, .type = type_, .action = action_, ##__VA_ARGS__  \
	}

/* clang-format off */
static const struct row {
	enum grade grade;
	unsigned version; /* of the client: leg_version */
	struct rule rules[2];
	bool provoke;
	unsigned spoken;      /* by the listener; 0: both */
	uint32_t pdata_flags; /* if not 0 */
	const char *own, *client, *wrong; /* names of both ends, and the name that the client has instead */
	enum misdeed misdeed;
} rows[] = {
	{.grade = GRADE_PDATA, .version = 1, .pdata_flags = 0x41},
	{.grade = GRADE_FIRST_SIZE, .version = 1, .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_LENGTH, .value = 1028, .once = true)}},
	{.grade = GRADE_FIRST_SIZE, .version = 2, .rules = {ON(WAY_IN, 2, FINAL_T, ACT_LENGTH, .value = 1028)}},
	{.grade = GRADE_FIRST_ALONE, .version = 2, .rules = {ON(WAY_IN, 2, FINAL_T, ACT_GRANT, .value = 1)}},
	{.grade = GRADE_VERSION_KEPT, .version = 1, .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_SET, .at = 1, .value = 2, .skip = 5, .once = true)}},
	{.grade = GRADE_VERSION_KEPT, .version = 2, .rules = {ON(WAY_IN, 2, CALL_T, ACT_SET, .at = 1, .value = 1, .skip = 5, .once = true)}},
	{.grade = GRADE_VERSION_RANGE, .version = 2, .spoken = 1 << 1, .rules = {ON(WAY_OUT, 2, ERROR_T, ACT_GRANT, .value = 1)}},
	{.grade = GRADE_PARSE, .version = 1, .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_SET, .at = 4, .value = 9, .skip = 9, .once = true)}},
	{.grade = GRADE_PARSE, .version = 1, .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_LENGTH, .value = 12, .skip = 9, .once = true)}},
	{.grade = GRADE_PARSE, .version = 2, .rules = {ON(WAY_IN, 2, CALL_T, ACT_SET, .at = 5, .value = 9, .skip = 9, .once = true)}},
	{.grade = GRADE_PARSE, .version = 2, .rules = {ON(WAY_IN, 2, CALL_T, ACT_SET, .at = 3, .value = 99, .skip = 9, .once = true)}},
	{.grade = GRADE_XID, .version = 2, .rules = {ON(WAY_IN, 2, CALL_T, ACT_ADD, .at = 8, .value = 1, .skip = 9, .once = true)}},
	{.grade = GRADE_SIZE, .version = 1, .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_LENGTH, .value = 4100, .skip = 9, .once = true)}},
	{.grade = GRADE_SIZE, .version = 2, .rules = {ON(WAY_IN, 2, CALL_T, ACT_LENGTH, .value = 4100, .skip = 9, .once = true)}},
	{.grade = GRADE_REPORTS, .version = 1, .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_SET, .at = 3, .value = ERROR_T, .skip = 9, .once = true)}},
	{.grade = GRADE_REPORTS, .version = 2, .rules = {ON(WAY_OUT, 2, REPLY_T, ACT_ERROR, .value = 100, .once = true)}},
	{.grade = GRADE_V1_CREDITS, .version = 1, .rules = {ON(WAY_OUT, 1, V1_MSG_T, ACT_SET, .at = 2, .value = 20)}},
	{.grade = GRADE_V1_DEPRECATED, .version = 1, .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_SET, .at = 3, .value = 2, .skip = 9, .once = true)}},
	{.grade = GRADE_V2_PROPS, .version = 2, .rules = {ON(WAY_IN, 2, FINAL_T, ACT_SET, .at = 19, .value = 9)}},
	{.grade = GRADE_V2_FINAL, .version = 2, .rules = {ON(WAY_IN, 2, CALL_T, ACT_SET, .at = 3, .value = FINAL_T, .skip = 3, .once = true),
		ON(WAY_IN, 2, FINAL_T, ACT_LENGTH, .value = 20, .skip = 1)}},
	{.grade = GRADE_V2_CREDITS, .version = 2, .rules = {ON(WAY_OUT, 2, REPLY_T, ACT_SET, .at = 2, .value = 10000)}},
	{.grade = GRADE_V2_GRANT_XID, .version = 2, .rules = {ON(WAY_IN, 2, CALL_T, ACT_SET, .at = 3, .value = GRANT_T, .skip = 3, .once = true),
		ON(WAY_IN, 2, GRANT_T, ACT_LENGTH, .value = 16)}},
	{.grade = GRADE_V2_UNKNOWN_PROP, .version = 2, .rules = {ON(WAY_OUT, 2, FINAL_T, ACT_ERROR, .value = 3)}},
	{.grade = GRADE_V2_HTYPE, .version = 2, .provoke = true, .rules = {ON(WAY_IN, 2, ERROR_T, ACT_DROP)}},
	{.grade = GRADE_SILENCE, .version = 2, .provoke = true, .rules = {ON(WAY_OUT, 2, ERROR_T, ACT_ERROR, .value = 2)}},
	{.grade = GRADE_FIRST_SIZE, .version = LEG_V2_EARLY, .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_LENGTH, .value = 1028, .once = true)}},
	{.grade = GRADE_VERSION_KEPT, .version = LEG_V2_EARLY, .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_SET, .at = 1, .value = 1, .skip = 5, .once = true)}},
	{.grade = GRADE_PARSE, .version = LEG_V2_EARLY, .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_SET, .at = 5, .value = 9, .skip = 9, .once = true)}},
	{.grade = GRADE_PARSE, .version = LEG_V2_EARLY, .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_SET, .at = 4, .value = 9, .skip = 9, .once = true)}},
	{.grade = GRADE_PARSE, .version = LEG_V2_EARLY, .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_SET, .at = 3, .value = 2, .skip = 9, .once = true)}},
	{.grade = GRADE_SIZE, .version = LEG_V2_EARLY, .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_LENGTH, .value = 4100, .skip = 9, .once = true)}},
	{.grade = GRADE_REPORTS, .version = LEG_V2_EARLY, .rules = {ON(WAY_OUT, 2, V1_MSG_T, ACT_ERROR, .value = 2, .once = true)}},
	{.grade = GRADE_EARLY_CREDITS, .version = LEG_V2_EARLY, .rules = {ON(WAY_OUT, 2, V1_MSG_T, ACT_SET, .at = 2, .value = 20)}},
	{.grade = GRADE_EARLY_DIRECTION, .version = LEG_V2_EARLY, .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_SET, .at = 4, .value = 1, .skip = 9, .once = true)}},
	{.grade = GRADE_EARLY_OPTION, .version = LEG_V2_EARLY, .provoke = true, .rules = {ON(WAY_IN, 2, ERROR_T, ACT_DROP)}},
	{.grade = GRADE_EARLY_OPTION, .version = LEG_V2_EARLY, .provoke = true, .rules = {ON(WAY_IN, 2, ERROR_T, ACT_SET, .at = 4, .value = 2)}},
	{.grade = GRADE_SILENCE, .version = LEG_V2_EARLY, .provoke = true, .rules = {ON(WAY_OUT, 2, ERROR_T, ACT_ERROR, .value = 2)}},
	{.grade = GRADE_SILENCE, .version = 1, .provoke = true, .rules = {ON(WAY_OUT, 1, 3, ACT_ERROR, .value = 2)}},
	/* Host authentication: word 23 is the head of the value behind properties 1 to 5; the
	 * ClientHello's suites begin at word 35. */
#define WHO .version = 2, .own = "server", .client = "client"
	{.grade = GRADE_AUTH_FIRST, WHO, .rules = {ON(WAY_IN, 2, MIDDLE_PROP_T, ACT_SET, .at = 23, .value = 0x01020001)}},
	{.grade = GRADE_AUTH_FIRST, WHO, .rules = {ON(WAY_IN, 2, MIDDLE_PROP_T, ACT_SET, .at = 5, .value = 0x7fff0009)}},
	{.grade = GRADE_AUTH_HELLO, WHO, .rules = {ON(WAY_IN, 2, MIDDLE_PROP_T, ACT_ADD, .at = 35, .value = 0x98)}},
	{.grade = GRADE_AUTH_TURN, WHO, .rules = {ON(WAY_IN, 2, MIDDLE_PROP_T, ACT_TWICE)}},
	{.grade = GRADE_AUTH_TURN, WHO, .rules = {ON(WAY_IN, 2, FINAL_T, ACT_DROP)}},
	{.grade = GRADE_AUTH_VALUE, WHO, .rules = {ON(WAY_IN, 2, FINAL_T, ACT_SET, .at = 23, .value = 0x01090001)}},
	{.grade = GRADE_AUTH_VALUE, WHO, .rules = {ON(WAY_IN, 2, FINAL_T, ACT_SET, .at = 23, .value = 0x01040002)}},
	{.grade = GRADE_AUTH_SAME, WHO, .rules = {ON(WAY_IN, 2, FINAL_T, ACT_ADD, .at = 7, .value = 4)}},
	{.grade = GRADE_AUTH_FINAL, WHO, .rules = {ON(WAY_IN, 2, FINAL_T, ACT_SET, .at = 5, .value = 0x7fff0009)}},
	{.grade = GRADE_AUTH_CREDIT, WHO, .rules = {ON(WAY_IN, 2, FINAL_T, ACT_SET, .at = 2, .value = 1)}},
	{.grade = GRADE_AUTH_EARLY, WHO, .rules = {ON(WAY_OUT, 2, MIDDLE_PROP_T, ACT_REPLY, .value = 1)}},
	{.grade = GRADE_AUTH_PROVED, WHO, .wrong = "outsider"},
	{.grade = GRADE_AUTH_PROVED, WHO, .wrong = "expired"},
	{.grade = GRADE_AUTH_PROVED, .version = 2, .own = "psk", .client = "psk", .wrong = "psk-wrong"},
	{.grade = GRADE_AUTH_PROVED, .version = 2, .own = "psk", .client = "psk", .wrong = "psk-other"},
	{.grade = GRADE_AUTH_BINDING, WHO, .rules = {ON(WAY_IN, 2, FINAL_T, ACT_ADD, .at = 24, .value = 1)}},
	{.grade = GRADE_AUTH_BINDING, WHO, .rules = {ON(WAY_IN, 2, FINAL_T, ACT_ADD, .at = 2, .value = 1)}},
	{.grade = GRADE_AUTH_FAIL, .version = 2, .own = "outsider", .client = "client", .rules = {ON(WAY_IN, 2, MIDDLE_PROP_T, ACT_DROP, .skip = 1)}},
	{.grade = GRADE_AUTH_BELIEF, WHO, .provoke = true, .misdeed = MISDEED_ALTERED, .rules = {ON(WAY_OUT, 2, FINAL_T, ACT_ADD, .at = 2, .value = (uint32_t)-1)}},
};
/* clang-format on */

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* --- names of the ends --- */

struct who {
	struct leg_auth auth; /* first member */
	struct hostauth_creds *creds;
};

static struct hostauth_creds *creds_of(const struct leg_auth *auth)
{
	return hostauth_creds_get(((const struct who *)auth)->creds);
}

static int64_t now_of(const struct leg_auth *auth)
{
	(void)auth;
	return PAIR_NOW;
}

static struct who client;

static void cast(struct world *w, const struct row *row, bool has_defect)
{
	const char *name = has_defect && row->wrong ? row->wrong : row->client;
	struct identity *own = &w->o.identity;

	if (!row->own)
		return;
	client =
		(struct who){.auth = {.required = true,
				      .timeout = 10 * NSEC_PER_SEC,
				      .creds = creds_of,
				      .now = now_of},
			     .creds = pair_creds(HOSTAUTH_INITIATOR, name, "ca", NULL, NULL, NULL)};
	w->client_auth = &client.auth;
	own->is_given = true;
	own->creds = pair_creds(HOSTAUTH_ACCEPTOR, row->own, "ca", NULL, NULL, NULL);
	own->auth.now = now_of;
}

static void dismiss(struct world *w, const struct row *row)
{
	if (!row->own)
		return;
	hostauth_creds_put(client.creds);
	hostauth_creds_put(w->o.identity.creds);
}

/* Check the reported identity. */
static void check_proof(const struct listener *l, const struct row *row, bool has_defect)
{
	const struct proof_facts *p = &l->facts.proof;

	if (row->grade == GRADE_AUTH_PROVED && !has_defect) {
		assert_true(p->is_known && !*p->why);
		assert_string_equal(p->name, row->own[0] == 'p' ? "pair-1" : "client.example");
		assert_int_equal(p->messages, 4);
		assert_in_range(p->octets, 500, 5000);
		/* Without this end's own pauses. */
		assert_in_range(p->took, 1, NSEC_PER_MS);
	}
	if (row->grade == GRADE_AUTH_PROVED && has_defect)
		assert_true(p->is_known && *p->why);
}

/* Return: whether the grade was lost. */
static bool graded(const struct row *row, bool has_defect)
{
	static struct listener l;
	static struct world w;
	unsigned breaches;

	world_init(&w, 3);
	w.o.provoke = row->provoke;
	w.o.connections = row->misdeed + 1;
	if (row->spoken)
		w.o.versions = row->spoken;
	if (has_defect && row->rules[0].action)
		world_meddle(&w, row->rules, row->rules[1].action ? 2 : 1);
	if (has_defect && row->pdata_flags) {
		w.meddler.is_on = true;
		w.meddler.pdata_flags = (uint32_t *)(uintptr_t)&row->pdata_flags;
	}
	cast(&w, row, has_defect);
	assert_int_equal(listener_init(&l, &w.o, &w.env), 0);
	l.connections = row->misdeed; /* as if these had been */
	world_client(&w, row->version, 100, &l);
	listener_run(&l);
	assert_int_equal(l.connections, w.o.connections);
	breaches = l.grades[row->grade].breaches;
	if (!has_defect && row->spoken == 0)
		assert_true(l.grades[row->grade].looked > 0);
	check_proof(&l, row, has_defect);
	listener_fini(&l);
	world_fini(&w);
	dismiss(&w, row);
	return breaches > 0;
}

/* --- the round-trip extension: what a client may send, and what it may not --- */

/* A Transmit Request of @count transmissions with a NULL and @length octets at Position 40, in segments from 0 on; as it is
 * in .octets, with its second piece from octet 4096 on. */
struct sent {
	unsigned version;
	uint8_t octets[RUN_INLINE + LISTEN_RTR_BULK];
	size_t len;
};

static void send_begin(struct sent *s, struct xdr_out *x, uint32_t op, uint32_t xid, uint32_t body)
{
	bool is_early = s->version == RUN_EARLY;

	memset(s->octets, 0, sizeof(s->octets));
	xdr_out_init(x, s->octets, sizeof(s->octets));
	xdr_put_u32(x, xid);
	xdr_put_u32(x, 2);
	xdr_put_u32(x, 8);
	xdr_put_u32(x, is_early ? 5 : RTR_HEADER_TYPES + op);
	if (!is_early)
		return;
	xdr_put_u32(x, 0);
	xdr_put_u32(x, op);
	xdr_put_u32(x, body);
}

static void send_request(struct sent *s, uint32_t xid, uint32_t length, uint32_t count)
{
	const uint32_t call[] = {xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0};
	uint32_t numbers = (length + LISTEN_RTR_BULK - 1) / LISTEN_RTR_BULK;
	struct xdr_out x;

	send_begin(s, &x, RTR_REQUEST, xid, 4 * (1 + 5 + 1 + numbers + 1 + 3) - 4);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, 40);
	xdr_put_u32(&x, length);
	xdr_put_u32(&x, RTR_TBSN);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, numbers);
	for (uint32_t i = 0; i < numbers; i++)
		xdr_put_u32(&x, i);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, count);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, sizeof(call));
	for (unsigned i = 0; i < sizeof(call) / sizeof(call[0]); i++)
		xdr_put_u32(&x, call[i]);
	s->len = RUN_INLINE + (length < LISTEN_RTR_BULK ? length : LISTEN_RTR_BULK);
}

static void send_continue(struct sent *s, uint32_t xid, uint32_t number, uint32_t length)
{
	struct xdr_out x;

	send_begin(s, &x, RTR_CONTINUE, xid, 12);
	xdr_put_u32(&x, number);
	xdr_put_u32(&x, s->version == RUN_EARLY ? RTR_REQUEST : RTR_HEADER_TYPES + RTR_REQUEST);
	xdr_put_u32(&x, 0);
	s->len = RUN_INLINE + length;
}

static void arrive(struct listener *l, const struct sent *s)
{
	const struct wire_msg m = {.octets = view_of(s->octets, s->len)};

	l->granted += 3;
	grade_observe(l, &m);
}

static void talk(struct listener *l, unsigned version)
{
	static const struct probe_options o = {.versions = 1 << 2 | 1 << RUN_EARLY};

	*l = (struct listener){
		.o = &o, .version = version, .answered = true, .arrived = 1, .granted = 8};
}

static unsigned lost(const struct listener *l)
{
	unsigned n = 0;

	for (unsigned g = 0; g < GRADES; g++)
		n += l->grades[g].breaches > 0;
	return n;
}

enum { LENGTH = 2 * LISTEN_RTR_BULK + 100 };

static void send_three(struct listener *l, struct sent *s, uint32_t xid)
{
	send_request(s, xid, LENGTH, 3);
	arrive(l, s);
	send_continue(s, xid, 1, LISTEN_RTR_BULK);
	arrive(l, s);
	send_continue(s, xid, 2, 100);
	arrive(l, s);
}

static void sound_requests(struct listener *l, struct sent *s)
{
	send_request(s, 7, 100, 1);
	arrive(l, s);
	send_three(l, s, 8);
	assert_int_equal(lost(l), 0);
	assert_int_equal(l->grades[GRADE_RTR_GROUP].looked, 4);
	assert_int_equal(l->grades[GRADE_RTR_ITEMS].looked, 4);
	assert_int_equal(l->grades[GRADE_RTR_PADDING].looked, 4);
}

/* Return: whether exactly @grade was lost. */
static bool only_lost(const struct listener *l, enum grade grade)
{
	return lost(l) == 1 && l->grades[grade].breaches == 1;
}

static void test_transmit_requests(void **state)
{
	static const unsigned versions[] = {2, RUN_EARLY};
	static struct listener l;
	static struct sent s;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		s.version = versions[i];
		talk(&l, s.version);
		sound_requests(&l, &s);
		talk(&l, s.version); /* more than are taken */
		send_request(&s, 7, 100, LISTEN_RTR_MOST + 1);
		arrive(&l, &s);
		assert_true(only_lost(&l, GRADE_RTR_GROUP));
		talk(&l, s.version); /* out of order */
		send_request(&s, 7, LENGTH, 3);
		arrive(&l, &s);
		send_continue(&s, 7, 2, 100);
		arrive(&l, &s);
		assert_true(only_lost(&l, GRADE_RTR_GROUP));
		talk(&l, s.version); /* a request in the midst of another */
		send_request(&s, 7, LENGTH, 3);
		arrive(&l, &s);
		send_request(&s, 8, 100, 1);
		arrive(&l, &s);
		assert_true(only_lost(&l, GRADE_RTR_GROUP));
		talk(&l, s.version); /* the item does not all come */
		send_request(&s, 7, 100, 1);
		s.len -= 4;
		arrive(&l, &s);
		assert_true(only_lost(&l, GRADE_RTR_ITEMS));
		talk(&l, s.version); /* something lies where nothing is said to */
		send_request(&s, 7, 100, 1);
		s.octets[RUN_INLINE - 1] = 1;
		arrive(&l, &s);
		assert_true(only_lost(&l, GRADE_RTR_PADDING));
		talk(&l, s.version); /* ... or behind the item */
		send_request(&s, 7, 100, 1);
		s.octets[s.len] = 1;
		s.len += 4;
		arrive(&l, &s);
		assert_true(l.grades[GRADE_RTR_PADDING].breaches +
			    l.grades[GRADE_RTR_ITEMS].breaches);
		talk(&l, s.version); /* none of what it says can be so long */
		send_request(&s, 7, 100, 1);
		s.len = 40;
		arrive(&l, &s);
		assert_true(only_lost(&l, GRADE_PARSE));
	}
}

static void test_every_grade_can_be_lost(void **state)
{
	/* test_transmit_requests() has these. */
	uint64_t seen = UINT64_C(1) << GRADE_RTR_GROUP | UINT64_C(1) << GRADE_RTR_ITEMS |
			UINT64_C(1) << GRADE_RTR_PADDING;

	(void)state;
	for (unsigned i = 0; i < ROWS; i++) {
		if (graded(&rows[i], false))
			fail_msg("row %u, grade %u: lost without a defect", i, rows[i].grade);
		if (!graded(&rows[i], true))
			fail_msg("row %u, grade %u: kept in spite of the defect", i, rows[i].grade);
		seen |= UINT64_C(1) << rows[i].grade;
	}
	assert_true(seen == (UINT64_C(1) << GRADES) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_grade_can_be_lost),
		cmocka_unit_test(test_transmit_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
