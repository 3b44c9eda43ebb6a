# SPDX-License-Identifier: BSD-2-Clause
"""The gateway under test: its configuration, its routes, its process, and its reports."""
import ctypes
import json
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

import peer

ROUTE = '''  {{ name = "{name}";
    listen = {{ address = "{host}"; port = {port}; versions = {versions}; credits = 8; {listen} }};
    upstream = {{ address = "{host}"; port = {up}; version = "{version}"; credits = 8;
      version_memory = 0; {upstream} }}; }}'''

CONFIG = '''workers = 1;
memory_limit = "512M";
max_payload = "1M";
drain_timeout = 2;
log = {{ level = "debug"; }};
routes = (
{routes}
);
'''


class Route:
    """A route of the gateway; its upstream is a socket of this process."""

    def __init__(self, name, version, versions=(1, 2), listen='', upstream=''):
        self.name, self.version, self.versions = name, version, list(versions)
        self.listen, self.upstream = listen, upstream
        self.server = None
        self.leads_to = None    # another route of the gateway, which is this route's server
        self.witness = None
        self.lock = threading.Lock()

    def bind(self, host):
        """Return: a socket that keeps the gateway's port until every route has its own."""
        self.server = socket.create_server((host, 0), backlog=64)
        kept = socket.create_server((host, 0))
        self.address = kept.getsockname()
        return kept

    def accept(self, timeout=peer.TIMEOUT):
        """Return: the socket of the gateway's next connection to the server."""
        self.server.settimeout(timeout)
        return self.server.accept()[0]

    def text(self, host):
        up = self.leads_to.address if self.leads_to else self.server.getsockname()
        return ROUTE.format(name=self.name, host=host, port=self.address[1], versions=json.dumps(self.versions), up=up[1],
                            version=self.version, listen=self.listen, upstream=self.upstream)

    def speaks(self):
        """Return: the version in which the gateway first speaks to the server."""
        return {'1': 1, '2-early': 'early'}.get(self.version, 2)

    def serve_honestly(self):
        """Starts an honest server for every further connection."""
        def run():
            while True:
                try:
                    sock = self.server.accept()[0]
                except OSError:
                    return
                peer.serve(sock, self.speaks() if self.version != 'auto' else 1)
        self.server.settimeout(None)
        threading.Thread(target=run, daemon=True).start()

    def check_witness(self):
        """Checks that the route's witness is served."""
        with self.lock:
            self.witness.do_null()
            self.witness.do_echo(5000)


def die_with_us():
    """Runs in the child. The kernel kills the gateway when this process ends, for any reason."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Gateway:
    def __init__(self, program, routes, settings=CONFIG):
        self.routes = routes
        self.dir = tempfile.TemporaryDirectory(prefix='hostile-')
        # The address is random, so that runs at the same time do not use the same one.
        self.host = '127.%d.%d.%d' % (random.randrange(20, 250), random.randrange(1, 250),
                                      random.randrange(1, 250))
        for kept in [route.bind(self.host) for route in routes]:
            kept.close()
        config = os.path.join(self.dir.name, 'gw.conf')
        with open(config, 'w') as f:
            f.write(settings.format(routes=',\n'.join(r.text(self.host) for r in routes)))
        self.log_path = os.path.join(self.dir.name, 'log')
        with open(self.log_path, 'w') as log:
            self.process = subprocess.Popen([program, '-c', config], stderr=log, preexec_fn=die_with_us)
        self.wait_for(lambda: 'event=ready' in self.log(), 'it does not start')

    def log(self):
        with open(self.log_path, errors='replace') as f:
            return f.read()

    def last_words(self, n):
        dull = ('event=leg ', 'event=session.begin', 'event=session.open', 'event=worker.')
        return [line for line in self.log().splitlines() if not any(d in line for d in dull)][-n:]

    def wait_for(self, condition, otherwise, timeout=peer.TIMEOUT):
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, otherwise
            assert self.is_up(), 'the gateway ended: ' + otherwise
            time.sleep(0.02)

    def is_up(self):
        return self.process.poll() is None

    def report(self):
        """Requests a report by SIGUSR1. Return: figures of the process and of the worker."""
        marks = self.log().count('event=worker.counters')
        self.process.send_signal(signal.SIGUSR1)
        self.wait_for(lambda: self.log().count('event=worker.counters') > marks and
                      self.log().endswith('\n'), 'no answer to SIGUSR1')
        lines = [line for line in self.log().splitlines()
                 if 'event=process ' in line or 'event=worker.counters ' in line]
        return {key: int(value)
                for line in lines[-2:] for key, value in re.findall(r' (\w+)=(\d+)', line)}

    def wait_for_sessions(self, n):
        end = time.monotonic() + peer.TIMEOUT
        while True:
            report = self.report()
            if report['sessions'] == n:
                return report
            assert time.monotonic() < end, '%d sessions, not %d' % (report['sessions'], n)
            time.sleep(0.1)

    def stop(self):
        """Ends the gateway by SIGTERM. Return: the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(peer.TIMEOUT)

    def kill(self):
        if self.is_up():
            self.process.kill()
            self.process.wait()
        self.dir.cleanup()
