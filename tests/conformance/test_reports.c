/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * docs/errors.md against the code: its numbers are those of the codec, and each
 * row of its table "Across versions" is sent through whole sessions, in both
 * directions and to requesters of both versions.
 */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/log.h"
#include "tests/session/world.h"
#include "v1/header.h"
#include "v2/error.h"

#define DOCUMENT "docs/errors.md"

enum { LINE = 2048, ROWS = 32, CELL = 64, ERROR_TYPE = 4, FIRST_FIELD = 7, SECOND_FIELD = 9 };

static struct world w;

/* --- what the document says ---------------------------------------------------- */

struct row {
	char cells[3][CELL]; /* reported, to version 1, to version 2 */
};

static struct row rows[ROWS];
static unsigned nrows;

/* Every report there is: its name, number, and fields of its union. */
static const struct code {
	const char *name;
	unsigned version, wire;
	enum rpc_error_code code;
	const char *fields;
} codes[] = {
	{"ERR_VERS", 1, V1_ERR_VERS, RPC_ERROR_VERS, ""},
	{"ERR_CHUNK", 1, V1_ERR_CHUNK, RPC_ERROR_CHUNK, ""},
	{"RDMA2_ERR_VERS", 2, V2_ERR_VERS, RPC_ERROR_VERS, ""},
	{"RDMA2_ERR_BAD_XDR", 2, V2_ERR_BAD_XDR, RPC_ERROR_BAD_XDR, ""},
	{"RDMA2_ERR_BAD_PROPVAL", 2, V2_ERR_BAD_PROPVAL, RPC_ERROR_BAD_PROPVAL, ""},
	{"RDMA2_ERR_INVAL_HTYPE", 2, V2_ERR_INVAL_HTYPE, RPC_ERROR_INVAL_HTYPE, ""},
	{"RDMA2_ERR_INVAL_CONT", 2, V2_ERR_INVAL_CONT, RPC_ERROR_INVAL_CONT, ""},
	{"RDMA2_ERR_READ_CHUNKS", 2, V2_ERR_READ_CHUNKS, RPC_ERROR_READ_CHUNKS, " n"},
	{"RDMA2_ERR_WRITE_CHUNKS", 2, V2_ERR_WRITE_CHUNKS, RPC_ERROR_WRITE_CHUNKS, " n"},
	{"RDMA2_ERR_SEGMENTS", 2, V2_ERR_SEGMENTS, RPC_ERROR_SEGMENTS, " n"},
	{"RDMA2_ERR_WRITE_RESOURCE", 2, V2_ERR_WRITE_RESOURCE, RPC_ERROR_WRITE_RESOURCE, " i n"},
	{"RDMA2_ERR_REPLY_RESOURCE", 2, V2_ERR_REPLY_RESOURCE, RPC_ERROR_REPLY_RESOURCE, " n"},
	{"RDMA2_ERR_VERS_MISMATCH", 2, V2_ERR_VERS_MISMATCH, RPC_ERROR_VERS_MISMATCH, ""},
	{"RDMA2_ERR_SYSTEM", 2, V2_ERR_SYSTEM, RPC_ERROR_SYSTEM, ""},
};
enum { CODES = sizeof(codes) / sizeof(codes[0]) };

/* The code of a cell: "RDMA2_ERR_SEGMENTS n". Its fields must be the right ones. */
static const struct code *code_of(const char *cell)
{
	char whole[CELL];

	for (unsigned i = 0; i < CODES; i++) {
		snprintf(whole, sizeof(whole), "%s%s", codes[i].name, codes[i].fields);
		if (strcmp(whole, cell) == 0)
			return &codes[i];
	}
	fail_msg("%s: no such report: %s", DOCUMENT, cell);
	return NULL;
}

/* Lines of the section @title, one by one: NULL at its end. */
static const char *next_line(FILE *f, char line[LINE])
{
	if (!fgets(line, LINE, f) || strncmp(line, "## ", 3) == 0)
		return NULL;
	return line;
}

static FILE *open_section(const char *title)
{
	FILE *f = fopen(DOCUMENT, "r");
	char line[LINE];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, "## ", 3) == 0 && strncmp(line + 3, title, strlen(title)) == 0)
			return f;
	fail_msg("%s: no section %s", DOCUMENT, title);
	return NULL;
}

static void read_translations(void)
{
	FILE *f = open_section("Across versions");
	char line[LINE];

	nrows = 0;
	while (next_line(f, line)) {
		struct row *r = &rows[nrows];

		if (sscanf(line, "| `%63[^`]` | `%63[^`]` | `%63[^`]` |", r->cells[0], r->cells[1],
			   r->cells[2]) != 3)
			continue;
		nrows++;
		assert_true(nrows < ROWS);
	}
	fclose(f);
}

static void check_numbers(const char *title, unsigned version)
{
	FILE *f = open_section(title);
	unsigned found = 0, wanted = 0, number;
	char line[LINE], name[CELL];

	while (next_line(f, line)) {
		if (sscanf(line, "| %63[A-Z0-9_] | %u |", name, &number) != 2)
			continue;
		for (unsigned i = 0; i < CODES; i++)
			if (codes[i].version == version && strcmp(codes[i].name, name) == 0) {
				assert_int_equal(codes[i].wire, number);
				found++;
			}
	}
	fclose(f);
	for (unsigned i = 0; i < CODES; i++)
		wanted += codes[i].version == version;
	assert_int_equal(found, wanted);
}

