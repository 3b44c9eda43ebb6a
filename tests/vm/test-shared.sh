# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Receives that connections share, over software RoCE in one guest. Memory depends on the load and not on the number of connections:
# while clients connect, are idle, work, and send more than was granted.
#
#   verbs_idle, verbs_overrun, rpcrdma-perf -rxe-[gateway, verbs both legs]-rxe- rpcrdma-perf
#
# The gateways have little memory: 48 of 128 MiB are for connections. A session's queues take 370 KiB of the 48 MiB. Receives of its
# own would take 1 MiB more.

test_shared() {
    verbs_built || return
    guests_up rxe gateway
    start_in gateway shared-server "$BIN/rpcrdma-perf" server \
        --listen "verbs:${GUEST_ADDRESS[gateway]}:21049" --versions 1 --memory 512 --credits 32
    check "shared: rpcrdma-perf listens" wait_for 30 grep -qs listening "$RUN/shared-server.log" || return
    shared_queues
    shared_own
    shared_load
    check "shared: the server ends without errors" stop shared-server
}

# shared_gateway NAME RECEIVE_QUEUE WORKERS
shared_gateway() {
    local at=${GUEST_ADDRESS[gateway]}
    GW_RECEIVES=$2 GW_WORKERS=$3 GW_MEMORY=$((128 * $3))M gateway "$1" "verbs:$at:20049" 1 "verbs:$at:21049" 1
}

# idle NAME COUNT: connects COUNT clients, which are idle until NAME is stopped. Stopping fails if a client was disconnected before.
# idle_open NAME: prints how many clients were accepted.
idle() {
    : >"$RUN/$1.log"
    start_in gateway "$1" "$BIN/verbs_idle" "${GUEST_ADDRESS[gateway]}" 20049 "$2"
    wait_for 90 grep -q '^open=' "$RUN/$1.log"
}
idle_open() { sed -n 's/^open=\([0-9]*\) .*/\1/p' "$RUN/$1.log"; }

# verbs_sum NAME KEY: prints the sum of the figure KEY of all workers.
verbs_sum() { report "$1" | grep 'event=worker.verbs ' | field "$2" | awk '{ n += $1 } END { print n + 0 }'; }
srqs() { guest gateway "rdma_held $1" | sed -n 's/^srq=//p'; }

shared_queues() {
    shared_gateway shared-two auto 2
    idle shared-few 16
    check "shared: one receive queue for each worker and device" same 2 "$(srqs shared-two)"
    check "shared: 16 idle clients end when they want" stop shared-few
    check "shared: the gateway of two workers ends on SIGTERM" stop shared-two
}

shared_own() {
    shared_gateway shared-own own 1
    idle shared-crowd 90
    OWN_OPEN=$(idle_open shared-crowd)
    check "own: no shared receive queue" same 0 "$(srqs shared-own)"
    check "own: $OWN_OPEN clients have room, then no more" test "$OWN_OPEN" -gt 0 -a "$OWN_OPEN" -lt 45
    check "own: those stayed" stop shared-crowd
    check "own: the gateway ends on SIGTERM" stop shared-own
}

shared_load() {
    shared_gateway shared auto 1
    shared_idle || return
    shared_busy 24 null 0 16 || return
    local at_rest posted
    at_rest=$(guest gateway 'rdma_held shared') # resources that the gateway allocates once and keeps are allocated now
    SHARED_HEAP=$(shared_heap)
    shared_crowd
    wait_for 30 shared_over || fail "shared: sessions are left"
    check "shared: nothing of the device is held that was not before" \
        same "$at_rest" "$(guest gateway 'rdma_held shared')"
    check "shared: memory came back" shared_memory_is_back
    idle shared-crowd 90
    check "shared: there is room for as many clients again" same 90 "$(idle_open shared-crowd)"
    check "shared: and they stayed" stop shared-crowd
    # A queue shrinks only when messages consume its Receives.
    check "shared: a little load without errors" no_errors \
        "$(guest gateway "ulimit -l unlimited; timeout 60 $(shared_client 1 null 0 1 8)" 70)"
    posted=$(verbs_sum shared receives_posted)
    check "shared: the queue shrank again, to $posted" test "$posted" -lt "$SHARED_POSTED"
    check "shared: the gateway ends on SIGTERM" stop shared
}
shared_over() { report shared | grep -q 'event=worker.counters .*sessions=0 '; }
shared_heap() { wait_for 30 shared_over; report shared | grep 'event=process ' | field heap_live; }
# Messages need no further allocations. The pool of transactions was at least as large before (shared_busy).
shared_memory_is_back() { [ "$(shared_heap)" -le "$SHARED_HEAP" ]; }

