/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/latency.h"

#include <stddef.h>

#include "proxy/plan/nfs.h"

enum { NFS3 = 3, NFS4 = 4, NFS3_READ = 6, NFS3_WRITE = 7, NFS4_COMPOUND = 1 };

enum latency_kind latency_kind_of(const struct rpchdr *hdr, unsigned nreads, unsigned nwrites)
{
	if (!hdr || hdr->prog != PROG_NFS)
		return LATENCY_OTHER;
	if (hdr->vers == NFS3)
		return hdr->proc == NFS3_READ	 ? LATENCY_NFS3_READ
		       : hdr->proc == NFS3_WRITE ? LATENCY_NFS3_WRITE
						 : LATENCY_NFS3_OTHER;
	if (hdr->vers != NFS4)
		return LATENCY_OTHER;
	if (hdr->proc == NFS4_COMPOUND && nwrites > 0)
		return LATENCY_NFS4_READ;
	return hdr->proc == NFS4_COMPOUND && nreads > 0 ? LATENCY_NFS4_WRITE : LATENCY_NFS4_OTHER;
}

uint64_t latency_count(const struct latency *l)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
		n += l->buckets[i];
	return n;
}

uint64_t latency_quantile(const struct latency *l, unsigned percent)
{
	uint64_t n = latency_count(l), want = n / 100 * percent + (n % 100 * percent + 99) / 100;

	for (unsigned i = 0; n > 0 && i < LATENCY_BUCKETS; i++) {
		if (want <= l->buckets[i])
			return latency_bound(i);
		want -= l->buckets[i];
	}
	return 0;
}

const char *latency_program(enum latency_kind kind)
{
	static const char *const names[LATENCY_KINDS] = {
		[LATENCY_NFS3_READ] = "nfs3",  [LATENCY_NFS3_WRITE] = "nfs3",
		[LATENCY_NFS3_OTHER] = "nfs3", [LATENCY_NFS4_READ] = "nfs4",
		[LATENCY_NFS4_WRITE] = "nfs4", [LATENCY_NFS4_OTHER] = "nfs4",
		[LATENCY_OTHER] = "other",     [LATENCY_CALLBACK] = "callback",
	};

	return names[kind];
}

const char *latency_procedure(enum latency_kind kind)
{
	static const char *const names[LATENCY_KINDS] = {
		[LATENCY_NFS3_READ] = "read",	[LATENCY_NFS3_WRITE] = "write",
		[LATENCY_NFS3_OTHER] = "other", [LATENCY_NFS4_READ] = "read",
		[LATENCY_NFS4_WRITE] = "write", [LATENCY_NFS4_OTHER] = "other",
		[LATENCY_OTHER] = "any",	[LATENCY_CALLBACK] = "any",
	};

	return names[kind];
}

const char *latency_step_name(enum latency_step step)
{
	static const char *const names[LATENCY_STEPS] = {[LATENCY_CALL] = "call",
							 [LATENCY_RESPONDER] = "responder",
							 [LATENCY_REPLY] = "reply"};

	return names[step];
}
