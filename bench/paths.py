# SPDX-License-Identifier: BSD-2-Clause
"""Shared by bench/compare, counts, curves and workers: starts and measures programs between rpcrdma-perf's client and server."""
import argparse
import ctypes
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

CONGESTION = pathlib.Path('/proc/sys/net/ipv4/tcp_congestion_control')
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000  # sched.h

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
    """A context with the processes that this program started. All of them end with the context."""

    def __init__(self, build, verify=False):
        self.build, self.all, self.port = build, [], 20048
        self.no_verify = [] if verify else ['--no-verify']
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
        """Starts @command, and waits until @port accepts connections."""
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
                                                   *self.no_verify, '--memory', memory), port)

    def haproxy(self, server):
        port = self.new_port()
        conf = self.folder / 'haproxy.cfg'
        conf.write_text(HAPROXY.format(host=HOST, port=port, server=server))
        return port, self.start('haproxy', ('haproxy', '-db', '-f', conf), port)

    def floor(self, server):
        port = self.new_port()
        return port, self.start('floor', (self.build / 'bin/bench-floor', f'{HOST}:{port}', f'{HOST}:{server}'), port)

    def gateway(self, servers, workers=1, level='warn', config='', build=None):
        """Starts a gateway with a route to each port of @servers. Return: the ports on which the routes listen, and the process."""
        ports = [self.new_port() for _ in servers]
        conf = self.folder / f'gw-{ports[0]}.conf'
        routes = ', '.join(
            f'{{ name = "r{port}"; listen = {{ fabric = "iwarp"; address = "{HOST}"; port = {port}; versions = [1, 2]; }};'
            f' upstream = {{ fabric = "iwarp"; address = "{HOST}"; port = {server}; version = "1"; }}; }}'
            for port, server in zip(ports, servers))
        conf.write_text(f'workers = {workers}; memory_limit = "{max(1, workers)}G"; log = {{ level = "{level}"; }};\n{config}\n'
                        f'routes = ( {routes} );\n')
        return ports, self.start(f'gw-{ports[0]}', ((build or self.build) / 'bin/rpcrdma-gw', '-c', conf), ports[0])

    def client(self, port, version, seconds, *args):
        """Starts a client; figures_of() returns its figures."""
        command = (self.build / 'bin/rpcrdma-perf', 'client', '--connect', f'iwarp:{HOST}:{port}', '--version', version,
                   '--time', seconds, '--timeout', 20, *self.no_verify, '--json', *args)
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.all = [other for other in self.all if other.returncode is None] + [process]
        return process


def figures_of(client):
    out, err = client.communicate()
    if client.returncode:
        raise Failed(f'{" ".join(client.args[1:])}: {err.strip()}')
    return json.loads(out)


def threads(process):
    """Return: name and number of each thread of a process."""
    for task in pathlib.Path(f'/proc/{process.pid}/task').iterdir():
        yield (task / 'comm').read_text().strip(), int(task.name)


def cpu(process):
    """Return: CPU seconds of all threads of a process; 0 if it is None, as on the path direct."""
    if process is None:
        return 0
    return sum(int(pathlib.Path(f'/proc/{process.pid}/task/{tid}/schedstat').read_text().split()[0])
               for _, tid in threads(process)) / 1e9


def unshare(what):
    """Gives this process namespaces of its own; without root also a user namespace in which it is root."""
    user, group = os.geteuid(), os.getegid()
    if ctypes.CDLL(None, use_errno=True).unshare(what if user == 0 else what | CLONE_NEWUSER):
        raise Failed(f'namespaces of its own: {os.strerror(ctypes.get_errno())}: run as root, or let users have namespaces')
    if user:
        for name, text in ('setgroups', 'deny'), ('uid_map', f'0 {user} 1'), ('gid_map', f'0 {group} 1'):
            pathlib.Path(f'/proc/self/{name}').write_text(text)


def own_network():
    """Gives this process, and those it starts, a network with only a loopback. Return: the system's congestion control."""
    system = CONGESTION.read_text().strip()
    unshare(CLONE_NEWNET)
    up = subprocess.run(['ip', 'link', 'set', 'lo', 'up'], capture_output=True, text=True)
    if up.returncode:
        raise Failed(f'a network of its own: ip link set lo up: {up.stderr.strip()}')
    return system


def loopback_octets():
    """Return: the number of octets that the loopback of this network has carried."""
    for line in pathlib.Path('/proc/self/net/dev').read_text().splitlines():
        name, _, counters = line.partition(':')
        if name.strip() == 'lo':
            return int(counters.split()[0])
    raise Failed('/proc/self/net/dev: no loopback')


def steady(processes, port, version, process, seconds, work, begin=None, end=None):
    """Runs a client within own_network(), and measures @process in the second half of the run.

    In the first half the programs use their memory for the first time. begin() and end() are called before and after the second
    half. begin() can take seconds on a busy machine. The client runs until the second half is over. The number of RPCs in the
    second half follows from its share of the octets. Return: the client's figures, and half_rpcs, half_mib, half_s, cpu_s.
    """
    first = loopback_octets()
    client = processes.client(port, version, 2 * seconds + 60, *work)
    while client.poll() is None and loopback_octets() < first + 4096:
        time.sleep(0.002)
    time.sleep(seconds)
    if begin:
        begin()
    began, used, octets = time.monotonic(), cpu(process), loopback_octets()
    time.sleep(seconds)
    took, used, octets = time.monotonic() - began, cpu(process) - used, loopback_octets() - octets
    if end:
        end()
    client.send_signal(signal.SIGINT)
    told = figures_of(client)
    part = octets / (loopback_octets() - first)
    if not part or not told['rpcs']:
        raise Failed(f'no RPCs in {seconds} s: --seconds has to be longer on this machine')
    return told | {'half_rpcs': told['rpcs'] * part, 'half_mib': told['bytes_per_s'] * told['seconds'] * part / 2**20,
                   'half_s': took, 'cpu_s': used}


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


def names_of(known):
    """For argparse."""
    def parse(text):
        names = text.split(',')
        if not set(names) <= set(known):
            raise argparse.ArgumentTypeError(f'there are {", ".join(known)}')
        return names
    return parse


def seconds(text):
    """For argparse."""
    value = float(text)
    if not 0 < value < 1e5:
        raise ValueError
    return value


def judge(value, error, sign, limit):
    """Return: the verdict. A goal is met or missed only if value and goal are farther apart than the error bar."""
    if error and abs(value - limit) <= error:
        return 'within the error bar'
    return 'met' if (value <= limit if sign == '<=' else value >= limit) else 'missed'


def show_goals(goals, digits=2):
    if goals:
        print('\n| goal | | value | error bar | verdict |\n|---|---|---|---|---|')
    for goal in goals:
        print(f'| {goal["name"]} | {goal["goal"]} | {goal["value"]:.{digits}f} | {goal["error"]:.{digits}f} | {goal["verdict"]} |')


def exit_status(goals):
    return 3 if any(goal['verdict'] == 'missed' for goal in goals) else 0
