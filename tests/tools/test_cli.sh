#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# test_cli.sh BIN: rpcrdma-perf over loopback: every op, both versions, IPv4 and IPv6; ends of all kinds.
set -u
BIN=$1
CASE=rpcrdma-perf
TIMEOUT=60
# shellcheck source=tests/loopback.sh
. "$(dirname "$0")/../loopback.sh"
perf=$BIN/rpcrdma-perf

# server NAME OPTIONS...: sets $addr
server() {
    start "$1" "$perf" server "${@:2}"
    wait_for 20 grep -qs listening "$DIR/$1" || fail "the server does not listen"
    addr=$(sed -n 's/^listening on //p' "$DIR/$1")
}

# end_server NAME: by SIGTERM, which it answers with totals and status 0
end_server() {
    kill -TERM "$pid"
    wait "$pid" || fail "server exit status $?"
    grep -q '^connections .* errors 0$' "$DIR/$1" || fail "totals of $1: $(cat "$DIR/$1")"
}

# client STATUS OPTIONS...
client() { expect_exit "$1" "$perf" client --connect "iwarp:$addr" "${@:2}"; }

for listen in "$HOST" '[::1]'; do
    server both --listen "iwarp:$listen:0"
    for version in 1 2; do
        for op in null echo read write; do
            client 0 --version $version --op $op --size ladder --depth 4
        done
    done
    client 0 --version 2 --op echo --size ladder --depth 4 --no-reply-chunk
    client 0 --version 2 --op echo --size ladder --depth 4 --call-chunk
    client 0 --version 2 --op read --size 0,1,5k --slack 3 --inline-data --depth 200
    end_server both
done

server early --listen "iwarp:$HOST:0" --versions 1,2-early
for op in null echo read write; do
    client 0 --version 2-early --op $op --size ladder --depth 4
done
says '^write, version 2-early, depth 4'
client 0 --version 2-early --op read --size 0,1,5k --slack 3 --inline-data --depth 200
client 0 --version 1 --op null --count 10
end_server early

server other --listen "iwarp:$HOST:0" --versions 1 --inline 1024 --credits 4 --no-crc
client 0 --version 1 --op echo --size ladder --depth 8 --inline 8192 --no-crc
client 0 --version 1 --op null --count 2000 --connections 20 --json
jq -e '.rpcs == 2000 and .errors == 0 and .rpcs_per_s > 0 and .p50_us > 0 and .p99_us >= .p50_us
    and .p999_us >= .p99_us and .bytes_per_s == 0 and .seconds > 0
    and .spread_us["50"] == .p50_us and .spread_us["99.9"] == .p999_us and ([.spread_us[]] | length == 10 and . == sort)' "$DIR/out" >/dev/null || fail "JSON"
client 1 --version 2 --op null --count 1 --timeout 5
says 'cannot connect'
end_server other

# runs: waits until a client is connected to $addr, and has had time to call
runs() {
    wait_for 20 eval "ss -Htn state established dst $addr | grep -q ."
    sleep 0.5
}

# The other end dies, and stops: the client says so, in time.
server dies --listen "iwarp:$HOST:0"
(runs; kill -9 "$pid") &
client 1 --version 1 --op read --size 1m --depth 4 --time 30
says 'lost the connection'
server stops --listen "iwarp:$HOST:0"
(runs; kill -STOP "$pid") &
client 1 --version 2 --op write --size 1m --depth 4 --time 30 --timeout 1
says 'no reply within'
kill -9 "$pid"
addr=$HOST:1
client 1 --version 2 --op null --count 1
says 'refused'

# The client is told to end: it prints what it has.
server ends --listen "iwarp:$HOST:0"
server=$pid
start client "$perf" client --connect "iwarp:$addr" --version 1 --op null --time 60 --json
runs
kill -INT "$pid"
wait "$pid" || fail "status $? after SIGINT"
jq -e '.rpcs > 0' "$DIR/client" >/dev/null || fail "no figures after SIGINT"
pid=$server
end_server ends

for line in '' 'bogus' 'server' 'client' 'server --listen iwarp:127.0.0.1:x' \
    'client --connect iwarp:127.0.0.1:1 --version 9 --op null' 'server --listen iwarp:127.0.0.1:0 --depth 3'; do
    # shellcheck disable=SC2086
    expect_exit 2 "$perf" $line
    says '^rpcrdma-perf: '
done
expect_exit 0 "$perf" --help
says 'Try it:'
echo OK
