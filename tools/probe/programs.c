/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/probe/programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf/program.h"
#include "xdr/cursor.h"

static const struct {
	const char *name;
	uint32_t number, version;
} known[] = {
	{"nfs", 100003, 3},    {"nfs3", 100003, 3},
	{"nfs4", 100003, 4},   {"nfs_acl", 100227, 3},
	{"mount", 100005, 3},  {"nlm", 100021, 4},
	{"cb", 0x40000000, 1}, {"perf", PERF_PROGRAM, PERF_VERSION},
};

enum { KNOWN = sizeof(known) / sizeof(known[0]), NAME_MAX_BYTES = 16, RPC_REPLY = 1 };

static int number(const char *text, uint32_t *out)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || *text < '0' || *text > '9' || *end || n > UINT32_MAX)
		return ERR_CONFIG;
	*out = (uint32_t)n;
	return 0;
}

int program_parse(const char *text, struct program *p)
{
	const char *comma = strchr(text, ',');
	size_t len = comma ? (size_t)(comma - text) : strlen(text);
	char name[NAME_MAX_BYTES];
	bool is_known = false;

	if (len == 0 || len >= sizeof(name))
		return ERR_CONFIG;
	memcpy(name, text, len);
	name[len] = '\0';
	for (unsigned i = 0; i < KNOWN && !is_known; i++) {
		is_known = !strcmp(name, known[i].name);
		*p = (struct program){known[i].number, known[i].version};
	}
	/* No version can be guessed for a number. */
	if (!is_known && (!comma || number(name, &p->number) < 0))
		return ERR_CONFIG;
	return comma ? number(comma + 1, &p->version) : 0;
}

const char *program_name(uint32_t wanted)
{
	for (unsigned i = 0; i < KNOWN; i++) {
		if (known[i].number == wanted)
			return known[i].name;
	}
	return NULL;
}

const char *program_known(void)
{
	return "nfs nfs3 nfs4 nfs_acl mount nlm cb perf";
}

int rpc_verdict_read(struct rpc_verdict *v, struct view stream)
{
	struct xdr_in x;
	uint32_t mtype;

	*v = (struct rpc_verdict){0};
	xdr_in_init(&x, stream);
	v->xid = xdr_get_u32(&x);
	mtype = xdr_get_u32(&x);
	v->accepted = !xdr_get_bool(&x);
	if (v->accepted) {
		(void)xdr_get_u32(&x); /* verifier */
		(void)xdr_get_opaque(&x, 400);
	}
	v->stat = xdr_get_u32(&x);
	v->results = stream.len - xdr_in_left(&x);
	if (x.failed)
		return ERR_SHORT;
	return mtype == RPC_REPLY ? 0 : ERR_XDR;
}

const char *rpc_verdict_name(const struct rpc_verdict *v)
{
	if (v->accepted)
		return perf_stat_name(v->stat);
	return v->stat == 0 ? "denied: RPC version" : "denied: authentication";
}
