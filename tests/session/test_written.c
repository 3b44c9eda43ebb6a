/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server's report of what it wrote, compared with what it wrote. A client gets all octets that were
 * written for it, in any order of writing, or no reply: never older octets of the gateway's memory,
 * and never a part of a reply as if it were the whole.
 */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/log.h"
#include "tests/session/stage.h"

enum { CALL_INLINE = 10, GRANT = 5, ERROR_TYPE = 4, CHUNK_CODE = 2, SYSTEM_CODE = 100 };
enum { WROTE = 104, MIB = 1 << 20 };

/** struct play - behaviour of the raw server: the first call is answered correctly, the second as
 * the test says. */
struct play {
	unsigned vers;
	void (*answer)(uint32_t xid);
	unsigned calls, received;
	struct segment write, reply; /* of the last call, length 0: none */
	uint32_t inv;		     /* version 2: the handle that its reply may invalidate */
	uint32_t writes, told;	     /* of the Reply chunk: octets written, reported */
	uint32_t returns;	     /* of the Write chunk */
};

static struct play play;

static struct peer *client(void)
{
	return &stage.pairs[0].client;
}

static uint32_t credits(void)
{
	return play.vers == 1 ? 20 : play.received + 20;
}

static struct segment get_chunk(struct xdr_in *x)
{
	struct segment whole = {0};

	for (uint32_t n = xdr_get_u32(x); n; n--) {
		struct segment s = xdr_get_segment(x);

		whole = whole.length ? whole : (struct segment){s.handle, 0, s.offset};
		whole.length += s.length;
	}
	return whole;
}

/* The first Write chunk and the Reply chunk of a call: each is one region of the gateway's. */
static void note_chunks(struct view in)
{
	struct xdr_in x;

	xdr_in_init(&x, in);
	xdr_skip(&x, 16);
	play.inv = play.vers == 1 ? 0 : xdr_get_u32(&x);
	play.write = play.reply = (struct segment){0};
	while (xdr_get_bool(&x)) {
		xdr_skip(&x, 4);
		(void)xdr_get_segment(&x);
	}
	while (xdr_get_bool(&x))
		play.write = get_chunk(&x);
	if (xdr_get_bool(&x))
		play.reply = get_chunk(&x);
	assert_false(x.failed);
}

/* The lists of a reply: the Write chunk if the call had one, the Reply chunk if @reply. */
static struct xdr_out begin_reply(uint32_t xid, unsigned type, bool reply)
{
	struct xdr_out x = raw_begin(&stage.raw);
	struct segment write = play.write, chunk = play.reply;

	write.length = play.returns;
	chunk.length = play.told;
	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, play.vers);
	xdr_put_u32(&x, credits());
	xdr_put_u32(&x, type);
	if (play.vers == 1)
		xdr_put_u32(&x, 0);
	if (play.write.handle) {
		xdr_put_u32(&x, 1);
		xdr_put_u32(&x, 1);
		xdr_put_segment(&x, &write);
	}
	xdr_put_u32(&x, 0);
	if (play.vers == 1 || reply)
		xdr_put_u32(&x, reply);
	if (reply) {
		xdr_put_u32(&x, 1);
		xdr_put_segment(&x, &chunk);
	}
	return x;
}

static void put_inline_reply(uint32_t xid)
{
	const uint32_t body[] = {RAW_REPLY_BODY(xid)};
	struct xdr_out x = begin_reply(xid, play.vers == 1 ? 0 : 13, false);

	for (unsigned i = 0; i < 6; i++)
		xdr_put_u32(&x, body[i]);
	raw_end(&stage.raw, &x);
}

static void put_reply_chunk(uint32_t xid)
{
	struct xdr_out x = begin_reply(xid, play.vers == 1 ? 1 : 11, true);

	raw_end(&stage.raw, &x);
}

