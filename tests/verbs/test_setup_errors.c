/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/verbs/adapter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/pause.h"

/* Steps of a connection's set-up fail. An operator reads the reason, and a server that is not the
 * reason is not taken for it. */

static char line[512]; /* of the log, written last */
static const struct fabric_conn_params params = {
	.max_recvs = 4, .max_sends = 4, .max_exposures = 4};

static void keep_line(const char *text)
{
	snprintf(line, sizeof(line), "%s", text);
}

static int start(void **state)
{
	int err = adapter_start(state);

	log_set_level(LOG_LEVEL_WARN);
	log_set_sink(keep_line);
	line[0] = '\0';
	return err;
}

static int stop(void **state)
{
	log_set_sink(NULL);
	return adapter_stop(state);
}

static struct verbs_conn *begin(const char *from)
{
	struct fabric_conn_params p = params;
	struct fabric_addr to, own;
	struct fabric_conn *conn;

	assert_int_equal(fabric_addr_parse("192.0.2.1", 20049, &to), 0);
	if (from) {
		assert_int_equal(fabric_addr_parse(from, 0, &own), 0);
		p.from = &own;
	}
	assert_int_equal(cm_connect(&adapter.v.base, &to, &p, NULL, &conn), 0);
	return container_of(conn, struct verbs_conn, base);
}

/* The provider reports @type with @status, and leaves @error in errno. */
static void report(const struct verbs_conn *c, enum rdma_cm_event_type type, int status, int error)
{
	adapter_cm_event(type, c->id);
	adapter.cm_event.status = status;
	adapter.cm_event_errno = error;
	cm_ready(&adapter.v.watch, LOOP_READ);
	adapter.cm_event_errno = 0;
}

/* @c has ended with @status, and the reason has @words. */
static void expect_end(struct verbs_conn *c, int status, const char *words)
{
	if (c->state != VERBS_ENDED)
		cm_expired(c); /* a failure of the first step is reported soon after it */
	assert_int_equal(c->state, VERBS_ENDED);
	assert_int_equal(c->status, status);
	assert_non_null(c->why);
	if (!strstr(c->why, words))
		fail_msg("\"%s\" lacks \"%s\"", c->why, words);
	end_free(c);
}

/* Nothing of the server is involved, whatever the errno is. */
static void without_an_identifier_the_machine_is_the_reason(void **state)
{
	static const struct {
		int error;
		const char *words;
	} cases[] = {{ENODEV, "no RDMA device works here, see rdma link"},
		     {EACCES, "this machine forbids it"},
		     {ENOMEM, "out of descriptors or memory"},
		     {ENODATA, "no RDMA device works here"}};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		adapter.create_errno = cases[i].error;
		expect_end(begin(NULL), ERR_LOCAL, cases[i].words);
	}
	assert_non_null(strstr(line, "event=verbs.connect"));
	assert_non_null(strstr(line, "works here, see rdma link: No data available"));
}

static void an_address_that_leads_nowhere_has_a_reason(void **state)
{
	static const struct {
		int error, status;
		const char *words;
	} cases[] = {{ENODEV, ERR_REFUSED, "no RDMA device leads there, see rdma link"},
		     {ENETUNREACH, ERR_REFUSED, "has no route to it, see ip route get"},
		     {EHOSTUNREACH, ERR_REFUSED, "see ip route get and ip neigh"},
		     {ETIMEDOUT, ERR_TIMEOUT, "no answer, see ip neigh"},
		     {EADDRNOTAVAIL, ERR_LOCAL, "no source port is left"},
		     {EACCES, ERR_LOCAL, "this machine forbids it"}};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verbs_conn *c;

		adapter.resolve_errno = cases[i].error;
		expect_end(begin(NULL), cases[i].status, cases[i].words);
		adapter.resolve_errno = 0;
		if (cases[i].error == EADDRNOTAVAIL)
			continue; /* the event means another thing: see below */
		c = begin(NULL);
		report(c, RDMA_CM_EVENT_ADDR_ERROR, -cases[i].error, 0);
		expect_end(c, cases[i].status, cases[i].words);
	}
	assert_string_equal(line, ""); /* the reasons say all */
}

