# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What goes wrong over RoCE, under load: clients that overrun what they were granted, the device
# of the gateways removed and added again, a gateway and a client killed. Sessions end, the
# others go on, and what they held is given back. Each connection of rxe-direct has Receives of
# its own, those of rxe-chained share them (test-shared.sh tells of clients that overrun there).

test_faults() {
    verbs_built || return
    guests_up rxe client filer gateway
    GW_TIMEOUT=60 DIRECT_RECEIVES=own rxe_chains_up
    # The measure is taken when everything is there that is made once and kept.
    check "faults: a first mount" fresh_mount rxe-direct 3 || return
    guest client 'verified_load --numjobs=16 --size=1M' 240
    guest client keep_loading
    faults_overrun_sessions 1
    guest client finish_loading 600
    guest client 'unmount_all'
    wait_for 20 faults_idle || fail "faults: no session is left of the first mount"
    FAULTS_AT_REST=$(faults_held)
    FAULTS_HEAP=$(faults_heap)
    faults_overrun
    faults_removal rxe-direct 4.1 rxe-direct
    check "faults: device removed: all is given back" faults_all_given_back
    faults_removal rxe-chained 3 rxe-near
    kill_client rxe-chained 4.1 idle # RoCE itself would never miss it
    guest client unmount_all
    gateways_end rxe-near rxe-far
    kill_in_turn rxe-direct 3 rxe-direct
    guest client unmount_all
    gateways_end rxe-direct
}

# Resources that rxe-direct holds: of the device, descriptors, and memory (live heap blocks).
faults_held() {
    guest gateway 'rdma_held rxe-direct'
    report rxe-direct | grep 'event=process ' | grep -o 'descriptors=[0-9]*'
}
faults_heap() { report rxe-direct | grep 'event=process ' | field heap_live; }
faults_idle() { report rxe-direct | grep -q 'event=worker.counters .*sessions=0 '; }
# Transactions come from slabs that stay, for as many as there ever were at once, and how many that
# are when clients overrun beside a load is a matter of luck. A session left behind is not: if there
# are more blocks than before, the same again must not make more by one a session.
faults_all_given_back() {
    local heap rounds=3
    wait_for 30 faults_idle && wait_for 30 eval 'same "$FAULTS_AT_REST" "$(faults_held)"' ||
        { diff <(echo "$FAULTS_AT_REST") <(faults_held); return 1; }
    heap=$(faults_heap)
    until [ "$heap" -lt $((FAULTS_HEAP + 4)) ]; do
        say "faults: $FAULTS_HEAP heap blocks before, $heap now: once more"
        rounds=$((rounds - 1))
        [ $rounds -gt 0 ] && faults_overrun_sessions 4 && wait_for 30 faults_idle || return
        FAULTS_HEAP=$heap heap=$(faults_heap)
    done
}

# Sessions one after the other, of 1024 calls at once where 64 were granted. Linux 6.1's filer
# waits for each of its Sends with an nfsd thread. When a client leaves, those wait until rxe's
# retries are used up, and nobody else is served for up to 10 s: not many sessions, and long timeouts.
faults_overrun() {
    local name="faults: overrun" before live
    check "$name: mount" fresh_mount rxe-direct 3 || return
    guest client keep_loading
    check "$name: load runs" rounds_go_on 300 || return
    live=$(live_sessions rxe-direct)
    before=$(count_event rxe-direct session.end)
    check "$name: every session is ended" faults_overrun_sessions 4
    check "$name: the gateway saw each end" wait_for 60 event_since rxe-direct session.end $((before + 3))
    check "$name: nobody else was disconnected" wait_for 20 faults_live_are "$live"
    check "$name: the load beside them had no error" guest client finish_loading 600
    guest client unmount_all
    check "$name: all is given back" faults_all_given_back
}
faults_live_are() { same "$1" "$(live_sessions rxe-direct)"; }
faults_overrun_sessions() {
    guest client "ulimit -l unlimited; timeout 300 $BIN/verbs_overrun ${GUEST_ADDRESS[gateway]} 20049 $1" 310 >>"$RUN/faults-overrun.log"
}

# faults_removal CHAIN VERSION GATEWAY: the gateways' device goes and another comes, while the
# kernel's client is at work by way of GATEWAY.
faults_removal() {
    local name="faults: device removed: $1" before
    check "$name: mount" fresh_mount "$1" "$2" || return
    guest client keep_loading
    check "$name: load runs" rounds_go_on 300 || return
    before=$(count_event "$3" session.end)
    guest gateway 'rdma link delete rxe0' 60
    check "$name: its session ends" wait_for 60 event_since "$3" session.end "$before"
    check "$name: nothing of the device is left" guest gateway '[ -z "$(rdma_resources)" ]'
    guest gateway 'rdma link add rxe0 type rxe netdev eth0' 60
    check "$name: a new one: the load goes on" rounds_go_on 600
    check "$name: all blocks verified, zero errors" guest client finish_loading 600
    guest client unmount_all
}
