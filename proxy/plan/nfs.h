/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_PLAN_NFS_H
#define PROXY_PLAN_NFS_H

#include "base/err.h"
#include "rpc/msg.h"
#include "xdr/cursor.h"
#include "xdr/rpchdr.h"

/* Knowledge of NFS in this folder: the longest replies (nfsreply.c, nfs4reply.c) and the data of
 * READ (nfsresult.c). */

enum {
	PROG_NFS = 100003,
	PROG_MOUNT = 100005,
	PROG_RQUOTA = 100011,
	PROG_NLM = 100021,
	PROG_NFSACL = 100227
};

/* RFC 7530 16, RFC 8881 18, RFC 7862 15: operations whose arguments or results can be stepped over. */
enum nfs4_op {
	OP_ACCESS = 3,
	OP_CLOSE = 4,
	OP_COMMIT = 5,
	OP_CREATE = 6,
	OP_DELEGRETURN = 8,
	OP_GETATTR = 9,
	OP_GETFH = 10,
	OP_LINK = 11,
	OP_LOCK = 12,
	OP_LOCKT = 13,
	OP_LOCKU = 14,
	OP_LOOKUP = 15,
	OP_LOOKUPP = 16,
	OP_NVERIFY = 17,
	OP_OPEN = 18,
	OP_OPENATTR = 19,
	OP_OPEN_CONFIRM = 20,
	OP_OPEN_DOWNGRADE = 21,
	OP_PUTFH = 22,
	OP_PUTPUBFH = 23,
	OP_PUTROOTFH = 24,
	OP_READ = 25,
	OP_READDIR = 26,
	OP_READLINK = 27,
	OP_REMOVE = 28,
	OP_RENAME = 29,
	OP_RENEW = 30,
	OP_RESTOREFH = 31,
	OP_SAVEFH = 32,
	OP_SETATTR = 34,
	OP_SETCLIENTID_CONFIRM = 36,
	OP_VERIFY = 37,
	OP_WRITE = 38,
	OP_RELEASE_LOCKOWNER = 39,
	OP_DESTROY_SESSION = 44,
	OP_FREE_STATEID = 45,
	OP_SEQUENCE = 53,
	OP_TEST_STATEID = 55,
	OP_DESTROY_CLIENTID = 57,
	OP_RECLAIM_COMPLETE = 58,
	OP_ALLOCATE = 59,
	OP_DEALLOCATE = 62,
	OP_SEEK = 69,
	OP_CLONE = 71,
};

/* Operations of a COMPOUND that are examined. No client sends so many; what follows them is not
 * read. */
enum { NFS4_OPERATIONS = 64 };

#endif
