/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/options.h"

/* clang-format off */
static const char text[] =
"rpcrdma-gwctl - look at a running rpcrdma-gw, drain and end its sessions\n"
"\n"
"  rpcrdma-gwctl status                what runs, and all that was counted\n"
"  rpcrdma-gwctl routes                for each route\n"
"  rpcrdma-gwctl sessions [FILTER]...  each pair of connections\n"
"  rpcrdma-gwctl clients [FILTER]...   the same by client: which version each speaks, and\n"
"                                      whether version 2 would help it\n"
"  rpcrdma-gwctl show session N        both sides of one, and its calls in flight\n"
"  rpcrdma-gwctl drain [ROUTE | N] [FILTER]...\n"
"                                      end sessions between two RPCs (all, of a route, or one):\n"
"                                      their clients connect again\n"
"  rpcrdma-gwctl kill session N        end one at once\n"
"  rpcrdma-gwctl reload                read the configuration anew, as SIGHUP: all or nothing\n"
"  rpcrdma-gwctl top [FILTER]...       who does how much now: a live screen; --once: a single one\n"
"                                      (--interval T: how long to count for, 1s)\n"
"  rpcrdma-gwctl trace [FILTER]...     RPCs as they end, and how long each step took\n"
"  rpcrdma-gwctl capture FILE [FILTER]...\n"
"                                      messages of both sides for Wireshark, on any fabric (pcapng)\n"
"  rpcrdma-gwctl log [level LEVEL]     tell, or set, the level: error, warn, info, debug\n"
"\n"
"FILTER:\n"
"  --route NAME     of that route\n"
"  --client ADDR    of that client: its address, or IPv6 network, as sessions shows it\n"
"  --name NAME      of the client or server that proved that name\n"
"  --session N      of that session (trace and capture)\n"
"\n"
"trace and capture end with --time (a capture after 60s), or Ctrl-C:\n"
"  --time T         after so long: 30s, 5m\n"
"  --slow T         trace: RPCs that took as long at least: 50ms, 200us, 1.5s (2: seconds)\n"
"  --program P      trace: of that program: nfs3, nfs4, nfs, mount, nlm, callback, or its number\n"
"  --procedure P    trace: NFSv3's by name, or a number; with nfs4: read, write, other\n"
"  --count N        trace: so many\n"
"  --size S         capture: so large at most (64M)\n"
"\n"
"  -s, --socket PATH   the gateway's \"control\" (" CTL_SOCKET ")\n"
"  --json              JSON instead of text, an object a line\n"
"  --version, --help\n"
"\n"
"Try it:\n"
"  rpcrdma-gwctl sessions --route filer1\n"
"  rpcrdma-gwctl drain filer1\n"
"  rpcrdma-gwctl trace --slow 50ms --procedure write\n"
"  rpcrdma-gwctl capture --client 10.0.0.7 --time 10s - | wireshark -k -i -\n"
"\n"
"Exit status: 0 done, 1 the gateway said no, 2 bad arguments, 3 no gateway answers there.\n"
"More in rpcrdma-gwctl(8).\n";
/* clang-format on */

const char *ctl_help(void)
{
	return text;
}
