/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/probe/options.h"

/* clang-format off */
static const char text[] =
"rpcrdma-probe - what an RPC-over-RDMA server or client is like, and whether it keeps the rules\n"
"\n"
"  rpcrdma-probe FABRIC:ADDR:PORT [--program NAME[,VERSION]]...       look at a server\n"
"  rpcrdma-probe FABRIC:ADDR:PORT --conformance [--hostile]           and test it\n"
"  rpcrdma-probe --listen FABRIC:ADDR:PORT [--conformance]            grade a client\n"
"  rpcrdma-probe --list                                               every test, with its section\n"
"\n"
"FABRIC is iwarp (over TCP in user space, needs no device here; the server may have one, or Linux\n"
"siw) or verbs (an RDMA device of this machine: InfiniBand, RoCE, iWARP). ADDR is an IPv4 address,\n"
"or an IPv6 address in brackets.\n"
"\n"
"A look opens a handful of connections, one after the other, with few messages on each: private\n"
"data, versions (2, 1, and an absurd one), properties, credits, inline thresholds, the NULL of each\n"
"program, remote invalidation, latency. It is fit for servers in production.\n"
"\n"
"--conformance sends, on more than a hundred connections one after the other, also what no\n"
"client sends: unknown types, wrong versions, short and misplaced messages. A server may close\n"
"those connections, and its log may fill; other clients should notice nothing. Malformed chunk\n"
"lists are sent with --hostile only: a Linux 6.1 filer was seen to crash on them.\n"
"\n"
"  --program NAME[,VERSION]   program whose NULL is called (nfs,3); repeatable. NAME is one of\n"
"                             nfs nfs3 nfs4 nfs_acl mount nlm cb perf, or a number. With perf\n"
"                             (an rpcrdma-perf server) --conformance also moves and verifies data\n"
"  --conformance              test each requirement that can be tested from outside: PASS, FAIL\n"
"                             or SKIP, with its section\n"
"  --hostile                  ... with malformed chunk lists and dead handles\n"
"  --case PREFIX              ... only cases whose name begins so\n"
"  --list                     print the cases and end\n"
"  --listen FABRIC:ADDR:PORT  be the server; NULL is answered, other procedures are unavailable.\n"
"                             With --conformance the client also gets messages it must refuse or\n"
"                             ignore\n"
"  --versions 1|2|1,2         --listen: versions spoken (1,2)\n"
"  --connections N            --listen: end after N connections (1)\n"
"  --timeout S                an answer that takes longer is missing (5)\n"
"  --time S                   end after this time (300)\n"
"  --no-crc                   iwarp: do not ask for CRC32c\n"
"  --json                     one JSON object on standard output\n"
"  --version, --help\n"
"\n"
"Try it:\n"
"  rpcrdma-perf server --listen iwarp:127.0.0.1:20049 &\n"
"  rpcrdma-probe iwarp:127.0.0.1:20049 --program perf --conformance --hostile\n"
"\n"
"Exit status: 0 nothing failed, 1 something failed, 2 bad arguments, 3 no connection.\n"
"More in rpcrdma-probe(1).\n";
/* clang-format on */

const char *probe_help(void)
{
	return text;
}
