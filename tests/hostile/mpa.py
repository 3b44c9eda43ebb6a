# SPDX-License-Identifier: BSD-2-Clause
"""MPA: set-up frames and framing (RFC 5044, RFC 6581), CRC32c."""
import struct

REQUEST_KEY = b'MPA ID Req Frame'
REPLY_KEY = b'MPA ID Rep Frame'
MARKERS, CRC, REJECT, ENHANCED = 0x80, 0x40, 0x20, 0x10
# In the upper bits of IRD: peer-to-peer, RTR by Send; of ORD: RTR by Write, by Read.
P2P, RTR_SEND, RTR_WRITE, RTR_READ = 0x8000, 0x4000, 0x8000, 0x4000

# RFC 8797: format version 1, R set, sends and receives 4096 octets.
PDATA = bytes.fromhex('f6ab0e18 01 01 03 03')


def _table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82f63b78 if i & 1 else 0)
        table.append(i)
    return table


TABLE = _table()


def crc32c(data):
    crc = 0xffffffff
    for octet in data:
        crc = TABLE[(crc ^ octet) & 0xff] ^ crc >> 8
    return crc ^ 0xffffffff


assert crc32c(b'123456789') == 0xe3069283


def frame(key, flags, revision, body, length=None):
    """Return: a Request or Reply Frame. @length, if given, is a wrong length of the private data."""
    length = len(body) if length is None else length
    return key + struct.pack('>BBH', flags, revision, length) + body


def request(flags=CRC | ENHANCED, revision=2, ird=16, ord_=16, pdata=PDATA, **lies):
    enhanced = struct.pack('>HH', ird, ord_) if flags & ENHANCED else b''
    return frame(REQUEST_KEY, flags, revision, enhanced + pdata, **lies)


def reply(flags=CRC | ENHANCED, revision=2, ird=16, ord_=16, pdata=PDATA, **lies):
    enhanced = struct.pack('>HH', ird, ord_) if flags & ENHANCED else b''
    return frame(REPLY_KEY, flags, revision, enhanced + pdata, **lies)


class Frame:
    """A received set-up frame."""

    def __init__(self, header, body):
        self.key = header[:16]
        self.flags, self.revision = header[16], header[17]
        self.ird = self.ord = None
        if self.flags & ENHANCED and len(body) >= 4:
            self.ird, self.ord = struct.unpack('>HH', body[:4])
            body = body[4:]
        self.pdata = body


def fpdu(ulpdu, crc=True, length=None, pad=None, spoil=False):
    """Return: one FPDU. @length and @pad, if given, replace the right length and pad. @spoil makes the CRC wrong."""
    head = struct.pack('>H', len(ulpdu) if length is None else length)
    fill = -(2 + len(ulpdu)) % 4
    covered = head + ulpdu + (bytes(fill) if pad is None else bytes([pad]) * fill)
    value = crc32c(covered) if crc else 0
    return covered + struct.pack('<I', value ^ (0xffff if spoil else 0))
