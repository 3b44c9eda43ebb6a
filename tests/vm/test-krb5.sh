# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Kerberos: krb5, krb5i and krb5p with NFSv3 and 4.2, through one gateway, and through two with version 2 between them.
#
# - The KDC is in the filer's guest. The filer's key has the gateway's name, because the client mounts that name.
# - Contexts are made over TCP port 2049 (draft-07 11.2.2.1). side_ports forward this port.
# - Messages are captured. With krb5i and krb5p no message may be reduced (draft-07 11.2.2.3).
#
# KRB5_FILER and KRB5_KERNEL are the kernels of filer and client (6.12). KRB5_UNSTEADY has the flavors with which loads have errors
# even without a gateway; they get no load. A filer with Linux 6.1.192 answers every krb5p call with GARBAGE_ARGS, over TCP and over
# RDMA: docs/interop.md.

test_krb5() {
    local role kernel
    : "${KRB5_FILER:=6.12}" "${KRB5_KERNEL:=6.12}"
    for kernel in "$KRB5_FILER" "$KRB5_KERNEL"; do [ -n "${MADE[$kernel]:-}" ] || kernels_made "$kernel"; done
    # shellcheck disable=SC2034 # for guests.sh
    DEVICE=siw
    matrix_guest filer "$KRB5_FILER"
    matrix_guest client "$KRB5_KERNEL"
    IN='krb5: '
    GW_CONTROL=yes
    krb5_realm_up
    krb5_needs_tcp
    nfs3_up
    krb5_all direct
    krb5_user
    far_network
    nfs3far_up
    krb5_all far
    krb5_down
    # shellcheck disable=SC2034 # for verdicts.sh
    IN=''
    for role in client filer; do matrix_guest "$role" "$(grep -m 1 '^[0-9]' "$VM/kernel/list")"; done
}

krb5_realm_up() {
    local keys
    check "a realm, and the filer in it by the gateway's name" guest filer 'kdc_up >/run/kdc.log || { cat /run/kdc.log; false; }'
    keys=$(guest filer 'base64 -w 0 /run/client.keytab')
    check "the client in it" guest client "echo $keys | base64 -d | tee /run/games.keytab >/etc/krb5.keytab; chown games /run/games.keytab; gssd_up"
    guest client 'head -c 1M /dev/urandom >/run/data'
    guest filer 'head -c 1M /dev/urandom >/srv/export/theirs; chmod 1777 /srv/export'
}

# If TCP port 2049 is not forwarded to the filer, the client gets no context and cannot mount.
krb5_needs_tcp() {
    gateways_end direct
    gateway_direct
    check "without TCP port 2049 no mount" guest client '! mount_krb5 4.2 krb5' 60
}

# krb5_all CHAIN
krb5_all() {
    local version flavor reduced=0
    for version in 3 4.2; do
        for flavor in krb5 krb5i krb5p; do krb5_one "$1" "$version" "$flavor"; done
    done
    # Linux does not reduce items on every mount with krb5. If it reduced none at all, the checks of krb5i and krb5p would prove nothing.
    check "$1: with krb5 alone $reduced items reduced" test "$reduced" -gt 0
}

# krb5_one CHAIN VERSION FLAVOR
krb5_one() {
    local name="$1 NFSv$2 $3" gateways=direct gateway sent
    [ "$1" = direct ] || gateways='direct far'
    for gateway in $gateways; do krb5_capture "$gateway" "$name"; done
    guest filer 'rm -rf /srv/export/data /srv/export/fio'
    check "$name: mount" guest client "unmount_all; mount_krb5 $2 $3" 120 || return
    check "$name: it is that" guest client "grep -q ' /mnt nfs.*proto=rdma,.*,sec=$3,' /proc/mounts"
    sent=$(guest client 'cp /run/data /mnt/data && digest /run/data')
    check "$name: written, as the filer has it" same "$sent" "$(guest filer 'digest /srv/export/data')"
    check "$name: read back" same "$sent" "$(guest client 'drop_caches; digest /mnt/data')"
    check "$name: the filer's file read" same "$(guest filer 'digest /srv/export/theirs')" "$(guest client 'digest /mnt/theirs')"
    [[ " ${KRB5_UNSTEADY:-} " == *" $3 "* ]] ||
        check "$name: fio verifies, zero errors" guest client 'verified_load --numjobs=2 --size=1M' 120
    check "$name: unmount" guest client unmount_all
    for gateway in $gateways; do krb5_captured "$gateway" "$name" "$3"; done
}

