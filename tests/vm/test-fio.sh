# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Mixed reads and writes, 4 KiB to 1 MiB, 16 jobs; fio verifies every block. All large results are cut through, which is so in no other
# test (cut_through_from is 0). By hand, with GW_CUT_THROUGH=false, no result is; all other tests have this variable, too.

test_fio() {
    GW_CUT_THROUGH_FROM=0 chains_up
    local chain version gateway
    for chain in direct chained; do
        for version in 3 4.0 4.1 4.2; do fio_one "$chain" "$version" 3M; done
    done
    for gateway in direct near far; do
        if [ "${GW_CUT_THROUGH:-true}" = true ]; then
            check "fio: large results went on through $gateway as they came" test "$(fio_passed "$gateway")" -gt 0
        else
            check "fio: no result went on through $gateway as it came" test "$(fio_passed "$gateway")" -eq 0
        fi
    done
}
fio_passed() { report "$1" | grep 'event=worker.counters ' | field passed_bytes | awk '{ n += $1 } END { print n + 0 }'; }

# fio_one CHAIN VERSION SIZE: a load of 16 jobs with SIZE each.
fio_one() {
    local name="fio: $1 NFSv$2"
    guest filer 'rm -rf /srv/export/fio; mkdir /srv/export/fio'
    check "$name: mount" fresh_mount "$1" "$2" || return
    check "$name: 16 jobs, 4k to 1M, --verify=crc32c, zero errors" \
        guest client "verified_load --numjobs=16 --size=$3" 400
}