/* The time for set-up has several looks, and one of them may come late (base/pause.h). */
static void a_pause_of_the_process_is_not_the_peers(void **state)
{
	struct verbs_conn *c = begin(NULL);

	(void)state;
	for (unsigned i = 1; i < SETUP_LOOKS; i++) {
		cm_expired(c);
		assert_int_not_equal(c->state, VERBS_ENDED);
	}
	cm_expired(c);
	expect_end(c, ERR_TIMEOUT, "connection set-up took too long");
}

/* Ports are chosen before the event, so an address is missing. */
static void a_missing_source_address_is_named(void **state)
{
	struct verbs_conn *c = begin(NULL);

	(void)state;
	report(c, RDMA_CM_EVENT_ADDR_ERROR, -EADDRNOTAVAIL, 0);
	expect_end(c, ERR_REFUSED, "no RDMA device leads there");
	adapter.resolve_errno = ENODEV;
	expect_end(begin("192.0.2.2"), ERR_REFUSED, "no RDMA device with that source address");
	adapter.resolve_errno = EADDRNOTAVAIL;
	expect_end(begin("192.0.2.2"), ERR_LOCAL, "or it has no port left");
}

/* The log has the system's words if the reason can only say which step failed. */
static void an_error_of_many_causes_is_logged(void **state)
{
	struct verbs_conn *c;

	(void)state;
	adapter.connect_errno = EINVAL;
	c = begin(NULL);
	report(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0, 0);
	report(c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, 0);
	expect_end(c, ERR_IO, "the device cannot connect");
	assert_non_null(strstr(line, "event=verbs.connect"));
	assert_non_null(
		strstr(line, "cause=io why=\"the device cannot connect: Invalid argument\""));
	line[0] = '\0';
	adapter.connect_errno = 0;
	c = begin(NULL);
	report(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0, 0);
	adapter.route_errno = ENOSYS;
	report(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0, 0);
	expect_end(c, ERR_REFUSED, "no route, see ip route get");
	assert_non_null(strstr(line, "Function not implemented"));
}

/* librdmacm fails while it reports the event: the status is -1, which would be EPERM. */
static void the_librarys_own_failure_has_its_errno(void **state)
{
	struct verbs_conn *c = begin(NULL);

	(void)state;
	report(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0, 0);
	report(c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, 0);
	report(c, RDMA_CM_EVENT_CONNECT_ERROR, -1, EHOSTUNREACH);
	expect_end(c, ERR_REFUSED, "it cannot be reached");
	c = begin(NULL);
	report(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0, 0);
	report(c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, 0);
	report(c, RDMA_CM_EVENT_CONNECT_ERROR, -1, 0);
	expect_end(c, ERR_IO, "the connection could not be set up");
	assert_non_null(strstr(line, "could not be set up: Input/output error"));
}

static void a_connection_that_is_refused_at_once_is_refused(void **state)
{
	struct verbs_conn *c = begin(NULL);

	(void)state;
	adapter.connect_errno = ECONNREFUSED;
	report(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0, 0);
	report(c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, 0);
	expect_end(c, ERR_REFUSED, "nobody listens there");
}

/* A client that cannot be accepted for a lack of this machine. A client that is gone leaves no
 * line. */
static void a_shortage_at_an_accept_is_logged(void **state)
{
	static const int errors[] = {EINVAL, ENOMEM};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct rdma_cm_id *id;
		struct verbs_conn *c;

		assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
		id->verbs = &adapter.context;
		c = conn_new(&adapter.v, id, VERBS_REQUESTED, NULL);
		assert_non_null(c);
		adapter.accept_errno = errors[i];
		assert_int_equal(cm_accept(&c->base, &params, NULL), ERR_CLOSED);
		assert_int_equal(strstr(line, "event=verbs.accept") != NULL, errors[i] == ENOMEM);
		end_free(c);
	}
	assert_non_null(strstr(line, "cause=local why=\"this machine is out of descriptors"));
}

