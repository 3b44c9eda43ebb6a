# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# An NFSv4.1 client goes from the address of one gateway to the address of another one: by a referral, and by trunking. The two
# gateways are two addresses of one filer.

ELSEWHERE=10.77.0.6
test_elsewhere() {
    guests_up siw client filer
    IN='elsewhere: '
    elsewhere_up
    elsewhere_referred
    elsewhere_trunked
    gateways_end direct elsewhere
    inside ip address del "$ELSEWHERE/24" dev br0
    [ -z "${PID[near]:-}" ] || gateway_direct # other tests need it
    # shellcheck disable=SC2034 # for verdicts.sh
    IN=''
}
elsewhere_up() {
    gateways_end direct
    inside ip address add "$ELSEWHERE/24" dev br0
    guest client "unmount_all; ip neigh replace $ELSEWHERE lladdr $(mac "$HOST") dev eth0 nud permanent"
    gateway_direct
    gateway elsewhere "iwarp:$ELSEWHERE:20049" 1 "iwarp:$FILER" 1
}

# The client connects by RDMA to the address in the referral. It notices that it knows the filer, and keeps its first connection.
elsewhere_referred() {
    guest filer "mkdir -p /srv/export/moved && mount --bind /srv/export/moved /srv/export/moved &&
        exportfs -o rw,no_root_squash,insecure,fsid=7,no_subtree_check,refer=/@$ELSEWHERE '*:/srv/export/moved' &&
        echo there >/srv/export/whither"
    check "referral: mount" guest client 'mount_nfs 4.1 20049'
    check "referral: followed" same there "$(guest client 'cat /mnt/moved/whither')"
    check "referral: the client came to the address it names" event_since elsewhere session.open 0
    check "referral: ... and took the filer for the one it has" same "1 0" "$(sessions_at)"
    check "referral: unmount" guest client 'umount /mnt/moved; umount /mnt'
    guest filer "exportfs -u '*:/srv/export/moved'; umount /srv/export/moved"
}

# Linux uses only the first address; with max_connect it uses both.
elsewhere_trunked() {
    local options at
    for options in '' ,max_connect=4; do
        [ -z "$options" ] && at='1 0' || at='1 1'
        check "trunking$options: mounts by both addresses" guest client "mount_nfs 4.1$options 20049 &&
            mkdir -p /run/elsewhere && mount -t nfs -o vers=4.1,proto=rdma$options $ELSEWHERE:/ /run/elsewhere"
        check "trunking$options: sessions here and there: $at" same "$at" "$(sessions_at)"
        check "trunking$options: one client at the filer" same 1 "$(guest filer 'ls /proc/fs/nfsd/clients | wc -l')"
        check "trunking$options: fio verifies, zero errors" guest client 'verified_load --numjobs=4 --size=4M' 120
        check "trunking$options: unmount" guest client 'umount /run/elsewhere && umount /mnt'
    done
}
sessions_at() { echo "$(live_sessions direct | wc -l) $(live_sessions elsewhere | wc -l)"; }