/* The contents of raw_write(): a reply to @xid, and zeros. */
static void prepare(uint32_t xid)
{
	struct xdr_out x;

	xdr_out_init(&x, stage.raw.memory + (RAW_RECVS + RAW_SENDS) * RAW_BUFFER, 8);
	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, 1);
}

static void serve(uint32_t xid)
{
	prepare(xid);
	if (play.write.length)
		raw_write(&stage.raw, &play.write, play.write.length);
	play.returns = play.write.length;
	put_inline_reply(xid);
}

static void reverse_call(void)
{
	if (play.vers == 1)
		raw_words(&stage.raw, RAW_V1_CALL(0xbbbb));
	else
		raw_words(&stage.raw, RAW_V2_CALL(0xbbbb, credits()));
}

static void on_message(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data), vers = xdr_peek_u32(in.data + 4);
	uint32_t type = xdr_peek_u32(in.data + 12);

	(void)arg;
	play.received++;
	if (vers == 2 && play.vers == 1) {
		raw_words(r, xid, 2, 20, ERROR_TYPE, 1, 1, 1);
		return;
	}
	if (type == 7) /* messages of 1024 octets, segments of 4096, 200 of them */
		raw_words(r, 0x55, 2, credits(), 7, 3, 2, 4, 1024, 3, 4, 4096, 4, 4, 200);
	if (type !=
	    (play.vers == 1 ? 0 : CALL_INLINE)) /* of a continued call the last part counts */
		return;
	note_chunks(in);
	if (++play.calls == 1)
		serve(xid);
	else
		play.answer(xid);
}

static void begin(unsigned cv, unsigned sv, void (*answer)(uint32_t xid))
{
	const struct peer_spec null_call = {.body = 100, .reply = 24, .segs = 1};

	play = (struct play){.vers = sv, .answer = answer};
	stage_server(cv, on_message, NULL);
	world_connect_pair(&stage, 0);
	stage_run(0);
	peer_call(client(), &null_call);
	stage_run(0);
	assert_int_equal(client()->done, 1);
}

/* The session is over; the client had no second reply. */
static void refused(void)
{
	stage_is_over(true);
	assert_int_equal(play.calls, 2);
	assert_int_equal(client()->done, 1);
	assert_int_equal(client()->corrupt, 0);
	stage_end();
}

/*
 * A reply that claims a full Write chunk, of which nothing was written, and behind it, before the
 * gateway looks at either, another message, which invalidates the chunk's handle.
 */
enum behind { BEHIND_CALL, BEHIND_GRANT, BEHIND_ERROR, BEHIND_REPLY, BEHINDS };
static enum behind behind;

static void claim_and_invalidate(uint32_t xid)
{
	play.returns = play.write.length;
	put_inline_reply(xid);
	stage.raw.invalidate = play.write.handle;
	if (behind == BEHIND_CALL)
		reverse_call();
	else if (behind == BEHIND_GRANT)
		raw_words(&stage.raw, 0, 2, credits(), GRANT);
	else if (behind == BEHIND_ERROR)
		raw_words(&stage.raw, xid, play.vers, credits(), ERROR_TYPE,
			  play.vers == 1 ? CHUNK_CODE : SYSTEM_CODE);
	else
		put_inline_reply(xid);
}

/* Until the server has answered, and then the gateway is asleep while all of that arrives. */
static void run_to_the_answer(void)
{
	nsec_t awake;

	world_turn(&stage);
	while (play.calls < 2) {
		memnet_step(stage.net, NSEC_NEVER);
		world_turn(&stage);
	}
	awake = memnet_now(stage.net) + NSEC_PER_MS;
	while (memnet_step(stage.net, awake))
		;
}

static void a_flush_behind_the_reply_makes_nothing_forgotten(void **state)
{
	const struct peer_spec spec = {.body = 100,
				       .reply = 24,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {3000},
				       .writes = {3000}};

	(void)state;
	for (unsigned versions = 0; versions < 4; versions++)
		for (behind = 0; behind < BEHINDS; behind++) {
			if (behind == BEHIND_GRANT && versions < 2)
				continue; /* there is none in version 1 */
			begin(1 + versions % 2, 1 + versions / 2, claim_and_invalidate);
			peer_call(client(), &spec);
			run_to_the_answer();
			refused();
		}
}

