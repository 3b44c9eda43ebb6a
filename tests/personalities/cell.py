# SPDX-License-Identifier: BSD-2-Clause
"""One cell of the table: a personality in a role, an end of version 1 or 2, or of 2's early draft, on the gateway's
other side, and every operation at every size between them."""
import random
import threading
import zlib
from collections import Counter

import draft
import end
import link
import who
from early import EarlyEnd
from end import CALLBACK, ECHO, GET, NULL, PUT, Refused, octets
from gateway import Route
from new import V2End
from old import V1End
from xdr import opaque, u32

SIZES = (1, 1000, 4000, 9000, 70000, 1 << 20)
LONG = sorted({n + d for n in (1, 64, 1000, 4000, 4096, 8192, 32768, 65536, 262144, 1 << 20)
               for d in (-1, 0, 1, 3) if 0 < n + d <= 1 << 20})
BURST = 12  # calls at once: more than the gateway grants
UPSTREAM = {1: '1', 2: 'auto', 'early': '2-early'}


# What a client of each is told of a server's refusal.
ERRORS = {V1End: 'ERR_CHUNK', V2End: 'SYSTEM', EarlyEnd: 'BAD_HEADER'}


class Wrong(Exception):
    """An answer, but not the right one."""


class Cell:
    def __init__(self, one, role, side):
        self.one, self.role, self.side = one, role, side
        self.name = '%s-%s-v%s' % (one.name, role, side)
        server = side if role == 'client' else 'early' if one.early else 2
        versions = (1, 2, '2-early') if one.early or side == 'early' else (1, 2)
        self.route = Route(self.name, UPSTREAM[server], versions, listen='crc = false;', upstream='crc = false; '
                           'connect_timeout = 4; reverse = "%s";' % self.level())
        self.calls = self.timeouts = 0
        self.errors = Counter()
        self.fault = None
        self.server = self.client = None
        self.doing = 'setting up'

    def level(self):
        """What the operator of this route knows of its clients: key reverse."""
        if self.role == 'server' and self.side != 2:
            return 'auto'
        client = self.one if self.role == 'client' else who.PLAIN
        return {draft.NONE: 'none', draft.SIMPLE: 'simple', draft.CONT: 'continued'}.get(client.reverse, 'general')

    def make(self, role, connection):
        if role == self.role:
            return (EarlyEnd if self.one.early else V2End)(connection, self.one)
        return {1: V1End, 2: V2End, 'early': EarlyEnd}[self.side](connection, who.PLAIN)

    # --- the server ---

    def serve(self):
        try:
            self.server = self.make('server', link.welcome(self.route.accept()))
            self.server.start_server()
            self.server.serve()
        except (link.Lost, link.TimedOut, EOFError, OSError):
            pass  # the client tells what it missed
        except Exception as why:
            self.blame('server', why)
        if self.server:
            self.server.link.close()

    def blame(self, where, why):
        if not self.fault:
            self.fault = '%s: %s: %s: %s' % (self.doing, where, type(why).__name__, why)

    # --- the client ---

    def run(self, sizes):
        serving = threading.Thread(target=self.serve, daemon=True)
        serving.start()
        try:
            self.client = self.make('client', link.dial(self.route.address))
            self.client.start_client()
            self.play(sizes)
        except link.TimedOut as why:
            self.timeouts += 1
            self.blame('client', why)
        except Exception as why:
            self.blame('client', why)
        if self.client:
            self.client.link.close()
            self.calls, self.errors = self.client.made, self.client.errors
        serving.join(link.TIMEOUT)
        if self.server:
            self.errors += self.server.errors
        return self

    def play(self, sizes):
        self.doing = 'null'
        self.client.call(NULL)
        for n in sizes:
            for operation in (self.put, self.put_chunk, self.get, self.get_chunk, self.get_both, self.echo):
                self.doing = '%s %d' % (operation.__name__, n)
                operation(n)
        for operation in (self.too_small, self.call_backs, self.burst):
            self.doing = operation.__name__
            operation()

    def want(self, got, wanted):
        if got != wanted:
            raise Wrong('%d octets, %s...' % (len(got), got[:16].hex()))

    def put(self, n):
        data = octets(n, n)
        self.want(self.client.call(PUT, opaque(data), bound=8)[0], u32(n, zlib.crc32(data)))

    def put_chunk(self, n):
        data = octets(n, n)
        self.want(self.client.call(PUT, item=data, bound=8)[0], u32(n, zlib.crc32(data)))

    def get(self, n):
        seed = random.randrange(1 << 31)
        results, _ = self.client.call(GET, u32(n, seed, 0), bound=n + 16)
        self.want(results, opaque(octets(seed, n)) + u32(0))

    def get_chunk(self, n):
        seed = random.randrange(1 << 31)
        results, data = self.client.call(GET, u32(n, seed, 0), room=n, bound=8)
        self.want(results, u32(n, 0))
        self.want(data, octets(seed, n))

    def get_both(self, n):
        """The data in a Write chunk, shorter than that, and 6000 octets that are not for it."""
        seed = random.randrange(1 << 31)
        results, data = self.client.call(GET, u32(n, seed, 6000), room=n + 100, bound=6100)
        self.want(results, u32(n) + opaque(octets(seed + 1, 6000)))
        self.want(data, octets(seed, n))

    def echo(self, n):
        data = octets(n, n)
        results, back = self.client.call(ECHO, item=data, room=n, bound=4)
        self.want(results, u32(n))
        self.want(back, data.translate(end.INVERT))

    def too_small(self):
        """A Write chunk shorter than the data: an error, the right one as far as a version can say it."""
        pending = self.client.begin(GET, u32(5000, 1, 0), room=100, bound=8)
        if isinstance(self.server, V2End) and self.one.silent and self.role == 'server':
            # It answers in order: when this is answered, that will never be.
            self.client.call(NULL)
            if pending.xid in self.client.answers:
                raise Wrong('an answer of the gateway where the server gave none')
            self.timeouts += 1
            return
        try:
            self.client.finish(pending)
        except Refused as told:
            both = isinstance(self.server, V2End) and isinstance(self.client, V2End)
            wanted = ('WRITE_RESOURCE', 1, 5000) if both else (ERRORS[type(self.client)],)
            if told.args != wanted:
                raise Wrong('error %s' % (told.args,)) from None
            return
        raise Wrong('success')

    def call_backs(self):
        most = min(self.client.most_back, self.server.most_back)
        for n in (100, 2000, 6000):
            if n <= most:
                self.want(self.client.call(CALLBACK, u32(n), bound=4)[0], u32(0))
        if not self.client.most_back:
            self.want(self.client.call(CALLBACK, u32(100), bound=4)[0], u32(1))

    def burst(self):
        calls = [self.client.begin(ECHO, item=octets(i, 3000), room=3000, bound=4) for i in range(BURST)]
        for i, pending in enumerate(calls):
            results, back = self.client.finish(pending)
            self.want(results, u32(3000))
            self.want(back, octets(i, 3000).translate(end.INVERT))
        self.client.call(NULL)
