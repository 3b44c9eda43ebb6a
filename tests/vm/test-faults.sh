# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Faults over RoCE, under load: clients that send more calls than were granted; the gateways' device is removed and added again; a
# gateway and a client are killed. The sessions concerned end and give back their resources, and the others go on. Each connection of
# rxe-direct has Receives of its own. Connections of rxe-chained share Receives; test-shared.sh tests clients that send too much there.

test_faults() {
    verbs_built || return
    guests_up rxe client filer gateway
    GW_TIMEOUT=60 DIRECT_RECEIVES=own rxe_chains_up
    # Resources are counted after a first mount, when the gateway has allocated everything that it allocates once and keeps.
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
    kill_client rxe-chained 4.1 idle # RoCE does not notice the loss of an idle peer
    guest client unmount_all
    gateways_end rxe-near rxe-far
    kill_in_turn rxe-direct 3 rxe-direct
    guest client unmount_all
    gateways_end rxe-direct
}

# faults_held: prints the device's resources and the descriptors that rxe-direct holds.
faults_held() {
    guest gateway 'rdma_held rxe-direct'
    report rxe-direct | grep 'event=process ' | grep -o 'descriptors=[0-9]*'
}
faults_heap() { report rxe-direct | grep 'event=process ' | field heap_live; }
faults_idle() { report rxe-direct | grep -q 'event=worker.counters .*sessions=0 '; }
# faults_all_given_back: whether rxe-direct holds no more than before. The heap can have more blocks, because the pool of transactions
# keeps memory for the largest number that was in use at once, and this number varies. If there are more blocks, the fault is repeated:
# a leak would add at least one block for each session.
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

# Each session sends 1024 calls at once although 64 were granted. There are few sessions, and time-outs are long: in Linux 6.1's filer
# an nfsd thread waits for each Send. When a client disconnects, these threads wait until rxe has used up its retries. For up to 10 s
# the filer then serves no other client.
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

# faults_removal CHAIN VERSION GATEWAY: removes the gateways' device, and adds another one, while the kernel's client has a load
# through GATEWAY.
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
