# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# One mount that asks for eight connections: as many sessions at each gateway, one client at the filer, and no
# wrong octet.

test_nconnect() {
    chains_up
    local chain
    for chain in direct chained; do
        nconnect_one "$chain" 3
        nconnect_one "$chain" 4.1
    done
}

# nconnect_one CHAIN VERSION
nconnect_one() {
    local name="nconnect: $1 NFSv$2" gateway
    guest filer 'rm -rf /srv/export/fio'
    check "$name: mount" fresh_mount "$1" "$2,nconnect=8" || return
    check "$name: fio verifies, zero errors" guest client 'verified_load --numjobs=8 --size=4M' 240
    # For version 4 Linux 6.1 takes it over TCP alone, and makes one connection.
    [ "$2" != 3 ] || for gateway in "${FIRST[$1]}" $([ "$1" = chained ] && echo far); do
        check "$name: eight sessions at $gateway" same 8 "$(live_sessions "$gateway" | wc -l)"
    done
    [ "$2" = 3 ] || check "$name: one client at the filer" same 1 "$(guest filer 'ls /proc/fs/nfsd/clients | wc -l')"
    check "$name: unmount" guest client unmount_all
}
