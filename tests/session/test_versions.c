/* SPDX-License-Identifier: BSD-2-Clause */
/* Which version is spoken on each side, and what happens to peers that speak none of them. */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

enum { ERROR_TYPE = 4, ERR_VERS_CODE = 1, CONNPROP_FINAL_TYPE = 7, GRANT_TYPE = 5 };

static struct world w;

static const struct peer_spec null_call = {.body = 100, .reply = 24, .segs = 1};

/* How a server of the test answers; .arg points to one. */
struct script {
	uint32_t vers_echoed; /* of ERR_VERS, the answer to version 2; 0: no answer */
	bool hangs_up;	      /* on version 2, instead */
	uint32_t low, high;
	bool refuses_1, hangs_up_1, speaks_2; /* after an update */
	bool no_properties;		      /* a GRANT answers version 2's, nothing else */
	unsigned v1_calls, v2_messages;
};

static char said[1024]; /* the last line of the event that is listened for */
static const char *listens;

static void hear(const char *line)
{
	if (listens && strstr(line, listens))
		snprintf(said, sizeof(said), "%s", line);
}

static void listen_for(const char *event)
{
	said[0] = '\0';
	listens = event;
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(hear);
}

static void listen_no_more(void)
{
	log_set_sink(NULL);
	log_set_level(LOG_LEVEL_ERROR);
}

static char retry[1024];

static void hear_both(const char *line)
{
	if (strstr(line, "event=upstream.retry "))
		snprintf(retry, sizeof(retry), "%s", line);
	hear(line);
}

static void heard(const char *words)
{
	if (!strstr(said, words))
		fail_msg("the log lacks %s: %s", words, said);
}

static void serve_2(struct raw *r, uint32_t xid, uint32_t type)
{
	if (type == CONNPROP_FINAL_TYPE)
		raw_words(r, RAW_V2_PROPS(0x55, 1000));
	else if (type == 10)
		raw_words(r, RAW_V2_REPLY(xid, 1000));
}

static void serve(struct raw *r, struct view in, void *arg)
{
	struct script *s = arg;
	uint32_t xid = xdr_peek_u32(in.data), vers = xdr_peek_u32(in.data + 4);

	if (vers == 1) {
		s->v1_calls++;
		if (s->hangs_up_1)
			fabric_disconnect(r->conn);
		else if (s->refuses_1)
			raw_words(r, xid, 1, 8, ERROR_TYPE, ERR_VERS_CODE, 2, 2);
		else
			raw_words(r, RAW_V1_REPLY(xid, 8));
		return;
	}
	s->v2_messages++;
	if (s->no_properties && xdr_peek_u32(in.data + 12) == CONNPROP_FINAL_TYPE)
		raw_words(r, 0, 2, 1000, 5);
	else if (s->speaks_2)
		serve_2(r, xid, xdr_peek_u32(in.data + 12));
	else if (s->hangs_up)
		fabric_disconnect(r->conn);
	else if (s->vers_echoed)
		raw_words(r, xid, s->vers_echoed, 8, ERROR_TYPE, ERR_VERS_CODE, s->low, s->high);
}

static struct world_pair *begin(unsigned listen, unsigned upstream, struct script *script)
{
	struct setup s = setup_defaults(LEG_V1, LEG_V1, 5);

	s.memory = s.peer_memory = 64 << 20;
	s.listen_versions = listen;
	s.upstream_versions = upstream;
	s.raw = true;
	s.raw_client = !script;
	world_new(&w, &s);
	w.raw.on_message = script ? serve : NULL;
	w.raw.arg = script;
	return &w.pairs[0];
}

static void end(void)
{
	world_quit(&w);
	world_free(&w);
}

static void one_call(struct world_pair *p)
{
	uint64_t done = p->client.done;

	world_connect_pair(&w, 0);
	world_run(&w, NSEC_PER_SEC);
	assert_true(p->client.open);
	peer_call(&p->client, &null_call);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->client.done, done + 1);
}

static void next_client(struct world_pair *p, nsec_t after)
{
	peer_end(&p->client);
	world_run(&w, after);
	w.raw.nkept = 0;
}

