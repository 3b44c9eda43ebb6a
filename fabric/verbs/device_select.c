/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fabric/verbs/device_select.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/types.h"

/*
 * Operation
 *
 * Each device in use pins all registered memory once more, and peers are promised only what the
 * least capable device can do. So only these devices are opened:
 * - The device of an address that is listened on.
 * - The device of the local address from which the system would send to a server. connect() of a
 *   UDP socket finds that address without sending anything. The connection manager would first
 *   resolve the server's address, which fails while the server is down.
 *
 * All devices are opened if the instance was given no addresses, or if an address leads to no
 * device: a listener on all addresses may use any device, and a route may not exist yet.
 */

static void set_port(struct sockaddr_storage *ss, uint16_t port)
{
	if (ss->ss_family == AF_INET6)
		((struct sockaddr_in6 *)ss)->sin6_port = port;
	else
		((struct sockaddr_in *)ss)->sin_port = port;
}

/* The local address from which the system sends to @to. Return: whether there is a route. */
static bool device_select_source(const struct fabric_addr *to, struct sockaddr_storage *from)
{
	int fd = socket(to->ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*from);
	bool known;

	if (fd < 0)
		return false;
	known = connect(fd, (const struct sockaddr *)&to->ss, to->len) == 0 &&
		getsockname(fd, (struct sockaddr *)from, &len) == 0;
	close(fd);
	return known;
}

/* Opens the device of one address. Return: whether it was found, usable or not. */
static bool device_select_open_one(struct verbs *v, const struct fabric_use *use)
{
	struct sockaddr_storage ss = use->addr.ss;
	struct rdma_cm_id *id;
	bool known;

	if (!use->listens && !device_select_source(&use->addr, &ss))
		return false;
	set_port(&ss, 0);
	if (rdma_create_id(v->channel, &id, NULL, RDMA_PS_TCP))
		return false;
	known = rdma_bind_addr(id, (struct sockaddr *)&ss) == 0 && id->verbs;
	/* Without an identifier on it, librdmacm would close a device that is not held. */
	if (known)
		(void)device_get(v, id->verbs, use->domain);
	(void)rdma_destroy_id(id);
	return known;
}

/* Opens all devices, or the one named @only. */
static void device_select_open_all(struct verbs *v, uint32_t domain, const char *only)
{
	struct ibv_context **list = rdma_get_devices(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!only || strcmp(ibv_get_device_name(list[i]->device), only) == 0)
			(void)device_get(v, list[i], domain);
	if (list)
		rdma_free_devices(list);
}

static void device_select_log(const struct fabric_use *use)
{
	char at[FABRIC_ADDR_TEXT];

	log_info("verbs.lead",
		 "address=%s why=\"no single RDMA device has or leads to it: all are used\"",
		 fabric_addr_format(&use->addr, at));
}

/* Sets what the instance promises to peers from the capabilities of the devices in use. */
static int device_select_sum_up(struct verbs *v, bool any)
{
	unsigned usable = 0, refused = 0;

	v->base.remote_inv = true;
	for (struct list *it = v->devs.next; it != &v->devs; it = it->next) {
		const struct verbs_dev *dev = container_of(it, struct verbs_dev, link);

		refused += dev->refused;
		if (dev->closed)
			continue;
		usable++;
		if (!dev->windows)
			v->base.remote_inv = false;
	}
	return usable && (any || !refused) ? 0 : ERR_IO;
}

int device_select_open(struct verbs *v, const struct verbs_config *cfg)
{
	bool any = cfg->nuses == 0;

	if (any)
		device_select_open_all(v, v->domain, cfg->only);
	for (unsigned i = 0; i < cfg->nuses; i++) {
		if (device_select_open_one(v, &cfg->uses[i]))
			continue;
		any = true;
		device_select_log(&cfg->uses[i]);
		device_select_open_all(v, cfg->uses[i].domain, NULL);
	}
	return device_select_sum_up(v, any);
}
