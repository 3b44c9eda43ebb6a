# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# fabric/verbs on software iWARP (siw), in a guest of its own between the kernel's client and filer. The test repeats checks of the
# tests for fabric/iwarp. Then routes have a different fabric on each leg, and connections have fabric/iwarp at one end and siw at the
# other.
#
#   siw-direct   v1 - v1     client -siw-[verbs  verbs]-siw- filer
#   siw-chained  v1 - v2 -v1 client -siw-[verbs  verbs]-siw- - [iwarp  iwarp]- filer
#   siw-back     v1 - v2 -v1 client - [iwarp  iwarp]- -siw-[verbs  verbs]-siw- filer
#   siw-in       v1 - v1     client - [iwarp  verbs]-siw- filer
#   siw-out      v1 - v1     client -siw-[verbs  iwarp]- filer

test_siw() {
    verbs_built || return
    guests_up siw client filer gateway
    siw_perf
    GW_MEMORY=128M siw_chains_up
    mounts_prepare 64 5000
    mounts_one siw-direct 3
    mounts_one siw-chained 4.2
    callback_one siw-direct
    callback_one siw-chained
    fio_one siw-direct 4.2 3M
    fio_one siw-chained 3 3M
    local chain
    mounts_prepare 8 500 # smaller, because the paths above had the large files
    mounts_one siw-direct 4.2
    mounts_one siw-chained 3
    for chain in siw-in siw-out; do
        mounts_one $chain 3
        mounts_one $chain 4.2
    done
    mounts_one siw-back 4.2
    callback_one siw-back
    gateways_end siw-direct siw-near siw-far siw-back-near siw-back-far siw-in siw-out
}

siw_chains_up() {
    local at=${GUEST_ADDRESS[gateway]}
    gateway siw-direct "verbs:$at:20049" 1 "verbs:$FILER" 1
    gateway siw-far "iwarp:$HOST:20061" 2 "iwarp:$FILER" 1
    gateway siw-near "verbs:$at:20050" 1 "verbs:$HOST:20061" 2
    gateway siw-back-far "verbs:$at:20061" 2 "verbs:$FILER" 1
    gateway siw-back-near "iwarp:$HOST:20062" 1 "iwarp:$at:20061" 2
    gateway siw-in "iwarp:$at:20051" 1 "verbs:$FILER" 1
    gateway siw-out "verbs:$at:20052" 1 "iwarp:$FILER" 1
    chain siw-direct "$at" 20049 siw-direct
    chain siw-chained "$at" 20050 siw-near
    chain siw-back "$HOST" 20062 siw-back-near
    chain siw-in "$at" 20051 siw-in
    chain siw-out "$at" 20052 siw-out
}

# rpcrdma-perf runs with fabric iwarp in the namespace and with verbs in the guest. Each is the server once.
siw_perf() {
    local op version at=${GUEST_ADDRESS[gateway]}
    start_in gateway siw-server "$BIN/rpcrdma-perf" server --listen "verbs:$at:21070" --memory 64
    start siw-peer "$BIN/rpcrdma-perf" server --listen "iwarp:$HOST:21071"
    check "siw: both servers listen" wait_for 30 eval \
        "grep -q listening '$RUN/siw-server.log' && grep -q listening '$RUN/siw-peer.log'" || return
    for op in null echo read write; do
        for version in 1 2; do
            check "siw: verbs serves iwarp, $op, version $version" no_errors \
                "$(inside timeout 100 "$BIN/rpcrdma-perf" client --connect "iwarp:$at:21070" \
                    --version "$version" --op "$op" --size "$(siw_sizes "$op")" --count 5 --json)"
            check "siw: iwarp serves verbs, $op, version $version" no_errors \
                "$(guest gateway "ulimit -l unlimited; timeout 100 $BIN/rpcrdma-perf client \
                    --connect verbs:$HOST:21071 --version $version --op $op \
                    --size $(siw_sizes "$op") --count 5 --json 2>/dev/null")" # which says that siw has no windows
        done
    done
    siw_ipv6
    check "siw: the server on verbs ends without errors" stop siw-server
    check "siw: the server on iwarp ends without errors" stop siw-peer
}
siw_ipv6() {
    local at version
    at=$(gateway_link_local)
    start_in gateway siw-server6 "$BIN/rpcrdma-perf" server --listen "verbs:[$at%eth0]:21072" --memory 64
    check "siw: a server listens on $at" wait_for 30 grep -qs listening "$RUN/siw-server6.log" || return
    for version in 1 2; do
        check "siw: verbs serves iwarp over IPv6, version $version" no_errors \
            "$(inside timeout 100 "$BIN/rpcrdma-perf" client --connect "iwarp:[$at%br0]:21072" \
                --version "$version" --op echo --size "$(siw_sizes echo)" --count 5 --json)"
    done
    check "siw: the server over IPv6 ends without errors" stop siw-server6
}
siw_sizes() { [ "$1" = null ] && echo 0 || echo 0,1,3,100,1000,3000,4000,4097,8193,65536,262145,1048576; }
