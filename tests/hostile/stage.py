# SPDX-License-Identifier: BSD-2-Clause
"""Sets up the ends that exist when a case begins."""
import mpa
import peer
import rpc
import rtr
import v2
from rdmap import Conn, read_frame
from routes import SHARED


class Stage:
    """The ends that a case uses. The case's .on says which of them exist: .sock (only TCP), .conn (RDMA), .end (a client that
    speaks a version), .server (the server behind the gateway, which the case controls). The answer must have the XID .xid."""

    def __init__(self, gateway, route):
        self.gateway, self.route = gateway, route
        self.sock = self.conn = self.end = self.server = None
        self.xid = self.server_xid = self.vers = 0

    def use(self, end):
        self.end, self.conn = end, end.conn

    # --- for servers ---

    def knock(self, **frame):
        """A client requests a connection. The gateway will then request one from the server."""
        self.sock = peer.dial(self.route.address)
        self.sock.sendall(mpa.request(**frame))

    def come(self, version, props=v2.PROPS, **frame):
        """The server accepts the gateway's connection, and completes the set-up."""
        self.server = peer.End(peer.accept_rdma(self.route.accept(), **frame), version)
        if version == 2:
            self.server.answer_negotiation(props)

    def enter(self, version):
        """The client receives the gateway's acceptance, and completes the set-up."""
        answer = read_frame(self.sock)
        assert not answer.flags & mpa.REJECT, 'rejected'
        self.use(peer.End(Conn(self.sock), version))
        self.sock = None
        if version == 2:
            self.end.negotiate()

    # --- for both ---

    def goes_on(self):
        """Checks that the session works."""
        if not self.server:
            self.end.do_null()
            return
        xid = self.end.new_xid()
        self.end.call(rpc.call(xid))
        m = self.server.expect_msg(xid)
        assert m.error is None, m
        self.server.reply(rpc.reply(xid), xid=xid)
        assert self.end.expect_reply(xid).results == b''

    def close(self):
        for it in (self.sock, self.end or self.conn, self.server):
            if it:
                it.close()


def open_tcp(s):
    s.sock = peer.dial(s.route.address)


def open_mpa(s):
    s.conn, s.frame = peer.open_rdma(s.route.address)


def open_raw(version):
    def opener(s):
        open_mpa(s)
        s.use(peer.End(s.conn, version))
    return opener


def open_version(version):
    def opener(s):
        s.use(peer.open_client(s.route.address, version))
    return opener


def open_pair(client, server, **how):
    """A session of which the case controls both ends."""
    def opener(s):
        s.knock()
        s.come(server, **how)
        s.enter(client)
    return opener


def open_placed(client, server, support=rtr.TAKES_REQUEST):
    """As open_pair(), with a server that takes data in the Sends of their calls."""
    pair = open_pair(client, server, props=v2.properties(*v2.BASE, *rtr.properties(v2.prop, rtr.ROOMY, support)))

    def opener(s):
        pair(s)
        s.goes_on()  # over the early draft requests follow the first reply
    return opener


OPENERS = {
    'nothing': lambda s: None,
    'tcp': open_tcp,
    'mpa': open_mpa,
    'v1-first': open_raw(1),
    'v2-first': open_raw(2),
    'early-first': open_raw('early'),
    'v1': open_version(1),
    'v2': open_version(2),
    'early': open_version('early'),
    'v1-v1': open_pair(1, 1),
    'v1-v2': open_pair(1, 2),
    'v2-v1': open_pair(2, 1),
    'v2-v2': open_pair(2, 2),
    'v1-early': open_pair(1, 'early'),
    'v2-early': open_pair(2, 'early'),
    'early-early': open_pair('early', 'early'),
    'v1-placed': open_placed(1, 2),
    'v1-asked': open_placed(1, 2, rtr.TAKES_REQUEST | rtr.TAKES_RESPONSE),
    'v1-early-placed': open_placed(1, 'early'),
    'early-asked': open_placed('early', 'early'),
}


def open_stage(s, one):
    OPENERS[one.on](s)


def open_witness(route):
    """Opens the route's witness: a session that no case may harm."""
    # The witness speaks another version than its server if the route allows it, so that both versions are in use.
    version = 2 if route.versions == [2] or (2 in route.versions and route.version == '1') else 1
    if route.versions == ['2-early']:
        version = 'early'
    sock = peer.dial(route.address)
    sock.sendall(mpa.request())
    route.honest = peer.serve(route.accept(), route.speaks())
    answer = read_frame(sock)
    route.witness = peer.End(Conn(sock, bool(answer.flags & mpa.CRC)), version)
    if version == 2:
        route.witness.negotiate()
    if route.name in SHARED:
        route.serve_honestly()

