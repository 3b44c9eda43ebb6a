# SPDX-License-Identifier: BSD-2-Clause
"""tests/hostile/cases.md, made of the cases."""
import case

HEAD = '''# Hostile peers, case by case

What clients and servers that break the rules send, and what must come of it. The suite is `tests/hostile/`: Python,
its octets made from the documents alone (MPA, DDP, RDMAP, both versions and the early draft of 2, the round-trip extension,
RPC), none of the project's code. It runs
the built gateway; `ctest -R hostile`. After every case the process is up, and a session of the same route, open since
before, carries a NULL and data through chunks both ways; at the end descriptors and heap are back where they were, no
session is left, and SIGTERM ends it with 0.

Sections without a document are those of draft-ietf-nfsv4-rpcrdma-version-two-07, those of cel-01 are of
draft-cel-nfsv4-rpcrdma-version-two-01; those of the round-trip extension are of [rtrext-profile.md](../../docs/rtrext-profile.md),
decisions of
[protocol-decisions.md](../../docs/protocol-decisions.md).

`tests/hostile/run --table` prints this table; ctest `hostile_table` compares. *%d cases*: %d of clients, %d of
servers.
'''

SUITES = (('client', 'Clients'), ('server', 'Servers'))


def lines():
    counts = {suite: len(cases) for suite, cases in case.SUITES.items()}
    yield from (HEAD % (len(case.CASES), counts['client'], counts['server'])).splitlines()
    for suite, title in SUITES:
        yield from ('', '## ' + title)
        group = None
        for one in case.SUITES[suite]:
            if one.group != group:
                group = one.group
                yield from ('', '### %s' % (group[0].upper() + group[1:]), '',
                            '| case | section | what is sent | what must come |', '|---|---|---|---|')
            yield '| %s | %s | %s | %s |' % (one.name, one.section, one.sent, one.expect.text)


def main(args):
    text = '\n'.join(lines()) + '\n'
    if not args:
        print(text, end='')
        return 0
    with open(args[0]) as f:
        if f.read() == text:
            return 0
    print('%s is not what the cases say: tests/hostile/run --table >%s' % (args[0], args[0]))
    return 1
