/* SPDX-License-Identifier: BSD-2-Clause */
/* Which version is spoken, and reports about it. These cases judge what the survey saw. */
#include "tools/probe/cases.h"
#include "v1/header.h"
#include "v2/error.h"

static bool speaks(const struct run *r, unsigned version)
{
	return r->facts->v[version].welcome == WELCOME_SPOKEN;
}

/* Whether the server speaks a version with @number. Both drafts of version 2 have the number 2. */
static bool speaks_number(const struct run *r, unsigned number)
{
	return speaks(r, number) || (number == 2 && speaks(r, RUN_EARLY));
}

static enum verdict absurd(struct run *r)
{
	const struct version_facts *v = &r->facts->v[0];

	if (v->welcome != WELCOME_REFUSED)
		return failed(r, "%s: %s", welcome_name(v->welcome), v->why);
	return passed(r, "range %u to %u", v->low, v->high);
}

/* A first message in the form of version 1, with another version number. */
static enum verdict refused(struct run *r, uint32_t version)
{
	enum verdict v = raw_up(r);
	uint32_t xid;

	if (v)
		return v;
	/* msg_begin() is not used, because 0 stands there for the connection's version. */
	r->xid = r->next_xid++;
	xdr_out_init(&r->x, r->out, sizeof(r->out));
	put(r, r->xid, version, RUN_CREDITS, V1_MSG, 0, 0, 0);
	put_null(r);
	xid = r->xid;
	return msg_send(r) ?: expect_v2_error(r, xid, 0, V2_ERR_VERS);
}

static enum verdict absurd_xid(struct run *r)
{
	return refused(r, ABSURD_VERSION);
}

static enum verdict version_3(struct run *r)
{
	return refused(r, 3);
}

static enum verdict version_0(struct run *r)
{
	return refused(r, 0);
}

static enum verdict range(struct run *r)
{
	const struct version_facts *v = &r->facts->v[0];

	if (v->welcome != WELCOME_REFUSED)
		return skipped(r, "no ERR_VERS to look at");
	if (v->low > v->high)
		return failed(r, "%u to %u", v->low, v->high);
	if (v->low <= ABSURD_VERSION && ABSURD_VERSION <= v->high)
		return failed(r, "%u to %u, and %u was refused", v->low, v->high, ABSURD_VERSION);
	for (unsigned i = 1; i <= 2; i++) {
		bool is_spoken = speaks_number(r, i);

		if (is_spoken != (v->low <= i && i <= v->high))
			return failed(r, "%u to %u, but version %u is %s", v->low, v->high, i,
				      is_spoken ? "spoken" : "not spoken");
	}
	return passed(r, "%u to %u", v->low, v->high);
}

static enum verdict echo(struct run *r)
{
	const struct version_facts *v = &r->facts->v[0];

	if (v->welcome != WELCOME_REFUSED)
		return skipped(r, "no ERR_VERS to look at");
	if (v->err_vers == ABSURD_VERSION)
		return passed(r, "echoed");
	/* Version 1 leaves the value open, as long as that version is spoken (v1 5.5). */
	if (speaks(r, 2) || v->err_vers < v->low || v->err_vers > v->high)
		return failed(r, "version %u in the report", v->err_vers);
	return passed(r, "version %u", v->err_vers);
}

static enum verdict goes_on(struct run *r)
{
	const struct version_facts *v = &r->facts->v[0];

	if (v->welcome != WELCOME_REFUSED || v->low > 1)
		return skipped(r, "version 1 is not spoken");
	return v->goes_on ? PASS : failed(r, "a version 1 call after ERR_VERS was not answered");
}

/* A server of version 1 only gets the first message of a version 2 client. */
static enum verdict no_v2(struct run *r)
{
	const struct version_facts *v = &r->facts->v[2];

	if (v->welcome == WELCOME_SPOKEN)
		return skipped(r, "version 2 is spoken");
	if (v->welcome != WELCOME_REFUSED)
		return failed(r, "%s: %s", welcome_name(v->welcome), v->why);
	if (v->low > v->high || v->high >= 2)
		return failed(r, "range %u to %u", v->low, v->high);
	return passed(r, "range %u to %u, version %u %s", v->low, v->high, v->err_vers,
		      v->err_vers == 2 ? "echoed" : "in the report");
}

static enum verdict no_v2_goes_on(struct run *r)
{
	const struct version_facts *v = &r->facts->v[2];

	if (v->welcome != WELCOME_REFUSED)
		return skipped(r, "version 2 was not refused");
	return v->goes_on ? PASS : failed(r, "a version 1 call after ERR_VERS was not answered");
}

