/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers that do not answer the beginning of host authentication, and may be used without it. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/session/cast.h"

/* A server of version 2 that has nothing of host authentication, and says nothing before the other end's last properties. */
static struct {
	bool is_old;	/* it has version 1 alone, and passes over the other in silence */
	bool is_strict; /* it hangs up where host authentication is not begun */
	bool begun;
	unsigned middles, finals, answered;
} patient;

static void wait_for_final(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data), credit = 20 + patient.answered;

	(void)arg;
	if (xdr_peek_u32(in.data + 4) == 1)
		raw_words(r, RAW_V1_REPLY(xid, 20));
	else if (patient.is_old)
		return;
	switch (xdr_peek_u32(in.data + 12)) {
	case V2_CONNPROP_MIDDLE:
		patient.middles++;
		patient.begun = true;
		if (patient.is_strict)
			raw_words(r, RAW_V2_PROPS(0x55, 20));
		break;
	case V2_CONNPROP_FINAL:
		patient.finals++;
		if (patient.is_strict && patient.begun)
			break;
		if (patient.is_strict) {
			fabric_destroy(r->conn); /* at once: it takes one connection at a time */
			r->conn = NULL;
			break;
		}
		patient.answered = 0;
		raw_words(r, RAW_V2_PROPS(0x55, 20));
		break;
	case V2_CALL_INLINE:
		patient.answered++;
		raw_words(r, RAW_V2_REPLY(xid, credit + 1));
		break;
	default:
		break;
	}
}

static void begin_patient(bool allows, unsigned versions, bool probes)
{
	const struct cast cast = {.upstream = "client",
				  .upstream_allows = allows,
				  .raw_server = true,
				  .probes = probes};

	memset(&patient, 0, sizeof(patient));
	cast_begin(&cast);
	if (allows)
		hall.routes[0].server.versions = versions;
	hall.raw.on_message = wait_for_final;
}

static void a_silent_server_is_asked_without(void **state)
{
	static const unsigned versions[] = {LEG_V2, LEG_V1_OR_V2};
	struct peer *client = &hall.pairs[0].client;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		begin_patient(true, versions[i], false);
		cast_connect();
		assert_int_equal(patient.middles, 1);
		assert_int_equal(patient.finals, 0);
		/* Within half of the time: clients do not wait longer. */
		world_run(&hall, 3 * NSEC_PER_SEC);
		cast_is_served();
		cast_said("event=upstream.retry route=route0 server=");
		cast_said(" version=2 "
			  "why=\"no answer to host authentication\"");
		cast_said("event=hostauth.absent");
		/* The next client's connection begins without. */
		peer_end(client);
		world_run(&hall, NSEC_PER_SEC);
		world_connect_pair(&hall, 0);
		world_run(&hall, NSEC_PER_SEC);
		assert_true(client->open);
		assert_int_equal(patient.middles, 1);
		assert_int_equal(patient.finals, 2);
		/* As long as that is remembered. */
		peer_end(client);
		world_run(&hall, 2 * hall.routes[0].version_memory);
		world_connect_pair(&hall, 0);
		world_run(&hall, 7 * NSEC_PER_SEC);
		assert_int_equal(patient.middles, 2);
		assert_int_equal(patient.finals, 3);
		cast_end();
	}
	begin_patient(false, 0, false);
	cast_connect();
	cast_is_refused();
	cast_not_said("event=upstream.retry");
	assert_int_equal(patient.middles, 1);
	assert_int_equal(patient.finals, 0);
	cast_end();
}

/* Also where the connection itself took a part of the time. */
static void a_silent_server_that_accepts_late_is_asked_without(void **state)
{
	(void)state;
	begin_patient(true, LEG_V2, false);
	hall.raw.mute = true;
	cast_connect();
	hall.raw.mute = false;
	raw_accept(&hall.raw);
	world_run(&hall, 2 * NSEC_PER_SEC);
	assert_int_equal(patient.middles, 1);
	cast_is_served();
	cast_end();
}

static void a_silent_server_may_yet_speak_version_1(void **state)
{
	(void)state;
	begin_patient(true, LEG_V1_OR_V2, false);
	patient.is_old = true;
	cast_connect();
	world_run(&hall, 20 * NSEC_PER_SEC);
	cast_is_served();
	assert_int_equal(hall.raw.accepted, 3);
	cast_end();
}

/* A silent server is not down: a probe asks as sessions do. */
static void a_silent_server_is_not_down(void **state)
{
	(void)state;
	begin_patient(true, LEG_V2, true);
	world_connect_pair(&hall, 1); /* alone: the server takes one connection at a time */
	world_run(&hall, NSEC_PER_SEC);
	peer_call(&hall.pairs[1].client, &cast_hello);
	world_run(&hall, 60 * NSEC_PER_SEC);
	assert_true(patient.answered > 0);
	cast_not_said("event=upstream.down");
	cast_end();
}

/* A server that was asked without, as it is remembered, and does not want that any more, is not down: it is asked again,
 * in the same session. */
static void what_is_remembered_of_it_is_no_verdict(void **state)
{
	struct peer *client = &hall.pairs[0].client;

	(void)state;
	begin_patient(true, LEG_V2, false);
	cast_connect();
	world_run(&hall, 3 * NSEC_PER_SEC);
	cast_is_served();
	patient.is_strict = true;
	patient.begun = false;
	peer_end(client);
	world_run(&hall, NSEC_PER_SEC);
	world_connect_pair(&hall, 0);
	world_run(&hall, NSEC_PER_SEC);
	assert_true(client->open);
	assert_int_equal(patient.middles, 2);
	cast_not_said("event=upstream.down");
	cast_end();
}

