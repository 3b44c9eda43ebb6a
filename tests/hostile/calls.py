# SPDX-License-Identifier: BSD-2-Clause
"""The client's calls with which the cases of servers begin."""
import rpc

SIZE = 400


def call(s):
    """A plain call is with the server."""
    s.xid = s.server_xid = s.end.new_xid()
    s.end.call(rpc.call(s.xid))
    return s.server.expect_msg(s.xid)


def chunk_call(s):
    """A call that offers a Write chunk of SIZE octets."""
    s.xid, s.back = s.end.new_xid(), s.end.conn.sink(SIZE)
    s.end.call(rpc.echo_call(s.xid, bytes(SIZE)), (), [[s.back]])
    m = s.server.expect_msg(s.xid)
    s.write = m.writes[0][0]
    return m


def reply_chunk_call(s):
    """A call whose reply may take 20000 octets: a server of version 1 gets a Reply chunk."""
    s.xid = s.end.new_xid()
    s.end.call(rpc.fill_call(s.xid, 20000), (), (), [s.end.conn.sink(30000)])
    m = s.server.expect_msg(s.xid)
    s.large = m.reply[0]
    return m
