# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# A filer that returns layouts (pNFS, RFC 8881 12) for a device that its client cannot reach. The gateway passes the layouts. The client
# cannot use them, so it reads and writes through the gateway. The layouts are block layouts of XFS (RFC 5663), the only ones of Linux's
# nfsd. By hand, with VM_KERNEL=debian, because the lab's own kernels have no layouts.

test_pnfs() {
    guests_up siw client filer
    chains_up
    IN='pnfs: '
    check "an XFS that its filer hands layouts of" guest filer 'modprobe -a xfs loop && truncate -s 400M /disk/parallel &&
        mkfs.xfs -qf /disk/parallel && mkdir -p /srv/export/parallel && mount -o loop /disk/parallel /srv/export/parallel &&
        exportfs -o rw,no_root_squash,insecure,fsid=9,no_subtree_check,pnfs "*:/srv/export/parallel" &&
        grep -q . /sys/block/loop*/loop/backing_file' 120
    for chain in direct chained; do
        pnfs_through "$chain"
    done
    guest filer 'exportfs -u "*:/srv/export/parallel"; umount /srv/export/parallel; rm /disk/parallel'
    # shellcheck disable=SC2034 # for verdicts.sh
    IN=''
}
pnfs_through() {
    check "$1: mount" fresh_mount "$1" 4.1
    check "$1: fio verifies, zero errors" guest client 'cd /mnt/parallel && fio --name=p --rw=randrw --bs=64k --size=8M --numjobs=2 \
        --verify=crc32c --direct=1 --group_reporting >/run/pnfs.fio && cd / && ls -l /mnt/parallel' 300
    check "$1: the client asked for layouts, and got some" guest client \
        'awk "/LAYOUTGET:/ { n += \$2 } END { print n \" times\"; exit !n }" /proc/self/mountstats'
    check "$1: what it wrote is at the filer" same "$(guest client 'cat /mnt/parallel/p.* | cksum')" \
        "$(guest filer 'cat /srv/export/parallel/p.* | cksum')"
    check "$1: unmount" guest client 'rm -f /mnt/parallel/p.*; umount /mnt/parallel; umount /mnt'
}
