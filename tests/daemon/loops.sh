#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# loops.sh BIN CASE: gateways that lead to each other, or to themselves. One client's connection must not become many.
set -u
BIN=$1
CASE=$2
# shellcheck source=tests/loopback.sh
. "$(dirname "$0")/../loopback.sh"

# gateway NAME PORT TO VERSION: a process with one route
gateway() {
    cat >"$DIR/$1.conf" <<END
workers = 2;
memory_limit = "64M";
log = { level = "debug"; };
routes = ( { name = "$1";
  listen   = { address = "$HOST"; port = $2; versions = [1, 2, "2-early"]; };
  upstream = { address = "$HOST"; port = $3; version = "$4"; };
} );
END
    start "$1" "$BIN/rpcrdma-gw" -c "$DIR/$1.conf"
    wait_for 20 has "$1" event=ready || fail "$1 does not start"
}
has() { grep -q -e "$2" "$DIR/$1.err"; }
sessions() { cat "$DIR"/*.err | grep -c event=session.begin; }

# null PORT VERSION CODE: a client with one call; it ends with CODE
null() {
    expect_exit "$3" "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:$1" --version "$2" --op null --count 1
}

# Each leads to the other, in each version: the second time that a connection comes to the first it is refused.
case_two() {
    local version n
    for version in 1 2 auto 2-early; do
        gateway a 20049 20050 "$version"
        gateway b 20050 20049 "$version"
        null 20049 1 1
        n=$(sessions)
        echo "version $version: one connection opened $n sessions"
        # One in each; with "auto" the gateways ask again for version 1.
        [ "$n" -le 6 ] || fail "one connection opened $n sessions"
        wait_for 10 has a 'event=session.refused .*why="a loop: ' || fail "nothing tells of the loop"
        kill -TERM "${pids[@]}"
        wait
        pids=()
    done
}

# 8 gateways in a row carry calls; one more is too many, and the last one says so.
case_row() {
    local i
    perf_server 20059
    for i in 58 57 56 55 54 53 52 51 50; do
        gateway "gw$i" "200$i" $((20001 + i)) auto
    done
    null 20051 1 0
    null 20051 2 0
    null 20050 1 1
    wait_for 10 has gw58 'event=session.refused .*why="a loop: ' || fail "nothing tells of too many gateways"
}

# A listener on all addresses is on each of this machine's: said by --check, and at start. Nothing is sent.
case_own() {
    local own
    own=$(hostname -I | tr ' ' '\n' | grep -m 1 -F .) || { echo "SKIP: this machine has no address beside loopback"; exit 77; }
    cat >"$DIR/own.conf" <<END
routes = ( { name = "own"; listen = { address = "0.0.0.0"; port = 1; };
  upstream = { address = "$own"; port = 1; }; } );
END
    expect_exit 1 "$BIN/rpcrdma-gw" --check "$DIR/own.conf"
    says "own.conf:2: route \"own\" leads to its own listener, by $own port 1: give the server's address"
    expect_exit 1 "$BIN/rpcrdma-gw" -c "$DIR/own.conf"
    sed -i 's/0\.0\.0\.0/127.0.0.1/' "$DIR/own.conf"
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$DIR/own.conf"
}

"case_$CASE"