static void report_of_reply_chunk(uint32_t xid)
{
	prepare(xid);
	assert_true(play.reply.length >= play.told);
	play.returns = play.write.length;
	if (play.write.length)
		raw_write(&stage.raw, &play.write, play.write.length);
	raw_write(&stage.raw, &play.reply, play.writes);
	put_reply_chunk(xid);
}

/* More than was written, and no reason for that which is known; of version 2 none is. */
static void a_reply_is_never_shortened_in_silence(void **state)
{
	static const struct {
		unsigned vers;
		uint32_t write, told; /* the Write chunk, the Reply chunk */
	} rows[] = {
		{1, 0, WROTE + 4},
		{2, 0, WROTE + 4},
		{1, 3000, WROTE + 2996},
		{1, 3000, WROTE + 3004},
		{2, 3000, WROTE + 3000},
		{1, 3000, WROTE + 4},
		{2, 3000, 5000 /* all of it */},
		{1, 3000, WROTE + 1 /* with .no_written */},
	};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const unsigned row = i / 2;
		struct peer_spec spec = {.body = 100, .reply = 24, .segs = 1, .reply_cap = 5000};

		if (rows[row].write) {
			spec.nwrites = 1;
			spec.write_caps[0] = spec.writes[0] = rows[row].write;
		}
		stage_no_written = row == sizeof(rows) / sizeof(rows[0]) - 1;
		begin(1 + i % 2, rows[row].vers, report_of_reply_chunk);
		play.writes = WROTE, play.told = rows[row].told;
		peer_call(client(), &spec);
		refused();
	}
	stage_no_written = false;
}

/* A call of a program that the gateway does not know. */
static const uint32_t unknown_call[] = {0, 2, 0x40000123, 1, 1, 0, 0, 0, 0};

/* The client's call of @words, with a Reply chunk of @cap octets; 0: none. */
static void ask(uint32_t cap, const uint32_t *words, unsigned nwords)
{
	const struct peer_spec spec = {.body = 100,
				       .reply = 24,
				       .segs = 1,
				       .reply_cap = cap,
				       .words = words,
				       .nwords = nwords};

	peer_call(client(), &spec);
	stage_run(1);
}

static void fill_reply_chunk(uint32_t xid)
{
	play.writes = play.told = play.reply.length;
	report_of_reply_chunk(xid);
}

/* The server is offered the client's own Reply chunk, to the octet, and a reply that fills it is
 * passed on. Servers assert that a Reply chunk is no longer than 1 MiB. */
static void a_reply_chunk_is_as_long_as_the_client_s(void **state)
{
	static const uint32_t caps[] = {5000, 5001, MIB - 4, MIB - 3, MIB, MIB + 4096, 4 * MIB};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(caps) / sizeof(caps[0]); i++) {
		begin(1 + i % 2, 1, fill_reply_chunk);
		ask(caps[i / 2], unknown_call, sizeof(unknown_call) / 4);
		assert_int_equal(play.reply.length, caps[i / 2]);
		assert_int_equal(client()->done, 2);
		assert_int_equal(client()->errors, 0);
		stage_goes_on();
		stage_end();
	}
}

/* A READ of 8,000 octets, cut to a Reply chunk of 5,000 (rfc5666bis-01 5.5 wants an error). */
static void cut_read(uint32_t xid)
{
	const uint32_t reply[] = {xid, 1, 0, 0, 0, 0, 0, 0, 8000, 0, 8000};
	struct xdr_out x;

	xdr_out_init(&x, stage.raw.memory + (RAW_RECVS + RAW_SENDS) * RAW_BUFFER, sizeof(reply));
	for (unsigned i = 0; i < sizeof(reply) / sizeof(reply[0]); i++)
		xdr_put_u32(&x, reply[i]);
	play.told = play.reply.length;
	raw_write(&stage.raw, &play.reply, play.told);
	put_reply_chunk(xid);
}

