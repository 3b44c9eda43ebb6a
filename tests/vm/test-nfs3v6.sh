# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The checks of test-nfs3.sh over IPv6: proto=rdma6, side protocols over tcp6 and udp6. The gateway has the mapped addresses only by a
# local route, and does not announce them to neighbours, so the filer has a route to them.

test_nfs3v6() {
    # shellcheck disable=SC2034 # for test-nfs3.sh
    local HOST=fd00:77::1 FILER=fd00:77::2:20049 CLIENTS=fd00:77::/112 SEEN=fd00:78::/112 \
        SEEN_CLIENT=fd00:78::3 SEEN_OTHER=fd00:78::4 WAY_BACK='ip route replace fd00:78::/112 via fd00:77::1'
    guests_up siw client filer gateway
    IN='nfs3v6: '
    inside ip addr replace "$HOST/64" dev br0 nodad
    nfs3_up
    nfs3_story
    nfs3_down
    inside ip addr del "$HOST/64" dev br0
    guest filer 'ip route del fd00:78::/112'
    # shellcheck disable=SC2034 # for verdicts.sh
    IN=''
}
