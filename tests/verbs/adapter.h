/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_VERBS_ADAPTER_H
#define TESTS_VERBS_ADAPTER_H

#include "tests/cmocka_all.h"

#include "fabric/verbs/internal.h"
#include "fabric/verbs/share_internal.h"

/**
 * adapter - stands in for libibverbs and librdmacm (their calls are defined here): what user
 * libraries of real adapters do, and rxe and siw do not. It moves nothing: tests say what
 * completes.
 */
enum { ADAPTER_WCS = 16, ADAPTER_EVENTS = 4, ADAPTER_DEVICES = 2, ADAPTER_IDS = 4 };

/** struct adapter_cq - a completion queue that has what adapter_complete() put there. */
struct adapter_cq {
	struct ibv_cq cq;
	struct ibv_wc wc[ADAPTER_WCS];
	int n;
	bool broken;
};

struct adapter {
	/* What it is like, to be set before adapter_open(). */
	unsigned flags; /* of the device */
	unsigned vendor;
	bool has_windows;		/* its user library, whatever the flags say */
	bool other_has_none;		/* ... but not that of the second device */
	bool refuses_inv;		/* ... Send with Invalidate */
	bool is_full;			/* no protection domain can be made */
	uint32_t max_inline;		/* octets that it takes */
	uint32_t grants_inline;		/* ... and, if not 0, what it makes of more */
	uint32_t max_send_sge, max_sge; /* really, and as the kernel says of Sends and Receives */
	unsigned short_of_regions, short_of_windows; /* so often it has none */
	unsigned keeps;	    /* so often it does not give up a region or window */
	bool leads_nowhere; /* no address is a device's */
	unsigned moved;	    /* addresses are those of the device so many further on */

	/* What happened. */
	unsigned regions, windows;	    /* there are now */
	unsigned sends, sends_inv, refused; /* work requests */
	unsigned pds;			    /* protection domains */
	struct ibv_mr *region;		    /* made last */
	uint64_t iova;			    /* ... its first octet, for peers */
	unsigned stale;			    /* ... with a list of pieces, but none in it */
	unsigned keyless;		    /* ... that write to key 0 */
	struct ibv_qp_cap cap;		    /* of the queue pair made last */
	int cqe;			    /* of the completion queue made last */
	int vector;			    /* of the completion queue made last */

	struct ibv_async_event events[ADAPTER_EVENTS];
	unsigned nevents;
	struct loop_watch *watch; /* added last */

	/* Connection events, of identifiers made by the code under test. */
	struct rdma_cm_event cm_event;
	bool has_cm_event;
	struct rdma_cm_id *ids[ADAPTER_IDS]; /* there are now */

	struct verbs v;
	struct ibv_device device, other_device; /* 127.0.0.1 is the first one's, .2 the other's */
	struct ibv_context context, other;	/* the other is not there unless a test says so */
	bool has_other;
	struct ibv_context *contexts[ADAPTER_DEVICES + 1];
	struct rdma_cm_id id;
	struct ibv_qp qp;
	struct verbs_dev *dev;
	struct verbs_conn *conn;
};

extern struct adapter adapter;

/** adapter_start, adapter_stop - cmocka: a worker without a device; nothing is left. */
int adapter_start(void **state);
int adapter_stop(void **state);

/** adapter_open - the worker takes the device into use. */
void adapter_open(void);

/** adapter_connect - adapter_open(), and a connection that is open. */
void adapter_connect(const struct fabric_conn_params *params);

/** adapter_add_other - there is a second device, of the same kind. */
void adapter_add_other(void);

/** adapter_cm_event - to be got by the next look of the connection manager's. */
void adapter_cm_event(enum rdma_cm_event_type type, struct rdma_cm_id *id);

/** adapter_complete - a completion of @q, to be found there by the next look. */
void adapter_complete(struct vcq *q, const struct ibv_wc *wc);

#endif
