# SPDX-License-Identifier: BSD-2-Clause
"""Host authentication, profile 1, written from docs/hostauth-profile.md and the draft alone. Section numbers
are the profile's."""
import hashlib
import hmac
import struct
import sys

from tls import Failed, TLS_1_2, Tls

MORE, TURN, ACK, BIND, FAIL = range(1, 6)
MIDDLE, FINAL, ERROR, GRANT, CALL = 6, 7, 4, 5, 10
HOSTAUTH = 6
REASONS = {1: 'value', 2: 'tls', 3: 'binding', 4: 'name', 5: 'limit', 6: 'own'}
LABELS = (b'EXPERIMENTAL rpcrdma2 hostauth 1 initiator', b'EXPERIMENTAL rpcrdma2 hostauth 1 acceptor')
ADVERTISED = 32
# Properties 1 to 5, each one word long.
FIVE = [struct.pack('>III', which, 4, value)
        for which, value in ((1, 4096), (2, 4096), (3, 1 << 20), (4, 16), (5, 1))]


OVER = 1028     # octets of a first message that is too long


def padding(octets):
    """A property that nobody knows."""
    return struct.pack('>II', 0x7fff0001, octets - 8) + bytes(octets - 8)


class Refused(Exception):
    """It failed, for this reason."""


def private(role, data):
    """Section 5, parts 2 and 3."""
    data = data.rstrip(b'\0')
    return struct.pack('>BH', role, len(data)) + data


def properties(message):
    """number -> octets, of a CONNPROP message."""
    count, at, found = struct.unpack('>I', message[16:20])[0], 20, {}
    for _ in range(count):
        which, n = struct.unpack('>II', message[at:at + 8])
        assert which not in found, 'a property twice'
        found[which] = message[at + 8:at + 8 + n]
        at += 8 + n + -n % 4
    assert at == len(message), 'octets behind the properties'
    return found