static void version_1_is_spoken_on_the_connection_that_refused_2(void **state)
{
	(void)state;
	for (uint32_t echoed = 1; echoed <= 2; echoed++) {
		struct script s = {.vers_echoed = echoed, .low = 1, .high = 1};
		struct world_pair *p = begin(LEG_V1_OR_V2, LEG_V1_OR_V2, &s);

		one_call(p);
		assert_int_equal(w.raw.accepted, 1);
		assert_int_equal(s.v2_messages, 1);
		assert_int_equal(s.v1_calls, 1);
		assert_int_equal(raw_word(&w.raw, 0, 3), CONNPROP_FINAL_TYPE);
		end();
	}
}

static void a_server_that_hangs_up_on_version_2_is_asked_again_in_1(void **state)
{
	struct script s = {.hangs_up = true};
	struct world_pair *p = begin(LEG_V1_OR_V2, LEG_V1_OR_V2, &s);
	nsec_t believed;

	(void)state;
	listen_for("event=upstream.");
	log_set_sink(hear_both);
	one_call(p);
	listen_no_more();
	heard("event=upstream.version route=route0 server=");
	if (!strstr(retry, " server=") ||
	    !strstr(retry, " why=\"no answer to version 2: it ended the connection\""))
		fail_msg("%s", retry);
	assert_int_equal(w.raw.accepted, 2);
	assert_int_equal(proxy_counters(w.proxy)->sessions_opened, 1);
	assert_int_equal(s.v2_messages, 1);
	believed = servers_v1_until(w.proxy->routes[0]->servers, 0);
	assert_true(believed > memnet_now(w.net));
	peer_call(&p->client, &null_call);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(servers_v1_until(w.proxy->routes[0]->servers, 0),
			 believed); /* from its first message on */

	/* Remembered ... */
	next_client(p, 20 * NSEC_PER_SEC);
	one_call(p);
	assert_int_equal(w.raw.accepted, 3);
	assert_int_equal(s.v2_messages, 1);

	/* ... and forgotten. */
	next_client(p, 100 * NSEC_PER_SEC);
	one_call(p);
	assert_int_equal(w.raw.accepted, 5);
	assert_int_equal(s.v2_messages, 2);
	end();
}

static void a_refusal_of_2_is_remembered_too(void **state)
{
	struct script s = {.vers_echoed = 2, .low = 1, .high = 1};
	struct world_pair *p = begin(LEG_V1_OR_V2, LEG_V1_OR_V2, &s);

	(void)state;
	one_call(p);
	next_client(p, 20 * NSEC_PER_SEC);
	one_call(p);
	assert_int_equal(s.v2_messages, 1);
	next_client(p, 100 * NSEC_PER_SEC);
	one_call(p);
	assert_int_equal(s.v2_messages, 2);
	end();
}

/* A call in version 1, to a server that has no version 1 any more. */
static void call_in_vain(struct world_pair *p)
{
	world_connect_pair(&w, 0);
	world_run(&w, NSEC_PER_SEC);
	assert_true(p->client.open);
	peer_call(&p->client, &null_call);
	world_run(&w, NSEC_PER_SEC);
	assert_true(p->client.closed); /* the client gets no error: it may call again */
	assert_int_equal(p->client.errors, 0);
	assert_int_equal(proxy_sessions(w.proxy), 0);
}

/* The next session asks for version 2, and the call comes through. */
static void the_update_is_found(struct world_pair *p, struct script *s)
{
	unsigned v1_calls = s->v1_calls;

	next_client(p, NSEC_PER_SEC);
	one_call(p);
	assert_int_equal(s->v1_calls, v1_calls);
}

static void update(struct script *s, bool hangs_up)
{
	s->speaks_2 = true;
	s->hangs_up = false;
	s->refuses_1 = !hangs_up;
	s->hangs_up_1 = hangs_up;
}

