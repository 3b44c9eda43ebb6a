# SPDX-License-Identifier: BSD-2-Clause
"""The routes of each suite's gateway, by kind.

A kind in SHARED has one route with an honest server, and clients of many cases use it at the same time. A route of another kind is
used by one case at a time, which also acts as its server.
"""
from gateway import Route

IMPATIENT = 'setup_timeout = 2;'  # for clients that are slow on purpose
GENERAL = 'reverse = "general";'  # for servers whose calls come in every form
HURRIED = 'connect_timeout = 2;'  # for servers that are slow on purpose

SHARED = ('to-v1', 'to-v2', 'only-v1', 'only-v2', 'impatient', 'no-crc', 'early', 'to-early', 'only-early', 'v1-or-early',
          'rtr')
ALL = (1, 2, '2-early')
ROOM = 'receive_structure = "64K";'  # for data that come in the Send of their call


def of_suite(name):
    if name == 'client':
        return {
            'to-v1': [Route('to-v1', '1')],
            'to-v2': [Route('to-v2', '2')],
            'only-v1': [Route('only-v1', '1', versions=[1])],
            'only-v2': [Route('only-v2', '1', versions=[2])],
            'impatient': [Route('impatient', '1', listen=IMPATIENT)],
            'no-crc': [Route('no-crc', '1', listen='crc = false;')],
            'early': [Route('early', '1', versions=ALL)],
            'to-early': [Route('to-early', '2-early', versions=ALL)],
            'only-early': [Route('only-early', '1', versions=['2-early'])],
            'rtr': [Route('rtr', '1', versions=ALL, listen=ROOM)],
            'v1-or-early': [Route('v1-or-early', '1', versions=[1, '2-early'])],
        }
    return {
        'v1': [Route('v1-%d' % i, '1') for i in range(3)],
        'v2': [Route('v2-%d' % i, '2', upstream=GENERAL) for i in range(3)],
        'by-early': [Route('by-early-%d' % i, '2-early', versions=ALL) for i in range(3)],
        'placed': [Route('placed-%d' % i, '2', upstream=GENERAL) for i in range(3)],
        'asked': [Route('asked-%d' % i, '2', upstream=GENERAL + ROOM) for i in range(3)],
        'wayless': [Route('wayless', '2', upstream=GENERAL + ROOM)],
        'unheeded': [Route('unheeded', '2', upstream=GENERAL + ROOM)],
        'early-placed': [Route('early-placed-%d' % i, '2-early', versions=ALL, upstream=ROOM) for i in range(3)],
        'auto': [Route('auto-%d' % i, 'auto') for i in range(2)],
        'hurried-v1': [Route('hurried-v1', '1', upstream=HURRIED)],
        'hurried-v2': [Route('hurried-v2', '2', upstream=HURRIED)],
        'hurried-auto': [Route('hurried-auto', 'auto', upstream=HURRIED)],
        'slow-v1': [Route('slow-v1-%d' % i, '1') for i in range(2)],
        'slow-v2': [Route('slow-v2-%d' % i, '2', upstream=GENERAL) for i in range(4)],
    }
