# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# GETATTR, the most frequent call of clients, costs little: for GETATTRs no gateway of either chain takes a block of memory above
# 16 KiB, and no filer answers by RDMA Write.

test_attributes() {
    chains_up
    local version
    guest filer 'echo some >/srv/export/asked'
    attributes_one direct 4.2
    for version in 3 4.0 4.2; do attributes_one chained "$version"; done
}

attributes_one() {
    local chain=$1 version=$2 name="attributes: $1 NFSv$2" asked=0 gateway gateways=direct
    local -A before=()
    [ "$chain" = direct ] || gateways='near far'
    check "$name: mount, without a cache of attributes" mount_without_cache "$chain" "$version" || return
    for gateway in $gateways; do before[$gateway]=$(costs "$gateway"); done
    asked=$(guest client 'ask_attributes 1000')
    check "$name: the kernel sent 1,000 GETATTRs at least" test "${asked:-0}" -ge 1000
    for gateway in $gateways; do cost_nothing "$name: gateway $gateway" "${before[$gateway]}" "$(costs "$gateway")"; done
}

mount_without_cache() { fresh_mount "$1" "$2,noac" && guest client 'stat /mnt/asked >/dev/null'; }

# costs GATEWAY: prints the calls, the calls with a large block, and the replies by RDMA Write, of all workers since their start.
costs() {
    local counters name
    counters=$(report "$1" | grep 'event=worker.counters ')
    for name in calls large written; do field "$name" <<<"$counters" | paste -sd+ | bc; done | xargs
}

# cost_nothing NAME BEFORE AFTER: checks that between two results of costs no call took a large block or an RDMA Write.
cost_nothing() {
    local name=$1 calls large written
    # shellcheck disable=SC2086 # words
    read -r calls large written < <(paste -d' ' <(printf '%s\n' $3) <(printf '%s\n' $2) | awk '{ print $1 - $2 }' | xargs)
    check "$name: $calls calls" test "$calls" -ge 1000
    check "$name: $large blocks above 16 KiB, $written replies by RDMA Write" \
        test "$large" -eq 0 -a "$written" -eq 0
}