/* A server that speaks version 1 is updated to speak 2 alone, before it was expected. */
static void a_verdict_falls_when_version_1_is_refused(void **state)
{
	(void)state;
	for (unsigned hangs_up = 0; hangs_up < 2; hangs_up++) {
		struct script s = {.vers_echoed = 2, .low = 1, .high = 1};
		struct world_pair *p = begin(LEG_V1_OR_V2, LEG_V1_OR_V2, &s);

		one_call(p);
		next_client(p, NSEC_PER_SEC);
		one_call(p);
		assert_int_equal(s.v2_messages, 1); /* it is remembered */
		update(&s, hangs_up);
		next_client(p, NSEC_PER_SEC);
		call_in_vain(p);
		assert_int_equal(s.v1_calls, 3);
		the_update_is_found(p, &s);
		end();
	}
}

/* A server of version 2 hangs up in the middle of the negotiation, for it restarts. */
static void a_restart_is_not_taken_for_a_verdict(void **state)
{
	(void)state;
	for (unsigned hangs_up = 0; hangs_up < 2; hangs_up++) {
		struct script s = {.hangs_up = true};
		struct world_pair *p = begin(LEG_V1_OR_V2, LEG_V1_OR_V2, &s);

		world_connect_pair(&w, 0);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(w.raw.accepted, 2); /* in version 1 */
		update(&s, hangs_up);
		peer_call(&p->client, &null_call);
		world_run(&w, NSEC_PER_SEC);
		assert_true(p->client.closed);
		assert_int_equal(s.v1_calls, 1);
		the_update_is_found(p, &s);
		end();
	}
}

/* The client's view of a server leg that could not be set up. */
static void client_is_refused(struct world_pair *p, nsec_t within)
{
	world_connect_pair(&w, 0);
	world_run(&w, within);
	assert_false(p->client.open);
	assert_true(p->client.closed);
	assert_int_equal(p->client.status, ERR_REJECTED);
	assert_int_equal(proxy_sessions(w.proxy), 0);
	assert_int_equal(proxy_counters(w.proxy)->sessions_refused, 1);
}

static void a_server_of_other_versions_is_no_server(void **state)
{
	struct script s = {.vers_echoed = 2, .low = 3, .high = 9};
	struct world_pair *p = begin(LEG_V1_OR_V2, LEG_V1_OR_V2, &s);

	(void)state;
	client_is_refused(p, NSEC_PER_SEC);
	assert_int_equal(w.raw.accepted, 1);
	end();
	/* A server that only speaks version 1 is refused where version 2 is required. */
	s = (struct script){.vers_echoed = 2, .low = 1, .high = 1};
	p = begin(LEG_V1_OR_V2, LEG_V2, &s);
	client_is_refused(p, NSEC_PER_SEC);
	end();
	s = (struct script){.hangs_up = true};
	p = begin(LEG_V1_OR_V2, LEG_V2, &s);
	client_is_refused(p, NSEC_PER_SEC);
	assert_int_equal(w.raw.accepted, 1);
	end();
}

/* 4.2.2: properties may be absent. Any message in version 2 says that it is spoken. */
static void a_server_without_properties_is_spoken_to_in_2(void **state)
{
	struct script s = {.no_properties = true, .speaks_2 = true};
	struct world_pair *p = begin(LEG_V1_OR_V2, LEG_V1_OR_V2, &s);

	(void)state;
	world_connect_pair(&w, 0);
	world_run(&w, 4 * NSEC_PER_SEC); /* they might still come */
	assert_true(p->client.open);
	peer_call(&p->client, &null_call);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->client.done, 1);
	assert_int_equal(w.raw.accepted, 1);
	assert_int_equal(s.v1_calls, 0);
	assert_int_equal(s.v2_messages, 2);
	assert_int_equal(servers_v1_until(w.proxy->routes[0]->servers, 0), 0);
	end();
}

static void a_server_that_is_silent_is_waited_for_in_vain(void **state)
{
	struct script s = {0};
	struct world_pair *p = begin(LEG_V1_OR_V2, LEG_V2, &s);

	(void)state;
	client_is_refused(p, 11 * NSEC_PER_SEC);
	end();
	/* The server may speak version 1: some servers do not answer what they do not
	 * understand. */
	p = begin(LEG_V1_OR_V2, LEG_V1_OR_V2, &s);
	world_connect_pair(&w, 0);
	world_run(&w, 11 * NSEC_PER_SEC);
	assert_true(p->client.open);
	end();
	/* One that does not even answer the connection. */
	p = begin(LEG_V1_OR_V2, LEG_V1_OR_V2, &s);
	w.raw.mute = true;
	client_is_refused(p, 16 * NSEC_PER_SEC);
	end();
}