static void expect_no_reads(struct fabric_conn *conn, bool none)
{
	static uint8_t to[8];
	const struct segment remote = {.handle = 77, .length = sizeof(to)};

	if (none)
		assert_int_equal(fabric_read(conn, to, &remote, NULL), ERR_PROTO);
	assert_int_equal(conn->no_reads, none);
}

/* A server whose answer grants @depth Reads. */
static void answer_with(uint8_t depth, bool none)
{
	struct verbs_conn *c = begin(NULL);

	report(c, RDMA_CM_EVENT_ADDR_RESOLVED, 0, 0);
	report(c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, 0);
	adapter_cm_event(RDMA_CM_EVENT_ESTABLISHED, c->id);
	adapter.cm_event.param.conn.initiator_depth = depth;
	cm_ready(&adapter.v.watch, LOOP_READ);
	assert_int_equal(c->state, VERBS_OPEN);
	expect_no_reads(&c->base, none);
	end_free(c);
}

/* A client whose request grants @depth Reads. @watch: the listener's. */
static void request_with(uint8_t depth, struct loop_watch *watch, bool none)
{
	struct rdma_cm_id *id;
	struct fabric_event ev;

	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	id->verbs = &adapter.context;
	adapter_cm_event(RDMA_CM_EVENT_CONNECT_REQUEST, id);
	adapter.cm_event.param.conn.initiator_depth = depth;
	watch->ready(watch, LOOP_READ);
	assert_int_equal(fabric_poll(&adapter.v.base, &ev), 1);
	assert_int_equal(ev.type, FABRIC_EV_REQUEST);
	assert_int_equal(fabric_accept(ev.conn, &params, NULL), 0);
	adapter_cm_event(RDMA_CM_EVENT_ESTABLISHED, id);
	cm_ready(&adapter.v.watch, LOOP_READ);
	expect_no_reads(ev.conn, none);
	fabric_destroy(ev.conn);
}

/* An adapter would end the connection at the first Read, or wait for ever. Decision 158. */
static void peers_that_serve_no_reads_are_known(void **state)
{
	struct fabric_listener *l;
	struct fabric_addr at;
	struct loop_watch *watch;
	int err;

	(void)state;
	answer_with(0, true);
	answer_with(4, false);
	assert_int_equal(fabric_addr_parse("127.0.0.1", 20049, &at), 0);
	l = verbs_listen(&at, &err);
	assert_non_null(l);
	assert_int_equal(fabric_attach(&adapter.v.base, l, &err), 0);
	watch = adapter.watch;
	request_with(0, watch, true);
	request_with(4, watch, false);
	fabric_detach(&adapter.v.base, l);
	verbs_listener_free(l);
}

/* Connection managers of iWARP adapters may not tell. */
static void an_iwarp_adapter_may_not_tell_of_reads(void **state)
{
	(void)state;
	adapter.device.transport_type = IBV_TRANSPORT_IWARP;
	answer_with(0, false);
}

#define setup_test(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		setup_test(without_an_identifier_the_machine_is_the_reason),
		setup_test(an_address_that_leads_nowhere_has_a_reason),
		setup_test(a_pause_of_the_process_is_not_the_peers),
		setup_test(a_missing_source_address_is_named),
		setup_test(an_error_of_many_causes_is_logged),
		setup_test(the_librarys_own_failure_has_its_errno),
		setup_test(a_connection_that_is_refused_at_once_is_refused),
		setup_test(a_shortage_at_an_accept_is_logged),
		setup_test(peers_that_serve_no_reads_are_known),
		setup_test(an_iwarp_adapter_may_not_tell_of_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
