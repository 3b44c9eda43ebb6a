/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/strings.h"

#include <errno.h>

int strings_completion(enum ibv_wc_status status, bool is_recv, const char **why)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_LOC_LEN_ERR:
		*why = is_recv ? "a message larger than its Receive"
			       : "a message larger than the device can send";
		return ERR_TOOBIG;
	case IBV_WC_LOC_QP_OP_ERR: /* rxe reports a message that is too large in this way */
		*why = is_recv ? "a message larger than its Receive" : "an unusable work request";
		return is_recv ? ERR_TOOBIG : ERR_IO;
	case IBV_WC_LOC_PROT_ERR:
		*why = "memory of ours that is not registered";
		return ERR_IO;
	case IBV_WC_MW_BIND_ERR:
		*why = "a Memory Window could not be bound";
		return ERR_IO;
	case IBV_WC_LOC_ACCESS_ERR:
		*why = "the peer addressed memory that was not exposed to it";
		return ERR_ACCESS;
	case IBV_WC_BAD_RESP_ERR:
		*why = "an unexpected response of the peer's adapter";
		return ERR_PROTO;
	case IBV_WC_REM_INV_REQ_ERR:
		*why = is_recv ? "the peer's message invalidates what it was not given"
			       : "the peer found a request invalid";
		return is_recv ? ERR_ACCESS : ERR_REMOTE;
	case IBV_WC_REM_ACCESS_ERR:
		*why = is_recv ? "the peer addressed memory that was not exposed to it"
			       : "the peer refused access to its memory";
		return is_recv ? ERR_ACCESS : ERR_REMOTE;
	case IBV_WC_REM_OP_ERR:
		*why = "the peer could not complete an operation";
		return ERR_REMOTE;
	case IBV_WC_REM_ABORT_ERR:
		*why = "the peer aborted an operation";
		return ERR_REMOTE;
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RESP_TIMEOUT_ERR:
		*why = "the peer does not acknowledge";
		return ERR_TIMEOUT;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		*why = "the peer had no Receive posted";
		return ERR_REMOTE;
	default:
		*why = ibv_wc_status_str(status);
		return ERR_IO;
	}
}

/* Reasons of the InfiniBand CM (IBTA volume 1, 12.6.7.2); a negative errno from iWARP. */
int strings_reject(bool iwarp, int reason, const char **why)
{
	if (iwarp || reason <= 0) {
		/* Linux reports resets and rejections alike: it is unknown whether the peer
		 * answered. */
		*why = "refused";
		return ERR_REFUSED;
	}
	switch (reason) {
	case 8: /* invalid service identifier */
		*why = "nobody listens there";
		return ERR_REFUSED;
	case 28: /* consumer defined */
		*why = "rejected by the peer";
		return ERR_REJECTED;
	case 1:
	case 2:
	case 3:
		*why = "the peer has no queue pairs or memory left";
		return ERR_REJECTED;
	case 4:
		*why = "the peer's connection manager timed out";
		return ERR_TIMEOUT;
	case 10:
		*why = "the peer knows no such connection any more";
		return ERR_REFUSED;
	default:
		*why = "refused by the peer's connection manager";
		return ERR_REJECTED;
	}
}

#define NO_PORT "no source port is left toward it, see net.ipv4.ip_local_port_range"
#define NO_MEMORY "this machine is out of descriptors or memory, see ulimit -n, ulimit -l and free"
#define FORBIDDEN "this machine forbids it, see ip route get, and its security policy"
#define UNREACHABLE "it cannot be reached, see ip route get and ip neigh"

/* Errors of the kernel's connection manager (addr.c, cma.c, ucma.c and iwcm.c of
 * drivers/infiniband/core), of drivers and of librdmacm, about which an operator can do something.
 * Not here: EINVAL, which has many causes, and ENODEV, for which callers have words. */
static const struct setup_error {
	int error, status;
	const char *why;
} setup_errors[] = {
	{EADDRNOTAVAIL, ERR_LOCAL, NO_PORT},
	{EADDRINUSE, ERR_LOCAL, NO_PORT},
	{EAGAIN, ERR_LOCAL, NO_MEMORY},
	{EMFILE, ERR_LOCAL, NO_MEMORY},
	{ENFILE, ERR_LOCAL, NO_MEMORY},
	{ENOBUFS, ERR_LOCAL, NO_MEMORY},
	{ENOMEM, ERR_LOCAL, NO_MEMORY},
	{ENOSPC, ERR_LOCAL, "the RDMA device has no queue or handle left, see rdma resource"},
	{EPERM, ERR_LOCAL, FORBIDDEN},
	{EACCES, ERR_LOCAL, FORBIDDEN},
	{ENETUNREACH, ERR_REFUSED, "this machine has no route to it, see ip route get"},
	{ENETDOWN, ERR_REFUSED, "the interface that leads there is down, see ip link"},
	{EHOSTUNREACH, ERR_REFUSED, UNREACHABLE},
	{EHOSTDOWN, ERR_REFUSED, UNREACHABLE},
	{ECONNREFUSED, ERR_REFUSED, "nobody listens there"},
	{ECONNRESET, ERR_CLOSED, "it ended the connection during set-up"},
	{ETIMEDOUT, ERR_TIMEOUT, "no answer, see ip neigh, or the subnet manager of InfiniBand"},
};

int strings_setup(int err, int otherwise, const char **why)
{
	err = err < 0 ? -err : err;
	for (unsigned i = 0; i < sizeof(setup_errors) / sizeof(*setup_errors); i++)
		if (setup_errors[i].error == err) {
			*why = setup_errors[i].why;
			return setup_errors[i].status;
		}
	return otherwise;
}

int strings_async(int type, const char **why)
{
	switch (type) {
	case IBV_EVENT_QP_REQ_ERR:
		*why = "an invalid request of the peer";
		return ERR_PROTO;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_CQ_ERR:
		*why = "the queue pair failed";
		return ERR_IO;
	case IBV_EVENT_DEVICE_FATAL:
		*why = "the RDMA device failed or was removed";
		return ERR_IO;
	default: /* some devices (rxe) report every fault except of this class */
		*why = "the peer addressed memory that was not exposed to it";
		return ERR_ACCESS;
	}
}