static void a_server_that_refuses_is_no_server(void **state)
{
	struct script s = {0};
	struct world_pair *p = begin(LEG_V1_OR_V2, LEG_V1_OR_V2, &s);

	(void)state;
	w.raw.reject = true;
	client_is_refused(p, NSEC_PER_SEC);
	end();
	/* Nobody listens there. */
	p = begin(LEG_V1_OR_V2, LEG_V1_OR_V2, &s);
	fabric_detach(w.raw.fabric, p->server_listener);
	client_is_refused(p, NSEC_PER_SEC);
	end();
}

/* max_sessions is of the process: what other workers have counts, and what they give back. */
static void all_workers_count_together(void **state)
{
	struct setup s = setup_defaults(LEG_V1, LEG_V1, 6);
	struct world_pair *p = &w.pairs[1];
	struct host *others[4];

	(void)state;
	s.pairs = 2;
	s.max_sessions = 5;
	world_new(&w, &s);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(
			session_limits_enter(w.session_limits, &p->server_addr, 0, &others[i]),
			SESSION_LIMITS_OK);
	world_connect_pair(&w, 0);
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.pairs[0].client.open);
	assert_int_equal(session_limits_sessions(w.session_limits), 5);
	/* One that has said nothing would make room. */
	peer_call(&w.pairs[0].client, &null_call);
	world_run(&w, NSEC_PER_SEC);
	world_connect_pair(&w, 1);
	world_run(&w, NSEC_PER_SEC);
	assert_true(p->client.closed);
	assert_int_equal(p->client.status, ERR_REJECTED);
	assert_int_equal(session_limits_sessions(w.session_limits), 5);
	peer_end(&p->client);
	for (unsigned i = 0; i < 4; i++)
		session_limits_leave(w.session_limits, others[i]);
	world_connect_pair(&w, 1);
	world_run(&w, NSEC_PER_SEC);
	assert_true(p->client.open);
	end();
}

static void begin_client(unsigned listen)
{
	begin(listen, LEG_V1_OR_V2, NULL);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.raw.connected);
}

static void expect_err_vers(uint32_t xid, uint32_t version, uint32_t low, uint32_t high)
{
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.raw.nkept, 1);
	assert_int_equal(raw_last(&w.raw, 0), xid);
	assert_int_equal(raw_last(&w.raw, 1), version);
	assert_int_equal(raw_last(&w.raw, 3), ERROR_TYPE);
	assert_int_equal(raw_last(&w.raw, 4), ERR_VERS_CODE);
	assert_int_equal(raw_last(&w.raw, 5), low);
	assert_int_equal(raw_last(&w.raw, 6), high);
	assert_int_equal(w.raw.kept[0].len, 28);
	w.raw.nkept = 0;
}

static void expect_v1_works(uint32_t xid)
{
	raw_words(&w.raw, RAW_V1_CALL(xid));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.raw.nkept, 1);
	assert_int_equal(raw_last(&w.raw, 0), xid);
	assert_int_equal(raw_last(&w.raw, 1), 1);
	assert_int_equal(raw_last(&w.raw, 3), 0);
}

static void a_client_gets_the_versions_that_are_spoken(void **state)
{
	(void)state;
	begin_client(LEG_V1);
	raw_words(&w.raw, RAW_V2_PROPS(0x1234, 8));
	expect_err_vers(0x1234, 2, 1, 1);
	expect_v1_works(0x1235); /* on the same connection */
	end();

	begin_client(LEG_V2);
	raw_words(&w.raw, RAW_V1_CALL(0x1234));
	expect_err_vers(0x1234, 1, 2, 2);
	raw_words(&w.raw, RAW_V2_PROPS(0x77, 8));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(raw_last(&w.raw, 3), CONNPROP_FINAL_TYPE);
	end();

	begin_client(LEG_V1_OR_V2);
	raw_words(&w.raw, 0x1233, 3, 8, ERROR_TYPE, ERR_VERS_CODE, 1, 1);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.raw.nkept, 0); /* an error is not answered with an error */
	raw_words(&w.raw, 0x1234, 3, 8, 0, 0, 0, 0);
	expect_err_vers(0x1234, 3, 1, 2);
	raw_words(&w.raw, 0x1234, 0, 8, 0, 0, 0, 0);
	expect_err_vers(0x1234, 0, 1, 2);
	expect_v1_works(0x1235);
	end();
}

