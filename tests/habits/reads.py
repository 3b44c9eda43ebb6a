# SPDX-License-Identifier: BSD-2-Clause
"""One way to a stand-in server: READs of every size, and what became of each."""
import threading
from collections import Counter
from dataclasses import replace

import filer
import link
import nfs
import who
from end import Refused
from gateway import Route
from new import V2End
from old import V1End
from xdr import Reader, opaque, u32

SIZES = (1 << 20, 262143, 65536, 29001, 9000, 4096, 4093, 3000, 900, 3, 1)
PATHS = {'v1-v1': (1, 1), 'v2-v1': (2, 1), 'v1-v2-v1': (1, 2, 1)}
# Apart from the data: NFSv3's results, and those of PUTFH, READ, GETATTR.
REST = {'v3': 8 + 84 + 12, 'v4': 100}
MORE = 5000     # octets of results in a Reply chunk that was made without knowing how many there will be


# What a READ is given for its data: a Write chunk; whatever the version needs; a Reply chunk; one of MORE octets,
# which can be too short; that and a Write chunk; a Write chunk for more than the file has left; one with the pad in a
# segment of its own, as Linux has it in version 1.
WAYS = ('write', 'reply', 'chunk', 'short', 'both', 'small', 'pads')
# Around every power of two, for servers that die of what no client of theirs offers, or that count whole words.
EDGES = tuple((1 << k) + d for k in range(10, 21) for d in range(-5, 6))
SENSITIVE = {'segment-limit', 'count-limit', 'rounds-down'}
MIB = 1 << 20


CONFIG = '''workers = 1;
memory_limit = "4G";
max_payload = "2M";
drain_timeout = 2;
log = {{ level = "info"; }};
routes = (
{routes}
);
'''


class Wrong(Exception):
    """An answer that is none of the client's making and not right."""


def connect_up(ways):
    """Where two gateways stand in a row, the first one's server is the second."""
    for way in ways:
        for one, following in zip(way.routes, way.routes[1:]):
            one.leads_to = following