/* A version 2 message after version 1 has been spoken. */
static enum verdict v1_then_v2(struct run *r)
{
	enum verdict v = v1_up(r);
	uint32_t xid;

	if (v)
		return v;
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put_props(r);
	xid = r->xid;
	v = msg_send(r) ?: expect_v2_error(r, xid, 0, 0);
	if (v)
		return v;
	if (r->error[0] != V2_ERR_VERS &&
	    (r->error[0] != V2_ERR_VERS_MISMATCH || !speaks_number(r, 2)))
		return failed(r, "error %u", r->error[0]);
	return fence(r)
		       ?: reads(r, "late_version",
				r->error[0] == V2_ERR_VERS ? "ERR_VERS" : "VERS_MISMATCH",
				"error %u", r->error[0]);
}

static enum verdict v2_then(struct run *r, uint32_t version)
{
	enum verdict v = v2_up(r);
	uint32_t xid;

	if (v)
		return v;
	msg_begin(r, version, V1_MSG);
	put(r, 0, 0, 0);
	put_null(r);
	xid = r->xid;
	v = msg_send(r) ?: expect_v2_error(r, xid, version, 0);
	if (v)
		return v;
	if (r->error[0] != V2_ERR_VERS && r->error[0] != V2_ERR_VERS_MISMATCH)
		return failed(r, "error %u", r->error[0]);
	/* Both rules apply to a version that the server speaks neither on this connection nor
	 * elsewhere. */
	if (r->error[0] == V2_ERR_VERS && version == 1 && speaks(r, 1))
		return failed(r, "ERR_VERS, and version 1 is spoken");
	return fence(r)
		       ?: passed(r, "%s",
				 r->error[0] == V2_ERR_VERS ? "ERR_VERS" : "VERS_MISMATCH");
}

static enum verdict v2_then_v1(struct run *r)
{
	return v2_then(r, 1);
}

static enum verdict v2_then_absurd(struct run *r)
{
	return v2_then(r, ABSURD_VERSION);
}

static enum verdict v2_answer(struct run *r)
{
	return v2_up(r);
}

/* "A single valid message": it need not be properties, and a client that calls at once gets
 * defaults. */
static enum verdict v2_call_first(struct run *r)
{
	enum verdict v = raw_up(r);

	if (v)
		return v;
	r->version = 2;
	null_begin(r);
	return msg_send(r) ?: expect_reply(r, r->xid) ?: fence(r);
}

static const struct probe_case cases[] = {
	{"vers.unknown", "v2 7.1.1, v1 5.5", "MUST", "a version nobody speaks draws ERR_VERS",
	 absurd, 0, false},
	{"vers.xid", "v2 7", "MUST", "ERR_VERS has the XID of the message it answers", absurd_xid,
	 0, false},
	{"vers.3", "v2 7.1.1, v1 5.5", "MUST", "version 3 draws ERR_VERS", version_3, 0, false},
	{"vers.0", "v2 7.1.1, v1 5.5", "MUST", "version 0 draws ERR_VERS", version_0, 0, false},
	{"vers.range", "v2 7.1.1, v1 5.5", "MUST",
	 "the range of ERR_VERS holds the versions spoken, and no other", range, 0, false},
	{"vers.echo", "v2 7, v1 5.5", "MUST",
	 "ERR_VERS has the version of the message it answers (version 1 only: or one spoken)", echo,
	 0, false},
	{"vers.goes-on", "v2 4.3.2", "SHOULD",
	 "after ERR_VERS the connection takes a version of the range", goes_on, 0, false},
	{"vers.not-2", "v2 4.3.2", "MUST",
	 "a server without version 2 answers its first message with ERR_VERS", no_v2, 1, false},
	{"vers.not-2.goes-on", "v2 4.3.2", "SHOULD",
	 "after refusing version 2 it takes version 1 on the same connection", no_v2_goes_on, 1,
	 false},
	{"vers.1-then-2", "v2 7.1.1, v1 5.5", "MUST",
	 "a version 2 message after version 1 is refused, and the connection lives", v1_then_v2, 1,
	 false},
	{"vers.2-answered", "v2 4.3.1", "MUST", "version 2 is answered with version 2", v2_answer,
	 2, false},
	{"vers.2-call-first", "v2 4.3", "MUST",
	 "a Call may be the first message; the defaults hold then", v2_call_first, 2, false},
	{"vers.2-then-1", "v2 7.1.2", "MUST", "version 1 after version 2 draws VERS_MISMATCH",
	 v2_then_v1, 2, false},
	{"vers.2-then-unknown", "v2 7.1.1, 7.1.2", "MUST",
	 "an unknown version after version 2 is refused, and echoed", v2_then_absurd, 2, false},
};

CASE_TABLE(cases_version, cases);
