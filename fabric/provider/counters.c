/* SPDX-License-Identifier: BSD-2-Clause */
/* What instances count, by name, so that who reports it knows no provider. */
#include "fabric/provider/provider.h"

#include "fabric/iwarp/iwarp.h"
#ifdef HAVE_VERBS
#include "fabric/verbs/verbs.h"
#endif

#define IWARP(label, field)                                                                        \
	{                                                                                          \
		label, offsetof(struct iwarp_counters, field)                                      \
	}

static const struct provider_counter iwarp[] = {
	IWARP("fpdus_in", fpdus_in),
	IWARP("fpdus_out", fpdus_out),
	IWARP("bytes_in", bytes_in),
	IWARP("bytes_out", bytes_out),
	IWARP("reads", syscalls_read),
	IWARP("writes", syscalls_write),
	IWARP("copied_bytes", copied_bytes),
	IWARP("crc_errors", crc_errors),
	IWARP("terminates_sent", terminates_sent),
	IWARP("terminates_received", terminates_received),
	IWARP("setup_failures", setup_failures),
};

#ifdef HAVE_VERBS

#define VERBS(field)                                                                               \
	{                                                                                          \
#field, offsetof(struct verbs_counters, field)                                     \
	}

static const struct provider_counter verbs[] = {
	VERBS(sends),
	VERBS(receives),
	VERBS(reads),
	VERBS(writes),
	VERBS(binds),
	VERBS(invalidates),
	VERBS(remote_invalidates),
	VERBS(registrations),
	VERBS(posts),
	VERBS(signals),
	VERBS(inlines),
	VERBS(polls),
	VERBS(completions),
	VERBS(events),
	VERBS(setup_failures),
	VERBS(breaches),
	VERBS(removals),
	VERBS(asked),
	VERBS(receives_low),
	VERBS(receives_posted),
};

#endif

unsigned provider_counters(enum provider_kind kind, const struct provider_counter **table)
{
	*table = iwarp;
	if (kind == PROVIDER_IWARP)
		return sizeof(iwarp) / sizeof(iwarp[0]);
#ifdef HAVE_VERBS
	*table = verbs;
	return sizeof(verbs) / sizeof(verbs[0]);
#else
	return 0;
#endif
}

static const void *counts(enum provider_kind kind, const struct fabric *f)
{
#ifdef HAVE_VERBS
	if (kind == PROVIDER_VERBS)
		return verbs_counters(f);
#else
	(void)kind;
#endif
	return iwarp_counters(f);
}

uint64_t provider_count(enum provider_kind kind, const struct fabric *f,
			const struct provider_counter *counter)
{
	const uint8_t *base = counts(kind, f);

	return *(const uint64_t *)(const void *)(base + counter->offset);
}
