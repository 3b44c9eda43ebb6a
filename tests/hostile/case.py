# SPDX-License-Identifier: BSD-2-Clause
"""The type of a case, and the tables of cases, which the files cases_*.py fill."""
from collections import namedtuple

Case = namedtuple('Case', 'name group section sent expect run on route slow')

CASES = []
SUITES = {'client': [], 'server': []}


def add(suite, group, name, section, sent, expect, run, on, route, slow=False):
    one = Case(name, group, section, sent, expect, run, on, route, slow)
    assert name not in [c.name for c in CASES], 'two cases named ' + name
    CASES.append(one)
    SUITES[suite].append(one)


def table(suite, group, on, route):
    """Return: a decorator @rule(name, section, what is sent, what must come). It makes a case of the function that sends."""
    def rule(name, section, sent, expect, on=on, route=route, slow=False):
        def wrap(run):
            add(suite, group, name, section, sent, expect, run, on, route, slow)
            return run
        return wrap
    return rule


def sending(rule, send):
    """Return: a decorator like @rule, for a function that returns what to send. Each case has a new XID."""
    def sends(name, section, sent, expect, **how):
        def wrap(make):
            @rule(name, section, sent, expect, **how)
            def _(s):
                s.xid = s.end.new_xid()
                send(s, make(s))
        return wrap
    return sends


def messages(rule):
    """As sending(): the function returns one message of the client."""
    return sending(rule, lambda s, message: s.end.send(message))


def segments(rule):
    """As sending(): the function returns one DDP segment of the client, which is put into an FPDU."""
    return sending(rule, lambda s, segment: s.conn.ulpdu(segment))
