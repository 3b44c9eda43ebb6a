# SPDX-License-Identifier: BSD-2-Clause
"""Shared by bench/curves and bench/workers: the programs on a path between rpcrdma-perf's client and server."""
import json
import os
import pathlib
import platform
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOST = f'127.{random.randrange(20, 220)}.{random.randrange(1, 250)}.{random.randrange(1, 250)}'

HAPROXY = '''global
    nbthread 1
    maxconn 1024
defaults
    mode tcp
    option splice-request
    option splice-response
    timeout connect 5s
    timeout client 60s
    timeout server 60s
listen rdma
    bind {host}:{port}
    server ends {host}:{server}
'''


class Failed(Exception):
    pass


class Processes:
    """A context with the processes that this program started; they end with it."""

    def __init__(self, build):
        self.build, self.all, self.port = build, [], 20048
        self.room = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.room.name)

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        return self

    def __exit__(self, *_):
        for process in self.all:
            process.terminate()
        for process in self.all:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        self.room.cleanup()

    def start(self, name, command, port):
        """Waits until it accepts connections."""
        with open(self.folder / f'{name}.log', 'w') as log:
            process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log)
        self.all.append(process)
        for _ in range(400):
            if process.poll() is not None:
                break
            try:
                socket.create_connection((HOST, port), 1).close()
                return process
            except OSError:
                time.sleep(0.05)
        raise Failed(f'{name} does not start: {(self.folder / f"{name}.log").read_text()[-500:]}')

    def new_port(self):
        self.port += 1
        return self.port

    def server(self, memory=1024):
        port = self.new_port()
        return port, self.start(f'server-{port}', (self.build / 'bin/rpcrdma-perf', 'server', '--listen', f'iwarp:{HOST}:{port}',
                                                   '--no-verify', '--memory', memory), port)

    def haproxy(self, server):
        port = self.new_port()
        conf = self.folder / 'haproxy.cfg'
        conf.write_text(HAPROXY.format(host=HOST, port=port, server=server))
        return port, self.start('haproxy', ('haproxy', '-db', '-f', conf), port)

    def gateway(self, servers, workers=1, level='warn', config=''):
        """A route to each server. Return: the ports of clients, and the process; its log is NAME.log by its port."""
        ports = [self.new_port() for _ in servers]
        conf = self.folder / f'gw-{ports[0]}.conf'
        routes = ', '.join(
            f'{{ name = "r{port}"; listen = {{ fabric = "iwarp"; address = "{HOST}"; port = {port}; versions = [1, 2]; }};'
            f' upstream = {{ fabric = "iwarp"; address = "{HOST}"; port = {server}; version = "1"; }}; }}'
            for port, server in zip(ports, servers))
        conf.write_text(f'workers = {workers}; memory_limit = "{max(1, workers)}G"; log = {{ level = "{level}"; }};\n{config}\n'
                        f'routes = ( {routes} );\n')
        return ports, self.start(f'gw-{ports[0]}', (self.build / 'bin/rpcrdma-gw', '-c', conf), ports[0])

    def client(self, port, version, seconds, *args):
        """Starts a client; figures_of() returns its figures."""
        command = (self.build / 'bin/rpcrdma-perf', 'client', '--connect', f'iwarp:{HOST}:{port}', '--version', version,
                   '--time', seconds, '--timeout', 20, '--no-verify', '--json', *args)
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.all = [other for other in self.all if other.returncode is None] + [process]
        return process


def figures_of(client):
    out, err = client.communicate()
    if client.returncode:
        raise Failed(f'{" ".join(client.args[1:])}: {err.strip()}')
    return json.loads(out)


def threads(process):
    """Of a process: names and numbers."""
    for task in pathlib.Path(f'/proc/{process.pid}/task').iterdir():
        yield (task / 'comm').read_text().strip(), int(task.name)


def cpu(process):
    """CPU seconds of its threads; 0 without a process (None), on the path direct."""
    if process is None:
        return 0
    return sum(int(pathlib.Path(f'/proc/{process.pid}/task/{tid}/schedstat').read_text().split()[0])
               for _, tid in threads(process)) / 1e9


def machine():
    """One line about the machine on which the figures were measured."""
    model, flags = platform.machine(), ''
    for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
        name, _, value = line.partition(':')
        if name.strip() == 'model name':
            model = value.strip()
        if name.strip() == 'flags':
            flags = value.split()
    virtual = ', virtual' if 'hypervisor' in flags else ''
    return f'{model}, {os.cpu_count()} processors{virtual}, Linux {platform.release()}'


def progress(text=''):
    if sys.stderr.isatty():
        print(f'\r\033[K{text}', end='', file=sys.stderr, flush=True)


def head(rounds, seconds, load):
    idle = ': NOT IDLE, figures are not to be relied on' if load > 0.5 else ''
    return f'{rounds} rounds of {seconds} s, load {load:.2f} at the start{idle}\n{machine()}'


def count(text):
    """For argparse."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value