static void a_read_cut_to_the_client_s_chunk_is_an_error(void **state)
{
	static const uint32_t words[] = {0, 2, 100003, 3, 6, 0, 0, 0, 0, 4, 0x1234, 0, 0, 8000};

	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++) {
		begin(cv, 1, cut_read);
		ask(5000, words, sizeof(words) / 4);
		assert_int_equal(client()->done, 1);
		assert_int_equal(client()->errors, 1);
		stage_goes_on();
		stage_end();
	}
}

/* Where the client offered no Reply chunk, that of the gateway has one word more than the longest
 * reply, so a full one was cut. A reply of NFS that nothing bounds has 1 MiB, this word included. */
static void a_reply_cut_to_the_gateway_s_chunk_is_an_error(void **state)
{
	/* A COMPOUND of an operation that the gateway does not know. */
	static const uint32_t words[] = {0, 2, 100003, 4, 1, 0, 0, 0, 0, 0, 1, 1, 9999};

	(void)state;
	begin(2, 1, fill_reply_chunk);
	ask(0, words, sizeof(words) / 4);
	assert_int_equal(play.reply.length, MIB);
	assert_int_equal(client()->done, 1);
	assert_int_equal(client()->errors, 1);
	play.answer = report_of_reply_chunk;
	play.writes = play.told = MIB - 4;
	ask(0, words, sizeof(words) / 4);
	assert_int_equal(client()->done, 2);
	assert_int_equal(client()->errors, 1);
	stage_goes_on();
	stage_end();
}

/*
 * NFS has no limit for paths and names. A server that finds no room for its reply has done what it was
 * asked for: the requester makes its calls again, as after any connection that ends, and finds more.
 */
static bool cuts;

static void send_long_path(uint32_t xid)
{
	const uint32_t length = 6000;

	play.told = play.writes = length < play.reply.length ? length : play.reply.length;
	if (play.told == length || cuts)
		report_of_reply_chunk(xid);
	else
		raw_words(&stage.raw, xid, 1, 20, ERROR_TYPE, CHUNK_CODE);
}

static void read_link(void)
{
	static const uint32_t words[] = {0, 2, 100003, 3, 5, 0, 0, 0, 0, 4, 0x1234};

	ask(0, words, sizeof(words) / 4);
}

static void refuse_chunk(uint32_t xid)
{
	raw_words(&stage.raw, xid, 1, 20, ERROR_TYPE, CHUNK_CODE);
}

/* More room is asked of all clients of a route: a server that does not like one's data is no reason. */
static void data_that_are_refused_are_no_long_reply(void **state)
{
	/* READLINK, and data that nobody asked for. */
	static const uint32_t words[] = {0, 2, 100003, 3, 5, 0, 0, 0, 0, 4, 0x1234, 0, 0, 0, 4096};
	const struct peer_spec write = {.body = 64,
					.reply = 24,
					.segs = 1,
					.nreads = 1,
					.reads = {4096},
					.words = words,
					.nwords = sizeof(words) / sizeof(words[0])};

	(void)state;
	begin(2, 1, refuse_chunk);
	peer_call(client(), &write);
	stage_run(1);
	assert_int_equal(client()->errors, 1);
	assert_true(client()->open);
	play.answer = report_of_reply_chunk;
	play.writes = play.told = 1000;
	read_link();
	assert_in_range(play.reply.length, 4096, 5000);
	assert_int_equal(client()->errors, 1);
	stage_goes_on();
	stage_end();
}

