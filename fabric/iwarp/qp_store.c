/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/qp.h"
#include "fabric/iwarp/qp_internal.h"
#include "fabric/iwarp/qp_rx_io.h"

enum { TRIM_SLABS = 16 /* of a pool at a time */ };

void qp_store_init(struct qp_store *store, struct iwarp_counters *counters)
{
	*store = (struct qp_store){.counters = counters};
	pool_init(&store->stages, QP_STAGE_BYTES, SIZE_MAX / QP_STAGE_BYTES);
	pool_init(&store->batches, sizeof(struct qp_batch), SIZE_MAX / sizeof(struct qp_batch));
	pool_init(&store->scratch, QP_AHEAD_BYTES + QP_STAGE_BYTES, 1);
	table_pool(&store->ops, sizeof(struct qp_op));
	stag_pool(&store->exposures);
	sums_pools_init(store->sums);
}

void qp_store_fini(struct qp_store *store)
{
	pool_fini(&store->stages);
	pool_fini(&store->batches);
	pool_fini(&store->scratch);
	pool_fini(&store->ops);
	pool_fini(&store->exposures);
	for (unsigned i = 0; i < SUMS_SIZES; i++)
		pool_fini(&store->sums[i]);
}

size_t qp_store_bytes(const struct qp_store *s)
{
	size_t bytes = s->stages.bytes + s->batches.bytes + s->ops.bytes + s->exposures.bytes +
		       s->scratch.bytes + s->spilled;

	for (unsigned i = 0; i < SUMS_SIZES; i++)
		bytes += s->sums[i].bytes;
	return bytes;
}

size_t qp_holds(const struct qp *qp)
{
	return (qp->rx.stage ? QP_STAGE_BYTES : 0) + (qp->tx.batch ? sizeof(struct qp_batch) : 0) +
	       qp_spill_bytes(qp);
}

bool qp_store_trim(struct qp_store *s)
{
	struct pool *const pools[] = {&s->stages,    &s->batches, &s->ops,
				      &s->exposures, &s->scratch, &s->sums[0],
				      &s->sums[1],   &s->sums[2], &s->sums[3]};

	/* Pools are trimmed one after the other, because pool_trim() starts a new period for the
	 * pool. */
	for (; s->trimming < sizeof(pools) / sizeof(pools[0]); s->trimming++)
		if (pool_trim(pools[s->trimming], TRIM_SLABS))
			return true;
	s->trimming = 0;
	return false;
}