static void numbers_are_those_of_the_codec(void **state)
{
	(void)state;
	check_numbers("Version 1", 1);
	check_numbers("Version 2", 2);
}

/* Each report of either version has its row, once. */
static void every_report_has_a_row(void **state)
{
	(void)state;
	read_translations();
	assert_int_equal(nrows, CODES);
	for (unsigned i = 0; i < CODES; i++) {
		unsigned n = 0;

		for (unsigned k = 0; k < nrows; k++)
			n += code_of(rows[k].cells[0]) == &codes[i];
		assert_int_equal(n, 1);
	}
}

/* --- what the code does -------------------------------------------------------- */

/* The responder, written by hand: whatever is called, it reports @code. */
static void report(struct raw *r, struct view in, void *arg)
{
	const struct code *code = arg;
	uint32_t xid = xdr_peek_u32(in.data), vers = xdr_peek_u32(in.data + 4);
	uint32_t type = xdr_peek_u32(in.data + 12);

	if (vers == 2 && type == 7)
		raw_words(r, RAW_V2_PROPS(0x77, 60));
	if (type != (vers == 1 ? 0 : 10))
		return;
	if (code->code == RPC_ERROR_VERS)
		raw_words(r, xid, vers, 60, ERROR_TYPE, code->wire, 3, 4);
	else if (code->fields[0] == '\0')
		raw_words(r, xid, vers, 60, ERROR_TYPE, code->wire);
	else if (strcmp(code->fields, " n") == 0)
		raw_words(r, xid, vers, 60, ERROR_TYPE, code->wire, FIRST_FIELD);
	else
		raw_words(r, xid, vers, 60, ERROR_TYPE, code->wire, FIRST_FIELD, SECOND_FIELD);
}

/* Check what the requester learned. */
static void check_requester(const struct peer *p, const struct row *row, unsigned version)
{
	const char *cell = row->cells[version];
	const struct code *want;

	if (strcmp(cell, "closed") == 0) {
		assert_true(p->closed);
		assert_int_equal(p->errors, 0);
		return;
	}
	want = code_of(cell);
	assert_int_equal(want->version, version);
	assert_false(p->closed);
	assert_int_equal(p->errors, 1);
	assert_int_equal(p->last_error.code, want->code);
	assert_int_equal(p->last_error.a, want->fields[0] ? FIRST_FIELD : 0);
	assert_int_equal(p->last_error.b, strcmp(want->fields, " i n") ? 0 : SECOND_FIELD);
	assert_int_equal(peer_busy(p), 0);
}

static void begin(const struct code *code, unsigned requester, bool reverse)
{
	struct setup s = setup_defaults(LEG_V1, LEG_V1, 9);

	s.raw = true;
	s.raw_client = reverse;
	s.memory = s.peer_memory = 64 << 20;
	*(reverse ? &s.server_version : &s.client_version) = requester;
	*(reverse ? &s.upstream_versions : &s.listen_versions) = requester;
	*(reverse ? &s.listen_versions : &s.upstream_versions) = code->version;
	world_new(&w, &s);
	w.raw.arg = (void *)(uintptr_t)code;
}

static void forward(const struct row *row, unsigned requester)
{
	static const struct peer_spec call = {.body = 100, .reply = 24, .segs = 1};
	struct peer *p = &w.pairs[0].client;

	begin(code_of(row->cells[0]), requester, false);
	w.raw.on_message = report;
	world_connect_pair(&w, 0);
	world_run(&w, NSEC_PER_SEC);
	assert_true(p->open);
	peer_call(p, &call);
	world_run(&w, NSEC_PER_SEC);
	check_requester(p, row, requester);
	world_quit(&w);
	world_free(&w);
}

static void backward(const struct row *row, unsigned requester)
{
	static const struct peer_spec call = {.body = 100, .reply = 24, .segs = 1};
	const struct code *code = code_of(row->cells[0]);
	struct peer *p = &w.pairs[0].server;

	begin(code, requester, true);
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	if (code->version == 2) /* it takes reverse calls of every kind */
		raw_words(&w.raw, 0x99, 2, 60, 7, 1, 5, 4, 3);
	world_run(&w, NSEC_PER_SEC);
	if (code->version == 2)
		raw_words(&w.raw, RAW_V2_CALL(0x98, 60));
	else
		raw_words(&w.raw, RAW_V1_CALL(0x98));
	world_run(&w, NSEC_PER_SEC);
	w.raw.on_message = report;
	peer_call(p, &call);
	world_run(&w, NSEC_PER_SEC);
	check_requester(p, row, requester);
	world_quit(&w);
	world_free(&w);
}

static void across_versions(void **state)
{
	(void)state;
	read_translations();
	for (unsigned i = 0; i < nrows; i++)
		for (unsigned requester = 1; requester <= 2; requester++) {
			print_message("%s to version %u: %s\n", rows[i].cells[0], requester,
				      rows[i].cells[requester]);
			forward(&rows[i], requester);
			backward(&rows[i], requester);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_those_of_the_codec),
		cmocka_unit_test(every_report_has_a_row),
		cmocka_unit_test(across_versions),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}
