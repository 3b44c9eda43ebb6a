/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_VERBS_ADAPTER_H
#define TESTS_VERBS_ADAPTER_H

#include "tests/cmocka_all.h"

#include "fabric/verbs/alive.h"
#include "fabric/verbs/cm.h"
#include "fabric/verbs/complete.h"
#include "fabric/verbs/conn.h"
#include "fabric/verbs/conn_close.h"
#include "fabric/verbs/context.h"
#include "fabric/verbs/cq.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/device_removal.h"
#include "fabric/verbs/device_select.h"
#include "fabric/verbs/drain.h"
#include "fabric/verbs/end.h"
#include "fabric/verbs/expose.h"
#include "fabric/verbs/limits.h"
#include "fabric/verbs/listen.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/post.h"
#include "fabric/verbs/queue.h"
#include "fabric/verbs/share.h"
#include "fabric/verbs/share_conn.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/srq.h"
#include "fabric/verbs/submit.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/vring.h"
#include "fabric/verbs/wakeup.h"
#include "fabric/verbs/window.h"

/**
 * adapter - takes the place of libibverbs and librdmacm, whose functions it defines. It behaves as
 * user libraries of real adapters do, where rxe and siw do not. It moves no data: tests say what
 * completes.
 */
enum { ADAPTER_WCS = 16, ADAPTER_EVENTS = 4, ADAPTER_DEVICES = 2, ADAPTER_IDS = 4 };

/** struct adapter_cq - a completion queue with the entries of adapter_complete(). */
struct adapter_cq {
	struct ibv_cq cq;
	struct ibv_wc wc[ADAPTER_WCS];
	int n;
	bool broken;
};

struct adapter {
	/* Properties of the device, set before adapter_open(). */
	unsigned flags; /* of the device */
	unsigned vendor;
	bool has_windows;    /* its user library has Memory Windows, whatever the flags say */
	bool other_has_none; /* the second device has no Memory Windows */
	bool refuses_inv;    /* the device refuses Send with Invalidate */
	bool refuses_all;    /* the queue pair refuses every work request (cxgb4, after its end) */
	bool is_full;	     /* no protection domain can be made */
	int pair_errno, cq_errno, arm_errno; /* if not 0: why no queue can be made, or armed */
	/* if not 0: why a step of a connection's set-up fails */
	int create_errno, resolve_errno, route_errno, connect_errno, accept_errno;
	uint32_t max_inline;	/* octets of inline data */
	uint32_t grants_inline; /* if not 0: octets that it grants when more are asked for */
	/* the real limit; the limit that the kernel reports for Sends and Receives */
	uint32_t max_send_sge, max_sge;
	/* how many times registering a region, or making a window, fails */
	unsigned short_of_regions, short_of_windows;
	unsigned keeps;	    /* how many times releasing a region or window fails */
	bool leads_nowhere; /* no address belongs to a device */
	unsigned moved;	    /* each address belongs to the device that many places further on */

	/* Record. */
	unsigned regions, windows;	    /* current numbers */
	unsigned sends, sends_inv, refused; /* numbers of work requests */
	unsigned pds;			    /* number of protection domains */
	struct ibv_mr *region;		    /* made last */
	uint64_t iova;			    /* address of its first octet, for peers */
	unsigned stale;			    /* work requests without pieces whose list has one */
	unsigned listless;		    /* work requests to send without a list of pieces */
	unsigned keyless;		    /* work requests that write to key 0 */
	struct ibv_qp_cap cap;		    /* of the queue pair made last */
	int cqe;			    /* of the completion queue made last */
	int vector;			    /* of the completion queue made last */

	struct ibv_async_event events[ADAPTER_EVENTS];
	unsigned nevents;
	struct loop_watch *watch; /* added last */

	/* Connection events for identifiers that the code under test made. */
	struct rdma_cm_event cm_event;
	bool has_cm_event;
	int cm_event_errno; /* errno that librdmacm leaves when it reports the event */
	struct rdma_cm_id *ids[ADAPTER_IDS]; /* current ones */

	struct verbs v;
	/* 127.0.0.1 belongs to the first device, .2 to the other */
	struct ibv_device device, other_device;
	struct ibv_context context, other; /* the other device exists only if a test says so */
	bool has_other;
	struct ibv_context *contexts[ADAPTER_DEVICES + 1];
	struct rdma_cm_id id;
	struct ibv_qp qp;
	struct verbs_dev *dev;
	struct verbs_conn *conn;
};

extern struct adapter adapter;

/** adapter_start, adapter_stop - cmocka set-up and tear-down: a worker without a device; at the end
 * nothing is left. */
int adapter_start(void **state);
int adapter_stop(void **state);

/** adapter_restart - the worker begins anew with @cfg. It has opened no device. */
void adapter_restart(const struct verbs_config *cfg);

/** adapter_open - the worker opens the device. */
void adapter_open(void);

/** adapter_connect - adapter_open(), and an open connection. */
void adapter_connect(const struct fabric_conn_params *params);

/** adapter_add_other - add a second device of the same kind. */
void adapter_add_other(void);

/** adapter_cm_event - queue a connection event. */
void adapter_cm_event(enum rdma_cm_event_type type, struct rdma_cm_id *id);

/** adapter_complete - add a completion to @q. */
void adapter_complete(struct vcq *q, const struct ibv_wc *wc);

#endif
