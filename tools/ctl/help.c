/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/options.h"

/* clang-format off */
static const char text[] =
"rpcrdma-gwctl - look at a running rpcrdma-gw, drain and end its sessions\n"
"\n"
"  rpcrdma-gwctl status                process, memory, and counters of all routes together\n"
"  rpcrdma-gwctl routes                servers, counters and latency of each route\n"
"  rpcrdma-gwctl sessions [FILTER]...  each session: a client's connection and its server's\n"
"  rpcrdma-gwctl clients [FILTER]...   sessions added up by client: how much memory each client\n"
"                                      holds, and whether version 2 would help it\n"
"  rpcrdma-gwctl show session N        both sides of session N, and its calls in flight\n"
"  rpcrdma-gwctl drain [ROUTE | N] [FILTER]...\n"
"                                      end sessions between two RPCs (all, of a route, or one):\n"
"                                      their clients connect again\n"
"  rpcrdma-gwctl kill session N        end session N at once\n"
"  rpcrdma-gwctl reload                read the configuration again, as SIGHUP: all or nothing\n"
"  rpcrdma-gwctl top [FILTER]...       live screen of current rates; --once: a single screen\n"
"                                      (--interval T: seconds between two screens, 1s; --sort KEY:\n"
"                                      calls, octets, flight or memory)\n"
"  rpcrdma-gwctl trace [FILTER]...     RPCs as they end, and how long each step took\n"
"  rpcrdma-gwctl capture FILE [FILTER]...\n"
"                                      messages of both sides for Wireshark, on any fabric (pcapng)\n"
"  rpcrdma-gwctl log [level LEVEL]     show or set the log level: error, warn, info, debug\n"
"\n"
"FILTER:\n"
"  --route NAME     sessions of this route\n"
"  --client ADDR    sessions of this client: an address or IPv6 network, as sessions shows it\n"
"  --name NAME      sessions of the client or server that proved this name\n"
"  --session N      this session (trace and capture)\n"
"\n"
"trace and capture end with --time (a capture after 60s), or Ctrl-C:\n"
"  --time T         end after this time: 30s, 5m\n"
"  --slow T         trace: RPCs that took at least this long: 50ms, 200us, 1.5s (2: seconds)\n"
"  --program P      trace: RPCs of nfs3, nfs4, nfs, mount, nlm, callback, or a program number\n"
"  --procedure P    trace: NFSv3's by name, or a number; with nfs4: read, write, other\n"
"  --count N        trace: end after N RPCs\n"
"  --size S         capture: largest size of the file (64M)\n"
"\n"
"  -s, --socket PATH   the gateway's \"control\" (" CTL_SOCKET ")\n"
"  --json              JSON instead of text, one object on each line\n"
"  --version, --help\n"
"\n"
"Try it:\n"
"  rpcrdma-gwctl sessions --route filer1\n"
"  rpcrdma-gwctl drain filer1\n"
"  rpcrdma-gwctl trace --slow 50ms --procedure write\n"
"  rpcrdma-gwctl capture --client 10.0.0.7 --time 10s - | wireshark -k -i -\n"
"\n"
"Exit status: 0 done, 1 refused or lost output, 2 bad arguments, 3 no gateway answers there.\n"
"More in rpcrdma-gwctl(8).\n";
/* clang-format on */

const char *ctl_help(void)
{
	return text;
}
