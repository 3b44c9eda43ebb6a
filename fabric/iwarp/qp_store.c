/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/qp.h"
#include "fabric/iwarp/qp_internal.h"
#include "fabric/iwarp/qp_rx_io.h"

enum { TRIM_SLABS = 16 /* most slabs of a pool that are freed in one call */ };

void qp_store_init(struct qp_store *store, struct iwarp_counters *counters)
{
	*store = (struct qp_store){.counters = counters};
	pool_init(&store->stages, QP_STAGE_BYTES, SIZE_MAX / QP_STAGE_BYTES);
	pool_init(&store->batches, sizeof(struct qp_batch), SIZE_MAX / sizeof(struct qp_batch));
	pool_init(&store->scratch, QP_SPILL_HEADER + QP_AHEAD_BYTES + QP_STAGE_BYTES, 1);
	table_pool(&store->ops, sizeof(struct qp_op));
	stag_pool(&store->exposures);
	sums_store_init(&store->sums);
}

void qp_store_fini(struct qp_store *store)
{
	pool_fini(&store->stages);
	pool_fini(&store->batches);
	pool_fini(&store->scratch);
	pool_fini(&store->ops);
	pool_fini(&store->exposures);
	sums_store_fini(&store->sums);
}

size_t qp_store_bytes(const struct qp_store *s)
{
	return s->stages.bytes + s->batches.bytes + s->ops.bytes + s->exposures.bytes +
	       s->scratch.bytes + s->spilled + sums_store_bytes(&s->sums);
}

size_t qp_holds(const struct qp *qp)
{
	return (qp->rx.stage ? QP_STAGE_BYTES : 0) + (qp->tx.batch ? sizeof(struct qp_batch) : 0) +
	       qp_spill_bytes(qp);
}

bool qp_store_trim(struct qp_store *s)
{
	struct pool *sums = s->sums.pools;
	struct pool *const pools[] = {&s->stages, &s->batches, &s->ops,	 &s->exposures, &s->scratch,
				      &sums[0],	  &sums[1],    &sums[2], &sums[3]};

	/* Pools are trimmed one after the other, because pool_trim() starts a new period for the
	 * pool. */
	for (; s->trimming < sizeof(pools) / sizeof(pools[0]); s->trimming++)
		if (pool_trim(pools[s->trimming], TRIM_SLABS))
			return true;
	s->trimming = 0;
	return false;
}
