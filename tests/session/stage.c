/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/session/stage.h"

#include <string.h>

#include "base/log.h"
#include "tests/cmocka_all.h"

enum { LINES = 512, LINE_BYTES = 300 };

struct world stage;
uint32_t stage_cut_through_bytes;
nsec_t stage_reply_timeout;
bool stage_no_written;
static char lines[LINES][LINE_BYTES];
static unsigned nlines;

static void keep_line(const char *line)
{
	if (getenv("GW_DEBUG"))
		print_message("%s\n", line);
	if (nlines < LINES)
		snprintf(lines[nlines++], LINE_BYTES, "%s", line);
}

unsigned stage_lines(const char *event)
{
	char what[100];
	unsigned n = 0;

	snprintf(what, sizeof(what), "event=%s ", event);
	for (unsigned i = 0; i < nlines; i++)
		n += strstr(lines[i], what) != NULL;
	return n;
}

bool stage_reported(const char *words)
{
	for (unsigned i = 0; i < nlines; i++)
		if (strstr(lines[i], words))
			return true;
	return false;
}

static const struct peer_spec hello = {.body = 100, .reply = 24, .segs = 1};

static void set(unsigned client, unsigned server, bool raw_client)
{
	struct setup s = setup_defaults(client, server, 17);

	s.pairs = 2;
	s.cut_through_bytes = stage_cut_through_bytes;
	s.reply_timeout = stage_reply_timeout;
	s.net.no_written = stage_no_written;
	s.net.latency_min = 20000; /* what is sent together arrives before any answer */
	s.net.latency_max = 30000;
	s.memory = s.peer_memory = 64 << 20;
	s.raw = true;
	s.raw_client = raw_client;
	nlines = 0;
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(keep_line);
	world_new(&stage, &s);
	world_connect(&stage);
	/* The other client makes a call, because a client that sends nothing is disconnected. */
	peer_call(&stage.pairs[1].client, &hello);
	stage_run(0);
}

void stage_client(unsigned version, unsigned server)
{
	set(LEG_V1, server, true);
	raw_connect(&stage.raw, &stage.pairs[0].gw_addr);
	stage_run(0);
	assert_true(stage.raw.connected);
	if (version == 2)
		raw_words(&stage.raw, RAW_V2_PROPS(0x99, 60));
	else
		raw_words(&stage.raw, RAW_V1_CALL(0x98));
	stage_run(0);
	assert_int_equal(stage.raw.nkept, 1);
	stage.raw.nkept = 0;
}

void stage_server(unsigned version, void (*on_message)(struct raw *r, struct view in, void *arg),
		  void *arg)
{
	set(version, LEG_V1_OR_V2, false);
	stage.raw.on_message = on_message;
	stage.raw.arg = arg;
}

void stage_run(unsigned s)
{
	world_run(&stage, (1 + (nsec_t)s) * NSEC_PER_SEC);
}

void stage_is_over(bool counted)
{
	stage_run(10);
	assert_true(stage.raw.closed || !stage.raw.conn);
	assert_int_equal(proxy_sessions(stage.proxy), 1);
	assert_int_equal(stage_lines("session.end"), 1);
	assert_true(stage_reported(stage.s.raw_client ? "leg=client cause=" : "leg=server cause="));
	if (counted)
		assert_int_equal(proxy_counters(stage.proxy)->peer_faults, 1);
}

void stage_goes_on(void)
{
	stage_run(10);
	assert_false(stage.raw.closed);
	assert_int_equal(proxy_sessions(stage.proxy), 2);
	assert_int_equal(stage_lines("session.end"), 0);
	assert_int_equal(proxy_counters(stage.proxy)->peer_faults, 0);
}

void stage_end(void)
{
	const struct world_pair *p = &stage.pairs[1];
	struct rng r = {23};
	const struct load load = {
		.rng = &r, .calls = 20, .rcalls = 4, .depth = 6, .rdepth = 3, .spec = spec_small};

	assert_true(world_load(&stage, &load));
	assert_int_equal(p->client.done, 21);
	assert_int_equal(p->server.done, 4);
	assert_int_equal(p->client.corrupt + p->server.corrupt + p->client.errors, 0);
	world_quit(&stage);
	world_free(&stage);
	log_set_sink(NULL);
}
