# SPDX-License-Identifier: BSD-2-Clause
"""What a case is, and the tables that the files cases_*.py fill."""
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
    """A decorator for what sends: @rule(name, section, what is sent, what must come)."""
    def rule(name, section, sent, expect, on=on, route=route, slow=False):
        def wrap(run):
            add(suite, group, name, section, sent, expect, run, on, route, slow)
            return run
        return wrap
    return rule


def sending(rule, send):
    """A decorator like @rule: what the function of the case returns is sent, under an XID of its own."""
    def sends(name, section, sent, expect, **how):
        def wrap(make):
            @rule(name, section, sent, expect, **how)
            def _(s):
                s.xid = s.end.new_xid()
                send(s, make(s))
        return wrap
    return sends


def messages(rule):
    """... one message of the client's."""
    return sending(rule, lambda s, message: s.end.send(message))


def segments(rule):
    """... one DDP segment of the client's, framed."""
    return sending(rule, lambda s, segment: s.conn.ulpdu(segment))
