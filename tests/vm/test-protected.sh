# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The commands of docs/protecting-a-hop.md, with other addresses, ports and directories: a kernel mount through two gateways in guests,
# with WireGuard and host authentication between them. A second mount without WireGuard shows which data are readable then, and the cost
# of WireGuard.
#
#   wrapped   client - v1 - gw1 20049 (gateway) == v2, WireGuard == gw2 20060 (second) - v1 - filer
#   open      client - v1 - gw1 20049           == v2            == gw2 20060       - v1 - filer

PAGE=$TOP/docs/protecting-a-hop.md

test_protected() {
    local name=protected gw1=${GUEST_ADDRESS[gateway]} gw2=${GUEST_ADDRESS[second]}
    guests_up siw client filer gateway second
    check "$name: the page has nine commands" same 9 "$(grep -c '^# [0-9]*\. ' "$PAGE")"
    protected_wireguard || return
    protected_configure
    protected_start open
    chain open "$gw1" 20049 open1
    check "$name: open: mount" fresh_mount open 4.1 || return
    check "$name: open: each octet can be read on the hop" protected_readable open
    protected_rounds open
    gateways_end open1 open2
    protected_start gw
    chain wrapped "$gw1" 20049 gw1
    check "$name: WireGuard: mount" fresh_mount wrapped 4.1 || return
    check "$name: WireGuard: nothing can be read on the hop, and nothing passes beside it" protected_readable wrapped
    check "$name: gw2 proved who it is" gateway_says gw1 hostauth 'leg=server .*name="gw2.example"'
    check "$name: gw1 did" gateway_says gw2 hostauth 'leg=client .*name="gw1.example"'
    check "$name: another host finds no gw2 outside the tunnel" eval \
        '! inside timeout 5 bash -c "exec 3<>/dev/tcp/$gw2/20060" 2>/dev/null'
    check "$name: 4 jobs, 4k to 1M, --verify=crc32c, zero errors" guest client 'verified_load --numjobs=4 --size=2M' 400
    protected_rounds wrapped
    say "$name: read of 32 MiB, ms: open ${OPEN_READ[*]}, WireGuard ${WRAPPED_READ[*]}; 64 writes of 128 KiB, ms each:" \
        "open ${OPEN_WRITE[*]}, WireGuard ${WRAPPED_WRITE[*]}"
    say "$name: WireGuard takes $(distance_ratio "${WRAPPED_READ[@]}" : "${OPEN_READ[@]}") of the time to read," \
        "$(distance_ratio "${WRAPPED_WRITE[@]}" : "${OPEN_WRITE[@]}") to write"
    guest client unmount_all
    gateways_end gw1 gw2
}

# protected_command PAGE N: prints command N of PAGE, with the lab's addresses.
protected_command() {
    sed -n '/^```sh$/,/^```$/p' "$1" | sed '/^```/d' |
        awk -v n="# $2." '/^# [0-9]+\./ { on = index($0, n) == 1 } on' |
        sed -e "s|192\.0\.2\.10|${GUEST_ADDRESS[filer]}|g; s|192\.0\.2\.1|$gw1|g; s|192\.0\.2\.2|$gw2|g"
}

# Commands 1 to 6, in the guests.
protected_wireguard() {
    local one two role
    for role in gateway second; do guest "$role" '[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd'; done # as udev does
    check "$name: 1" guest gateway "$(protected_command "$PAGE" 1)"
    check "$name: 2" guest second "$(protected_command "$PAGE" 2)"
    one=$(guest gateway 'cat /etc/wireguard/wg0.pub') two=$(guest second 'cat /etc/wireguard/wg0.pub')
    check "$name: keys that only root can read" guest second 'test "$(stat -c %a /etc/wireguard/wg0.key)" = 600'
    check "$name: 3" guest gateway "$(protected_command "$PAGE" 3 | sed "s|GW2-PUBLIC-KEY|$two|")"
    check "$name: 4" guest second "$(protected_command "$PAGE" 4 | sed "s|GW1-PUBLIC-KEY|$one|")"
    check "$name: 5, on gw2" guest second "{ $(protected_command "$PAGE" 5)
    } >/run/wg.log 2>&1 || { cat /run/wg.log; false; }"
    check "$name: 5, on gw1" guest gateway "{ $(protected_command "$PAGE" 5)
    } >/run/wg.log 2>&1 || { cat /run/wg.log; false; }"
    check "$name: 6" guest gateway "$(protected_command "$PAGE" 6) >/run/ping"
}

# Keys by hostauth-howto.md, and commands 7 and 8; open1 and open2 differ from gw1 and gw2 in the addresses of the hop. A guest
# may go on reading a file that it has read before, so each configuration has a name of its own.
protected_configure() {
    local keys=$RUN/protected n
    mkdir -p "$keys"
    for n in 1 2 3 4 5 6; do check "$name: host authentication, $n" protected_key "$keys" "$n"; done
    chmod 600 "$keys"/*.key
    for n in 1 2; do
        (eval "$(protected_command "$PAGE" $((6 + n)) | sed "s|/etc/rpcrdma-gw/rpcrdma-gw.conf|$RUN/gw$n.conf|; s|/etc/rpcrdma-gw|$keys|g
            s|/run/rpcrdma-gw/control|/run/gw$n.control|; s|\"10.9.0.2\"|&; port = 20060|")")
        sed "s|10\.9\.0\.2|$gw2|; s|10\.9\.0\.1|$gw1|" "$RUN/gw$n.conf" >"$RUN/open$n.conf"
        check "$name: $((6 + n)), and --check finds nothing" inside "$BIN/rpcrdma-gw" --check "$RUN/gw$n.conf"
    done
}
protected_start() { # NAME: NAME1 in guest gateway, NAME2 in guest second
    # shellcheck disable=SC2034 # for lab.sh
    PLACE[${1}1]=gateway PLACE[${1}2]=second
    gateway_start "${1}2"
    gateway_start "${1}1"
}
protected_key() { (cd "$1" && eval "$(protected_command "$TOP/docs/hostauth-howto.md" "$2")") >"$RUN/howto.log" 2>&1; } # FOLDER N

# protected_readable CHAIN: data that the client reads are readable on the hop (open), or pass only encrypted (wrapped).
protected_readable() {
    local file=$RUN/hop-$1.pcap beside
    guest filer "head -c 1M /dev/zero | tr '\\0' Z | sed 's/ZZZZZZZZZZZZZZZZ/in-the-clear-now/g' >/srv/export/marked"
    capture hop br0 "$file" "host $gw1 and host $gw2 and not icmp and not arp"
    guest client 'drop_caches; cat /mnt/marked | grep -c in-the-clear-now >/dev/null' || return
    captured hop "$name: $1"
    beside=$(tcpdump -nr "$file" 'not udp port 51820' 2>/dev/null | wc -l)
    if [ "$1" = open ]; then
        grep -aq in-the-clear-now "$file"
    else
        [ "$beside" -eq 0 ] && [ "$(tcpdump -nr "$file" 'udp port 51820' 2>/dev/null | wc -l)" -gt 10 ] &&
            ! grep -aq in-the-clear-now "$file"
    fi
}

OPEN_READ=() OPEN_WRITE=() WRAPPED_READ=() WRAPPED_WRITE=()
protected_rounds() {
    local -n read=${1^^}_READ write=${1^^}_WRITE
    guest filer 'export_with async; head -c 32M /dev/urandom >/srv/export/large'
    for _ in 1 2 3; do
        write+=("$(guest client 'distance_write 64' 200)")
        read+=("$(guest client 'timed_read /mnt/large' 200)")
    done
    guest filer 'export_with sync'
}