static void a_reply_longer_than_expected_is_asked_for_again(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		cuts = i;
		begin(2, 1, send_long_path);
		read_link();
		stage_is_over(false);
		assert_int_equal(client()->done, 1);
		assert_int_equal(client()->errors, 0);
		assert_in_range(play.reply.length, 4096, 5000);
		raw_hang_up(&stage.raw);
		peer_end(client());
		world_connect_pair(&stage, 0);
		stage_run(0);
		assert_true(client()->open);
		read_link();
		assert_int_equal(client()->done, 2);
		assert_in_range(play.reply.length, 65536, 1 << 17);
		/* This is remembered while such replies continue. */
		for (int n = 0; n < 3; n++) {
			stage_run(90);
			read_link();
		}
		assert_int_equal(client()->done, 5);
		assert_int_equal(client()->errors, 0);
		/* ... and forgotten when there are none: the next one is one too many again. */
		stage_run(200);
		read_link();
		assert_int_equal(client()->done, 5);
		assert_int_equal(client()->errors, 0);
		assert_int_equal(proxy_sessions(stage.proxy), 1);
		raw_hang_up(&stage.raw);
		peer_end(client());
		stage_end();
	}
}

/* Version 3's locks are told apart by client address. If clients share an address, this is logged
 * once. */
static void shared_addresses_are_reported(void **state)
{
	static const struct proxy_source one = {.addresses = {.bits = 32, .octets = {10, 9, 8, 7}}},
					 own = {.clients = {.bits = 0}};
	static const struct proxy_source *const sources[] = {NULL, &one, &own};

	(void)state;
	cuts = false;
	for (unsigned i = 0; i < 3; i++) {
		begin(2, 1, send_long_path);
		stage.routes[0].sources = sources[i];
		stage.routes[0].nsources = sources[i] != NULL;
		assert_int_equal(stage_lines("nfs3.locks"), 0);
		read_link();
		stage_is_over(false);
		raw_hang_up(&stage.raw);
		peer_end(client());
		world_connect_pair(&stage, 0);
		stage_run(0);
		read_link();
		assert_int_equal(client()->done, 2);
		assert_int_equal(stage_lines("nfs3.locks"), i < 2);
		raw_hang_up(&stage.raw);
		peer_end(client());
		stage_end();
	}
}

/* A server that answers so for whatever reason is asked twice, and then believed. */
static void refuse_any(uint32_t xid)
{
	raw_words(&stage.raw, xid, 1, 20, ERROR_TYPE, CHUNK_CODE);
}

static void a_server_without_another_answer_is_believed(void **state)
{
	(void)state;
	begin(2, 1, refuse_any);
	read_link();
	stage_is_over(false);
	raw_hang_up(&stage.raw);
	peer_end(client());
	world_connect_pair(&stage, 0);
	stage_run(0);
	read_link();
	read_link();
	assert_int_equal(client()->errors, 2);
	assert_false(client()->closed);
	stage_end();
}

/* rfc5666bis-01 5.2.2: data MUST go to the Write chunk. Some servers leave the Write list out when they
 * are offered a Reply chunk, too, and put the data of a READ there: for a while they are not. */
static uint32_t nfs_status, nfs_count;
static bool wants_inline; /* the first Write chunk is empty, and another stays unused */

static void put_stale_handle(uint32_t xid)
{
	const uint32_t body[] = {RAW_REPLY_BODY(xid), 70, 0, 1, 25, 70};
	struct xdr_out x = begin_reply(xid, 0, false);

	for (unsigned i = 0; i < sizeof(body) / sizeof(body[0]); i++)
		xdr_put_u32(&x, body[i]);
	raw_end(&stage.raw, &x);
}

static void ignore_write_chunk(uint32_t xid)
{
	struct xdr_out x;

	if (!play.reply.length) {
		play.returns = 0;
		put_stale_handle(xid);
		return;
	}
	play.write = (struct segment){0};
	play.writes = play.told = nfs_status ? 44 : 52 + nfs_count;
	prepare(xid);
	xdr_out_init(&x, stage.raw.memory + (RAW_RECVS + RAW_SENDS) * RAW_BUFFER + 24, 28);
	xdr_put_u32(&x, nfs_status);
	xdr_put_u32(&x, 0);  /* no tag */
	xdr_put_u32(&x, 1);  /* result */
	xdr_put_u32(&x, 25); /* of READ */
	xdr_put_u32(&x, nfs_status);
	xdr_put_u32(&x, 1); /* the file ends there */
	xdr_put_u32(&x, nfs_count);
	raw_write(&stage.raw, &play.reply, play.writes);
	put_reply_chunk(xid);
}

