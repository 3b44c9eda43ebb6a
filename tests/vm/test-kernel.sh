# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Bugs of Linux's siw that the lab met, each with its smallest reproduction: what kernel/patches mend
# stays mended. kernel/reproduce shows them where they are not.

test_kernel() {
    guests_up siw filer
    # A mount that another test has left would keep a connection.
    [ -z "${PID[client]:-}" ] || guest client unmount_all 30
    check "kernel: siw reads a first FPDU that comes early" kernel_first_fpdu
    check "kernel: siw completes what is posted when a connection is reset" kernel_send_error
    check "kernel: a guest cannot write to this machine's files" kernel_hostfs
}

# siw-accept-kick: one in some accepts is hit.
kernel_first_fpdu() {
    local out
    out=$(raw_peer first-fpdu 50) || return
    say "first-fpdu: $out"
    [ "$out" = 'answered=50 unanswered=0' ]
}

# Not even by a mount of its own; and what it writes to its root stays there.
kernel_hostfs() {
    local file=written-by-a-guest
    guest filer "mkdir -p /run/host && mount -t hostfs none /run/host && ! touch /run/host$RUN/$file &&
        umount /run/host && echo here >/$file && [ -s /$file ]" 30 && [ ! -e "$RUN/$file" ] && [ ! -e "/$file" ]
}

# siw-tx-flush: a connection that is reset while nfsd answers many calls at once left Sends that siw
# never completed, and with them the threads that wait (svc_rdma_sendto), until the filer boots again.
kernel_send_error() {
    raw_peer send-error 50 >/dev/null && guest_until filer 20 '! connected_to_nfsd'
}
raw_peer() { inside timeout 150 "$VM/kernel/raw-peer" "$1" "${GUEST_ADDRESS[filer]}" 20049 "$2"; }
