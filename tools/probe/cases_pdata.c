/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 8797: private data. They belong to version 1; a server of version 2 only may send none. */
#include <string.h>

#include "tools/probe/cases.h"

/* Find the format identifier; NULL: absent. */
static const uint8_t *find(const struct facts *f)
{
	static const uint8_t magic[] = {0xf6, 0xab, 0x0e, 0x18};

	return memmem(f->pdata, f->pdata_len, magic, sizeof(magic));
}

static enum verdict format(struct run *r)
{
	const struct facts *f = r->facts;
	const uint8_t *at = find(f);

	if (!at)
		return skipped(r, "%s",
			       f->pdata_len ? "private data of another format" : "none sent");
	if (f->pdata + f->pdata_len - at < V1_PDATA_BYTES)
		return failed(r, "%zu octets of 8", (size_t)(f->pdata + f->pdata_len - at));
	if (at[4] != 1)
		return skipped(r, "format version %u", at[4]);
	return passed(r, "send %u, receive %u", f->said.send_bytes, f->said.recv_bytes);
}

static enum verdict reserved(struct run *r)
{
	const uint8_t *at = find(r->facts);

	if (!r->facts->said.present)
		return skipped(r, "none sent");
	return at[5] & ~1 ? failed(r, "flags 0x%02x", at[5]) : PASS;
}

/* With private data @pdata the server serves the connection, in a version it speaks. */
static enum verdict served(struct run *r, struct view pdata)
{
	enum verdict v = run_connect(r, pdata);

	if (v)
		return v;
	if (r->facts->v[1].welcome == WELCOME_SPOKEN) {
		r->version = 1;
		return null_call(r);
	}
	if (r->facts->v[2].welcome != WELCOME_SPOKEN) {
		r->version = RUN_EARLY;
		return null_call(r);
	}
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put_props(r);
	return v2_open(r) ?: null_call(r);
}

static enum verdict absent(struct run *r)
{
	enum verdict v = served(r, view_of(NULL, 0));

	if (!v && r->version == 1 && r->largest > V1_PDATA_MIN_SIZE)
		return failed(r, "a message of %u octets", r->largest);
	return v;
}

static enum verdict foreign(struct run *r)
{
	static const uint8_t other[] = {0x12, 0x34, 0x56, 0x78, 1, 0, 255, 255, 9, 9, 9};

	return served(r, view_of(other, sizeof(other)));
}

static enum verdict shifted(struct run *r)
{
	uint8_t pdata[3 + V1_PDATA_BYTES] = {0xaa, 0xf6, 0xab};

	run_pdata(pdata + 3, true);
	return served(r, view_of(pdata, sizeof(pdata)));
}

static enum verdict future(struct run *r)
{
	uint8_t pdata[V1_PDATA_BYTES + 4] = {0};

	run_pdata(pdata, true);
	pdata[4] = 2;
	return served(r, view_of(pdata, sizeof(pdata)));
}

static enum verdict ignored_bits(struct run *r)
{
	uint8_t pdata[V1_PDATA_BYTES];

	run_pdata(pdata, true);
	pdata[5] |= 0xfe;
	return served(r, view_of(pdata, sizeof(pdata)));
}

/* Send one call that shows two handles. */
static enum verdict with_handles(struct run *r, struct segment *write, struct segment *reply)
{
	uint8_t *at;

	call_begin(r);
	return call_write_chunk(r, 64, write, &at) ?: call_reply_chunk(r, 1024, reply)
	       ?: call_send(r, NULL) ?: expect_reply(r, r->xid);
}

static enum verdict r_clear(struct run *r)
{
	uint8_t pdata[V1_PDATA_BYTES];
	struct segment write, reply;
	enum verdict v;

	run_pdata(pdata, false);
	v = run_connect(r, view_of(pdata, sizeof(pdata)));
	r->version = 1;
	v = v ?: with_handles(r, &write, &reply);
	if (!v && r->reply.invalidated)
		return failed(r, "handle 0x%08x was invalidated", r->reply.invalidated);
	return v;
}

static enum verdict r_set(struct run *r)
{
	struct segment write, reply;
	enum verdict v = v1_up(r) ?: with_handles(r, &write, &reply);

	if (v)
		return v;
	if (!r->reply.invalidated)
		return passed(r, "not used");
	if (!r->facts->said.remote_inv)
		return failed(r, "a handle was invalidated, and the server's own R is clear");
	if (r->reply.invalidated != write.handle && r->reply.invalidated != reply.handle)
		return failed(r, "handle 0x%08x is none of that call", r->reply.invalidated);
	return passed(r, "used");
}

static const struct probe_case cases[] = {
	{"pdata.format", "RFC 8797 4", "MUST", "private data: identifier, version 1, eight octets",
	 format, 0, false},
	{"pdata.reserved", "RFC 8797 4", "MUST", "reserved bits are sent as zero", reserved, 0,
	 false},
	{"pdata.absent", "RFC 8797 5.1", "MUST", "a client without private data is served", absent,
	 0, false},
	{"pdata.foreign", "RFC 8797 5.2", "MUST", "another layer's private data is as none",
	 foreign, 0, false},
	{"pdata.shifted", "RFC 8797 5.2", "MUST", "private data behind other octets does no harm",
	 shifted, 0, false},
	{"pdata.future", "RFC 8797 5.2", "SHOULD", "an unknown format version is as none", future,
	 0, false},
	{"pdata.ignored", "RFC 8797 4", "MUST", "reserved bits are ignored", ignored_bits, 0,
	 false},
	{"pdata.r-clear", "RFC 8797 4.1", "MUST", "R clear: no reply invalidates a handle", r_clear,
	 1, false},
	{"pdata.r-set", "RFC 8797 4.1", "MUST",
	 "R set by both: only a handle of the call that is answered", r_set, 1, false},
};

CASE_TABLE(cases_pdata, cases);
