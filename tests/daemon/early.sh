#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# early.sh BIN CASE: version "2-early" (draft-cel-nfsv4-rpcrdma-version-two-01) through the real executables, over
# iWARP on loopback: every operation at sizes from one octet to 1 MiB, verified by both ends.
set -u
BIN=$1
CASE=$2
TIMEOUT=60
# shellcheck source=tests/loopback.sh
. "$(dirname "$0")/../loopback.sh"

# Around every threshold there is: 1024 of the first message, 4096 of the others, and one page, 64 KiB, 1 MiB.
SIZES=1,2,3,4,5,100,900,923,924,925,1000,1023,1024,1025,3950,3951,3952,3980,4000,4015,4016,4020,4047,4048
SIZES+=,4095,4096,4097,8191,8192,30001,65535,64k,65537,300001,1048575,1m

# gateway NAME PORT VERSIONS TO VERSION: a process with one route
gateway() {
    cat >"$DIR/$1.conf" <<END
workers = 1;
memory_limit = "256M";
drain_timeout = 3;
control = "$DIR/$1.control";
log = { level = "info"; };
routes = ( { name = "$1";
  listen   = { address = "$HOST"; port = $2; versions = $3; };
  upstream = { address = "$HOST"; port = $4; version = "$5"; };
} );
END
    start "$1" "$BIN/rpcrdma-gw" -c "$DIR/$1.conf"
    gateways+=("$pid")
    wait_for 20 has "$1" event=ready || fail "$1 does not start"
}
gateways=()
has() { grep -q -e "$2" "$DIR/$1.err"; }
# Another process writes the log, so a line may come a little later.
expect() { wait_for 20 has "$@" || fail "no line of the log of $1 matches: $2"; }

# client VERSION OPTION...
client() {
    expect_exit 0 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --json --version "$@"
    says '"errors": 0'
}

# every_operation VERSION
every_operation() {
    client "$1" --op null --count 200 --depth 8
    for op in echo read write; do
        client "$1" --op "$op" --size $SIZES --depth 3 --connections 2
    done
    client "$1" --op read --size $SIZES --depth 3 --slack 1000 --inline-data
    client "$1" --op write --size $SIZES --depth 3 --inline-data
}

stop_all() {
    local one
    for one in "${gateways[@]}"; do
        kill -TERM "$one"
        wait "$one" || fail "a gateway ended with $?"
    done
    for one in "$@"; do
        expect "$one" 'event=end code=0 heap_live=0'
        has "$one" event=rpc.error && fail "$one tells of an error"
    done
    kill -TERM "$SERVER"
    wait "$SERVER" || fail "the server ended with $?"
    grep -q '^connections .* errors 0$' "$DIR/server20050" || fail "the server: $(cat "$DIR/server20050")"
}

# pair CLIENT SERVER: one gateway between the two
pair() {
    perf_server 20050 --versions "$2"
    SERVER=$pid
    gateway gw 20049 '[1, 2, "2-early"]' 20050 "$2"
    every_operation "$1"
    expect gw "event=listen .*versions=1,2,2-early .*upstream_versions=$2 "
    expect gw "event=session.open .*server_version=$2\$"
    stop_all gw
}

case_early_early() { pair 2-early 2-early; }
case_early_v1() { pair 2-early 1; }
case_early_v2() { pair 2-early 2; }
case_v1_early() { pair 1 2-early; }
case_v2_early() { pair 2 2-early; }

# Two gateways, and the early draft on the hop between them alone.
case_chain() {
    perf_server 20050 --versions 1
    SERVER=$pid
    gateway far 20051 '["2-early"]' 20050 1
    gateway near 20049 '[1]' 20051 2-early
    every_operation 1
    expect near 'event=session.open .*server_version=2-early$'
    expect far 'event=listen .*versions=2-early .*upstream_versions=1 '
    stop_all near far
}

# A peer that does not speak the early draft gets an error. A peer that speaks other versions beside it is served in those.
# A client of draft -07 takes a server of the early draft for one that has no properties, until the client calls.
case_refused() {
    perf_server 20050 --versions 2-early
    SERVER=$pid
    gateway gw 20049 '[1, 2]' 20050 2-early
    expect_exit 1 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20050" --version 1 --op null --count 1 --timeout 10
    says 'cannot connect\|lost the connection'
    expect_exit 1 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20050" --version 2 --op null --count 1 --timeout 5
    says 'the peer reports'
    expect_exit 1 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 2-early --op null --count 1 \
        --timeout 10
    says 'cannot connect\|lost the connection'
    client 1 --op null --count 10
    client 2 --op null --count 10
    stop_all gw
}

# A server that is asked in this draft and speaks version 1 alone: its clients hear that it cannot be reached, and
# the next one after the server was replaced is served.
case_wrong_upstream() {
    perf_server 20050 --versions 1,2
    SERVER=$pid
    gateway gw 20049 '[1]' 20050 2-early
    expect_exit 1 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 1 --op null --count 1 --timeout 10
    expect gw 'event=session.end .*leg=server cause=version'
    kill -TERM "$SERVER"
    wait "$SERVER"
    perf_server 20050 --versions 2-early
    SERVER=$pid
    client 1 --op null --count 10
    stop_all gw
}

# The control socket shows the early draft to operators.
case_shown() {
    perf_server 20050 --versions 2-early
    SERVER=$pid
    gateway gw 20049 '[1, "2-early"]' 20050 2-early
    start load "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 2-early --op read --time 60
    wait_for 20 has gw event=session.open || fail "no session"
    expect_exit 0 "$BIN/rpcrdma-gwctl" --socket "$DIR/gw.control" routes
    says 'listens .* versions .*1, "2-early"'
    says 'upstream .* versions .*"2-early"'
    expect_exit 0 "$BIN/rpcrdma-gwctl" --socket "$DIR/gw.control" --json routes
    says '"versions":\[1,"2-early"\]'
    expect_exit 0 "$BIN/rpcrdma-gwctl" --socket "$DIR/gw.control" sessions
    says '2-early.*2-early'
    expect_exit 0 "$BIN/rpcrdma-gwctl" --socket "$DIR/gw.control" clients
    says 'speaks.*early draft'
    kill -USR1 "${gateways[0]}"
    wait_for 20 has gw 'event=leg .*leg=client .*version=2-early' || fail "no client leg of 2-early is logged"
    wait_for 20 has gw 'event=leg .*leg=server .*version=2-early' || fail "no server leg of 2-early is logged"
    kill -INT "$pid"
    wait "$pid" || fail "the client: $?"
    stop_all gw
}

declare -F "case_$CASE" >/dev/null || fail "no such case"
"case_$CASE"
echo "PASS $CASE"