class Handshake:
    """Either role, over something with send(octets) and next(): octets. run() returns, or raises Refused."""

    def __init__(self, role, conn, request_data, accept_data, name, defect='', **how):
        """@defect: what it does wrong, to see whether that is noticed."""
        self.role, self.conn, self.name, self.defect = role, conn, name, defect
        self.tls = Tls(client=role == 0, purpose=defect != 'purpose', oldest=TLS_1_2 if defect == 'old' else None, **how)
        self.t = hashlib.sha256(b'rpcrdma2-hostauth-1' + private(0, request_data) + private(1, accept_data))
        self.sequence = self.expected = self.received = self.messages = 0
        self.xid = 0x51000000

    # --- messages ---

    def digest(self, role, message, binding_at=None):
        """T with @message, as it is or with zeros in place of the binding value."""
        t = self.t.copy()
        if binding_at is not None:
            message = message[:binding_at] + bytes(32) + message[binding_at + 32:]
        t.update(struct.pack('>BI', role, len(message)) + message)
        return t

    def binding(self, role, message, at):
        return hmac.new(self.tls.export(LABELS[role]), self.digest(role, message, at).digest(), 'sha256').digest()

    def send(self, kind, body=b''):
        value = struct.pack('>BBH', 1, kind, self.sequence) + body
        whole = struct.pack('>I', len(value)) + value + bytes(-len(value) % 4)
        first, final = self.sequence == 0, kind == BIND
        granted = self.received + (0 if final and self.defect == 'credit' else ADVERTISED)
        message = struct.pack('>IIII', self.xid, 2, granted, FINAL if final else MIDDLE)
        others = self.others(first, final)
        if first and self.defect == 'over':
            others = others + [padding(OVER - 20 - sum(map(len, others)) - 8 - len(whole))]
        message += struct.pack('>I', len(others) + 1) + b''.join(others)
        message += struct.pack('>II', HOSTAUTH, len(whole))
        at = len(message) + 4 + 4
        message += whole
        if final:
            message = message[:at] + self.binding(self.role, message, at) + message[at + 32:]
        self.t = self.digest(self.role, message)
        self.xid += 1
        self.sequence += 1
        self.messages += 1
        assert len(message) <= self.room() or self.defect in ('size', 'over')
        self.conn.send(message)
        if final and self.defect == 'credit':
            self.conn.send(struct.pack('>IIII', 0, 2, self.received + ADVERTISED, GRANT))

    def others(self, first, final):
        """Properties beside ours."""
        if not first and not final or first and self.defect == 'properties':
            return []
        if first and self.defect == 'size':
            return FIVE + [padding(8 + 4096)]
        if final and self.defect == 'same':
            return FIVE[:4] + [struct.pack('>III', 5, 4, 0)]
        return FIVE

    def room(self):
        """Section 3.4."""
        return 1024 if self.role == 0 and self.sequence <= 1 else 4096

    def receive(self):
        """The next value: kind, body."""
        while True:
            message = self.conn.next()
            self.received += 1
            _, vers, _, htype = struct.unpack('>IIII', message[:16])
            if htype != GRANT:
                break
        if htype == ERROR:
            raise Refused('an error report, %s' % message[16:].hex())
        if htype == CALL and self.defect == 'early-call':
            self.on_call(message)
            return self.receive()
        assert vers == 2 and htype in (MIDDLE, FINAL), 'no CONNPROP message'
        value = properties(message).get(HOSTAUTH)
        if value is None:
            raise Refused('absent')
        n = struct.unpack('>I', value[:4])[0]
        value = value[4:4 + n]
        profile, kind, sequence = struct.unpack('>BBH', value[:4])
        if self.defect == 'lax':
            kind = kind if kind in range(MORE, FAIL + 1) else BIND if htype == FINAL else TURN
            sequence = self.expected
        assert profile == 1 and sequence == self.expected, 'profile or sequence'
        assert (kind == BIND) == (htype == FINAL), 'a BIND is in the FINAL, and nowhere else'
        if kind == BIND:
            self.proof = self.digest(1 - self.role, message, message.index(value) + 4).digest()
        self.t = self.digest(1 - self.role, message)
        self.expected += 1
        self.messages += 1
        if kind == FAIL:
            reason = REASONS[struct.unpack('>H', value[4:6])[0]]
            self.tls.feed(value[6:])
            raise Refused('the peer says %s%s' % (reason, ': ' + self.tls.alert() if value[6:] else ''))
        return kind, value[4:]

    # --- turns ---

    def fail(self, reason, why):
        self.send(FAIL, struct.pack('>H', reason) + (self.tls.said() if reason == 2 else b''))
        raise Refused(why)

    def step(self):
        try:
            return self.tls.step()
        except Failed as why:
            self.fail(2, str(why))

    def say(self, stream, last):
        """A stretch of the stream: MORE, each acknowledged, then TURN or BIND."""
        while True:
            first = self.sequence == 0
            head = 16 + 4 + 12 + 4 + (60 if first or last else 0) + (32 if last else 0)
            most = (1024 if first and self.role == 0 else 4096) - head & ~3
            if len(stream) <= most:
                break
            self.send(MORE, stream[:most])
            stream = stream[most:]
            kind, body = self.receive()
            assert kind == ACK and not body, 'no ACK'
        self.send(BIND if last else TURN, (bytes(32) if last else b'') + stream)

    def hear(self):
        """A stretch of the peer's stream. Return: kind, binding value."""
        while True:
            kind, body = self.receive()
            if kind == BIND:
                self.tls.feed(body[32:])
                return kind, body[:32]
            self.tls.feed(body)
            if kind == TURN:
                return kind, None
            assert kind == MORE, 'kind %d' % kind
            if self.defect == 'pieces':
                self.fail(1, 'no pieces')
            self.send(ACK)

    def check(self, binding):
        want = hmac.new(self.tls.export(LABELS[1 - self.role]), self.proof, 'sha256').digest()
        return hmac.compare_digest(want, binding)

    def run(self):
        if self.role == 0:
            self.say(self.step(), False)
            while True:
                kind, _ = self.hear()
                assert kind == TURN, 'the acceptor has no BIND yet'
                stream = self.step()
                if self.tls.complete:
                    break
                self.say(stream, False)
            if not self.tls.peer_is(self.name):
                self.fail(4, 'not its name')
            if self.defect == 'pause':
                print('paused', flush=True)
                sys.stdin.readline()
            self.say(stream, True)
            kind, body = self.receive()
            assert kind == BIND and len(body) == 32, 'no BIND'
            if not self.check(body) and self.defect != 'lax':
                raise Refused('binding')
            return
        while True:
            kind, binding = self.hear()
            stream = self.step()
            if kind == BIND:
                break
            self.say(stream, False)
        assert self.tls.complete and not stream, 'the handshake is not over'
        if not self.tls.peer_is(self.name):
            self.fail(4, 'not its name')
        if not self.check(binding) and self.defect != 'lax':
            self.fail(3, 'binding')
        self.send(BIND, bytes(32))