# 90 idle clients beside one need no more Receives than that one.
shared_idle() {
    local one many
    idle shared-one 1
    check "shared: a first client" same 1 "$(idle_open shared-one)" || return
    one=$(verbs_sum shared receives_posted)
    check "shared: one receive queue" same 1 "$(srqs shared)"
    idle shared-crowd 90
    many=$(verbs_sum shared receives_posted)
    check "shared: 91 idle clients have the Receives of one: $many, $one" \
        test "$one" -gt 0 -a "$many" -gt 0 -a "$many" -le $((2 * one))
    check "shared: 90 clients where there is room for $OWN_OPEN with Receives of their own" \
        test "$(idle_open shared-crowd)" -eq 90 -a 90 -ge $((2 * OWN_OPEN))
    check "shared: idle clients stayed" stop shared-crowd
    check "shared: the one stayed" stop shared-one
}

# shared_client CONNECTIONS OP SIZE DEPTH SECONDS: prints the command of a client that verifies all data.
shared_client() {
    echo "$BIN/rpcrdma-perf client --connect verbs:${GUEST_ADDRESS[gateway]}:20049 --version 1 \
        --connections $1 --op $2 --size $3 --depth $4 --time $5 --timeout 60 --json"
}
shared_busy() {
    local low idle out rc
    idle=$(verbs_sum shared receives_posted)
    low=$(verbs_sum shared receives_low)
    out=$(guest gateway "ulimit -l unlimited; timeout 120 $(shared_client "$@" 5)" 130)
    rc=$?
    echo "$out" >>"$RUN/shared-perf.log"
    check "shared: $1 busy clients, zero errors in $(jq -r .rpcs <<<"$out") RPCs" no_errors "$out" $rc || return
    check "shared: the queue ran low under load" test "$(verbs_sum shared receives_low)" -gt "$low"
    SHARED_POSTED=$(verbs_sum shared receives_posted)
    check "shared: and grew from $idle Receives to $SHARED_POSTED" test "$SHARED_POSTED" -gt "$idle"
}

# shared_ended: prints the number of sessions that ended with an error.
shared_ended() { grep 'event=session.end ' "$RUN/shared.log" | grep -vc ' cause=ok '; }

# Idle clients and busy clients beside clients that send 1024 calls at once although 64 were granted.
shared_crowd() {
    local before
    idle shared-crowd 60
    start_in gateway shared-busy "$(shared_client 8 echo 700 8 15)"
    sleep 3 # the busy clients work now
    before=$(shared_ended)
    check "shared: every session of a client that overruns is ended" guest gateway \
        "ulimit -l unlimited; timeout 120 $BIN/verbs_overrun ${GUEST_ADDRESS[gateway]} 20049 4 >/run/overrun.log 2>&1" 130
    check "shared: the gateway ended 4 sessions, nobody else's" \
        wait_for 20 eval "same $((before + 4)) \"\$(shared_ended)\""
    wait_for 60 grep -q '^rc=' "$RUN/shared-busy.log"
    check "shared: the load beside them had no error" no_errors "$(grep '^{' "$RUN/shared-busy.log")" \
        "$(sed -n 's/^rc=//p' "$RUN/shared-busy.log")"
    check "shared: the idle ones beside them stayed" stop shared-crowd
}
