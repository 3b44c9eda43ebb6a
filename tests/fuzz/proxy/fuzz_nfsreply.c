/* SPDX-License-Identifier: BSD-2-Clause */
/* Any octets as the beginning of a call, cut anywhere: plan_reply_max() and plan_strip_pad() read
 * nothing beyond them, and their answers are in the promised range. The same octets are a reply for
 * nfs_result_check(). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/plan/nfsresult.h"
#include "proxy/plan/segments.h"
#include "proxy/plan/nfsreply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* nfs_result_check() may change a reply, but libFuzzer's octets are constant: it gets a copy. */
static void check_as_reply(struct view whole)
{
	uint8_t *copy = malloc(whole.len);

	if (!copy)
		abort();
	for (int reads = NFS_READS_3; reads <= NFS_READS_4; reads++) {
		uint32_t told = whole.data[whole.len - 1];
		struct nfs_chunk chunks[2] = {{4096, told}, {told, 0}};
		bool changed;

		memcpy(copy, whole.data, whole.len);
		if (nfs_result_check((enum nfs_reads)reads, view_of(copy, whole.len), chunks, 2,
				     &changed) < 0)
			continue;
		if (!changed && memcmp(copy, whole.data, whole.len) != 0)
			abort();
		if (chunks[0].placed > told || told - chunks[0].placed > 3 || chunks[1].placed)
			abort();
	}
	free(copy);
}

/* A Write chunk never makes the rest of a reply longer, nor the reply known or unknown but for what
 * it carries. Nor is it known what a Read chunk took away, if that is nowhere in the call. */
static void check_as_call(const struct rpchdr *hdr, struct view whole)
{
	static struct rpc_msg writes = {.nwrites = 1}, reads = {.nreads = 1};
	uint32_t max = plan_reply_max(hdr, whole, NULL);

	writes.writes[0].length = (uint64_t)whole.data[0] << 12;
	if (max && plan_reply_max(hdr, whole, &writes) > max)
		abort();
	for (unsigned at = 0; at < 64; at++) {
		reads.reads[0].position = at * 4;
		reads.reads[0].length = whole.data[whole.len - 1];
		(void)plan_reply_max(hdr, whole, &reads);
	}
	reads.reads[0].position = UINT32_MAX;
	if (plan_reply_max(hdr, whole, &reads) < max)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view whole = view_of(data, size),
		    halves[2] = {view_of(data, size / 3),
				 view_of(data + size / 3, size - size / 3)};
	struct rpc_chunk chunk;
	struct rpchdr hdr;

	if (size == 0)
		return 0;
	check_as_reply(whole);
	chunk = (struct rpc_chunk){.position = data[0] * 4u, .length = data[size - 1]};
	for (uint64_t removed = 0; removed < 16; removed += 8) {
		uint64_t item = plan_strip_pad(&whole, 1, &chunk, removed);

		if (item > chunk.length || chunk.length - item > 3 ||
		    item != plan_strip_pad(halves, 2, &chunk, removed))
			abort();
	}
	if (rpchdr_peek(&hdr, whole) != 0 || hdr.mtype != 0)
		return 0;
	check_as_call(&hdr, whole);
	return 0;
}
