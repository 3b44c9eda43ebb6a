# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# By hand, for hours: for $CHURN seconds (1800) a client mounts, runs a load, packs and unpacks files, and unmounts, each time through
# the other chain, and with each version of NFS in turn.
#
# A gateway's memory must not grow. It is measured after each unmount. The 90th percentile of the last sixth of the time may exceed
# that of the first sixth by a tenth at most. Single measurements do not count, because memory of the last load can still be in use.

test_churn() {
    chains_up
    local began=$SECONDS seconds=${CHURN:-1800} turns=0 bad=0 gateway
    local versions=(3 4.0 4.1 4.2) chains=(direct chained)
    guest client 'mkdir -p /run/tree && many_names /run/tree/names 300 && head -c 4M /dev/urandom >/run/tree/data'
    while [ $((SECONDS - began)) -lt "$seconds" ]; do
        churn_once "${chains[turns % 2]}" "${versions[turns / 2 % 4]}" || bad=$((bad + 1))
        turns=$((turns + 1))
        sleep 3 # no client is connected now
        residents $((6 * (SECONDS - began) / seconds)) >>"$RUN/residents"
    done
    check "churn: $turns mounts in $((SECONDS - began)) s, of which $bad went wrong" test "$bad" -eq 0 -a "$turns" -gt 8
    for gateway in direct near far; do churn_grew "$gateway" "$(most "$gateway" 0)" "$(most "$gateway" 5)"; done
}

churn_once() {
    fresh_mount "$1" "$2" || { say "churn: no mount: $1 NFSv$2"; return 1; }
    guest client 'mkdir -p /mnt/churn && cd /mnt/churn && verified_load --numjobs=4 --size=2M &&
        tar -C /run -cf tree.tar tree && tar -xf tree.tar && diff -r tree /run/tree && cd / && rm -rf /mnt/churn /mnt/fio &&
        unmount_all' 300 >>"$RUN/churn.log" 2>&1 || { say "churn: $1 NFSv$2 went wrong: $RUN/churn.log"; return 1; }
}

# residents SIXTH: prints the memory of each gateway, a line "GATEWAY SIXTH KiB". most GATEWAY SIXTH: prints the 90th percentile.
residents() {
    local name
    for name in direct near far; do
        echo "$name $1 $(awk '/^VmRSS/ { print $2 }' "/proc/${PID[$name]}/status")"
    done
}
most() { sed -n "s/^$1 $2 //p" "$RUN/residents" | sort -n | awk '{ kib[NR] = $1 } END { print kib[int((9 * NR + 9) / 10)] }'; }

# churn_grew GATEWAY FIRST LAST: checks that LAST exceeds FIRST by a tenth at most.
churn_grew() {
    check "churn: gateway $1 had $2 KiB in the first sixth of the time, $3 KiB in the last"         test "${3:-0}" -gt 0 -a "${3:-0}" -le $((${2:-0} * 11 / 10))
}
