/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_ROUTE_END_H
#define TESTS_ISOLATION_ROUTE_END_H

#include "rpc/msg.h"
#include "tests/isolation/net.h"

/**
 * route_end - one connection of a test client or server, in version 1 or 2, octet by octet
 *
 * An end follows the protocol. Its owner decides how fast it is.
 */

enum {
	END_BUFFER = 4096,
	END_RECVS = 80,
	END_WINDOW = 64, /* messages, or calls, that the gateway may send */
	END_SENDS = 72,	 /* Sends in flight */
	END_BYTES = (END_RECVS + END_SENDS) * END_BUFFER,
};

struct route_end {
	struct fabric_conn *conn; /* NULL: none */
	bool connected, closed;
	unsigned version;
	uint32_t received, sent;
	uint32_t granted; /* version 1: calls at a time; version 2: messages in all */
	/* version 2: messages in all that the gateway may send; 0: as many as there are Receives */
	uint32_t allows;
	unsigned sends_out, nsends;
	uint8_t *memory; /* END_BYTES octets, registered */
};

/** end_connect - connect a client. */
void end_connect(struct route_end *e, struct fabric *f, const struct fabric_addr *from,
		 const struct fabric_addr *to, void *owner);

/** end_accept - accept a connection @conn at a server. */
void end_accept(struct route_end *e, struct fabric_conn *conn, void *owner);

/** end_receive - decode a message into @m, without its body, and post its Receive again. Return:
 * whether it is a call or a reply. */
bool end_receive(struct route_end *e, const struct fabric_event *ev, struct rpc_msg *m);

/** end_has_room - whether another Send is possible. */
static inline bool end_has_room(const struct route_end *e)
{
	return e->connected && !e->closed && e->sends_out < END_SENDS;
}

/** end_send - send @m, with @body inline unless @m has a body chunk. */
void end_send(struct route_end *e, const struct rpc_msg *m, struct view body);

/* Calls of rogues have XIDs from here on. The gateway passes XIDs through unchanged. */
enum { ROGUE_XIDS = 0x40000000 };

static inline bool is_of_rogue(uint32_t xid)
{
	return xid >= ROGUE_XIDS;
}

/** end_part - version 2: send a part of a continued call: @len octets of a body, which begins with
 * @xid if @first; @left octets follow. */
void end_part(struct route_end *e, uint32_t xid, bool first, uint32_t len, uint32_t left);

/** end_props - version 2: send properties. end_grant - version 2: send a GRANT. */
void end_props(struct route_end *e);
void end_grant(struct route_end *e);

#endif