/* The end of such a session is neither a breach of protocol nor an orderly end. */
static void a_client_of_no_version_here_ends_by_version(void **state)
{
	(void)state;
	for (unsigned waits = 0; waits < 2; waits++) {
		begin_client(LEG_V1);
		listen_for("event=session.end ");
		raw_words(&w.raw, RAW_V2_PROPS(0x1234, 8));
		expect_err_vers(0x1234, 2, 1, 1);
		if (!waits)
			fabric_disconnect(w.raw.conn);
		world_run(&w, 300 * NSEC_PER_SEC);
		assert_int_equal(proxy_sessions(w.proxy), 0);
		heard("leg=client cause=version why=\"no protocol version in common\"");
		assert_int_equal(proxy_counters(w.proxy)->version_faults, 1);
		assert_int_equal(proxy_counters(w.proxy)->peer_faults, 0);
		end();
		listen_no_more();
	}
}

/* The other draft has the number of this one, and is answered in this one. It counts alike. */
static void a_client_of_the_other_draft_ends_by_version(void **state)
{
	(void)state;
	for (unsigned early = 0; early < 2; early++) {
		begin_client(early ? LEG_V2_EARLY : LEG_V1_OR_V2);
		listen_for("event=session.end ");
		if (early)
			raw_words(&w.raw, RAW_V2_PROPS(0x1234, 8));
		else
			raw_words(&w.raw, 0x1234, 2, 16, 0, 0, 0, 0, 0, RAW_CALL_BODY(0x1234));
		world_run(&w, NSEC_PER_SEC);
		assert_true(w.raw.nkept > 0); /* an error report among them */
		fabric_disconnect(w.raw.conn);
		world_run(&w, 300 * NSEC_PER_SEC);
		assert_int_equal(proxy_sessions(w.proxy), 0);
		heard("leg=client cause=version why=\"no protocol version in common\"");
		assert_int_equal(proxy_counters(w.proxy)->version_faults, 1);
		assert_int_equal(proxy_counters(w.proxy)->peer_faults, 0);
		end();
		listen_no_more();
	}
}

/* Decision 10: the first message fixes the version of a connection. */
static void a_client_keeps_the_version_it_began_with(void **state)
{
	(void)state;
	begin_client(LEG_V1_OR_V2);
	expect_v1_works(0x1);
	w.raw.nkept = 0;
	raw_words(&w.raw, RAW_V2_PROPS(0x2, 8));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.raw.nkept, 1);
	assert_int_equal(raw_last(&w.raw, 0), 2);
	assert_int_equal(raw_last(&w.raw, 1), 2);
	assert_int_equal(raw_last(&w.raw, 3), ERROR_TYPE);
	assert_int_equal(raw_last(&w.raw, 4), 11); /* "1 to 2" would be no answer to 2 */
	end();

	begin_client(LEG_V1_OR_V2);
	raw_words(&w.raw, RAW_V2_PROPS(0x1, 8));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(raw_last(&w.raw, 3), CONNPROP_FINAL_TYPE);
	raw_words(&w.raw, RAW_V1_CALL(0x2));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(raw_last(&w.raw, 0), 2);
	assert_int_equal(raw_last(&w.raw, 3), ERROR_TYPE);
	assert_int_equal(raw_last(&w.raw, 4), 11); /* RDMA2_ERR_VERS_MISMATCH */
	end();
}

