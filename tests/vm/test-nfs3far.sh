# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The checks of test-nfs3.sh through two gateways with version 2 between them, each in a network namespace of its own. Each gateway maps
# addresses; the second maps those that the first gave. Each forwards the side protocols to the next hop.

FAR=10.77.0.5
test_nfs3far() {
    # shellcheck disable=SC2034 # for test-nfs3.sh
    local SEEN_CLIENT=10.77.0.115 SEEN_OTHER=10.77.0.116 FAR_NET
    guests_up siw client filer gateway
    IN='nfs3far: '
    far_network
    nfs3far_up
    nfs3_story
    nfs3far_down
    # shellcheck disable=SC2034 # for verdicts.sh
    IN=''
}

# Makes the far gateway's network namespace, on the same bridge.
far_network() {
    unshare --net sleep infinity &
    FAR_NET=$!
    wait_for 10 eval '[ "$(readlink "/proc/$FAR_NET/ns/net")" != "$(readlink /proc/self/ns/net)" ]' || die "no network"
    inside ip link add tap-far type veth peer name eth0 netns "$FAR_NET"
    inside ip link set tap-far master br0 up
    NET=$FAR_NET inside ip link set lo up
    NET=$FAR_NET inside ip link set eth0 address "$(mac "$FAR")" up
    NET=$FAR_NET inside ip addr add "$FAR/24" dev eth0
    NET=$FAR_NET inside ip route add local 10.77.0.112/28 dev lo
    NET=$FAR_NET inside sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}

nfs3far_up() {
    gateways_end direct near far
    inside ip route replace local "$SEEN" dev lo
    inside sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
    NET=$FAR_NET GW_UPSTREAM=$(side_up "$SEEN" 10.77.0.112/28) gateway far "iwarp:$FAR:20049" 2 "iwarp:$FILER" 1
    GW_UPSTREAM=$(side_up "$CLIENTS" "$SEEN") gateway direct "iwarp:$HOST:20049" 1 "iwarp:$FAR:20049" 2
    check "rules installed at both" eval 'side start "$RUN/direct.conf" && NET=$FAR_NET side start "$RUN/far.conf"'
    guest filer statd_up
}

nfs3far_down() {
    NET=$FAR_NET side stop
    nfs3_down
    gateways_end far
    inside ip link del tap-far
    kill "$FAR_NET"
}
