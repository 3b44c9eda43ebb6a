# SPDX-License-Identifier: BSD-2-Clause
"""dns.py ADDRESS FILE: a name server. It reads FILE for each question. A line of FILE has the answer about one name:

    NAME TTL ADDRESS...     these addresses, in this order
    NAME none               there is no such name
    NAME silence            no answer
    NAME HOSTILITY          a hostile answer: a key of HOSTILE below

It prints each question on standard output."""
import ipaddress
import random
import socket
import struct
import sys

A, CNAME, AAAA = 1, 5, 28


def question(message):
    at, labels = 12, []
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]].decode())
        at += message[at] + 1
    return '.'.join(labels).lower(), struct.unpack('>H', message[at + 1:at + 3])[0], message[12:at + 5]


def record(kind, ttl, data):
    return struct.pack('>HHHIH', 0xc00c, kind, 1, ttl, len(data)) + data


def message(asked, q, records, flags=0x8180, count=None):
    return asked[:2] + struct.pack('>HHHHH', flags, 1, len(records) if count is None else count, 0, 0) + q + b''.join(records)


def addresses(texts, kind):
    every = [ipaddress.ip_address(t) for t in texts]
    return [a.packed for a in every if (a.version == 4) == (kind == A)]


def forged(asked, q, kind):
    """Answers of an attacker who guesses: first with wrong numbers, then with another question. No right answer follows."""
    wrong = [record(kind, 600, b'\x7f\x00\x00\x63' if kind == A else bytes(15) + b'\x63')]
    other = bytearray(q)
    other[1] ^= 1
    yield from (bytes([asked[0] ^ i, asked[1]]) + message(asked, q, wrong)[2:] for i in range(1, 256))
    yield message(asked, bytes(other), wrong)


def garbage(asked, q, kind):
    for _ in range(50):
        yield message(asked, q, [random.randbytes(random.randrange(400))], count=random.randrange(65536))


HOSTILE = {
    'truncated': lambda asked, q, kind: [message(asked, q, [record(kind, 600, bytes([127, 0, 0, 99]))], 0x8380)],
    'loop': lambda asked, q, kind: [message(asked, q, [record(CNAME, 600, b'\xc0\x0c')] * 9)],
    'forged': forged,
    'garbage': garbage,
    'refused': lambda asked, q, kind: [message(asked, q, [], 0x8185)],
    'nowhere': lambda asked, q, kind: [message(asked, q, [
        record(kind, 1, d) for d in ([bytes(4), b'\xe0\x00\x00\x01', b'\xff\xff\xff\xff'] if kind == A else
                                       [bytes(16), b'\xff\x02' + bytes(13) + b'\x01', b'\xfe\x80' + bytes(13) + b'\x01'])])],
}


def answers(asked, path):
    name, kind, q = question(asked)
    print(name, {A: 'A', AAAA: 'AAAA'}.get(kind, kind), flush=True)
    for line in open(path):
        words = line.split()
        if not words or words[0] != name:
            continue
        if words[1] == 'silence':
            return []
        if words[1] == 'none':
            return [message(asked, q, [], 0x8183)]
        if words[1] in HOSTILE:
            return HOSTILE[words[1]](asked, q, kind)
        return [message(asked, q, [record(kind, int(words[1]), a) for a in addresses(words[2:], kind)])]
    return [message(asked, q, [], 0x8183)]


def main(address, path):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, 53))
    print('serving', flush=True)
    while True:
        asked, peer = s.recvfrom(4096)
        for answer in answers(asked, path):
            s.sendto(answer[:1400], peer)


main(*sys.argv[1:])
