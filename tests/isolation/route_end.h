/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_ROUTE_END_H
#define TESTS_ISOLATION_ROUTE_END_H

#include "rpc/msg.h"
#include "tests/isolation/net.h"

/**
 * route_end - one connection of a client or a server of the test, in version 1 or 2, octet by octet
 *
 * An end keeps the rules of the protocol. How fast it goes is its owner's affair.
 */

enum {
	END_BUFFER = 4096,
	END_RECVS = 80,
	END_WINDOW = 64, /* messages that the gateway may send, or calls */
	END_SENDS = 72,	 /* under way */
	END_BYTES = (END_RECVS + END_SENDS) * END_BUFFER,
};

struct route_end {
	struct fabric_conn *conn; /* NULL: none */
	bool connected, closed;
	unsigned version;
	uint32_t received, sent;
	uint32_t granted; /* version 1: calls at once; version 2: messages in all */
	uint32_t
		allows; /* version 2: messages in all that the gateway may send; 0: as many as there are Receives for */
	unsigned sends_out, nsends;
	uint8_t *memory; /* END_BYTES of it, registered */
};

/** end_connect - a client's. */
void end_connect(struct route_end *e, struct fabric *f, const struct fabric_addr *from,
		 const struct fabric_addr *to, void *owner);

/** end_accept - a server's; @conn asks. */
void end_accept(struct route_end *e, struct fabric_conn *conn, void *owner);

/** end_receive - a message, decoded into @m but for its body; its Receive is posted again. Return: whether it is a call or a
 * reply. */
bool end_receive(struct route_end *e, const struct fabric_event *ev, struct rpc_msg *m);

/** end_has_room - whether one more Send fits. */
static inline bool end_has_room(const struct route_end *e)
{
	return e->connected && !e->closed && e->sends_out < END_SENDS;
}

/** end_send - @m, with @body inline unless it has a body chunk. */
void end_send(struct route_end *e, const struct rpc_msg *m, struct view body);

/* Calls of rogues have XIDs from here on. The gateway passes XIDs on as they are. */
enum { ROGUE_XIDS = 0x40000000 };

static inline bool is_of_rogue(uint32_t xid)
{
	return xid >= ROGUE_XIDS;
}

/** end_part - version 2: part of a continued call, @len octets of a body that begins with @xid if @first; @left more follow. */
void end_part(struct route_end *e, uint32_t xid, bool first, uint32_t len, uint32_t left);

/** end_props, end_grant - version 2: its first words; a word of what it allows. */
void end_props(struct route_end *e);
void end_grant(struct route_end *e);

#endif
