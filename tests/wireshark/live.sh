#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# live.sh LUA RPCRDMA_PERF RPCRDMA_GW HERE: the version 2 leg of a real gateway, captured on loopback.
set -u
lua=$1 perf=$2 gw=$3 here=$4
# shellcheck source=tests/wireshark/lib.sh
. "$here/lib.sh"
pids=()
finish() {
    [ ${#pids[@]} -eq 0 ] || { kill -KILL "${pids[@]}" && wait "${pids[@]}"; } 2>/dev/null
    rm -rf "$scratch"
}
trap finish EXIT
command -v tshark >/dev/null || skip "no tshark"
command -v tcpdump >/dev/null || skip "no tcpdump"
[ "$(id -u)" = 0 ] || skip "a capture needs root"

port=$((20000 + $$ % 11000))
host=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).1
cap=$scratch/cap
cat >"$scratch/gw.conf" <<END
workers = 1;
memory_limit = "256M";
routes = ( { name = "r";
  listen = { fabric = "iwarp"; address = "$host"; port = $((port + 1)); versions = [1, 2]; };
  upstream = { fabric = "iwarp"; address = "$host"; port = $port; version = "2"; }; } );
END
# Packets are to be written as they come, or what came last may be missing when it ends. Each takes
# a slot for the longest there is: room for all of them, for tcpdump may not get to run meanwhile.
tcpdump -i lo -s 65600 -U --immediate-mode -B 131072 -w - "host $host and tcp port $port" >"$cap" 2>"$scratch/tcpdump" &
dump=$!
pids+=("$dump")
"$perf" server --listen "iwarp:$host:$port" >"$scratch/server" 2>&1 &
pids+=($!)
"$gw" -c "$scratch/gw.conf" >"$scratch/gw" 2>&1 &
pids+=($!)
for _ in $(seq 100); do
    [ -s "$cap" ] && grep -q listening "$scratch/server" && (exec 3<>"/dev/tcp/$host/$((port + 1))") 2>/dev/null && break
    grep -q 'permi' "$scratch/tcpdump" && skip "no capture: $(cat "$scratch/tcpdump")"
    sleep 0.1
done

# run PORT VERSION ARGS...: some calls, through the gateway or past it
run() {
    timeout 60 "$perf" client --connect "iwarp:$host:$1" --version "$2" --count 20 --depth 4 "${@:3}" \
        >"$scratch/client" 2>&1 || fail "rpcrdma-perf ${*:3}: $(cat "$scratch/client")"
}
run $((port + 1)) 1 --op null
run $((port + 1)) 1 --op read --size 20000
run $((port + 1)) 1 --op write --size 20000
run $((port + 1)) 1 --op echo --size 20000
run "$port" 2 --op echo --size 20000 --call-chunk
run "$port" 2 --op echo --size 20000 --no-reply-chunk

size=-1
until [ "$(stat -c %s "$cap")" = "$size" ]; do
    size=$(stat -c %s "$cap")
    sleep 1
done
kill -INT "$dump"
wait "$dump"

grep -q '^0 packets dropped by kernel' "$scratch/tcpdump" || fail "$(cat "$scratch/tcpdump")"
[ "$(lua_errors "$cap")" = 0 ] || fail "Lua errors: $(grep -im3 'lua error' "$scratch/all")"
types "$cap" >"$scratch/types"
shark -r "$cap" -T fields -e rpcrdma2.stream.length | tr ',' '\n' | grep . | sort -n | uniq -c >"$scratch/streams"
echo "$(stat -c %s "$cap") octets captured; messages by type:"
cat "$scratch/types"
echo "continued messages, parts by length of the whole:"
cat "$scratch/streams"
of() { of_type "$1" "$scratch/types"; }
for t in 7 8 9 10 11 12 13; do
    [ "$(of "$t")" -gt 0 ] || fail "no message of type $t"
done
# 120 calls and as many replies: nothing is overlooked, however many Sends share a TCP segment.
[ $(($(of 8) + $(of 10))) = 120 ] || fail "calls: $(of 8) and $(of 10), not 120"
[ $(($(of 11) + $(of 13))) = 120 ] || fail "replies: $(of 11) and $(of 13), not 120"
# Inside every one of them is an RPC reply.
got=$(shark -r "$cap" -o rpc.dissect_unknown_programs:TRUE -V | grep -c '^Remote Procedure Call, Type:Reply')
[ "$got" = 120 ] || fail "$got RPC replies, not 120"
[ "$(faults)" = 0 ] || fail "well-formed messages were found fault with"
[ "$failures" = 0 ]
