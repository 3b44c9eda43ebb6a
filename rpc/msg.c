/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpc/msg.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"

void rpc_msg_copy(struct rpc_msg *to, const struct rpc_msg *from)
{
	memcpy(to, from, offsetof(struct rpc_msg, placed));
	for (unsigned i = 0; i < from->nplaced; i++)
		to->placed[i] = from->placed[i];
	for (unsigned i = 0; i < from->nwishes; i++)
		to->wishes[i] = from->wishes[i];
	for (unsigned i = 0; i < from->nreads; i++)
		to->reads[i] = from->reads[i];
	for (unsigned i = 0; i < from->nwrites; i++)
		to->writes[i] = from->writes[i];
	for (unsigned i = 0; i < from->nsegs; i++)
		to->segs[i] = from->segs[i];
}

int rpc_msg_add_segment(struct rpc_msg *m, struct rpc_chunk *c, const struct segment *s)
{
	if (m->nsegs == RPC_MAX_SEGMENTS)
		return ERR_TOOBIG;
	if (c->count == 0) {
		c->first = (uint16_t)m->nsegs;
		c->length = 0;
	}
	assert(c->first + c->count == m->nsegs);
	m->segs[m->nsegs++] = *s;
	c->count++;
	c->length += s->length;
	return 0;
}

int rpc_msg_place(struct rpc_msg *m, struct rpc_chunk *c, struct view data)
{
	if (m->nplaced == RPC_MAX_PLACED)
		return ERR_TOOBIG;
	c->first = (uint16_t)m->nplaced;
	c->count = 0;
	c->length = data.len;
	m->placed[m->nplaced++] = data;
	return 0;
}

const char *rpc_error_name(enum rpc_error_code code)
{
	switch (code) {
	case RPC_ERROR_VERS:
		return "vers";
	case RPC_ERROR_CHUNK:
		return "chunk";
	case RPC_ERROR_BAD_XDR:
		return "bad_xdr";
	case RPC_ERROR_BAD_PROPVAL:
		return "bad_propval";
	case RPC_ERROR_INVAL_HTYPE:
		return "inval_htype";
	case RPC_ERROR_INVAL_CONT:
		return "inval_cont";
	case RPC_ERROR_READ_CHUNKS:
		return "read_chunks";
	case RPC_ERROR_WRITE_CHUNKS:
		return "write_chunks";
	case RPC_ERROR_SEGMENTS:
		return "segments";
	case RPC_ERROR_WRITE_RESOURCE:
		return "write_resource";
	case RPC_ERROR_REPLY_RESOURCE:
		return "reply_resource";
	case RPC_ERROR_VERS_MISMATCH:
		return "vers_mismatch";
	case RPC_ERROR_SYSTEM:
		return "system";
	}
	return "unknown";
}