/* The server may have been busy: while its silence is remembered no session to it is authenticated. */
static void silence_is_not_remembered_for_long(void **state)
{
	struct peer *client = &hall.pairs[0].client;

	(void)state;
	begin_patient(true, LEG_V2, false);
	cast_connect();
	world_run(&hall, 3 * NSEC_PER_SEC);
	cast_is_served();
	assert_int_equal(patient.middles, 1);
	patient.begun = false;
	peer_end(client);
	world_run(&hall, 61 * NSEC_PER_SEC);
	world_connect_pair(&hall, 0);
	world_run(&hall, 3 * NSEC_PER_SEC);
	assert_true(client->open);
	assert_int_equal(patient.middles, 2);
	cast_end();
}

static struct fabric_ops short_ops;
static const struct fabric_ops *whole_ops;
static unsigned allowed;

static int connect_while_allowed(struct fabric *f, const struct fabric_addr *to,
				 const struct fabric_conn_params *params, void *owner,
				 struct fabric_conn **conn)
{
	if (allowed == 0)
		return ERR_LOCAL;
	allowed--;
	return whole_ops->connect(f, to, params, owner, conn);
}

/* The machine has no port for the second connection: that says nothing of the server. */
static void a_shortage_at_the_second_connection_is_no_verdict(void **state)
{
	struct fabric *f;

	(void)state;
	begin_patient(true, LEG_V2, false);
	f = hall.gw_fabrics[1] ? hall.gw_fabrics[1] : hall.gw_fabrics[0];
	whole_ops = f->ops;
	short_ops = *whole_ops;
	short_ops.connect = connect_while_allowed;
	f->ops = &short_ops;
	allowed = 2; /* one for each pair */
	cast_connect();
	world_run(&hall, 3 * NSEC_PER_SEC);
	assert_int_equal(patient.middles, 1);
	assert_int_equal(allowed, 0);
	assert_false(hall.pairs[0].client.open);
	cast_said("event=upstream.short");
	cast_not_said("event=upstream.down");
	f->ops = whole_ops;
	cast_end();
}

static bool is_reset;

/* As a gateway that needs the place of a silent client for another. */
static void end_it(struct raw *r, struct view in, void *arg)
{
	(void)in;
	(void)arg;
	if (!is_reset) {
		fabric_disconnect(r->conn);
		return;
	}
	fabric_destroy(r->conn);
	r->conn = NULL;
}

static void a_server_that_ends_a_connection_in_set_up_is_not_down(void **state)
{
	const struct cast cast = {
		.upstream = "client", .server = "server", .silent = true, .third = true};
	struct servers_view view;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		is_reset = i;
		cast_begin(&cast);
		hall.raw.on_message = end_it;
		cast_connect();
		cast_is_served(); /* by the other server */
		assert_int_equal(hall.pairs[2].server.served, 20);
		servers_snapshot(hall.s.servers, &view);
		assert_int_equal(view.at[0].figures.failures, 1);
		assert_int_equal(view.at[0].figures.up, 1);
		cast_not_said("event=upstream.down");
		cast_said("event=upstream.rejected session=2 route=route0 server=10.0.0.2:20049 "
			  "why=\"it ended the connection during set-up\"");
		cast_end();
	}
}

/* The server was silent, and ended the connection that began without host authentication: it did not serve without. */
static void a_server_that_ends_a_connection_without_proof_did_not_serve(void **state)
{
	(void)state;
	begin_patient(true, LEG_V2, false);
	is_reset = false;
	cast_connect();
	assert_int_equal(patient.middles, 1);
	hall.raw.on_message = end_it;
	world_run(&hall, 3 * NSEC_PER_SEC);
	assert_false(hall.pairs[0].client.open);
	hall.raw.on_message = wait_for_final;
	raw_hang_up(&hall.raw);
	peer_end(&hall.pairs[0].client);
	world_connect_pair(&hall, 0);
	world_run(&hall, NSEC_PER_SEC);
	assert_int_equal(patient.middles, 2);
	assert_int_equal(patient.finals, 0);
	world_run(&hall, 3 * NSEC_PER_SEC);
	cast_is_served();
	cast_end();
}

/* With one server: the client is refused. */
static void the_end_of_a_session_in_set_up_has_a_reason(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		is_reset = i;
		begin_patient(false, 0, false);
		hall.raw.on_message = end_it;
		cast_connect();
		cast_is_refused();
		cast_not_said("event=upstream.down");
		cast_said(
			"event=session.end session=2 route=route0 leg=server cause=closed why=\"");
		cast_not_said("why=\"-\"");
		cast_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_server_is_asked_without),
		cmocka_unit_test(a_silent_server_that_accepts_late_is_asked_without),
		cmocka_unit_test(a_silent_server_may_yet_speak_version_1),
		cmocka_unit_test(a_silent_server_is_not_down),
		cmocka_unit_test(what_is_remembered_of_it_is_no_verdict),
		cmocka_unit_test(silence_is_not_remembered_for_long),
		cmocka_unit_test(a_shortage_at_the_second_connection_is_no_verdict),
		cmocka_unit_test(a_server_that_ends_a_connection_in_set_up_is_not_down),
		cmocka_unit_test(a_server_that_ends_a_connection_without_proof_did_not_serve),
		cmocka_unit_test(the_end_of_a_session_in_set_up_has_a_reason),
	};

	return cmocka_run_group_tests_name("silent", tests, NULL, NULL);
}
