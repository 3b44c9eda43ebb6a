# SPDX-License-Identifier: BSD-2-Clause
"""Calls of the client with which cases of hostile servers begin. After each function the call is at the server."""
import rpc

SIZE = 400


def call(s):
    """Sends a NULL. Return: the message that the server got."""
    s.xid = s.server_xid = s.end.new_xid()
    s.end.call(rpc.call(s.xid))
    return s.server.expect_msg(s.xid)


def chunk_call(s):
    """Sends a call that offers a Write chunk of SIZE octets. Return: the message that the server got."""
    s.xid, s.back = s.end.new_xid(), s.end.conn.sink(SIZE)
    s.end.call(rpc.echo_call(s.xid, bytes(SIZE)), (), [[s.back]])
    m = s.server.expect_msg(s.xid)
    s.write = m.writes[0][0]
    return m


def reply_chunk_call(s):
    """Sends a call whose reply may take 20000 octets, so a server of version 1 gets a Reply chunk. Return: the server's message."""
    s.xid = s.end.new_xid()
    s.end.call(rpc.fill_call(s.xid, 20000), (), (), [s.end.conn.sink(30000)])
    m = s.server.expect_msg(s.xid)
    s.large = m.reply[0]
    return m
