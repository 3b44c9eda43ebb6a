# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Every NFS version through both chains: data both ways, and a large directory.

test_mounts() {
    chains_up
    guest client 'head -c 64M /dev/urandom >/run/data'
    guest filer 'many_names /srv/export/names 5000' 300
    local chain version
    for chain in direct chained; do
        for version in 3 4.0 4.1 4.2; do
            mounts_one "$chain" "$version"
        done
    done
}

mounts_one() {
    local chain=$1 version=$2 name="mounts: $1 NFSv$2"
    guest filer 'rm -f /srv/export/data*'
    fresh_mount "$chain" "$version" || { fail "$name: mount"; return; }
    pass "$name: mount"
    local sent
    sent=$(guest client 'cp /run/data /mnt/data && digest /run/data')
    check "$name: 64 MiB written, as the filer's disk has them" \
        same "$sent" "$(guest filer 'digest /srv/export/data')"
    check "$name: 64 MiB read back through the mount" \
        same "$sent" "$(guest client 'drop_caches; digest /mnt/data')"
    sent=$(guest filer 'head -c 16M /dev/urandom >/srv/export/data2; digest /srv/export/data2')
    check "$name: 16 MiB of the filer's read through the mount" \
        same "$sent" "$(guest client 'digest /mnt/data2')"
    check "$name: a directory of 5000 names" \
        same "$(guest filer 'list /srv/export/names')" "$(guest client 'list /mnt/names')"
    check "$name: unmount" guest client unmount_all
}
