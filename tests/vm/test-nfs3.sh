# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# NFS version 3 through a gateway, with only the options vers=3,proto=rdma.
#
# - The rules of --print-nft forward the side protocols (MOUNT, NLM, NSM, rpcbind).
# - The filer sees each client at an address of its own.
# - A lock excludes other clients. Clients wait for locks. Locks are freed when a client dies, and reclaimed when the filer dies.
# - The second client is the guest `gateway`, which other tests use for gateways.

CLIENTS=10.77.0.0/28 SEEN=10.77.0.96/28
SEEN_CLIENT=10.77.0.99 SEEN_OTHER=10.77.0.100 # .3 and .4
WAY_BACK=true # command that gives the filer a route to these addresses
# side_up FROM TO: prints the keys of an upstream that map addresses and forward side protocols
side_up() {
    echo "source = ( { clients = \"$1\"; addresses = \"$2\"; } ); side_ports = ( 111, 2049, 20048, \"4045-4046\" );"
}

test_nfs3() {
    guests_up siw client filer gateway
    IN='nfs3: '
    nfs3_up
    nfs3_story
    nfs3_down
    # shellcheck disable=SC2034 # for verdicts.sh
    IN=''
}
nfs3_story() {
    nfs3_mounts
    nfs3_exclusion
    nfs3_waits
    nfs3_client_dies
    nfs3_filer_dies
    nfs3_exports
}

# Replaces the gateway `direct` by one with a map of addresses.
nfs3_up() {
    gateways_end direct
    inside ip route replace local "$SEEN" dev lo
    guest filer "$WAY_BACK"
    inside sh -c 'echo 1 | tee /proc/sys/net/ipv4/ip_forward >/proc/sys/net/ipv6/conf/all/forwarding'
    GW_UPSTREAM=$(side_up "$CLIENTS" "$SEEN") gateway direct "iwarp:$HOST:20049" 1 "iwarp:$FILER" 1
    check "rules installed" side start "$RUN/direct.conf"
    guest filer 'statd_up; : >/var/lib/nfs/rmtab'
}
side() { RPCRDMA_GW=$BIN/rpcrdma-gw inside "$TOP/deploy/nfs3/rpcrdma-gw-side" "$@"; }

nfs3_mounts() {
    local role udp=udp
    [ "$HOST" = "${HOST#*:}" ] || udp=udp6
    check "by UDP, where a client wants that: MOUNT, NLM and NSM" guest client "mount_nfs3 $HOST ,mountproto=$udp &&
        grep ' /mnt nfs .*,mountproto=$udp,' /proc/mounts && unmount_all && side_answers $udp $HOST" 120
    guest filer ': >/var/lib/nfs/rmtab'
    for role in client gateway; do
        check "$role mounts with vers=3,proto=rdma and nothing else" guest "$role" "mount_nfs3 $HOST" 120
        check "$role: by RDMA, with locks at the filer" guest "$role" \
            'grep " /mnt nfs .*proto=rdma6*,.*local_lock=none" /proc/mounts'
    done
    check "both are there, each by its own name" same "$SEEN_CLIENT $SEEN_OTHER" "$(seen_clients)"
    check "nothing is warned of" same 0 "$(warnings direct)"
}
# warnings GATEWAY: prints the number of events nfs3.locks since the last start.
warnings() { tac "$RUN/$1.log" | sed '/event=start /q' | grep -c 'event=nfs3.locks '; }
# seen_clients: prints the clients in mountd's list of mounts. The list has semicolons in IPv6 addresses.
seen_clients() { guest filer "sed 's,:/.*,,; s,;,:,g' /var/lib/nfs/rmtab" | sort -uV | paste -sd' '; }

# start_locks GUEST NAME ARGUMENTS...: starts locks.py in GUEST, in the background.
start_locks() {
    rm -f "$RUN/$2.log" # an earlier process's output would satisfy a wait for this one's
    start_in "$1" "$2" python3 "/run/here/locks.py" "${@:3}"
}
ended_well() { grep -q '^rc=0$' "$RUN/$1.log"; }
ended() { grep -q '^rc=' "$RUN/$1.log"; }

nfs3_exclusion() {
    local kind n=3333
    for kind in fcntl flock; do
        guest filer 'echo 0 >/srv/export/counter'
        # flock of a process on the filer does not conflict with NLM locks, so this process uses fcntl in both cases.
        start_locks filer "count-filer-$kind" count fcntl /srv/export/counter "$n"
        start_locks client "count-client-$kind" count "$kind" /mnt/counter "$n"
        start_locks gateway "count-other-$kind" count "$kind" /mnt/counter $((n + 1))
        check "$kind: three count at once" wait_for 400 all_ended "$kind"
        check "$kind: each of $((3 * n + 1)) additions under a lock counted" \
            same $((3 * n + 1)) "$(guest filer 'cat /srv/export/counter')"
        n=333
    done
}
all_ended() { ended_well "count-filer-$1" && ended_well "count-client-$1" && ended_well "count-other-$1"; }

