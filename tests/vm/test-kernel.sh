# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Bugs of Linux's siw that kernel/patches fix. The smallest reproduction of each must pass with the patches. kernel/reproduce shows
# the bugs in a kernel without the patches.

test_kernel() {
    guests_up siw filer
    # A mount that another test has left would keep a connection open.
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

# A guest cannot write to files of the host, even if it mounts the host's file system itself. Its own writes stay in its root.
kernel_hostfs() {
    local file=written-by-a-guest
    guest filer "mkdir -p /run/host && mount -t hostfs none /run/host && ! touch /run/host$RUN/$file &&
        umount /run/host && echo here >/$file && [ -s /$file ]" 30 && [ ! -e "$RUN/$file" ] && [ ! -e "/$file" ]
}

# siw-tx-flush: without the patch, if a connection is reset while nfsd answers many calls, siw never completes some Sends. The nfsd
# threads that wait for them (svc_rdma_sendto) then wait until the filer boots again.
kernel_send_error() {
    raw_peer send-error 50 >/dev/null && guest_until filer 20 '! connected_to_nfsd'
}
raw_peer() { inside timeout 150 "$VM/kernel/raw-peer" "$1" "${GUEST_ADDRESS[filer]}" 20049 "$2"; }
