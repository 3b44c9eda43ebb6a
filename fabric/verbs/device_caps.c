/* SPDX-License-Identifier: BSD-2-Clause */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "fabric/verbs/limits.h"
#include "fabric/verbs/types.h"

/* Facts of a device in use, for tools: the words and numbers of limits_log(). */

static const struct verbs_dev *find_dev(const struct verbs *v, const char *name)
{
	for (const struct list *it = v->devs.next; it != &v->devs; it = it->next) {
		const struct verbs_dev *dev = container_of(it, const struct verbs_dev, link);

		if (strcmp(dev->name, name) == 0)
			return dev;
	}
	return NULL;
}

int verbs_caps(const struct fabric *f, const char *name, struct verbs_caps *caps)
{
	const struct verbs_dev *dev = find_dev(container_of(f, const struct verbs, base), name);

	if (!dev)
		return ERR_IO;
	*caps = (struct verbs_caps){
		.is_usable = !dev->closed,
		.is_iwarp = dev->iwarp,
		.windows = dev->windows,
		.send_inv = dev->send_inv,
		.can_share = dev->attr.max_srq > 0 && dev->attr.max_srq_wr > 0,
		.exposures = limits_exposures(dev),
		.handles = limits_handles(dev),
		.max_sge = dev->max_sge,
		.max_inline = dev->max_inline,
		.max_qp_wr = dev->attr.max_qp_wr,
		.max_srq_wr = dev->attr.max_srq ? dev->attr.max_srq_wr : 0,
		.reads_served = dev->attr.max_qp_rd_atom,
		.reads_issued = dev->attr.max_qp_init_rd_atom,
		.max_mr = dev->attr.max_mr,
		.max_mw = dev->attr.max_mw,
	};
	snprintf(caps->name, sizeof(caps->name), "%s", dev->name);
	return 0;
}

static bool has_family(const struct ifaddrs *at)
{
	return at->ifa_addr && (at->ifa_flags & IFF_UP) &&
	       (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6);
}

static bool is_its(struct verbs *v, const struct verbs_dev *dev, const struct fabric_addr *addr)
{
	struct sockaddr_storage ss = addr->ss;
	struct rdma_cm_id *id;
	bool its;

	if (rdma_create_id(v->channel, &id, NULL, RDMA_PS_TCP))
		return false;
	its = rdma_bind_addr(id, (struct sockaddr *)&ss) == 0 && id->verbs == dev->context;
	(void)rdma_destroy_id(id);
	return its;
}

int verbs_device_address(struct fabric *f, const char *name, struct fabric_addr *addr)
{
	struct verbs *v = verbs_of(f);
	const struct verbs_dev *dev = find_dev(v, name);
	struct ifaddrs *all;
	bool found = false;

	if (!dev || getifaddrs(&all))
		return ERR_IO;
	for (const struct ifaddrs *at = all; at && !found; at = at->ifa_next) {
		if (!has_family(at))
			continue;
		*addr = (struct fabric_addr){.len = at->ifa_addr->sa_family == AF_INET
							    ? sizeof(struct sockaddr_in)
							    : sizeof(struct sockaddr_in6)};
		memcpy(&addr->ss, at->ifa_addr, addr->len);
		found = is_its(v, dev, addr);
	}
	freeifaddrs(all);
	return found ? 0 : ERR_IO;
}
