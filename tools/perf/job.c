/* SPDX-License-Identifier: BSD-2-Clause */
/* Pulling and pushing the data of a call, segment by segment. */
#include <string.h>

#include "tools/perf/server_priv.h"

void task_add_job(struct task *t, bool is_push, const struct rpc_msg *msg,
		  const struct rpc_chunk *c, const struct view *parts, unsigned nparts)
{
	struct task_job *job = &t->jobs[t->njobs++];

	*job = (struct task_job){
		.is_push = is_push,
		.segs = &msg->segs[c->first],
		.nsegs = c->count,
		.nparts = nparts,
	};
	memcpy(job->parts, parts, nparts * sizeof(parts[0]));
}

/* Octets [from, from+len) of the local memory of @job, as a gather list. */
static unsigned gather(const struct task_job *job, uint64_t from, uint32_t len,
		       struct fabric_sge *sge)
{
	unsigned n = 0;

	for (unsigned i = 0; i < job->nparts && len > 0; i++) {
		struct view v = job->parts[i];
		uint32_t take;

		if (from >= v.len) {
			from -= v.len;
			continue;
		}
		take = v.len - from < len ? (uint32_t)(v.len - from) : len;
		sge[n++] = (struct fabric_sge){v.data + from, take};
		len -= take;
		from = 0;
	}
	return n;
}

static int post_segment(struct task *t, struct task_job *job, const struct segment *seg)
{
	struct fabric_conn *conn = t->conn->leg.conn;
	struct fabric_sge sge[RPC_MAX_VIEWS];
	unsigned n;

	if (!job->is_push)
		return fabric_read(
			conn, (uint8_t *)t->block + (job->parts[0].data - t->block) + job->done,
			seg, t);
	n = gather(job, job->done, seg->length, sge);
	return fabric_write(conn, sge, n, seg, t);
}

bool task_post_jobs(struct task *t)
{
	struct server_conn *conn = t->conn;

	while (t->job < t->njobs) {
		struct task_job *job = &t->jobs[t->job];
		const struct segment *seg = &job->segs[job->next];
		int err = 0;

		if (job->next == job->nsegs) {
			t->job++;
			continue;
		}
		if (seg->length > 0) {
			err = conn->ops < conn->op_limit ? post_segment(t, job, seg) : ERR_AGAIN;
			if (err < 0) {
				/* Fail if no operation is outstanding, because no completion would
				 * lead to another try. */
				if (err != ERR_AGAIN || conn->ops == 0)
					leg_close(&conn->leg, err, "cannot post to the fabric");
				else
					list_add_tail(&conn->op_waiters, &t->queue);
				return false;
			}
			conn->ops++;
			t->ops++;
		}
		job->done += seg->length;
		job->next++;
	}
	return true;
}
