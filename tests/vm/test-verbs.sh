# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# fabric/verbs at both ends, over software RoCE (rxe), in one guest: the contract of fabric.h, properties that the contract test cannot
# see, and rpcrdma-perf with all sizes. A build without verbs skips the test with a message.

test_verbs() {
    verbs_built || return
    guests_up rxe gateway
    check "verbs: the contract of fabric.h over rxe" verbs_program test_contract_verbs
    check "verbs: calls, completions and queue pairs are as they should be" verbs_program test_verbs_device
    check "verbs: shared Receives follow the load, and come back from a device that goes" verbs_shared
    verbs_immediates
    verbs_ipv6
    verbs_perf
}

verbs_built() {
    [ -x "$BIN/test_contract_verbs" ] || { say "no verbs in this build: skipped"; return 1; }
}
no_errors() { [ "${2:-0}" -eq 0 ] && [ "$(jq -r .errors <<<"$1")" = 0 ]; } # of what rpcrdma-perf prints

# verbs_program NAME [VARIABLE=VALUE]: runs a test program, which must not skip itself for want of a device.
verbs_program() {
    guest gateway "${2:-} VERBS_ADDRESS=${GUEST_ADDRESS[gateway]} timeout 500 $BIN/$1" 510 \
        >"$RUN/$1.log" 2>&1 && grep -q PASSED "$RUN/$1.log"
}

# The program's last case removes the device, so the next program needs a new one.
verbs_shared() {
    local rc=0
    verbs_program test_verbs_shared "VERBS_UNPLUG='rdma link delete rxe0 &'" || rc=1
    guest_until gateway 30 '! rdma link | grep -q rxe0/' || rc=1
    guest_device gateway
    return $rc
}

# An RDMA Write with Immediate consumes a Receive and is no message, so it ends the session as a breach. Clients send it, with own and
# with shared Receives, and a server sends it into a chunk that was offered.
verbs_immediates() {
    local at=${GUEST_ADDRESS[gateway]} receives
    start_in gateway imm-server "$BIN/rpcrdma-perf" server --listen "verbs:$at:21051" --versions 1 --memory 64
    check "verbs: a server for those below listens" wait_for 30 grep -qs listening "$RUN/imm-server.log" || return
    for receives in shared own; do
        GW_RECEIVES=$receives GW_MEMORY=128M gateway "imm-$receives" "verbs:$at:20070" 1 "verbs:$at:21051" 1
        check "verbs: a client's Write with Immediate ends its connection, Receives $receives" \
            guest gateway "ulimit -l unlimited; timeout 60 $BIN/verbs_immediate client $at 20070" 70
        check "verbs: ... as a breach" wait_for 10 verbs_breached "imm-$receives"
        check "verbs: ... and the gateway ends on SIGTERM" stop "imm-$receives"
    done
    check "verbs: their server ends without errors" stop imm-server
    start_in gateway imm-peer "$BIN/verbs_immediate" server "$at" 21052
    check "verbs: a server that writes so listens" wait_for 30 grep -qs listening "$RUN/imm-peer.log" || return
    GW_MEMORY=128M gateway imm-up "verbs:$at:20071" 1 "verbs:$at:21052" 1
    # The client gets no answer.
    guest gateway "ulimit -l unlimited; timeout 20 $BIN/rpcrdma-perf client --connect verbs:$at:20071 \
        --version 1 --op read --size 65536 --count 1 --timeout 10 --json" 30 >"$RUN/imm-client.log" 2>&1
    check "verbs: a server's Write with Immediate ends its connection" \
        wait_for 10 grep -q '^wrote=1 ended=1' "$RUN/imm-peer.log"
    check "verbs: ... of a whole chunk" grep -q '^written=65536' "$RUN/imm-peer.log"
    check "verbs: ... as a breach" wait_for 10 verbs_breached imm-up
    check "verbs: ... and nothing of it reached the client" grep -q '"errors": *[1-9]' "$RUN/imm-client.log"
    check "verbs: ... and the gateway ends on SIGTERM" stop imm-up
    unset "PID[imm-peer]" "WITHIN[imm-peer]" # the program has ended by itself
}
verbs_breached() {
    grep -q 'event=session.end .*used a Receive for what is no message' "$RUN/$1.log" &&
        [ "$(verbs_sum "$1" breaches)" = 1 ]
}

# Uses a link-local address, which also needs the name of its interface.
gateway_link_local() {
    guest gateway 'ip -6 -brief address show dev eth0 scope link' | sed -n 's/.* \(fe80[^/]*\).*/\1/p'
}
verbs_ipv6() {
    local at version
    at="verbs:[$(gateway_link_local)%eth0]:21050"
    start_in gateway verbs-server6 "$BIN/rpcrdma-perf" server --listen "$at" --memory 64
    check "verbs: rpcrdma-perf listens on $at" wait_for 30 grep -qs listening "$RUN/verbs-server6.log" || return
    for version in 1 2; do
        check "verbs: IPv6, version $version, zero errors" no_errors \
            "$(guest gateway "ulimit -l unlimited; timeout 60 $BIN/rpcrdma-perf client --connect '$at' \
                --version $version --op echo --size 0,1,1000,4097,65536,1048576 --count 5 --json" 70)"
    done
    check "verbs: the server ends without errors" stop verbs-server6
}

# The server needs memory for calls of 4 MiB of 64 clients, and for their replies.
verbs_perf() {
    local op version
    start_in gateway verbs-server "$BIN/rpcrdma-perf" server \
        --listen "verbs:${GUEST_ADDRESS[gateway]}:21049" --memory 768
    check "verbs: rpcrdma-perf listens" wait_for 30 grep -q listening "$RUN/verbs-server.log" || return
    for op in null echo read write; do
        for version in 1 2; do verbs_perf_one 1 $op $version; done
    done
    # Many connections use some sizes of each kind: inline and in chunks, one page and many, one segment and many.
    verbs_perf_one 64 null 2
    verbs_perf_one 16 read 1 $verbs_sizes
    verbs_perf_one 16 echo 1 $verbs_sizes
    verbs_perf_one 16 write 2 $verbs_sizes
    check "verbs: the server ends without errors" stop verbs-server
}

verbs_sizes=0,1,1000,4095,4097,65536,1000003,4194304
verbs_perf_one() {
    local connections=$1 op=$2 version=$3 size=${4:-ladder} out rc depth=4 count=6
    [ "$connections" -eq 1 ] || depth=1 count=$connections
    [ "$op" != null ] || size=0
    out=$(guest gateway "ulimit -l unlimited; timeout 300 $BIN/rpcrdma-perf client \
        --connect verbs:${GUEST_ADDRESS[gateway]}:21049 --connections $connections --version $version \
        --op $op --size $size --depth $depth --count $count --timeout 60 --json" 310)
    rc=$?
    echo "$out" >>"$RUN/verbs-perf.log"
    check "verbs: rpcrdma-perf $op, version $version, $size, $connections connections, zero errors" \
        no_errors "$out" $rc
}
