/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of instances by name, so that code that reports them need not know the providers. */
#include "fabric/provider/provider.h"

#include "fabric/iwarp/iwarp.h"
#ifdef HAVE_VERBS
#include "fabric/verbs/verbs.h"
#endif

#define IWARP(label, field, text)                                                                  \
	{                                                                                          \
		.name = (label), .offset = offsetof(struct iwarp_counters, field), .help = (text)  \
	}

static const struct provider_counter iwarp[] = {
	IWARP("fpdus_in", fpdus_in, "Frames (FPDUs of MPA) received"),
	IWARP("fpdus_out", fpdus_out, "Frames sent"),
	IWARP("bytes_in", bytes_in, "Octets received from TCP connections"),
	IWARP("bytes_out", bytes_out, "Octets sent on TCP connections"),
	IWARP("reads", syscalls_read, "System calls that read from TCP connections"),
	IWARP("writes", syscalls_write, "System calls that write to TCP connections"),
	IWARP("copied_bytes", copied_bytes,
	      "Payload octets of RDMA Reads and Writes that were copied in user space"),
	IWARP("crc_carried_bytes", crc_carried,
	      "Payload octets sent with the CRC with which they arrived"),
	IWARP("crc_computed_bytes", crc_computed,
	      "Payload octets sent with a CRC computed from memory"),
	IWARP("receive_waits", receive_waits,
	      "Messages that waited in the socket for a shared Receive"),
	IWARP("crc_errors", crc_errors, "Frames received with a wrong CRC"),
	IWARP("terminates_sent", terminates_sent, "Terminate messages sent"),
	IWARP("terminates_received", terminates_received, "Terminate messages received"),
	IWARP("setup_failures", setup_failures, "Connections whose set-up failed"),
};

#ifdef HAVE_VERBS

#define VERBS(field, text)                                                                         \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct verbs_counters, field), .help = (text)   \
	}
#define VERBS_NOW(field, text)                                                                     \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct verbs_counters, field), .help = (text),  \
		.is_state = true                                                                   \
	}

static const struct provider_counter verbs[] = {
	VERBS(sends, "Sends posted"),
	VERBS(receives, "Messages received"),
	VERBS(reads, "RDMA Reads posted"),
	VERBS(writes, "RDMA Writes posted"),
	VERBS(binds, "Memory Windows bound"),
	VERBS(invalidates, "Memory Windows that the gateway invalidated"),
	VERBS(remote_invalidates, "Memory Windows and registrations that peers invalidated"),
	VERBS(registrations, "Registrations of memory, each for a single exposure"),
	VERBS(posts, "Calls to the device that post work requests"),
	VERBS(signals, "Work requests that asked for a completion"),
	VERBS(inlines, "Messages that travelled within their work request"),
	VERBS(polls, "Calls to the device that poll for completions"),
	VERBS(completions, "Completions found by polling"),
	VERBS(events, "Wake-ups by a completion queue"),
	VERBS(setup_failures, "Connections whose set-up failed"),
	VERBS(breaches, "Connections that ended because a peer broke the protocol"),
	VERBS(removals, "Devices that failed or were removed"),
	VERBS(asked, "Times that the gateway tested whether an idle peer still answers"),
	VERBS(receives_low, "Times that a shared receive queue ran low"),
	VERBS(receives_out, "Times that a shared receive queue had no Receive left"),
	VERBS_NOW(receives_posted, "Receives in shared receive queues"),
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