class Way:
    """@habits of the server at the end of @path."""

    def __init__(self, name, habits, path):
        self.name, self.habits, self.path = '%s-%s' % (name, path), habits, path
        self.habit = name
        side = 'crc = false;'
        self.routes = [Route('%s-%d' % (self.name, i), str(version), listen=side, upstream=side)
                       for i, version in enumerate(PATHS[path][1:])]
        self.client = None
        self.counts = Counter()
        self.faults = []
        self.ends = []
        self.offers = None      # a list: what READs offered the server

    # --- the server ---

    def listen(self):
        """Each connection from the gateway is served in a thread of its own."""
        route = self.routes[-1]
        route.server.settimeout(None)
        while True:
            try:
                sock = route.server.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        try:
            filer.Filer(sock, self.habits, self.offers).serve()
        except (link.Lost, link.TimedOut, EOFError, OSError):
            pass
        except Exception as why:
            self.faults.append('server: %s: %s' % (type(why).__name__, why))
        sock.close()

    # --- the client ---

    def connect(self):
        version = PATHS[self.path][0]
        self.client = (V1End if version == 1 else V2End)(link.dial(self.routes[0].address), who.PLAIN)
        self.client.start_client()

    def start(self):
        threading.Thread(target=self.listen, daemon=True).start()

    def sizes(self, proto, chunks, sizes):
        """A server that dies of a Reply chunk longer than 1 MiB has READs whose replies need no longer one: around that
        limit, and with the word that the gateway adds to a Reply chunk of its own."""
        if 'reply-limit' in self.habits and chunks in ('reply', 'chunk', 'short'):
            longest = MIB - 24 - REST[proto] - (0 if chunks == 'chunk' else 4)
            sizes = (*(longest - d for d in range(11)), *(n for n in sizes if n < longest))
        if (proto, chunks) == ('v3', 'pads') and self.habits & SENSITIVE:
            sizes = (*sizes, *EDGES)
        return sizes

    def run(self, sizes):
        self.start()
        for proto in ('v4', 'v3'):
            for chunks in WAYS:
                for n in self.sizes(proto, chunks, sizes):
                    self.judge(proto, chunks, n)
        for what in ('two', 'long', 'minor', 'rpc3', 'names', 'names'):
            self.judge('v4', what, 5000)
        if self.client:
            self.client.link.close()
        return self

    def judge(self, proto, chunks, n):
        what = '%s %s %d' % (proto, chunks, n)
        try:
            if not self.client:
                self.connect()
            outcome = self.play(proto, chunks, n)
        except Refused as told:
            outcome = 'error %s' % told.name
        except link.Lost:
            outcome = 'lost'
        except link.TimedOut:
            outcome = 'silence'
        except Exception as why:
            outcome = 'WRONG'
            self.faults.append('%s: %s: %s' % (what, type(why).__name__, why))
        if outcome in ('lost', 'silence', 'WRONG') and self.client:
            self.client.link.close()
            self.client = None
        self.counts[outcome] += 1
        self.ends.append((proto, chunks, n, outcome))

    def play(self, proto, chunks, n):
        handle, offset = b'file-of-%s' % chunks.encode(), n * 3 % 65000
        if chunks == 'small':
            offset = nfs.FILE_OCTETS - n // 2 - 1   # the file ends in what is asked for
        special = getattr(self, 'play_' + chunks, None)
        if special:
            return special(handle, n)
        data, eof = nfs.read(handle, offset, n)
        how = {'bound': REST[proto]}
        if chunks in ('reply', 'chunk'):
            how['bound'] += n + -n % 4
        elif chunks != 'short':
            how['room'] = n
        self.client.who = replace(who.PLAIN, pads=chunks == 'pads' and PATHS[self.path][0] == 1)
        if chunks in ('both', 'short'):
            how['bound'] = MORE
        if chunks in ('both', 'chunk', 'short'):
            how['reply_chunk'] = True
        self.client.program = nfs.NFS3 if proto == 'v3' else nfs.NFS4
        if proto == 'v3':
            if 'rounds-down' in self.habits and n == MIB - 1:   # a short READ; what is missing is another one's
                data, eof = data[:-3], 0
            args, proc = nfs.read3_args(handle, offset, n), nfs.READ3
            before, after = u32(0, 1) + nfs.FATTR3 + u32(len(data), eof), b''
        else:
            args, proc = nfs.compound(nfs.putfh(handle), nfs.read4(offset, n), nfs.GETATTR), nfs.COMPOUND
            results = nfs.serve(*nfs.NFS4, proc, Reader(args))
            at = [isinstance(part, nfs.Data) for part in results].index(True)
            before, after = b''.join(results[:at]), b''.join(results[at + 1:])
        return self.check(self.client.call(proc, args, **how), before, data, after)

    @staticmethod
    def check(answer, before, data, after):
        """Data is placed, or, where a Write chunk was left empty, inline. Return: which."""
        results, placed = answer
        if results == before + u32(len(data)) + after and placed is not None:
            if placed != data:
                raise Wrong('%d octets placed, or others, instead of %d' % (len(placed), len(data)))
            return 'right'
        if results != before + opaque(data) + after:
            raise Wrong('%d octets of results, %s placed, instead of %d of data' % (
                len(results), 'none' if placed is None else len(placed), len(data)))
        if placed:
            raise Wrong('inline, and %d octets placed as well' % len(placed))
        return 'right' if placed is None else 'unplaced'

    def play_two(self, handle, n):
        """Two READs in a COMPOUND, two Write chunks. Return: what became of it."""
        args = nfs.compound(nfs.putfh(handle), nfs.read4(0, n), nfs.read4(70000, 300))
        client, client.program = self.client, nfs.NFS4
        client.call(0)
        pending = client.begin(nfs.COMPOUND, args, room=n, more_room=(300,), bound=REST['v4'])
        client.call(0)
        if 'one-write' in self.habits and pending.xid not in client.answers:
            return 'unanswered'     # the server answers in order: it never will be
        results, _ = client.finish(pending)
        wanted = nfs.stream(nfs.serve(*nfs.NFS4, nfs.COMPOUND, Reader(args)), 2)
        if results != wanted or client.placed != [nfs.read(handle, 0, n)[0], nfs.read(handle, 70000, 300)[0]]:
            raise Wrong('two Write chunks: %s placed' % [len(p) for p in client.placed])
        return 'right'

    def play_long(self, handle, n):
        """A call that is too long for a Send, in pieces of odd lengths."""
        args = nfs.compound(nfs.putfh(handle), nfs.read4(0, n), nfs.GETATTR, tag=bytes(range(256)) * 40)
        self.client.program = nfs.NFS4
        self.client.who = replace(who.PLAIN, pieces=3, continues=0)
        results, placed = self.client.call(nfs.COMPOUND, args, room=n, bound=REST['v4'] + 256 * 40)
        self.client.who = who.PLAIN
        answer = nfs.serve(*nfs.NFS4, nfs.COMPOUND, Reader(args))
        if (results, placed) == (nfs.stream(answer, 1), nfs.read(handle, 0, n)[0]):
            return 'right'
        if (results, placed) == (nfs.stream(answer, 0), b''):
            return 'unplaced'
        raise Wrong('%d octets of results, %d placed' % (len(results), len(placed)))

    def play_minor(self, handle, n):
        """NFSv4.1: the server has none."""
        args = nfs.compound(nfs.putfh(handle), nfs.read4(0, n), minor=1)
        self.client.program = nfs.NFS4
        results, placed = self.client.call(nfs.COMPOUND, args, room=n, bound=REST['v4'])
        if results != nfs.stream(nfs.serve(*nfs.NFS4, nfs.COMPOUND, Reader(args)), 0) or placed:
            raise Wrong('%d octets of results, %d placed' % (len(results), len(placed)))
        return 'right'

    def play_rpc3(self, *_):
        """RPC version 3 draws RPC_MISMATCH, or nothing."""
        client, client.program = self.client, nfs.NFS4
        client.call(0)
        xid = next(client.xids)
        client.open.add(xid)
        client.send_call(xid, u32(xid, 0, 3, *nfs.NFS4, 0, 0, 0, 0, 0), [], [], None)
        client.call(0)
        if 'no-mismatch' in self.habits and xid not in client.answers:
            return 'unanswered'
        answer = client.wait(xid)
        if answer.error:
            raise Refused(*answer.error)
        if answer.body != u32(xid, 1, 1, 0, 2, 2):
            raise Wrong('an answer to RPC version 3')
        return 'right'

    def play_names(self, handle, _):
        """A name longer than any is expected to be (protocol decision 95). Where a gateway offers no room for it
        the connection ends, and the call, sent again over a new one as RPC does, is answered: once."""
        args, again = nfs.compound(nfs.putfh(handle), nfs.GETATTR_OWNER), False
        while True:
            try:
                self.client.program = nfs.NFS4
                results, _ = self.client.call(nfs.COMPOUND, args, bound=nfs.LONG_NAME + 200)
                break
            except link.Lost:
                if again:
                    raise
                again = True
                self.client.link.close()
                self.connect()
        if results != nfs.stream(nfs.serve(*nfs.NFS4, nfs.COMPOUND, Reader(args)), 0):
            raise Wrong('%d octets of results' % len(results))
        return 'again' if again else 'right'

    # --- the verdict ---

    def are_names_bad(self):
        """The first time the gateway before the server learns; not where it passes on a Reply chunk of the client's:
        version 1's, or one beside which the server's short Sends need one anyway. A server that sends long messages inline
        ends connections for good."""
        first, second = (what for _, chunks, _, what in self.ends if chunks == 'names')
        passes = self.path == 'v1-v1' or self.path == 'v1-v2-v1' and 'no-pdata' in self.habits
        return 'long-inline' not in self.habits and (first, second) != ('right' if passes else 'again', 'right')

    def may_fail(self, chunks, n):
        """What the server's habits make impossible may end in an error; all else has to be right."""
        if chunks == 'short' and n + REST['v3'] + 24 > MORE:
            return True
        if 'long-inline' in self.habits and 'any-reply-chunk' not in self.habits:
            return True     # a Send larger than the Receive
        if chunks == 'rpc3':
            return 'no-mismatch' in self.habits
        return self.habits and chunks in ('two', 'long')

    def is_bad(self):
        return bool(self.faults or self.counts['silence'] or self.counts['WRONG'] or self.are_names_bad() or
                    any(what != 'right' and chunks != 'names' and not self.may_fail(chunks, n)
                        for _, chunks, n, what in self.ends))

    def story(self):
        yield from self.faults
        for proto, chunks, n, what in self.ends:
            if what not in ('right', 'WRONG'):
                yield '%s %s %d: %s' % (proto, chunks, n, what)
