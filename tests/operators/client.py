# SPDX-License-Identifier: BSD-2-Clause
"""Well-behaved clients of the control socket and of the metrics listener. Hostile ones are in hostile.py.

A function without a "Return:" is a check: it fails unless its sentence is true.
"""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time


def unix(path, timeout=20):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(timeout)
    s.connect(path)
    return s


def ask(path, request):
    """Return: all lines of an answer; the last line has "done". An "error" raises RuntimeError with its text and the lines before."""
    with unix(path) as s, s.makefile("rwb") as f:
        f.write(json.dumps(request).encode() + b"\n")
        f.flush()
        lines = []
        for line in f:
            lines.append(json.loads(line))
            if "error" in lines[-1]:
                raise RuntimeError(lines[-1]["error"], lines[:-1])
            if "done" in lines[-1]:
                return lines
    raise RuntimeError("the answer has no end")


def one(path, request, name):
    return [line[name] for line in ask(path, request) if name in line][0]


def get(url, accept=None):
    import urllib.request # here, because the import takes half of this program's start, and few runs need it

    request = urllib.request.Request(url, headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


NAME = r"[a-z_:][a-z0-9_:]*"
SAMPLE = re.compile(r"^(%s)(?:\{((?:%s=\"[^\"\\\n]*\",?)*)\})? (-?[0-9]+(?:\.[0-9]+)?)$" % (NAME, NAME))
SUFFIX = {"counter": ("_total",), "info": ("_info",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}


def parse(text, is_open):
    """Return: samples by name and labels. Checks the grammar: of OpenMetrics 1.0 if @is_open, else of the older text format."""
    families, samples, family = {}, {}, None
    lines = text.split("\n")
    assert lines[-1] == "", "the last line has no end"
    lines.pop()
    if is_open:
        assert lines[-1] == "# EOF", "no # EOF"
        lines.pop()
    assert "# EOF" not in lines
    for line in lines:
        if line.startswith("# "):
            word, name, rest = line[2:].split(" ", 2)
            assert re.fullmatch(NAME, name), line
            assert rest, line
            if word == "TYPE":
                assert name not in families, "twice: " + line
                assert rest in SUFFIX, line
                assert is_open or rest != "info", line
                family = name
                families[name] = {"type": rest}
            else:
                assert word in ("HELP", "UNIT"), line
                assert name == family and word not in families[name], line
                assert word == "HELP" or (is_open and name.endswith("_" + rest)), line
                families[name][word] = rest
            continue
        match = SAMPLE.match(line)
        assert match, "no sample: " + line
        name, labels, value = match.groups()
        kind = families[family]["type"]
        # In the older format the name of a family includes the suffix.
        if is_open or kind == "histogram":
            assert name in [family + suffix for suffix in SUFFIX[kind]], line
        else:
            assert name == family and (kind != "counter" or name.endswith("_total")), line
        assert kind == "counter" or not name.endswith("_total"), line
        assert kind != "counter" or float(value) >= 0, line
        key = (name, tuple(sorted(re.findall(r'(%s)="([^"]*)"' % NAME, labels or ""))))
        assert key not in samples, "twice: " + line
        samples[key] = float(value) if "." in value else int(value)
    for name, f in families.items():
        assert "HELP" in f, "no HELP: " + name
        if f["type"] == "histogram":
            sound_histogram(name, samples)
    return samples


def sound_histogram(name, samples):
    """Bounds and counts of the buckets rise in the order of the output. The last bucket is +Inf and counts all values."""
    rows = {}
    for (sample, labels), value in samples.items():
        if sample == name + "_bucket":
            others = tuple(label for label in labels if label[0] != "le")
            rows.setdefault(others, []).append((float(dict(labels)["le"]), value))
    for labels, row in rows.items():
        assert row == sorted(row) and [n for _, n in row] == sorted(n for _, n in row), (name, labels)
        assert row[-1] == (float("inf"), samples[(name + "_count", labels)]), (name, labels)
        assert (name + "_sum", labels) in samples, (name, labels)


def metrics(url):
    """Return: the samples, in OpenMetrics. Checks that both formats are valid and have the same names and labels."""
    kind, text = get(url, "application/openmetrics-text;version=1.0.0")
    assert kind.startswith("application/openmetrics-text; version=1.0.0"), kind
    samples = parse(text, True)
    kind, text = get(url)
    assert kind.startswith("text/plain; version=0.0.4"), kind
    assert parse(text, False).keys() == samples.keys()
    return samples


def described(page):
    """Return: the figures in section FIGURES of the manual page rpcrdma-gw(8): {name: (type, text)}."""
    with open(page, encoding="utf-8") as f:
        section = re.search(r"^\.SH FIGURES\n(.*?)^\.SH ", f.read(), re.M | re.S)
    assert section, "no section FIGURES"
    figures = {}
    for name, kind, text in re.findall(r"^\.TP\n\.BR (rpcrdma_gw_\S+) \" \((\w+)\)\"\n((?:(?!\.TP\n|\.SS ).*\n)+)", section[1], re.M):
        assert name not in figures, "twice: " + name
        words = re.sub(r"\\f[BIRP]|^\.(I|B|BR|RB|IR|RI) |\"", "", text, flags=re.M).replace("\\-", "-").split()
        figures[name] = (kind, " ".join(words))
    assert len(figures) == section[1].count(".TP\n"), "a figure without its type"
    return figures


def manual(url, page):
    """Metrics and manual have the same figures, with the same types.

    A figure's description in the manual begins with the text of HELP. It has each value of the labels, except those of labels
    that are names, versions or bounds.
    """
    _, text = get(url, "application/openmetrics-text;version=1.0.0")
    samples = parse(text, True)
    told, kinds = {}, dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    for name, words in re.findall(r"^# HELP (\S+) (.*)$", text, re.M):
        told[name + {"counter": "_total", "info": "_info"}.get(kinds[name], "")] = (kinds[name], words)
    known = described(page)
    if not any(name.startswith("rpcrdma_gw_verbs_") for name in told):
        known = {name: what for name, what in known.items() if not name.startswith("rpcrdma_gw_verbs_")}
    breaches = ["%s: not in the manual" % name for name in told.keys() - known.keys()]
    breaches += ["%s: in the manual alone" % name for name in known.keys() - told.keys()]
    for name in told.keys() & known.keys():
        if told[name][0] != known[name][0]:
            breaches.append("%s: a %s, in the manual a %s" % (name, told[name][0], known[name][0]))
        elif not known[name][1].startswith(told[name][1]):
            breaches.append("%s: HELP says %r, the manual %r" % (name, told[name][1], known[name][1]))
    breaches += ["%s: a name for a counter, but a %s" % (name, kind)
                 for name, (kind, _) in told.items() if kind != "counter" and name.endswith("_total")]
    for name, labels in samples:
        for label, value in labels:
            if label not in ("route", "server", "version", "le") and name in known and value not in re.findall(r"\w+", known[name][1]):
                breaches.append('%s: %s="%s" is not in the manual' % (name, label, value))
    assert not breaches, "\n" + "\n".join(sorted(breaches))
    print("%d figures" % len(told))


def logged(path):
    """Return: the sums of all workers' counters in the log's last report (SIGUSR1)."""
    last = {}
    with open(path, encoding="ascii") as log:
        for line in log:
            if " event=worker.counters " in line:
                pairs = dict(p.split("=", 1) for p in line.split())
                last[pairs["worker"]] = {k: int(v) for k, v in pairs.items() if v.isdigit()}
    return {key: sum(w[key] for w in last.values()) for key in next(iter(last.values()))}


RENAMED = {"bytes_to_server": "to_server_bytes", "bytes_to_client": "to_client_bytes"}


def gwctl(program, control, *words):
    """Return: the lines that rpcrdma-gwctl prints with --json."""
    said = subprocess.run([program, "--socket", control, "--json", *words], check=True, capture_output=True)
    lines = [json.loads(line) for line in said.stdout.splitlines()]
    assert "done" in lines[-1]
    return lines


def upstream_logged(path):
    """Return: the figures of each server of each route in the log's last report (SIGUSR1)."""
    last = {}
    with open(path, encoding="ascii") as log:
        for line in log:
            if " event=upstream " in line:
                pairs = dict(p.split("=", 1) for p in line.split())
                last[(pairs["route"], pairs["server"])] = {k: int(v) for k, v in pairs.items() if v.isdigit()}
    return last


def agree_on_upstreams(routes, samples, log):
    """The control socket, the metrics and the log have the same figures of servers. Return: how many figures."""
    said, known = upstream_logged(log), 0
    addresses = {"address", "host", "balance"}
    for r in routes:
        route = ("route", r["name"])
        for server in r["servers"]:
            told = {k: v for k, v in server.items() if k not in addresses}
            for name, value in told.items():
                labels = (route, ("server", server["address"]))
                of_metrics = [samples.get(("rpcrdma_gw_upstream_%s%s" % (name, end), labels)) for end in ("", "_total")]
                assert said[(r["name"], server["address"])][name] == value and value in of_metrics, (name, value, of_metrics)
            known += len(told)
            assert told["up"] == 1 and told["failures"] == told["probes"] == told["sessions"] == 0, server
        for name, value in r["upstreams"].items():
            ends = [samples.get(("rpcrdma_gw_upstream_%s%s" % (name, end), (route,))) for end in ("", "_total")]
            assert name in addresses or value in ends, (name, value, ends)
        known += len(r["upstreams"].keys() - addresses)
        # Each session connected to exactly one server.
        assert sum(server["connects"] for server in r["servers"]) == r["counters"]["sessions_opened"], r
    return known


def agree(program, control, url, log, perf, payload):
    """After a run the control socket, the metrics and the log have the same figures, and these are the client's."""
    status = gwctl(program, control, "status")[0]["status"]
    routes = [line["route"] for line in gwctl(program, control, "routes") if "route" in line]
    samples = metrics(url)
    said = logged(log)
    with open(perf, encoding="ascii") as f:
        client = json.load(f)
    for name, value in status["counters"].items():
        metric = "rpcrdma_gw_%s_total" % RENAMED.get(name, name)
        of_routes = [samples[(metric, (("route", r["name"]),))] for r in routes]
        told = [value, said[name], sum(r["counters"][name] for r in routes), sum(of_routes)]
        assert len(set(told)) == 1, "%s: %s" % (name, told)
    for name, value in status["iwarp"].items():
        metric = samples[("rpcrdma_gw_iwarp_%s_total" % name, ())]
        assert value == said[name] == metric, "%s: %s %s %s" % (name, value, said[name], metric)
    counters = status["counters"]
    assert client["errors"] == 0, client
    assert counters["calls"] == counters["replies"] == client["rpcs"], (counters, client)
    # The time of each step was measured for each reply. JSON and metrics have the same times.
    measured = {}
    for r in routes:
        for l in r["latency"]:
            labels = (("procedure", l["procedure"]), ("program", l["program"]), ("route", r["name"]), ("step", l["step"]))
            assert samples[("rpcrdma_gw_rpc_duration_seconds_count", labels)] == l["count"] == sum(l["buckets"]), l
            assert abs(samples[("rpcrdma_gw_rpc_duration_seconds_sum", labels)] - l["sum_ns"] / 1e9) < 1e-6, l
            measured[l["step"]] = measured.get(l["step"], 0) + l["count"]
    assert measured == {step: client["rpcs"] for step in ("call", "responder", "reply")}, measured
    # Octets are those of the data and, for each RPC, fewer than 512 octets of RPC headers.
    for way in ("bytes_to_client", "bytes_to_server"):
        beside = counters[way] - client["rpcs"] * payload[way]
        assert 0 <= beside < 512 * client["rpcs"], (way, counters, client)
    assert sum(status["refused"].values()) == counters["sessions_refused"] == 0
    assert status["sessions"] == said["sessions"] == 0, status
    assert counters["sessions_opened"] == counters["sessions_closed"] > 0
    known = len(counters) + len(status["iwarp"]) + agree_on_upstreams(routes, samples, log)
    print("agreed on %d figures: %d calls" % (known, client["rpcs"]))


def sessions(control, want):
    """The list has each session once, although it comes in several pages. Filters select the right sessions."""
    lines = [line["session"] for line in ask(control, {"do": "sessions"}) if "session" in line]
    assert len(lines) == len({s["id"] for s in lines}) == want, len(lines)
    assert one(control, {"do": "sessions"}, "done") == {"sessions": want}
    host = lines[0]["client_host"]
    for request, n in (
        ({"route": "one"}, want),
        ({"client": host}, want),
        ({"client": "192.0.2.1"}, 0),
        ({"name": "nobody"}, 0),
    ):
        request["do"] = "sessions"
        assert one(control, request, "done") == {"sessions": n}, request
    for wrong in ({"route": "none"}, {"session": 1}):
        try:
            ask(control, dict(wrong, do="sessions"))
        except RuntimeError:
            continue
        raise AssertionError(wrong)
    # Sessions of both workers have low numbers: a worker gives out every second one. "show" finds a session of either worker.
    assert max(s["id"] for s in lines) <= 2 * want
    for line in lines[::7]:
        shown = one(control, {"do": "show", "session": line["id"]}, "session")
        assert (shown["id"], shown["client"]["peer"]) == (line["id"], line["client"]["peer"])
    print("%d sessions" % want)


STEPS = ["waiting_ns", "pull_ns", "call_ns", "wait_ns", "fence_ns", "push_ns", "reply_ns"]


def trace(path, want):
    """The trace has @want RPCs. The times of an RPC's steps add up to its total time."""
    with open(path, encoding="ascii") as f:
        lines = [json.loads(line) for line in f]
    rpcs = [line["rpc"] for line in lines if "rpc" in line]
    assert lines[-1] == {"done": {"rpcs": want, "lost": 0}}, lines[-1]
    assert len(rpcs) == want
    for r in rpcs:
        assert r["outcome"] == "replied" and r["route"] == "one" and r["from"] == "client", r
        assert sum(r[step] for step in STEPS) == r["total_ns"], r
        assert r["reply_bytes"] >= 65536, r
        assert r["kind"] == "other any" and r["program"] > 0x20000000, r
        assert abs(r["time_ns"] / 1e9 - time.time()) < 3600, r
    print("%d RPCs, of %.3f ms" % (want, sum(r["total_ns"] for r in rpcs) / want / 1e6))


def captured(path, v1, v2):
    """tshark found the messages of both legs: clients speak versions 1 and 2, the server version 2."""
    seen = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            interface, kinds, version, comment = line.rstrip("\n").split("\t")
            assert re.fullmatch(r"session \d+, (client|server) leg, route one", comment), comment
            assert interface == comment.split(", ")[1], line
            for kind in kinds.split(",") if kinds else ["version 1"] if version else ["set-up"]:
                seen[interface, kind] = seen.get((interface, kind), 0) + 1
    assert seen["client leg", "version 1"] == 2 * v1, seen
    # Types 10 and 13 end a call and a reply. Types 9 and 12 are earlier parts of calls and replies in several messages.
    assert seen["client leg", "10"] == v2 and seen["client leg", "13"] == v2, seen
    assert seen["server leg", "10"] == v1 + v2 and seen["server leg", "13"] == v1 + v2, seen
    assert seen["client leg", "9"] >= v2 and seen["client leg", "12"] >= v2, seen
    assert ("server leg", "version 1") not in seen, seen
    assert seen["client leg", "set-up"] == seen["server leg", "set-up"] == 9, seen
    print(sum(seen.values()), "messages")


def hand_over(control):
    """Asks for the listening sockets, as a successor does. Return: the connection, and the sockets; the control socket's is last."""
    s, said, sockets = unix(control), b"", []
    s.sendall(b'{"do":"hand_over"}\n')
    while b'"done"' not in said:
        octets, fds, _, _ = socket.recv_fds(s, 4096, 64)
        assert octets and b'"error"' not in said + octets, said + octets
        said += octets
        sockets += [socket.socket(fileno=fd) for fd in fds]
    return s, sockets


def left_to(control, pid):
    """If a gateway ends before its successor serves, it leaves the control socket's path to the successor."""
    s, sockets = hand_over(control)
    os.kill(int(pid), signal.SIGTERM)
    assert s.recv(1) == b"", "it says something"
    with unix(control):
        assert sockets[-1].accept()


def refused(control, s, request):
    s.sendall(request)
    said = s.recv(4096)
    assert b'"error"' in said, said


def slow_successor(control, pid):
    """100 other connections do not displace a successor, and a second successor is refused. The old gateway waits for its end."""
    s, _ = hand_over(control)
    crowd = [unix(control) for _ in range(100)]
    with unix(control) as other:
        refused(control, other, b'{"do":"hand_over"}\n')
    s.sendall(b'{"do":"yield"}\n')
    said = s.recv(4096)
    assert b'"done"' in said, said
    s.settimeout(1)
    try:
        raise RuntimeError("it did not wait: %r" % s.recv(1))
    except TimeoutError:
        pass


def impatient_successor(control, pid):
    """If a successor hangs up before it gets the answer to its last request, the old gateway goes on as before."""
    s, _ = hand_over(control)
    os.kill(int(pid), signal.SIGSTOP)
    s.sendall(b'{"do":"yield"}\n')
    s.shutdown(socket.SHUT_RDWR)
    os.kill(int(pid), signal.SIGCONT)
    assert s.recv(1) == b""
    time.sleep(1)
    assert one(control, {"do": "status"}, "status")["state"] == "serving"


def hangs_up(control, pid):
    """Asks for the listening sockets, and hangs up before the gateway has sent them."""
    os.kill(int(pid), signal.SIGSTOP)
    with unix(control) as s:
        s.sendall(b'{"do":"hand_over"}\n')
    os.kill(int(pid), signal.SIGCONT)


def reload_meanwhile(control, pid):
    """While a successor takes over, the gateway refuses reloads, over the control socket and by SIGHUP. Afterwards it reloads."""
    s, _ = hand_over(control)
    try:
        raise AssertionError("not refused: %r" % ask(control, {"do": "reload"}))
    except RuntimeError as e:
        assert "takes over" in str(e.args), e
    os.kill(int(pid), signal.SIGHUP)
    time.sleep(0.3)
    assert len(ask(control, {"do": "routes"})) == 3, "a route came"
    s.close()
    end = time.monotonic() + 20
    while True:
        try:
            return print(ask(control, {"do": "reload"}))
        except RuntimeError:
            assert time.monotonic() < end, "it is refused still"


@contextlib.contextmanager
def in_place_of_one(control):
    """Listens at @control in place of a gateway. Yields the listening socket, and the connection of the first client."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(control)
        listening.listen()
        print("listening", flush=True)
        s, _ = listening.accept()
        with s:
            yield listening, s


def stand_in(control, way):
    """Acts as a gateway that a successor asks to yield: it refuses and goes on (@way "goes_on"), or it ends."""
    with in_place_of_one(control) as (listening, s), s.makefile("rb") as f:
        assert b"hand_over" in f.readline()
        socket.send_fds(s, [b'{"sockets":1}\n{"done":{}}\n'], [listening.fileno()])
        assert b"yield" in f.readline()
        if way == "goes_on":
            s.sendall(b'{"error":"it took too long"}\n')
            listening.settimeout(20)
            listening.accept()


def teller(control, answers):
    """Acts as a gateway that gives @answers answers to "more", one RPC in each; 0: it never stops."""
    n = 0
    with in_place_of_one(control) as (_, s), s.makefile("rwb") as f:
        for request in f:
            if b"more" in request:
                n += 1
                f.write(b'{"rpc":{"xid":%d}}\n' % n)
            f.write(b'{"done":{"lost":0,"left":%s}}\n' % (b"true" if str(n) != answers else b"false"))
            f.flush()


def until(fd, words, said):
    """Reads from a terminal until @words appear. Return: all that was read, after @said."""
    end = time.monotonic() + 20
    while words not in said:
        assert time.monotonic() < end, said
        if select.select([fd], [], [], 1)[0]:
            said += os.read(fd, 65536)
    return said


def on_screen(p, outer, way):
    said = until(outer, b"q ends", b"")
    assert said.startswith(b"\x1b[?1049h"), said
    assert b"SERVER ms" in said, said
    until(outer, b" by calls", said)
    page = said[said.rindex(b"\x1b[H") + 3:].decode().split("\x1b[K\r\n")
    assert len(page) <= 24, page
    assert all(len(line) <= 100 for line in page), page
    os.write(outer, b"s")
    until(outer, b" by octets", b"")
    if way == b"q":
        os.write(outer, way)
    else:
        p.send_signal(way)
    until(outer, b"\x1b[?1049l", b"")
    assert p.wait(20) == 0, p.returncode


def screen(program, control):
    """On a terminal of 24 rows "top" writes at most 24 rows, obeys keys, and restores the terminal at its end."""
    for way in (b"q", signal.SIGINT):
        outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        was = termios.tcgetattr(inner)
        words = [program, "--socket", control, "top", "--interval", "200ms"]
        with subprocess.Popen(words, stdin=inner, stdout=inner, stderr=inner) as p:
            try:
                on_screen(p, outer, way)
            finally:
                p.kill()
        assert termios.tcgetattr(inner) == was
        os.close(inner)
        os.close(outer)
    print("two screens")


if __name__ == "__main__":
    what = sys.argv[1]
    if what == "agree":
        agree(*sys.argv[2:7], {"bytes_to_client": int(sys.argv[7]), "bytes_to_server": int(sys.argv[8])})
    elif what == "sessions":
        sessions(sys.argv[2], int(sys.argv[3]))
    elif what == "ask":
        try:
            for answer in ask(sys.argv[2], json.loads(sys.argv[3])):
                print(json.dumps(answer))
        except RuntimeError as e:
            print("error:", e.args[0], *e.args[1:])
            sys.exit(1)
    elif what == "trace":
        trace(sys.argv[2], int(sys.argv[3]))
    elif what == "screen":
        screen(*sys.argv[2:4])
    elif what == "captured":
        captured(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif what == "teller":
        teller(*sys.argv[2:4])
    elif what in ("left_to", "slow_successor", "impatient_successor", "hangs_up", "reload_meanwhile", "stand_in"):
        globals()[what](*sys.argv[2:4])
    elif what == "get":
        print(get(sys.argv[2])[1])
    elif what == "metrics":
        print(len(metrics(sys.argv[2])), "samples")
    elif what == "manual":
        manual(*sys.argv[2:4])
    else:
        sys.exit("no such thing: " + what)
