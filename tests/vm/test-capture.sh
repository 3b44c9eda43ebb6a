# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What a stranger reads on the wire: the version 1 legs of both chains, captured on
# the bridge, dissected by tshark. (The version 2 leg runs inside the namespace and
# never crosses the bridge, and no tshark knows it.) The gateway asks for CRC and
# siw then computes it, so the CRC of both sides is checked by a third.

test_capture() {
    chains_up
    local chain version
    for chain in direct chained; do
        for version in 3 4.1; do capture_one "$chain" "$version"; done
    done
}

capture_one() {
    local name="$1 NFSv$2" file="$RUN/capture-$1-$2.pcap"
    guest client unmount_all
    start tcpdump tcpdump -i br0 -B 65536 -s 0 -U -w "$file" portrange 20049-20050
    wait_for 10 grep -q 'listening on' "$RUN/tcpdump.log"
    fresh_mount "$1" "$2" && guest client 'small_work /mnt/captured && unmount_all' 60
    check "$name: the work that is captured" test $? -eq 0
    sleep 1 # what is in tcpdump's hands gets written
    stop tcpdump INT
    check "$name: nothing missed by the capture" no_packet_dropped
    : >"$RUN/tcpdump.log"
    capture_read "$name" "$file"
}
no_packet_dropped() { grep -q '^0 packets dropped by kernel' "$RUN/tcpdump.log"; }

# One pass of tshark; a line a frame: protocols, malformed?, the info of each CRC.
capture_read() {
    local name=$1 file=$2 text="${2%.pcap}.txt" protocol
    tshark -r "$file" -T fields -e frame.number -e frame.protocols -e _ws.malformed \
        -e iwarp_mpa.crc_flag -e iwarp_mpa.bad_length >"$text" 2>/dev/null
    for protocol in iwarp_mpa iwarp_ddp_rdmap rpcordma rpc nfs; do
        check "$name: tshark sees $protocol" grep -q "$protocol" "$text"
    done
    check "$name: no malformed frame" test "$(awk -F'\t' '$3 != "" || $5 != ""' "$text" | wc -l)" -eq 0
    check "$name: CRC agreed on both legs" test "$(crc_agreed "$text")" -ge 4
    check "$name: no bad CRC" test "$(bad_crc "$file")" -eq 0
}
