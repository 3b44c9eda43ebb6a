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
    local name="capture: $1 NFSv$2" file="$RUN/capture-$1-$2.pcap"
    guest client unmount_all
    : >"$RUN/tcpdump.log"
    start tcpdump tcpdump -Z root -i br0 -B 65536 -s 0 -U -w "$file" portrange 20049-20050
    wait_for 10 grep -q 'listening on' "$RUN/tcpdump.log"
    check "$name: the work to be captured" capture_work "$1" "$2"
    sleep 1 # what is in tcpdump's hands gets written
    stop tcpdump INT
    check "$name: nothing missed" grep -q '^0 packets dropped by kernel' "$RUN/tcpdump.log"
    capture_read "$name" "$file"
}
capture_work() { fresh_mount "$1" "$2" && guest client 'small_work /mnt/captured && unmount_all' 120; }

capture_read() {
    local name=$1 file=$2 text="${2%.pcap}.txt" protocol
    dissect "$file" >"$text"
    for protocol in 'Marker Protocol' 'Remote Direct Memory' 'RPC over RDMA' 'Network File System'; do
        check "$name: tshark reads $protocol" grep -q "^.*$protocol" "$text"
    done
    check "$name: no malformed frame" test "$(grep -c 'Malformed Packet' "$text")" -eq 0
    check "$name: CRC agreed on both legs" crc_agreed "$file"
    check "$name: every CRC good" test "$(count_crc Good "$text")" -gt 100 -a "$(count_crc Bad "$text")" -eq 0
    damage "$file"
    check "$name: a damaged octet would have been found" test "$(dissect "$file.damaged" | count_crc Bad -)" -gt 0
    rm -f "$file.damaged" "$text" # large, and made again from the capture at any time
}

# In two passes: in one, tshark 4.0 takes a READ reply for malformed when its data
# came in a Write chunk, even between a kernel and a kernel.
dissect() { tshark -2 -V -r "$1" 2>/dev/null; }
count_crc() { grep -c "CRC check: .*($1 CRC32" "$2"; }

# Every MPA reply, of which there is one a leg at least, has the C flag.
crc_agreed() {
    local flags
    flags=$(tshark -r "$1" -Y iwarp_mpa.rep -T fields -e iwarp_mpa.crc_flag 2>/dev/null)
    [ "$(wc -l <<<"$flags")" -ge 2 ] && ! grep -qv 1 <<<"$flags"
}

# small_work writes this text; one letter of it differs in the damaged copy.
damage() { LC_ALL=C sed 's/a text to be damaged/a text to be Damaged/' "$1" >"$1.damaged"; }
