# SPDX-License-Identifier: BSD-2-Clause
"""deployed.py URL RULES DASHBOARD: each metric, label and label value in the alert rules and the dashboard exists in a gateway."""
import json
import re
import sys

from client import metrics

WORD = r'[a-z_:][a-z0-9_:]*'
ASKED = re.compile(r'\b(rpcrdma_gw_%s)(?:\{([^}]*)\})?' % WORD)
ALWAYS = {"instance", "job"}  # labels that Prometheus adds


def told(url):
    names = {}
    for name, labels in metrics(url):
        names.setdefault(name, {})
        for label, value in labels:
            names[name].setdefault(label, set()).add(value)
    return names


def check(where, text, names, may_be_absent):
    for name, selector in ASKED.findall(text):
        if name in may_be_absent:
            continue
        assert name in names, "%s: no metric %s" % (where, name)
        for label, operator, value in re.findall(r'(%s)\s*(=~|!~|!=|=)\s*"([^"]*)"' % WORD, selector):
            if label in ALWAYS or "$" in value:
                continue
            assert label in names[name], "%s: %s has no label %s" % (where, name, label)
            for one in value.split("|"):
                if one not in names[name][label]:
                    assert name == "rpcrdma_gw_rpc_duration_seconds_bucket" and one == "callback", (where, name, label, one)
    return len(ASKED.findall(text))


def groups_are_reported(where, text, names):
    """Each label of "by (...)" is a label of some metric."""
    labels = {label for name in names.values() for label in name} | ALWAYS
    for group in re.findall(r'\bby \(([^)]*)\)', text):
        for label in group.split(","):
            assert label.strip() in labels, "%s: nothing has a label %s" % (where, label.strip())


def main():
    url, rules, dashboard = sys.argv[1:4]
    names = told(url)
    # The gateway has these metrics only if it has certificates, or has sent or received errors.
    absent = {"rpcrdma_gw_certificate_expiry_timestamp_seconds", "rpcrdma_gw_rpc_errors_total"}
    with open(rules, encoding="utf-8") as f:
        text = f.read()
    names.setdefault("-", dict.fromkeys(("what", "side", "way", "leg", "code")))
    n = check(rules, text, names, absent)
    groups_are_reported(rules, text, names)
    assert n >= 10
    with open(dashboard, encoding="utf-8") as f:
        panels = json.load(f)["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    for expr in asked:
        assert check(dashboard, expr, names, absent) > 0, expr
        groups_are_reported(dashboard, expr, names)
    assert len({panel["id"] for panel in panels}) == len(panels)
    print("%d in rules, %d expressions of the dashboard" % (n, len(asked)))


main()
