#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh BIN CASE: the rules for side_ports, in kernels' own hands: two clients, a gateway and a filer, each in a
# network of its own, all of them gone with this process. 77: this machine lets nobody make networks, or
# has no nft.
set -u
BIN=$1
CASE=$2
SIDE=$(realpath "$(dirname "$0")/../../deploy/nfs3/rpcrdma-gw-side")
PEER=$(realpath "$(dirname "$0")/peer.py")
export TIMEOUT=60 # seconds for one command, on a machine with much else to do
export RPCRDMA_GW=$BIN/rpcrdma-gw
PATH=$PATH:/usr/sbin:/sbin
if [ -z "${NETWORK:-}" ]; then
    unshare -rn nft list ruleset >/dev/null 2>&1 || exit 77
    NETWORK=own exec unshare -rn "$0" "$BIN" "$CASE"
fi
# shellcheck source=tests/loopback.sh
. "$(dirname "$0")/../loopback.sh"
CONF=$DIR/gw.conf
declare -A AT=() # name -> a process in its network

# 10.7.1.0/24 and fd00:1::/64 are the clients', .2. the filer's, .3. what it sees of clients.
network() {
    local name
    ip link set lo up
    without_dad
    ip link add br0 type bridge && ip link set br0 up
    echo 1 >/proc/sys/net/ipv4/ip_forward
    echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
    for name in one two filer; do
        unshare -n sleep infinity &
        AT[$name]=$!
        pids+=($!)
        wait_for 10 is_apart "$!" || fail "no network for $name"
        without_dad nsenter "$(net "$name")" --
        ip link add "$name" type veth peer name eth0 netns "$!" || fail "no link to $name"
        ip link set "$name" up
    done
    for name in one two; do ip link set "$name" master br0; done
    ip addr add 10.7.1.1/24 dev br0
    ip addr add fd00:1::1/64 dev br0 nodad
    ip addr add 10.7.2.1/24 dev filer
    ip addr add fd00:2::1/64 dev filer nodad
    ip route add local 10.7.3.0/24 dev lo
    ip -6 route add local fd00:3::/64 dev lo
    host one 10.7.1.11 fd00:1::11
    host two 10.7.1.12 fd00:1::12
    host filer 10.7.2.2 fd00:2::2
    at filer ip route add 10.7.3.0/24 via 10.7.2.1
    at filer ip -6 route add fd00:3::/64 via fd00:2::1
}
# Without a link-local address, which duplicate address detection delays, a machine cannot look for its neighbours.
without_dad() { "$@" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad'; }
is_apart() { [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
net() { echo "--net=/proc/${AT[$1]}/ns/net"; }
at() { nsenter "$(net "$1")" -- "${@:2}"; }
host() { # NAME IPV4 IPV6
    at "$1" ip link set lo up
    at "$1" ip link set eth0 up
    at "$1" ip addr add "$2/24" dev eth0
    at "$1" ip addr add "$3/64" dev eth0 nodad
}

# configure LISTEN UPSTREAM SOURCES [LISTEN_EXTRA]
configure() {
    cat >"$CONF" <<END
workers = 1;
memory_limit = "256M";
routes = ( { name = "one";
  listen   = { address = "$1"; port = 20049; ${4:-} };
  upstream = { address = "$2"; port = 20049; version = 1; source = ( $3 );
    side_ports = ( 111, 2049, "4045-4046" ); };
} );
END
}
V4='{ clients = "10.7.1.12"; addresses = "10.7.3.200"; }, { clients = "10.7.1.0/25"; addresses = "10.7.3.0/25"; }'
V6='{ clients = "fd00:1::/64"; addresses = "fd00:3::/64"; }'

serve() { # WHERE ADDRESS PORT...
    start "serve-$1-$2" nsenter "$(net "$1")" -- python3 -ESs "$PEER" serve "${@:2}"
    wait_for 20 grep -qs serving "$DIR/serve-$1-$2" || fail "nobody serves at $1"
}
# hears WHERE ADDRESS PORT SEEN [FROM]: a request from WHERE to ADDRESS and PORT arrives with source address SEEN, by TCP and
# UDP. With FROM it is sent from this port, which stays the same.
hears() {
    local kind
    for kind in tcp udp; do
        expect_exit 0 nsenter "$(net "$1")" -- python3 -ESs "$PEER" ask "$kind" "$2" "$3" "${5:-0}"
        says "^$4 ${5:-[0-9]*} ${5:-}"
    done
}
hears_nothing() { # WHERE ADDRESS PORT; refused at once, as by any host where nobody listens
    local kind
    for kind in tcp udp; do
        expect_exit 1 nsenter "$(net "$1")" -- python3 -ESs "$PEER" ask "$kind" "$2" "$3"
        says 'refused'
    done
}

install() {
    "$BIN/rpcrdma-gw" --print-nft "$CONF" >"$DIR/rules" || fail "no rules"
    expect_exit 0 nft -c -f "$DIR/rules"
    expect_exit 0 "$SIDE" start "$CONF"
}
nothing_left() {
    expect_exit 0 "$SIDE" stop
    [ -z "$(nft list ruleset)" ] || fail "rules are left"
}

# Clients' calls, and the filer's, each from the right address, by TCP and UDP; and what is not to pass.
case_v4() {
    network
    configure 10.7.1.1 10.7.2.2 "$V4"
    serve filer 10.7.2.2 111 2049 4045 4046 5000
    serve one 10.7.1.11 111 33333
    serve two 10.7.1.12 111 33333
    both_ways 10.7.1.1 10.7.1.11 10.7.1.12 10.7.3.11 10.7.3.200
    at two ip route add 10.7.3.0/24 via 10.7.1.1
    hears_nothing two 10.7.3.11 33333 # another's callbacks are the filer's alone
    nothing_left
    hears_nothing one 10.7.1.1 111
    hears_nothing filer 10.7.3.11 111
}

case_v6() {
    network
    configure fd00:1::1 fd00:2::2 "$V6"
    serve filer fd00:2::2 111 2049 4045 4046 5000
    serve one fd00:1::11 111 33333
    serve two fd00:1::12 111 33333
    both_ways fd00:1::1 fd00:1::11 fd00:1::12 fd00:3::11 fd00:3::12
    nothing_left
    hears_nothing one fd00:1::1 111
}

# both_ways GATEWAY CLIENT1 CLIENT2 SEEN1 SEEN2
both_ways() {
    local port
    hears_nothing one "$1" 111
    install
    for port in 111 2049 4045 4046; do hears one "$1" "$port" "$4"; done
    hears two "$1" 111 "$5"
    hears one "$1" 111 "$4" 700 # a port that only root has, from both at once
    hears two "$1" 111 "$5" 700
    hears_nothing one "$1" 5000
    for port in 111 33333; do hears filer "$4" "$port" "$1"; done
    hears filer "$5" 111 "$1" 800
    hears_nothing filer "$4" 44444 # carried, and nobody listens
    install # anew, and as before
    hears two "$1" 2049 "$5"
}

# A host that `clients` of the listener does not list gets no answer, and a host that no source is for gets none either.
case_clients() {
    network
    configure 10.7.1.1 10.7.2.2 "$V4" 'clients = [ "10.7.1.11", "10.7.1.130" ];'
    serve filer 10.7.2.2 111
    install
    hears one 10.7.1.1 111 10.7.3.11
    hears_nothing two 10.7.1.1 111
    at one ip -4 addr flush dev eth0
    at one ip addr add 10.7.1.130/24 dev eth0
    hears_nothing one 10.7.1.1 111
    nothing_left
}

# RDMA connections from the same addresses, made before the rules and after, go on: with rules that come, that come
# again, and that go.
case_beside() {
    local load round
    network
    configure 10.7.1.1 10.7.2.2 "$V4"
    start perf nsenter "$(net filer)" -- "$BIN/rpcrdma-perf" server --listen iwarp:10.7.2.2:20049
    wait_for 20 grep -qs listening "$DIR/perf" || fail "the server does not listen"
    start gateway "$BIN/rpcrdma-gw" -c "$CONF"
    wait_for 20 grep -qs event=ready "$DIR/gateway.err" || fail "the gateway does not start"
    start load nsenter "$(net one)" -- "$BIN/rpcrdma-perf" client --connect iwarp:10.7.1.1:20049 \
        --version 1 --op write --size 64k --depth 4 --time 4 --json
    load=$pid
    wait_for 20 grep -qs 'event=session.open' "$DIR/gateway.err" || fail "no session"
    for round in 1 2; do install; done
    expect_exit 0 nsenter "$(net two)" -- "$BIN/rpcrdma-perf" client --connect iwarp:10.7.1.1:20049 --version 1 --op echo --count 10
    nothing_left
    wait "$load" || fail "the client's calls failed after round $round"
    grep -q '"errors": 0' "$DIR/load" || fail "calls failed"
    [ "$(grep -c event=session.open "$DIR/gateway.err")" -eq 2 ] || fail "a connection was made anew"
}

# The gateway's own connections: each client's from its address of the map, of IPv6 as of IPv4, where a network of
# them is this machine's by a route alone.
case_source() {
    network
    source_of 10.7.1.1 10.7.2.2 "$V4" '10.7.3.200'
    source_of fd00:1::1 fd00:2::2 "$V6" '\[fd00:3::12\]'
}
source_of() { # GATEWAY FILER SOURCES SEEN
    configure "$1" "$2" "$3"
    start "perf-$1" nsenter "$(net filer)" -- "$BIN/rpcrdma-perf" server --listen "iwarp:$2:20049"
    wait_for 20 grep -qs listening "$DIR/perf-$1" || fail "the server does not listen"
    start "gateway-$1" "$BIN/rpcrdma-gw" -c "$CONF"
    wait_for 20 grep -qs event=ready "$DIR/gateway-$1.err" || fail "the gateway does not start"
    start load nsenter "$(net two)" -- "$BIN/rpcrdma-perf" client --connect "iwarp:$1:20049" --version 1 --op echo --time 1
    wait_for 20 seen "$4" || fail "the server does not see $4"
    wait "$pid" || fail "calls failed"
}
seen() { at filer ss -Htn state established 'sport = :20049' | grep -q " $1:[0-9]* *$"; }

# The script refuses what cannot work, and leaves what there was.
case_refused() {
    network
    configure 10.7.1.1 10.7.2.2 "$V4"
    install
    nft list ruleset >"$DIR/before"
    echo 0 >/proc/sys/net/ipv4/ip_forward
    expect_exit 1 "$SIDE" start "$CONF"
    says 'sysctl -w net.ipv4.ip_forward=1'
    echo 1 >/proc/sys/net/ipv4/ip_forward
    sed -i 's/side_ports/side_doors/' "$CONF"
    expect_exit 1 "$SIDE" start "$CONF"
    says 'unknown key "side_doors"'
    nft list ruleset | diff "$DIR/before" - || fail "the rules are others"
    sed -i '/side_doors/s/side_doors = .*; };/};/' "$CONF"
    expect_exit 0 "$SIDE" start "$CONF" # none are asked for
    [ -z "$(nft list ruleset)" ] || fail "rules are left"
    expect_exit 0 "$SIDE" stop # and again
    expect_exit 2 "$SIDE" start
    expect_exit 2 "$SIDE"
    # Other tables are nobody's business here.
    nft add table inet other
    configure 10.7.1.1 10.7.2.2 "$V4"
    install
    expect_exit 0 "$SIDE" stop
    [ "$(nft list tables)" = "table inet other" ] || fail "another's table"
}

declare -F "case_$CASE" >/dev/null || fail "no such case"
"case_$CASE"
echo "PASS $CASE"
