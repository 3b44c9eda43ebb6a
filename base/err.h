/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/**
 * Error codes: every fallible function returns 0 (or a count) or a negative enum err. The class of
 * a code says which side is at fault, and so what the caller does: answer the peer, close the
 * session, wait, or report to the operator.
 */
enum err_class {
	ERR_CLASS_PEER = 1, /* the peer broke its protocol: answer or close, count, log */
	ERR_CLASS_REMOTE,   /* the peer reported a failure, of this end or of its own */
	ERR_CLASS_LIMIT,    /* a limit of the gateway: wait, or refuse */
	ERR_CLASS_IO,	    /* the network or the operating system */
	ERR_CLASS_CONFIG,   /* the operator's file or command line */
};

#define ERR_CODE(class, n) (-((class) * 100 + (n)))

enum err {
	ERR_SHORT = ERR_CODE(ERR_CLASS_PEER, 1),  /* the message ends inside a structure */
	ERR_XDR = ERR_CODE(ERR_CLASS_PEER, 2),	  /* malformed: bad discriminator, count or order */
	ERR_VERS = ERR_CODE(ERR_CLASS_PEER, 3),	  /* a protocol version not spoken here */
	ERR_TYPE = ERR_CODE(ERR_CLASS_PEER, 4),	  /* a message type that does not exist */
	ERR_CONT = ERR_CODE(ERR_CLASS_PEER, 5),	  /* a broken continuation sequence */
	ERR_PROP = ERR_CODE(ERR_CLASS_PEER, 6),	  /* a known property with a bad value */
	ERR_CREDIT = ERR_CODE(ERR_CLASS_PEER, 7), /* more messages than this end granted */
	ERR_ACCESS = ERR_CODE(ERR_CLASS_PEER, 8), /* remote access outside what was exposed */
	ERR_CRC = ERR_CODE(ERR_CLASS_PEER, 9),	  /* a checksum does not match */
	ERR_PROTO = ERR_CODE(ERR_CLASS_PEER, 10), /* any other breach of protocol */
	ERR_AUTH = ERR_CODE(ERR_CLASS_PEER, 11),  /* the peer did not prove its name */
	ERR_REMOTE = ERR_CODE(ERR_CLASS_REMOTE, 1),   /* the peer sent an error report */
	ERR_REJECTED = ERR_CODE(ERR_CLASS_REMOTE, 2), /* the peer rejected the connection */
	ERR_NOMEM = ERR_CODE(ERR_CLASS_LIMIT, 1),     /* an allocation or a pool is exhausted */
	ERR_TOOBIG = ERR_CODE(ERR_CLASS_LIMIT, 2),    /* larger than a configured maximum */
	ERR_NOSPACE = ERR_CODE(ERR_CLASS_LIMIT, 3),   /* the output buffer is too small */
	ERR_AGAIN = ERR_CODE(ERR_CLASS_LIMIT, 4), /* not now: no credit, or the budget is short */
	/* this machine has no port, descriptor or buffer left, or forbids it */
	ERR_LOCAL = ERR_CODE(ERR_CLASS_LIMIT, 5),
	ERR_IO = ERR_CODE(ERR_CLASS_IO, 1),	 /* a system call failed; errno was logged */
	ERR_CLOSED = ERR_CODE(ERR_CLASS_IO, 2),	 /* the connection ended */
	ERR_TIMEOUT = ERR_CODE(ERR_CLASS_IO, 3), /* a deadline passed */
	ERR_REFUSED = ERR_CODE(ERR_CLASS_IO, 4), /* no listener there, or no route */
	ERR_FLUSHED = ERR_CODE(ERR_CLASS_IO, 5), /* given back because the connection ended */
	ERR_CONFIG =
		ERR_CODE(ERR_CLASS_CONFIG, 1), /* unusable configuration; reported with its line */
};

/** err_class - which side is at fault; @err is negative. */
static inline enum err_class err_class(int err)
{
	return (enum err_class)(-err / 100);
}

/** err_name - a short word for logs ("short", "crc", "timeout"...); static storage. */
const char *err_name(int err);

#define WARN_UNUSED __attribute__((warn_unused_result))

#endif
