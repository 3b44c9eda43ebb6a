/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LATENCY_H
#define PROXY_LATENCY_H

#include <stdint.h>

#include "base/loop.h"
#include "xdr/rpchdr.h"

/**
 * latency - how long RPCs take: in the gateway before the call is sent, at the responder, and in
 * the gateway after the answer; a histogram of each, by the kind of RPC
 *
 * Times are those of the relay's turns: no clock is read for them.
 */
enum latency_kind {
	LATENCY_NFS3_READ,
	LATENCY_NFS3_WRITE,
	LATENCY_NFS3_OTHER,
	LATENCY_NFS4_READ,  /* a COMPOUND that offers a Write chunk */
	LATENCY_NFS4_WRITE, /* a COMPOUND that comes with a Read chunk */
	LATENCY_NFS4_OTHER,
	LATENCY_OTHER,	  /* other programs */
	LATENCY_CALLBACK, /* a server's call */
	LATENCY_KINDS
};

enum latency_step { LATENCY_CALL, LATENCY_RESPONDER, LATENCY_REPLY, LATENCY_STEPS };

/* The first bucket counts times up to 2^LATENCY_SHIFT ns, each further one up to twice as much,
 * the last all longer times. */
enum { LATENCY_SHIFT = 17, LATENCY_BUCKETS = 17 };

/** struct latency - histogram of one step of one kind; nothing but uint64_t. */
struct latency {
	uint64_t buckets[LATENCY_BUCKETS];
	uint64_t sum; /* ns */
};

/** latency_kind_of - the kind of a client's call with the RPC header @hdr, NULL if it cannot be
 * read. */
enum latency_kind latency_kind_of(const struct rpchdr *hdr, unsigned nreads, unsigned nwrites);

/** latency_bound - the longest time that @bucket counts, ns; UINT64_MAX for the last. */
static inline uint64_t latency_bound(unsigned bucket)
{
	return bucket + 1 < LATENCY_BUCKETS ? (uint64_t)1 << (LATENCY_SHIFT + bucket) : UINT64_MAX;
}

/** latency_add - count an RPC that took @ns. */
static inline void latency_add(struct latency *l, nsec_t ns)
{
	unsigned bucket = 0;

	if (ns > latency_bound(0))
		bucket = 64 - (unsigned)__builtin_clzll((ns - 1) >> LATENCY_SHIFT);
	l->buckets[bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1]++;
	l->sum += ns;
}

/** latency_count - number of RPCs counted. */
uint64_t latency_count(const struct latency *l);

/** latency_quantile - the bound of the bucket that holds the @percent-th percentile, ns; 0: no
 * RPC was counted. */
uint64_t latency_quantile(const struct latency *l, unsigned percent);

/** latency_program, latency_procedure, latency_step_name - short words; static storage. */
const char *latency_program(enum latency_kind kind);
const char *latency_procedure(enum latency_kind kind);
const char *latency_step_name(enum latency_step step);

#endif
