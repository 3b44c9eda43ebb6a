# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Every NFS version through both chains: data in both directions, and a large directory.

test_mounts() {
    chains_up
    mounts_prepare 64 5000
    local chain version
    for chain in direct chained; do
        for version in 3 4.0 4.1 4.2; do
            mounts_one "$chain" "$version"
        done
    done
}

# mounts_prepare MIB NAMES: makes MIB of data for the client to write, and a directory with NAMES names.
mounts_prepare() {
    MOUNTS_MIB=$1 MOUNTS_NAMES=$2
    guest client "head -c ${MOUNTS_MIB}M /dev/urandom >/run/data"
    guest filer "head -c $((MOUNTS_MIB / 4))M /dev/urandom >/srv/export/theirs
        [ -e /srv/export/names-$MOUNTS_NAMES ] || many_names /srv/export/names-$MOUNTS_NAMES $MOUNTS_NAMES" 300
}

# mounts_one CHAIN VERSION
mounts_one() {
    local chain=$1 version=$2 name="mounts: $1 NFSv$2"
    guest filer 'rm -f /srv/export/data'
    fresh_mount "$chain" "$version" || { fail "$name: mount"; return; }
    pass "$name: mount"
    local sent
    sent=$(guest client 'cp /run/data /mnt/data && digest /run/data')
    check "$name: $MOUNTS_MIB MiB written, as the filer's disk has them" \
        same "$sent" "$(guest filer 'digest /srv/export/data')"
    check "$name: $MOUNTS_MIB MiB read back through the mount" \
        same "$sent" "$(guest client 'drop_caches; digest /mnt/data')"
    check "$name: $((MOUNTS_MIB / 4)) MiB of the filer's read through the mount" \
        same "$(guest filer 'digest /srv/export/theirs')" "$(guest client 'digest /mnt/theirs')"
    check "$name: a directory of $MOUNTS_NAMES names" \
        same "$(guest filer "list /srv/export/names-$MOUNTS_NAMES")" "$(guest client "list /mnt/names-$MOUNTS_NAMES")"
    check "$name: unmount" guest client unmount_all
}