/* 4.2.1: credits count every message of the connection, those of other versions as well. */
static void messages_before_the_version_is_known_count(void **state)
{
	uint32_t plain, after;

	(void)state;
	begin_client(LEG_V1_OR_V2);
	raw_words(&w.raw, RAW_V2_PROPS(0x1, 8));
	world_run(&w, NSEC_PER_SEC);
	plain = raw_last(&w.raw, 2);
	end();

	begin_client(LEG_V1_OR_V2);
	raw_words(&w.raw, 0x1, 9, 8, 0);
	raw_words(&w.raw, 0x1);
	world_run(&w, NSEC_PER_SEC);
	expect_err_vers(0x1, 9, 1, 2);
	/* Two of ours were received, and one of the gateway's: it may send one more. */
	raw_words(&w.raw, RAW_V2_PROPS(0x2, 2));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(raw_last(&w.raw, 3), CONNPROP_FINAL_TYPE);
	after = raw_last(&w.raw, 2);
	assert_int_equal(after, plain + 2);
	w.raw.nkept = 0;
	raw_words(&w.raw, RAW_V2_CALL(0x3, 2));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.raw.nkept, 0);
	raw_words(&w.raw, 0, 2, 3, GRANT_TYPE);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.raw.nkept, 1);
	assert_int_equal(raw_last(&w.raw, 0), 0x3);
	end();
}

static void what_is_too_short_is_answered_with_silence_and_then_the_end(void **state)
{
	(void)state;
	begin_client(LEG_V1_OR_V2);
	raw_words(&w.raw, 0x1234, 1, 8);
	raw_words(&w.raw, 0);
	world_run(&w, 5 * NSEC_PER_SEC);
	assert_int_equal(w.raw.nkept, 0);
	assert_false(w.raw.closed);
	world_run(&w, 6 * NSEC_PER_SEC);
	assert_true(w.raw.closed);
	assert_int_equal(proxy_sessions(w.proxy), 0);
	end();
}

static void a_client_that_says_nothing_is_closed(void **state)
{
	(void)state;
	begin_client(LEG_V1_OR_V2);
	world_run(&w, 11 * NSEC_PER_SEC);
	assert_true(w.raw.closed);
	assert_true(w.pairs[0].server.closed);
	assert_int_equal(proxy_sessions(w.proxy), 0);
	end();
}

/* Properties that never end are no more than silence. */
static void a_client_with_endless_properties_is_closed(void **state)
{
	(void)state;
	begin_client(LEG_V1_OR_V2);
	for (unsigned s = 0; s < 9; s++) {
		raw_words(&w.raw, 0x77, 2, 1000, 6, 1, 4, 4, s); /* CONNPROP_MIDDLE */
		world_run(&w, NSEC_PER_SEC);
	}
	assert_false(w.raw.closed);
	world_run(&w, 2 * NSEC_PER_SEC);
	assert_true(w.raw.closed);
	assert_int_equal(proxy_sessions(w.proxy), 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1_is_spoken_on_the_connection_that_refused_2),
		cmocka_unit_test(a_server_that_hangs_up_on_version_2_is_asked_again_in_1),
		cmocka_unit_test(a_refusal_of_2_is_remembered_too),
		cmocka_unit_test(a_verdict_falls_when_version_1_is_refused),
		cmocka_unit_test(a_restart_is_not_taken_for_a_verdict),
		cmocka_unit_test(a_server_of_other_versions_is_no_server),
		cmocka_unit_test(a_server_without_properties_is_spoken_to_in_2),
		cmocka_unit_test(a_server_that_is_silent_is_waited_for_in_vain),
		cmocka_unit_test(a_server_that_refuses_is_no_server),
		cmocka_unit_test(all_workers_count_together),
		cmocka_unit_test(a_client_gets_the_versions_that_are_spoken),
		cmocka_unit_test(a_client_of_no_version_here_ends_by_version),
		cmocka_unit_test(a_client_of_the_other_draft_ends_by_version),
		cmocka_unit_test(a_client_keeps_the_version_it_began_with),
		cmocka_unit_test(messages_before_the_version_is_known_count),
		cmocka_unit_test(what_is_too_short_is_answered_with_silence_and_then_the_end),
		cmocka_unit_test(a_client_that_says_nothing_is_closed),
		cmocka_unit_test(a_client_with_endless_properties_is_closed),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("versions", tests, NULL, NULL);
}
