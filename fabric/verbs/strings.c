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

int strings_local(int err, int otherwise, const char **why)
{
	switch (err < 0 ? -err : err) {
	case EADDRNOTAVAIL:
	case EADDRINUSE:
		*why = "no source port is left toward it";
		return ERR_LOCAL;
	case EAGAIN:
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		*why = "this machine is out of descriptors or memory";
		return ERR_LOCAL;
	case EPERM:
	case EACCES:
		*why = "this machine forbids it";
		return ERR_LOCAL;
	default:
		return otherwise;
	}
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