krb5_whole() { grep -q ' messages of ' "$1" && ! grep -q 'too fast' "$1"; }
krb5_file() { echo "$RUN/${2// /-}-$1.pcapng"; }
krb5_capture() {
    local before
    before=$(grep -c 'event=control do=capture' "$RUN/$1.log")
    start "capture-$1" "$BIN/rpcrdma-gwctl" -s "$RUN/$1.control" capture "$(krb5_file "$1" "$2")" --time 300s
    wait_for 10 eval "[ \$(grep -c 'event=control do=capture' '$RUN/$1.log') -gt $before ]"
}
# krb5_captured GATEWAY NAME FLAVOR: ends the capture of both legs, and checks whether messages were reduced.
krb5_captured() {
    local name="$2, $1" file items whole
    file=$(krb5_file "$1" "$2")
    stop "capture-$1" INT
    check "$name: nothing missed in the capture" krb5_whole "$RUN/capture-$1.log"
    read -r items whole < <(krb5_chunks "$file" "$1 $2")
    if [ "$3" = krb5 ]; then
        reduced=$((reduced + items))
    else
        check "$name: no item reduced, $whole messages in chunks as they are" test "$items" -eq 0 -a "$whole" -gt 0
    fi
    : >"$RUN/capture-$1.log"
}

# krb5_chunks FILE: prints two numbers, for both versions together: data items in chunks (Read chunks at a position other than 0, and
# Write chunks), and whole messages in chunks.
krb5_chunks() {
    {
        tshark -r "$1" -Y 'rpcordma.version == 1' -T fields -e rpcordma.position -e rpcordma.writes_count \
            -e rpcordma.reply_count 2>/dev/null |
            awk -F'\t' '{ n = split($1, position, ","); for (i = 1; i <= n; i++) if (position[i] > 0) items++; else whole++
                items += $2; whole += $3 } END { print items + 0, whole + 0 }'
        shark -r "$1" --disable-heuristic rpcrdma_infiniband -O rpcrdma2 |
            sed -n 's/^ *\(Read\|Write\|Call\|Reply\) \(list\|chunk\): \([0-9]*\) .*/\1 \3/p' |
            awk '/Read|Write/ { items += $2 } /Call|Reply/ { whole += $2 > 0 } END { print items + 0, whole + 0 }'
    } | awk '{ items += $1; whole += $2 } END { print items, whole }'
}

# A user with a ticket can write, and without a ticket cannot.
krb5_user() {
    check "a user's mount" guest client 'unmount_all; mount_krb5 4.2 krb5p' 120
    check "a user without a ticket is refused" guest client 'as_games touch /mnt/hers 2>/run/why; cat /run/why; test -s /run/why && test ! -e /mnt/hers'
    check "a user with one writes" guest client \
        'as_games kinit -k -t /run/games.keytab games && as_games sh -c "echo mine >/mnt/hers"'
    check "... as herself" same games "$(guest filer 'stat -c %U /srv/export/hers')"
    check "the ticket is for the gateway's name" guest client 'klist -c FILE:/run/tickets/krb5cc_5 | grep "nfs/$krb5_gateway@"'
    guest client unmount_all
}

krb5_down() {
    # shellcheck disable=SC2034 # for lab.sh
    GW_CONTROL=''
    guest client 'unmount_all; gssd_down'
    guest filer kdc_down
    nfs3far_down
}
