# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# A mount with eight connections (nconnect): each gateway has eight sessions, the filer sees one client, and no octet is wrong.

test_nconnect() {
    chains_up
    local chain
    for chain in direct chained; do
        nconnect_one "$chain" 3
        nconnect_one "$chain" 4.1
    done
    nfs3_up
    nconnect_seen direct "$SEEN_CLIENT"
    far_network
    nfs3far_up
    nconnect_seen far 10.77.0.115
    nfs3far_down
}

# nconnect_seen GATEWAY ADDRESS: mounts with only vers=3,proto=rdma,nconnect=8, through gateways that forward side protocols and map
# addresses. The filer must have eight connections, all from ADDRESS.
nconnect_seen() {
    local name="nconnect: side_ports, $1"
    guest filer 'rm -rf /srv/export/fio'
    check "$name: mount" guest client "unmount_all; mount_nfs3 $HOST ,nconnect=8" 120 || return
    check "$name: fio verifies, zero errors" guest client 'verified_load --numjobs=8 --size=4M' 240
    check "$name: eight connections of one client's at the filer" same "8 $2" "$(guest filer connected_from)"
    check "$name: with its locks there" guest client "grep ' /mnt nfs .*local_lock=none' /proc/mounts &&
        touch /mnt/counter && python3 /run/here/locks.py try fcntl /mnt/counter"
    check "$name: unmount" guest client unmount_all
}

# nconnect_one CHAIN VERSION
nconnect_one() {
    local name="nconnect: $1 NFSv$2" gateway
    guest filer 'rm -rf /srv/export/fio'
    check "$name: mount" fresh_mount "$1" "$2,nconnect=8" || return
    check "$name: fio verifies, zero errors" guest client 'verified_load --numjobs=8 --size=4M' 240
    # With NFSv4 over RDMA Linux 6.1 ignores nconnect, and makes one connection.
    [ "$2" != 3 ] || for gateway in "${FIRST[$1]}" $([ "$1" = chained ] && echo far); do
        check "$name: eight sessions at $gateway" same 8 "$(live_sessions "$gateway" | wc -l)"
    done
    [ "$2" = 3 ] || check "$name: one client at the filer" same 1 "$(guest filer 'ls /proc/fs/nfsd/clients | wc -l')"
    check "$name: unmount" guest client unmount_all
}
