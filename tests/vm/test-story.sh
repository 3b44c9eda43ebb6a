# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# A short selection of checks, for kernels with which the other tests do not run (VM_KERNEL=debian): one mount v1 - v2 - v1, data in
# both directions, fio, a recall of a delegation, and guests and gateways that are killed under load.

test_story() {
    chains_up
    mounts_prepare 16 500
    mounts_one chained 4.1
    fio_one chained 4.1 1M
    callback_one chained
    kill_in_turn chained 4.1 near filer
    guest client unmount_all
}
