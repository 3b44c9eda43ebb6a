/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "base/log.h"
#include "fabric/verbs/limits.h"
#include "fabric/verbs/types.h"

/*
 * Operation
 *
 * The attributes of a device are those of the kernel, but its user library may support less. Also,
 * .max_sge is the smaller of two limits, for a Send and for a Receive (erdma: 6 and 1). So when a
 * device comes into use, a queue pair like those of connections is made on trial, with fewer and
 * fewer pieces until the library accepts it. The limits of this queue pair are used.
 *
 * Small messages are sent inline only if the device supports INLINE_WANTED octets. Libraries with
 * less room have defects: irdma (before 44) and bnxt_re (44) send only the first piece; hns (hip08)
 * grants 32 and rejects the first longer Send. INLINE_WANTED octets fit into the room that devices
 * have for pieces anyway; with 256 the send queues of mlx5 are twice as large.
 */

enum {
	INLINE_WANTED = 120, /* octets: a header with a NULL, a reply without data */
	SGE_LEAST = 2,	     /* pieces: a header, and a body */
};

/*
 * Linux's rxe compares an access through a window with the bounds of the region
 * below it (check_rkey() in rxe_resp.c), so there each window gets a region of
 * its own. It has no vendor of its own either: all ones stand for it.
 */
enum { VENDOR_RXE = 0xffffff };

/* Linux's siw ignores the offset that is asked for, and uses the address (siw_reg_user_mr() in
 * siw_verbs.c). */
enum { VENDOR_SIW = 0x626d74 };

/* Linux's qedr reports SRQ_ERR when a shared queue has no Receive left (qedr_affiliated_event() in
 * main.c). It has no event for the failure of such a queue. */
enum { VENDOR_QLOGIC = 0x1077 };

int limits_ask(struct verbs_dev *dev)
{
	if (ibv_query_device(dev->context, &dev->attr))
		return ERR_IO;
	dev->iwarp = dev->context->device->transport_type == IBV_TRANSPORT_IWARP;
	dev->windows = dev->attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	dev->windows &= !dev->v->cfg.no_windows;
	dev->rxe = dev->attr.vendor_id == VENDOR_RXE;
	dev->siw = dev->attr.vendor_id == VENDOR_SIW;
	dev->qedr = dev->attr.vendor_id == VENDOR_QLOGIC;
	dev->send_inv = dev->attr.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS;
	return 0;
}

/* Whether windows can be made. The kernel's flags are not enough, because a user library may have
 * no windows (bnxt_re). */
static bool makes_windows(struct verbs_dev *dev)
{
	struct ibv_mw *mw = ibv_alloc_mw(dev->pd, IBV_MW_TYPE_2);

	if (mw)
		(void)ibv_dealloc_mw(mw);
	return mw != NULL;
}

unsigned limits_inline(const struct ibv_qp_cap *cap)
{
	return cap->max_inline_data >= INLINE_WANTED ? INLINE_WANTED : 0;
}

/* Return: whether the device makes such a queue pair. */
static bool makes_pair(struct verbs_dev *dev, struct ibv_cq *cq, unsigned sge, uint32_t max_inline)
{
	struct ibv_qp_init_attr attr = {.send_cq = cq,
					.recv_cq = cq,
					.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 2,
						.max_recv_wr = 1,
						.max_send_sge = sge,
						.max_recv_sge = 1,
						.max_inline_data = max_inline}};
	struct ibv_qp *qp = ibv_create_qp(dev->pd, &attr);

	if (!qp)
		return false;
	(void)ibv_destroy_qp(qp);
	dev->max_sge = attr.cap.max_send_sge < sge ? attr.cap.max_send_sge : sge;
	dev->max_inline = limits_inline(&attr.cap);
	return true;
}

static bool try_pairs(struct verbs_dev *dev, struct ibv_cq *cq)
{
	for (unsigned sge = FABRIC_MAX_SGE; sge >= SGE_LEAST; sge--)
		if (makes_pair(dev, cq, sge, INLINE_WANTED) || makes_pair(dev, cq, sge, 0))
			return true;
	return false;
}

int limits_try(struct verbs_dev *dev)
{
	struct ibv_cq *cq = ibv_create_cq(dev->context, 4, NULL, NULL, 0);
	bool made;
	int cause;

	if (!cq)
		return ERR_IO;
	made = try_pairs(dev, cq);
	cause = errno;
	(void)ibv_destroy_cq(cq);
	errno = cause;
	if (!made)
		return ERR_IO;
	if (dev->max_sge < SGE_LEAST) {
		errno = EOPNOTSUPP;
		return ERR_IO;
	}
	dev->windows = dev->windows && makes_windows(dev);
	return 0;
}

const char *limits_exposures(const struct verbs_dev *dev)
{
	return !dev->windows ? "registrations" : dev->rxe ? "windows-on-registrations" : "windows";
}

const char *limits_handles(const struct verbs_dev *dev)
{
	return dev->windows ? "connection" : dev->siw ? "domain" : "domain,random";
}

void limits_log(const struct verbs_dev *dev)
{
	log_info("verbs.device",
		 "device=%s transport=%s exposures=%s handles=%s send_with_invalidate=%s "
		 "max_qp_wr=%d "
		 "max_srq_wr=%d max_sge=%u inline=%u read_depth=%d/%d max_mr=%d max_mw=%d",
		 dev->name, dev->iwarp ? "iwarp" : "ib", limits_exposures(dev), limits_handles(dev),
		 dev->send_inv ? "yes" : "no", dev->attr.max_qp_wr,
		 dev->attr.max_srq ? dev->attr.max_srq_wr : 0, dev->max_sge, dev->max_inline,
		 dev->attr.max_qp_rd_atom, dev->attr.max_qp_init_rd_atom, dev->attr.max_mr,
		 dev->attr.max_mw);
	if (!dev->windows)
		log_warn("verbs.handles",
			 "device=%s why=\"it has no Memory Windows of type 2: a handle is good for "
			 "every "
			 "connection of this side of a route%s\"",
			 dev->name, dev->siw ? ", and easy to guess" : "");
}
