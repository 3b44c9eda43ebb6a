# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The short story for kernels that the other tests do not run with (VM_KERNEL=debian): one mount
# v1 - v2 - v1, data both ways, fio, a recall, and parties that die under load.

test_story() {
    chains_up
    mounts_prepare 16 500
    mounts_one chained 4.1
    fio_one chained 4.1 1M
    callback_one chained
    kill_in_turn chained 4.1 near filer
    guest client unmount_all
}