/* READ of 3000 octets, and a GETATTR of the owner's name, which may need a Reply chunk. */
static void read_nfs4(bool both)
{
	static const uint32_t words[] = {0,
					 2,
					 100003,
					 4,
					 1,
					 0,
					 0,
					 0,
					 0,
					 /* no tag */ 0,
					 0,
					 2,
					 /* READ */ 25,
					 0,
					 0,
					 0,
					 0,
					 0,
					 0,
					 3000,
					 /* GETATTR */ 9,
					 2,
					 0,
					 16};
	struct peer_spec spec = {.body = 100,
				 .reply = 24,
				 .segs = 1,
				 .reply_cap = 5000,
				 .nwrites = 1,
				 .write_caps = {3000},
				 .words = words,
				 .nwords = sizeof(words) / sizeof(words[0])};
	uint64_t done = client()->done;

	if (wants_inline) {
		spec.nwrites = 2;
		spec.write_caps[0] = 0;
		spec.write_caps[1] = 3000;
	}
	peer_call(client(), &spec);
	stage_run(0);
	assert_int_equal(client()->done, done + 1);
	assert_int_equal(play.reply.length > 0, both);
}

static void a_server_that_ignores_write_chunks_gets_no_reply_chunk_beside(void **state)
{
	(void)state; /* for a client of version 2 the Reply chunk is left out as it is */
	begin(1, 1, ignore_write_chunk);
	/* A READ that failed, or read nothing, has nothing that could be elsewhere. */
	nfs_status = 70; /* NFS3ERR_STALE */
	nfs_count = 0;
	read_nfs4(true);
	nfs_status = 0;
	read_nfs4(true);
	assert_int_equal(stage_lines("upstream.habit"), 0);
	nfs_count = 100;
	/* The same for data that its client wants inline. */
	wants_inline = true;
	read_nfs4(true);
	wants_inline = false;
	assert_int_equal(stage_lines("upstream.habit"), 0);
	read_nfs4(true);
	nfs_status = 70;
	for (unsigned i = 0; i < 3; i++)
		read_nfs4(false);
	/* As long as its version is remembered; after that the server may have been fixed. */
	stage_run(100);
	read_nfs4(true);
	read_nfs4(true);
	assert_int_equal(client()->errors, 0);
	stage_goes_on();
	stage_end();
}

/* Data of a READ that stand in the payload stream, and end it, without their XDR pad. */
static uint32_t odd_length;

static void leave_out_the_pad(uint32_t xid)
{
	const uint32_t results[] = {RAW_REPLY_BODY(xid), 0, 0, odd_length, 0, odd_length};
	struct xdr_out x = begin_reply(xid, 0, false);

	for (unsigned i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		xdr_put_u32(&x, results[i]);
	for (unsigned i = 0; i < 100; i += 4)
		xdr_put_u32(&x, i);
	x.pos -= 100 - odd_length;
	raw_end(&stage.raw, &x);
}

static void the_pad_that_ends_a_reply_is_not_needed(void **state)
{
	static const uint32_t words[] = {0, 2, 100003, 3, 6, 0, 0, 0, 0, 4, 0, 0, 0, 100};
	const struct peer_spec spec = {.body = 100,
				       .reply = 24,
				       .segs = 1,
				       .words = words,
				       .nwords = sizeof(words) / sizeof(words[0])};

	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++) {
		begin(cv, 1, leave_out_the_pad);
		for (odd_length = 97; odd_length <= 99; odd_length++) {
			peer_call(client(), &spec);
			stage_run(0);
			assert_int_equal(client()->errors, 0);
			assert_int_equal(client()->done, odd_length - 95);
		}
		stage_goes_on();
		stage_end();
	}
}

