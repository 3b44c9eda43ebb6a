# SPDX-License-Identifier: BSD-2-Clause
"""DDP and RDMAP (RFC 5041, RFC 5040) on one TCP connection. An end keeps the rules by itself; cases use its parts to break them.
It checks everything that it receives."""
import contextlib
import random
import socket
import struct
from collections import namedtuple

import mpa
from xdr import Seg

WRITE, READ, RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERMINATE = range(8)
TAGGED, LAST, DDP_VERSION, RDMAP_VERSION = 0x80, 0x40, 1, 0x40
TIMEOUT = 120  # seconds. Long, because the machine can be busy. Only a case that fails waits so long.
MAX_PAYLOAD = 32768

Sent = namedtuple('Sent', 'data invalidated')
Terminated = namedtuple('Terminated', 'layer etype code')
Ended = namedtuple('Ended', 'how')
Region = namedtuple('Region', 'data readable writable')


def tagged(opcode, stag, offset, payload, last=True, ddp=DDP_VERSION, rdmap=RDMAP_VERSION):
    control = TAGGED | (LAST if last else 0) | ddp
    return struct.pack('>BBIQ', control, rdmap | opcode, stag, offset) + payload


def untagged(opcode, queue, msn, payload, offset=0, stag=0, last=True, ddp=DDP_VERSION,
             rdmap=RDMAP_VERSION, reserved=0):
    control = (LAST if last else 0) | reserved | ddp
    return struct.pack('>BBIIII', control, rdmap | opcode, stag, queue, msn, offset) + payload


def read_request(sink, length, source, source_offset=0, sink_offset=0):
    """Payload of a Read Request."""
    return struct.pack('>IQIIQ', sink, sink_offset, length, source, source_offset)


def terminate(layer, etype, code):
    """Payload of a Terminate that names no segment."""
    return struct.pack('>BBH', layer << 4 | etype, code, 0)


