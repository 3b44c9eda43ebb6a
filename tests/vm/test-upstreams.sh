# shellcheck shell=bash disable=SC2034 # what lab.sh looks at
# SPDX-License-Identifier: BSD-2-Clause
# By hand: a filer with two addresses is two servers of a route. Under a mount with verified load the address in use is removed from the
# filer, several times. The client must go on through the other address, and no write may take longer than a minute.
#
# - Fabric iwarp: the route has the two addresses.
# - Fabric verbs: the route has a name, and the gateway is in a guest, in its sandbox. With VM_KERNEL="6.1 gateway=debian" the sandbox
#   includes Landlock, which the lab's own kernels do not have.
#
#     client --- gateway 10.77.0.1 (iwarp), 10.77.0.4 (verbs) --- 10.77.0.12 and .22, of the filer
#
# UPSTREAMS=COUNT fail-overs for each fabric ("2").

UPSTREAMS_ADDRESSES=(10.77.0.12 10.77.0.22)

test_upstreams() {
    verbs_built || return
    guests_up siw client filer gateway
    check "upstreams: two more addresses of the filer" upstreams_addresses || return
    upstreams_story ups-addresses iwarp "$HOST" "addresses = [\"${UPSTREAMS_ADDRESSES[0]}\", \"${UPSTREAMS_ADDRESSES[1]}\"];"
    guest gateway "printf '%s filer.lab\n' ${UPSTREAMS_ADDRESSES[*]} >>/etc/hosts"
    PLACE["ups-name"]=gateway
    upstreams_story ups-name verbs "${GUEST_ADDRESS[gateway]}" 'address = "filer.lab";'
}

upstreams_addresses() {
    local address
    for address in "${UPSTREAMS_ADDRESSES[@]}"; do upstreams_give "$address" || return; done
}
upstreams_give() { guest filer "ip addr add $1/24 dev eth0"; }
upstreams_take() { guest filer "ip addr del $1/24 dev eth0"; }

# upstreams_story GATEWAY FABRIC ADDRESS SERVERS
upstreams_story() {
    local gw=$1 i went=0 rc rounds longest
    cat >"$RUN/$gw.conf" <<EOC
workers = 1;
memory_limit = "512M";
insecure_handles = "allow";
peer_timeout = 6;
routes = ( { name = "filer";
  listen = { fabric = "$2"; address = "$3"; port = 20090; versions = [1]; };
  upstream = { fabric = "$2"; $4 port = ${FILER#*:}; version = "1"; probe_interval = 2; connect_timeout = 3; };
} );
EOC
    gateway_start "$gw"
    say "upstreams: $gw: $(sed -n 's/.*event=sandbox //p' "$RUN/$gw.log")"
    check "upstreams: $gw is confined" grep -q 'event=sandbox .*seccomp=yes' "$RUN/$gw.log"
    chain "$gw" "$3" 20090 "$gw"
    check "upstreams: $gw: mount NFSv4.1, under load" eval 'fresh_mount "$gw" 4.1 &&
        guest client "keep_loading; sample_waits"' || return
    check "upstreams: $gw: the load runs" rounds_go_on 300
    for ((i = 0; i < ${UPSTREAMS:-2}; i++)); do
        if upstreams_fail_over "$gw"; then went=$((went + 1)); else say "upstreams: fail-over $i went wrong"; fi
    done
    check "upstreams: $gw: $went of ${UPSTREAMS:-2} fail-overs" test "$went" -eq "${UPSTREAMS:-2}"
    guest client finish_loading 600
    rc=$?
    longest=$(guest client longest_wait 300) rounds=$(guest client load_rounds)
    check "upstreams: $gw: $rounds rounds of fio verified, zero errors; the longest that a write of 4 KiB took: $longest ms" \
        test "$rc" -eq 0 -a "${longest:-0}" -gt 0 -a "${longest:-0}" -le 60000
    check "upstreams: $gw: unmount" guest client unmount_all
    check "upstreams: $gw ends on SIGTERM" stop "$gw"
}

# upstreams_now GATEWAY: prints the server of the newest session. upstreams_is_elsewhere GATEWAY SERVER: whether it is not SERVER.
upstreams_now() { sed -n 's/.*event=session.open .* server=\([^ :]*\).*/\1/p' "$RUN/$1.log" | tail -n 1; }
upstreams_is_elsewhere() {
    local now
    now=$(upstreams_now "$1")
    [ -n "$now" ] && [ "$now" != "$2" ]
}
upstreams_is_up() { grep -q "event=upstream.up .*server=$2" <<<"$(tail -n "+$3" "$RUN/$1.log")"; }

upstreams_fail_over() {
    local was from
    was=$(upstreams_now "$1") from=$(wc -l <"$RUN/$1.log")
    upstreams_take "$was" && wait_for 90 upstreams_is_elsewhere "$1" "$was" && rounds_go_on 300 &&
        upstreams_give "$was" && wait_for 30 upstreams_is_up "$1" "$was" "$from"
}