/* The Reply chunk was left out of the call, because its segments were too many. The memory that was
 * set apart for it still holds an older reply to the same XID. */
static void make_up_reply_chunk(uint32_t xid)
{
	if (play.reply.length) {
		report_of_reply_chunk(xid);
		play.calls--; /* as the test said */
		return;
	}
	play.reply = (struct segment){.handle = 0x1234};
	play.told = 24;
	stage.raw.invalidate = play.inv;
	put_reply_chunk(xid);
}

static void a_reply_chunk_that_was_not_offered_is_none(void **state)
{
	bool found = false;

	(void)state;
	for (uint32_t n = 34; n < 42; n++) {
		struct peer_spec spec = {.body = 100,
					 .reply = 24,
					 .segs = 1,
					 .nreads = 1,
					 .reads = {33 * 4096}, /* a block as large as n * 4096 */
					 .reply_cap = 20000};
		uint32_t xid;

		begin(1, 2, make_up_reply_chunk);
		play.writes = play.told = 24;
		xid = client()->next_xid;
		peer_call(client(), &spec);
		stage_run(0);
		assert_int_equal(client()->done, 2);
		client()->next_xid = xid;
		spec.reads[0] = n * 4096;
		peer_call(client(), &spec);
		stage_run(10);
		if (play.calls == 2) {
			found = true;
			assert_int_equal(client()->done, 2);
			stage_is_over(true);
			/* Not for what that memory holds: it was not even looked at. */
			assert_true(stage_reported("beyond what was offered"));
		} else {
			stage_goes_on();
		}
		stage_end();
	}
	assert_true(found);
}

/* rfc5666bis-01 section 3.2.2: a responder's Writes come in any order. */
static void any_order_of_writes_will_do(void **state)
{
	struct rng r = rng_seeded("writes scattered", 31);
	const struct load load = {
		.rng = &r, .calls = 60, .rcalls = 10, .depth = 2, .rdepth = 1, .spec = spec_any};
	static struct world w;

	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		struct setup s = setup_defaults(1 + round % 2, 1 + round / 2 % 2, rng_next(&r));
		struct world_pair *p = &w.pairs[0];

		s.net.no_written = round >= 4;
		world_new(&w, &s);
		p->server.scatters = p->client.scatters = true;
		world_connect(&w);
		assert_true(world_load(&w, &load));
		assert_int_equal(p->client.done, 60);
		assert_int_equal(p->server.done, 10);
		assert_int_equal(p->client.corrupt + p->server.corrupt, 0);
		assert_int_equal(p->client.errors + p->server.errors, 0);
		world_quit(&w);
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flush_behind_the_reply_makes_nothing_forgotten),
		cmocka_unit_test(a_reply_is_never_shortened_in_silence),
		cmocka_unit_test(a_reply_chunk_is_as_long_as_the_client_s),
		cmocka_unit_test(a_read_cut_to_the_client_s_chunk_is_an_error),
		cmocka_unit_test(a_reply_cut_to_the_gateway_s_chunk_is_an_error),
		cmocka_unit_test(a_reply_longer_than_expected_is_asked_for_again),
		cmocka_unit_test(data_that_are_refused_are_no_long_reply),
		cmocka_unit_test(shared_addresses_are_reported),
		cmocka_unit_test(a_server_without_another_answer_is_believed),
		cmocka_unit_test(a_server_that_ignores_write_chunks_gets_no_reply_chunk_beside),
		cmocka_unit_test(the_pad_that_ends_a_reply_is_not_needed),
		cmocka_unit_test(a_reply_chunk_that_was_not_offered_is_none),
		cmocka_unit_test(any_order_of_writes_will_do),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("written", tests, NULL, NULL);
}
