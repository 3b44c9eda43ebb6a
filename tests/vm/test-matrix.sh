# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Client and filer with different kernels: each pair of kernel/list, except the pair with which all other tests run. A pair must pass a
# mount with data in both directions, fio, and callbacks.

test_matrix() {
    local client filer names
    mapfile -t names < <(grep '^[0-9]' "$VM/kernel/list")
    kernels_made "${names[@]}"
    chains_up
    for filer in "${names[@]}"; do
        for client in "${names[@]}"; do
            [ "$client $filer" = "${names[0]} ${names[0]}" ] || matrix_pair "$client" "$filer"
        done
    done
    matrix_guest client "${names[0]}"
    matrix_guest filer "${names[0]}"
}

# shellcheck disable=SC2034 # IN is for verdicts.sh
matrix_pair() {
    local chain version
    matrix_guest client "$1"
    matrix_guest filer "$2"
    IN="Linux $1 with $2: "
    say "client $(guest client 'uname -r'), filer $(guest filer 'uname -r')"
    mounts_prepare 16 500
    for chain in direct chained; do
        for version in 3 4.2; do mounts_one $chain $version; done
        callback_one $chain
    done
    fio_one direct 4.2 2M
    fio_one chained 3 2M
    guest client unmount_all
    IN=''
}

# matrix_guest ROLE KERNEL: boots the guest with KERNEL, unless it runs this kernel. The filer then has an empty disk.
matrix_guest() {
    [ "${KERNEL[$1]}" != "$2" ] || return 0
    [ -z "${PID[client]:-}" ] || guest client unmount_all 30
    stop "$1" KILL
    [ "$1" != filer ] || rm -f "$ROOM/filer.disk"
    KERNEL[$1]=$2
    guest_boot "$1"
    guest_wait "$1"
}
