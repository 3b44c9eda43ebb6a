/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/err.h"

const char *err_name(int err)
{
	switch (err) {
	case 0:
		return "ok";
	case ERR_SHORT:
		return "short";
	case ERR_XDR:
		return "xdr";
	case ERR_VERS:
		return "version";
	case ERR_TYPE:
		return "type";
	case ERR_CONT:
		return "continuation";
	case ERR_PROP:
		return "property";
	case ERR_CREDIT:
		return "credit";
	case ERR_ACCESS:
		return "access";
	case ERR_CRC:
		return "crc";
	case ERR_PROTO:
		return "protocol";
	case ERR_AUTH:
		return "auth";
	case ERR_REMOTE:
		return "remote";
	case ERR_REJECTED:
		return "rejected";
	case ERR_NOMEM:
		return "nomem";
	case ERR_TOOBIG:
		return "toobig";
	case ERR_NOSPACE:
		return "nospace";
	case ERR_AGAIN:
		return "again";
	case ERR_LOCAL:
		return "local";
	case ERR_IO:
		return "io";
	case ERR_CLOSED:
		return "closed";
	case ERR_TIMEOUT:
		return "timeout";
	case ERR_REFUSED:
		return "refused";
	case ERR_FLUSHED:
		return "flushed";
	case ERR_CONFIG:
		return "config";
	default:
		return "unknown";
	}
}
