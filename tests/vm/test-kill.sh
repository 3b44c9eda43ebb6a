# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Under verified load each guest and each gateway is killed in turn (SIGKILL, which is a loss of power for a guest). Its neighbour must
# notice. When it is back, the same mount and the same load must go on without a wrong block.

test_kill() {
    chains_up
    kill_in_turn direct 3 filer direct nfsd
    kill_in_turn chained 4.1 near filer far nfsd
    kill_in_turn chained 3 far near
    kill_client direct 4.1
    kill_client chained 3
}

# kill_in_turn CHAIN VERSION VICTIM...: mounts, and kills each VICTIM under load.
kill_in_turn() {
    local chain=$1 version=$2 name="kill: $1 NFSv$2" victim
    shift 2
    guest filer 'rm -rf /srv/export/fio'
    check "$name: mount" fresh_mount "$chain" "$version" || return
    guest client keep_loading
    check "$name: load runs" rounds_go_on 300 || return
    for victim in "$@"; do
        kill_one "$chain" "$name" "$victim" || return
    done
    check "$name: all blocks verified, zero errors" guest client finish_loading 600
}

kill_one() {
    local chain=$1 name=$2 victim=$3 witness ended
    witness=$(witness_of "$chain" "$victim")
    ended=$(sessions_ended "$witness")
    strike "$victim"
    check "$name: $victim killed: $witness notices" within "$witness" session_ended_since "$witness" "$ended"
    revive "$victim"
    check "$name: $victim back: the load goes on" rounds_go_on 600
}

# within WITNESS COMMAND...: waits until COMMAND succeeds: for the gateways' peer_timeout and 13 s. Retries of RDMA devices take up to
# 90 s.
within() {
    local seconds=$((PEER_TIMEOUT + 13))
    case $1 in filer | rxe-*) seconds=90 ;; esac
    wait_for $seconds "${@:2}"
}

# witness_of CHAIN VICTIM: prints the neighbour that must notice the end of VICTIM. It is never the kernel's client, which shows by its
# load that it noticed.
witness_of() {
    case $1-$2 in
    rxe-direct-rxe-direct) echo filer ;;
    rxe-chained-client) echo rxe-near ;;
    direct-direct) echo filer ;;
    direct-*) echo direct ;;
    chained-near) echo far ;;
    chained-far) echo near ;;
    chained-client) echo near ;;
    chained-*) echo far ;;
    esac
}

strike() {
    case $1 in
    nfsd) guest filer nfsd_down 60 ;;
    *) stop "$1" KILL ;;
    esac
}

revive() {
    case $1 in
    nfsd) guest filer nfsd_up 60 ;;
    filer | client) guest_boot "$1" && guest_wait "$1" ;;
    *) gateway_start "$1" ;;
    esac
}

# A gateway logs the end of each session. For the kernel's filer, the connection must be gone.
sessions_ended() {
    case $1 in
    filer) echo 0 ;;
    *) grep -c event=session.end "$RUN/$1.log" ;;
    esac
}
session_ended_since() {
    case $1 in
    filer) guest_until filer 5 '! connected_to_nfsd' ;;
    *) [ "$(sessions_ended "$1")" -gt "$2" ] ;;
    esac
}

# rounds_go_on SECONDS: waits for two more rounds of the client's load (guest-lib.sh).
rounds_go_on() { guest_until client "$1" "rounds_go_on $1"; }

# kill_client CHAIN VERSION [idle]: kills the client under load, or with `idle` after its load has ended.
kill_client() {
    local chain=$1 version=$2 name="kill: $1 NFSv$2: client" witness ended sum
    witness=$(witness_of "$chain" client)
    check "$name: mount" fresh_mount "$chain" "$version" || return
    sum=$(guest client 'head -c 16M /dev/urandom >/mnt/kept && sync && digest /mnt/kept')
    guest client keep_loading
    rounds_go_on 300
    [ "${3:-}" != idle ] || guest client finish_loading 600
    ended=$(sessions_ended "$witness")
    strike client
    check "$name killed: $witness notices" within "$witness" session_ended_since "$witness" "$ended"
    check "$name killed: the filer's connection goes" guest_until filer 90 '! connected_to_nfsd'
    revive client
    check "$name back: mount" fresh_mount "$chain" "$version" || return
    check "$name back: what it wrote before is there" same "$sum" "$(guest client 'digest /mnt/kept')"
    check "$name back: fio verifies, zero errors" guest client 'verified_load --numjobs=4 --size=4M' 240
}