nfs3_waits() {
    start_locks client holder hold fcntl /mnt/counter /run/held
    check "a lock is held" guest_until client 30 'test -e /run/held'
    check "the other client does not get it" guest gateway "! python3 /run/here/locks.py try fcntl /mnt/counter"
    check "nor does the filer" guest filer "! python3 /run/here/locks.py try fcntl /srv/export/counter"
    start_locks gateway waiter hold fcntl /mnt/counter /run/held
    if lockd_calls_back; then
        check "it waits" guest_until filer 30 "grep -q -e '->' /proc/locks"
        guest client 'rm /run/held'
        check "it is granted when the holder lets go" guest_until gateway 20 'test -e /run/held'
        check "... and callbacks of the filer's were carried" above "$(callbacks)" 0
    else
        sleep 3 # the other client has asked by then
        guest client 'rm /run/held'
        check "the client gets it when it asks again" guest_until gateway 60 'test -e /run/held'
    fi
    guest gateway 'rm /run/held'
    check "both are done" wait_for 30 eval 'ended_well holder && ended_well waiter'
}
# lockd_calls_back: whether the filer calls a waiting client back when a lock is free. Only Linux 6.1 of the lab's kernels does. From
# Linux 6.6 on lockd forgets clients that wait, with or without a gateway, and Linux clients ask again every 30 s.
lockd_calls_back() { case $(guest filer 'uname -r') in 6.1.*) ;; *) false ;; esac }
above() { echo "$1 > $2" && [ "$1" -gt "$2" ]; }
# callbacks: prints how many connections and UDP exchanges the filer began toward clients.
callbacks() {
    inside nft list table inet rpcrdma_gw |
        sed -n 's/.* counter packets \([0-9]*\) .* dnat ip6* prefix .*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

# A client's NSM keeps the list of hosts to notify on its disk. The guest has no disk of its own, so a variable keeps the list.
nfs3_client_dies() {
    local kept
    start_locks client dead hold fcntl /mnt/counter /run/held
    check "client dies: it holds a lock" guest_until client 30 'test -e /run/held'
    kept=$(guest client keep_monitored)
    stop client KILL
    check "client dies: its lock stays" guest gateway "! python3 /run/here/locks.py try fcntl /mnt/counter"
    guest_boot client
    guest_wait client
    check "client back: its lock is there yet" guest gateway "! python3 /run/here/locks.py try fcntl /mnt/counter"
    guest client "restore_monitored '$kept'; rpcbind -w; sm-notify -f" 60
    check "client back: its lock is free" guest_until gateway 90 "python3 /run/here/locks.py try fcntl /mnt/counter"
    check "client back: it mounts again" guest client "mount_nfs3 $HOST" 120
}

# Both clients hold a lock when the filer dies. When it is back, it notifies them, and they reclaim their locks during its grace period.
nfs3_filer_dies() {
    local role
    guest filer 'echo 0 >/srv/export/second; sync' 60
    start_locks client first hold fcntl /mnt/counter /run/held
    start_locks gateway second hold fcntl /mnt/second /run/held
    for role in client gateway; do
        check "filer dies: $role holds a lock" guest_until "$role" 30 'test -e /run/held'
    done
    guest filer sync 60
    stop filer KILL
    guest_boot filer
    guest_wait filer
    # The grace period is 20 s, so that slow clients can reclaim. Requests for new locks wait during it.
    guest filer "nfsd_down; $WAY_BACK; NLM_GRACE=20 nfsd_up; statd_up; sm-notify -f" 60
    check "filer back: both have their locks again" wait_for 120 locks_there 2
    guest client 'rm /run/held' 60
    guest gateway 'rm /run/held' 60
    check "filer back: both let go" wait_for 60 eval 'ended_well first && ended_well second'
    check "filer back: and nobody holds any" wait_for 60 locks_there 0
}
locks_there() { [ "$(guest filer 'grep -c POSIX.*WRITE /proc/locks')" = "$1" ]; }

# The filer's exports apply to the mapped addresses of clients.
nfs3_exports() {
    local role
    for role in client gateway; do guest "$role" unmount_all; done
    guest filer "exportfs -ua; exportfs -o rw,no_root_squash,insecure,fsid=0,no_subtree_check,sync \"\$(in_brackets $SEEN_CLIENT):/srv/export\""
    check "an export for one client: it mounts" guest client "mount_nfs3 $HOST ,retry=0" 120
    check "... and writes" guest client 'echo mine >/mnt/mine && sync && cat /mnt/mine'
    check "the other is refused by the filer" guest gateway "mount_nfs3 $HOST ,retry=0 2>&1 | grep 'access denied by server'" 120
    guest client unmount_all
    guest filer 'exportfs -ua; exportfs -ra'
}

nfs3_down() {
    local role
    for role in client gateway; do
        [ -z "${PID[$role]:-}" ] || guest "$role" unmount_all
    done
    check "rules removed" side stop
    check "no rule is left" test -z "$(inside nft list ruleset)"
    inside ip route del local "$SEEN" dev lo
    gateways_end direct
    [ -z "${PID[near]:-}" ] || gateway_direct # other tests need it
}