class Conn:
    """One end of an iWARP connection after set-up."""

    def __init__(self, sock, crc=True):
        self.sock, self.crc = sock, crc
        self.send_msn = self.read_msn = 1
        self.peer_send_msn = self.peer_read_msn = 1
        self.partial = b''
        self.regions = {}
        self.pending = {}       # {sink STag of a Read of this end: octets received so far}
        self.serves_reads = True
        self.reads_seen = 0
        self.wrote = 0          # octets of Writes received
        self.kept = []          # Sends that arrived while this end waited for a Read Response

    # --- sending ---

    def raw(self, data):
        """Sends octets unchanged. If the peer has closed, only a later read reports it."""
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    @contextlib.contextmanager
    def together(self):
        """Everything that the block sends leaves at once, at its end."""
        parts = []
        self.raw = parts.append
        try:
            yield
        finally:
            del self.raw
        self.raw(b''.join(parts))

    def ulpdu(self, data):
        self.raw(mpa.fpdu(data, self.crc))

    def send(self, data, invalidate=None, msn=None):
        opcode = SEND if invalidate is None else SEND_INV
        if len(data) <= MAX_PAYLOAD:
            self.ulpdu(self.send_ulpdu(data, opcode, invalidate or 0, msn))
            return
        for at in range(0, len(data), MAX_PAYLOAD):
            last = at + MAX_PAYLOAD >= len(data)
            self.ulpdu(untagged(opcode, 0, self.send_msn, data[at:at + MAX_PAYLOAD], at, invalidate or 0, last))
        self.send_msn += 1

    def send_ulpdu(self, data, opcode=SEND, stag=0, msn=None):
        """Return: the next Send as one segment. Advances the sequence number, unless @msn is given."""
        if msn is None:
            msn = self.send_msn
            self.send_msn += 1
        return untagged(opcode, 0, msn, data, stag=stag)

    def write(self, seg, data, offset=0):
        """Writes @data into @seg by RDMA Write."""
        for at in range(0, len(data), MAX_PAYLOAD):
            part = data[at:at + MAX_PAYLOAD]
            last = at + len(part) == len(data)
            self.ulpdu(tagged(WRITE, seg.handle, seg.offset + offset + at, part, last))

    def post_read(self, seg, length=None):
        """Sends a Read Request. Return: the sink STag to wait for."""
        sink = random.randrange(1, 1 << 32)
        self.pending[sink] = b''
        wanted = seg.length if length is None else length
        self.ulpdu(untagged(READ, 1, self.read_msn,
                            read_request(sink, wanted, seg.handle, seg.offset)))
        self.read_msn += 1
        return sink

    def read(self, seg):
        """Reads all of @seg by RDMA Read. Keeps messages that arrive meanwhile. Return: the octets."""
        sink = self.post_read(seg)
        while sink in self.pending:
            event = self.step()
            if isinstance(event, Ended):
                raise EOFError('the end instead of a Read Response')
            if isinstance(event, Sent):
                self.kept.append(event)
            else:
                assert not event, '%r instead of a Read Response' % (event,)
        return self.done

    def expose(self, data, readable=True, writable=False):
        """Return: a segment over @data (octets, or their number)."""
        data = bytearray(data)
        stag = random.randrange(1, 1 << 32)
        self.regions[stag] = Region(data, readable, writable)
        return Seg(stag, len(data), 0)

    def sink(self, size):
        return self.expose(size, readable=False, writable=True)

    def memory(self, seg):
        return bytes(self.regions[seg.handle].data)

    def close(self):
        self.sock.close()

    def reset(self):
        """Close with a TCP reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.sock.close()

    # --- receiving ---

    def octets(self, n):
        data = b''
        while len(data) < n:
            part = self.sock.recv(n - len(data))
            if not part:
                raise EOFError(len(data))
            data += part
        return data

    def recv(self, timeout=TIMEOUT):
        """Return: the next Sent, Terminated or Ended. Handles RDMA Reads, Read Responses and Writes that come before."""
        self.sock.settimeout(timeout)
        if self.kept:
            return self.kept.pop(0)
        while True:
            event = self.step()
            if event:
                return event

    def step(self):
        """Receives one FPDU. Return: the event that it completes, or None."""
        try:
            head = self.octets(2)
            length = struct.unpack('>H', head)[0]
            rest = self.octets(length + -(2 + length) % 4 + 4)
        except EOFError as end:
            assert end.args[0] == 0, 'closed inside an FPDU'
            return Ended('closed')
        except ConnectionResetError:
            return Ended('reset')
        except socket.timeout:
            raise AssertionError('nothing came')
        self.check_crc(head + rest[:-4], rest[-4:])
        ulpdu = rest[:length]
        assert ulpdu[0] & 3 == 1 and ulpdu[1] & 0xc0 == 0x40, 'versions of DDP and RDMAP'
        if ulpdu[0] & TAGGED:
            return self.take_tagged(ulpdu)
        return self.take_untagged(ulpdu)

    def check_crc(self, covered, field):
        if self.crc:
            assert struct.unpack('<I', field)[0] == mpa.crc32c(covered), 'CRC'

    def take_tagged(self, ulpdu):
        control, opcode, stag, offset = struct.unpack('>BBIQ', ulpdu[:14])
        payload = ulpdu[14:]
        if opcode & 15 == RESPONSE:
            assert stag in self.pending, 'a Read Response to no Read'
            assert offset == len(self.pending[stag]), 'a gap in a Read Response'
            self.pending[stag] += payload
            if control & LAST:
                self.done = self.pending.pop(stag)
            return None
        assert opcode & 15 == WRITE, 'tagged opcode %d' % (opcode & 15)
        if payload:  # a Write without octets reaches no memory
            self.wrote += len(payload)
            region = self.regions.get(stag)
            assert region and region.writable, 'a Write to what is not exposed for it'
            assert offset + len(payload) <= len(region.data), 'a Write out of bounds'
            region.data[offset:offset + len(payload)] = payload
        return None

    def take_untagged(self, ulpdu):
        control, opcode, stag, queue, msn, offset = struct.unpack('>BBIIII', ulpdu[:18])
        payload, opcode = ulpdu[18:], opcode & 15
        if opcode == TERMINATE:
            assert queue == 2
            return Terminated(payload[0] >> 4, payload[0] & 15, payload[1])
        if opcode == READ:
            assert (queue, msn, offset) == (1, self.peer_read_msn, 0), 'a Read Request'
            self.peer_read_msn += 1
            self.serve(*struct.unpack('>IQIIQ', payload))
            return None
        assert opcode in (SEND, SEND_INV, SEND_SE, SEND_SE_INV), 'opcode %d' % opcode
        assert (queue, msn, offset) == (0, self.peer_send_msn, len(self.partial)), 'a Send'
        self.partial += payload
        if not control & LAST:
            return None
        self.peer_send_msn += 1
        data, self.partial = self.partial, b''
        invalidated = stag if opcode in (SEND_INV, SEND_SE_INV) else None
        if invalidated is not None:
            assert invalidated in self.regions, 'a handle invalidated that was never exposed'
        return Sent(data, invalidated)

    def serve(self, sink, sink_offset, length, source, offset):
        """Answers a Read Request. Sends a Terminate if it goes beyond exposed memory."""
        self.reads_seen += 1
        region = self.regions.get(source)
        if not self.serves_reads:
            return
        if not region or not region.readable or offset + length > len(region.data):
            self.ulpdu(untagged(TERMINATE, 2, 1, terminate(0, 1, 1 if region else 0)))
            return
        at = 0
        while True:
            part = bytes(region.data[offset + at:offset + min(at + MAX_PAYLOAD, length)])
            last = at + len(part) == length
            self.ulpdu(tagged(RESPONSE, sink, sink_offset + at, part, last))
            at += len(part)
            if last:
                return


def read_frame(sock):
    """Return: a received set-up frame of MPA. Raises EOFError if the peer closes."""
    def octets(n):
        data = b''
        while len(data) < n:
            part = sock.recv(n - len(data))
            if not part:
                raise EOFError
            data += part
        return data
    header = octets(20)
    return mpa.Frame(header, octets(struct.unpack('>H', header[18:20])[0]))
