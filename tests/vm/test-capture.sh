# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The messages on the wire are valid for another implementation, tshark.
#
# - The version 1 legs of both chains are captured on the bridge. tshark dissects them without additions.
# - The version 2 leg is captured on the loopback of the namespace. tshark dissects it with deploy/wireshark.
# - The gateway asks for CRC, so siw computes it, too. tshark checks the CRCs of both.

lua=$TOP/deploy/wireshark/rpcrdma2.lua
scratch=$RUN
# shellcheck source=tests/wireshark/shark.sh
. "$TOP/tests/wireshark/shark.sh"

test_capture() {
    chains_up
    local chain version
    for chain in direct chained; do
        for version in 3 4.1; do capture_one "$chain" "$version"; done
    done
    capture_types
}

# capture NAME INTERFACE FILE FILTER: starts tcpdump. captured NAME CHECK: ends it, and checks that it has lost no packet.
capture() {
    : >"$RUN/$1.log"
    start "$1" tcpdump -Z root -i "$2" -B 65536 -s 0 -U -w "$3" "$4"
    wait_for 10 grep -q 'listening on' "$RUN/$1.log"
}
captured() {
    sleep 1 # tcpdump writes the last packets
    stop "$1" INT
    check "$2: nothing missed" grep -q '^0 packets dropped by kernel' "$RUN/$1.log"
}

capture_one() {
    local name="capture: $1 NFSv$2" v1="$RUN/capture-$1-$2.pcap" v2="$RUN/capture-v2-$2.pcap"
    guest client unmount_all
    capture tcpdump br0 "$v1" 'portrange 20049-20050'
    [ "$1" = direct ] || capture tcpdump-v2 lo "$v2" 'port 20051'
    check "$name: the work to be captured" capture_work "$1" "$2"
    captured tcpdump "$name"
    if [ "$1" = chained ]; then
        captured tcpdump-v2 "$name, version 2"
        capture_read_v2 "$name, version 2" "$v2" "$2"
    fi
    capture_read "$name" "$v1"
}

# The client makes one WRITE at a time. If two Read Responses share a packet, tshark 4.0 loses the rest of the packet, and reports the
# next WRITE as malformed. There is a READLINK, which needs a Reply chunk. With NFSv4.1 a delegation is recalled, so that calls go in
# both directions.
capture_work() {
    fresh_mount "$1" "$2" && guest client "mount -o remount,sync /mnt && small_work /mnt/captured && $long_link" 120 ||
        return
    [ "$2" = 3 ] || capture_recall "recalled-$1" || return
    guest client unmount_all
}
# shellcheck disable=SC2016 # the guest expands it
long_link='ln -s "$(printf %04092d 1)" /mnt/long && drop_caches && readlink /mnt/long >/dev/null && rm /mnt/long'
capture_recall() {
    guest filer "echo old >/srv/export/$1" && guest_until filer 20 callback_up &&
        guest_until filer 30 grace_is_over || return
    guest client "hold_open /mnt/$1"
    guest_until filer 10 has_delegation &&
        guest filer "timeout 5 bash -c 'echo new >/srv/export/$1'" 30 && guest client release
}

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
    rm -f "$file.damaged" "$text" # large, and can be made again from the capture
}

# tshark makes two passes. In one pass tshark 4.0 reports a READ reply as malformed if its data came in a Write chunk, even between
# two kernels.
dissect() { tshark -2 -V -r "$1" 2>/dev/null; }
count_crc() { grep -c "CRC check: .*($1 CRC32" "$2"; }

# Every MPA reply has the C flag. There is at least one for each leg.
crc_agreed() {
    local flags
    flags=$(tshark -r "$1" -Y iwarp_mpa.rep -T fields -e iwarp_mpa.crc_flag 2>/dev/null)
    [ "$(wc -l <<<"$flags")" -ge 2 ] && ! grep -qv 1 <<<"$flags"
}

# small_work writes this text; one letter of it differs in the damaged copy.
damage() { LC_ALL=C sed 's/a text to be damaged/a text to be Damaged/' "$1" >"$1.damaged"; }

# --- version 2 ---------------------------------------------------------------

# The procedures of small_work and of the recall, a line for each message. There is more than one line of every kind,
# because there are calls and replies.
nfs_3='GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK REMOVE RMDIR RENAME READDIRPLUS'
nfs_41='EXCHANGE_ID CREATE_SESSION SEQUENCE OPEN CLOSE READ WRITE LOOKUP GETATTR SETATTR CREATE READLINK
    REMOVE RENAME READDIR DELEGRETURN CB_SEQUENCE CB_RECALL'

capture_read_v2() {
    local name=$1 file=$2 text=$RUN/all procedures=$nfs_3
    [ "$3" = 3 ] || procedures=$nfs_41
    : >"$RUN/stderr"
    check "$name: no Lua error" test "$(lua_errors "$file")" -eq 0
    types "$file" >"$RUN/types"
    check "$name: every Send is a message with a name" same "$(sends "$file")" "$(named "$text" | wc -l)"
    check "$name: no fault found" test "$(faults)" -eq 0 -a "$(unnamed "$text")" -eq 0
    check "$name: an RPC call in every Call, none of which is in a chunk" same \
        "$(of_type 10 "$RUN/types")" "$(rpcs Call "$text")"
    check "$name: an RPC reply in every Reply, inline or in the Reply chunk" same \
        "$(($(of_type 13 "$RUN/types") + $(of_type 11 "$RUN/types")))" "$(rpcs Reply "$text")"
    check "$name: some are in the Reply chunk" test "$(of_type 11 "$RUN/types")" -ge 1
    check "$name: NFS in all of them" same "$(rpcs '.*' "$text")" "$(grep -c '^Network File System\|^NFSACL' "$text")"
    check "$name: calls and replies of $(wc -w <<<"$procedures") kinds" both_ways "$text" "$procedures"
    say "$name: $(named "$text" | sort | uniq -c | tr -s ' \n' ' ')"
}

# sends FILE: prints the number of Sends, counted by tshark without the dissector: last segments with RDMAP's opcodes 3 to 6.
sends() {
    tshark -r "$1" -o iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:FALSE -T fields \
        -e iwarp_rdma.opcode -e iwarp_ddp.last_flag 2>/dev/null |
        awk '{ n = split($1, opcode, ","); split($2, last, ",")
            for (i = 1; i <= n; i++) sends += opcode[i] ~ /[3-6]$/ && last[i] == 1 } END { print sends + 0 }'
}
named() { sed -n 's/^ *Header type: \(RDMA2_[A-Z_]*\) ([0-9]*)$/\1/p' "$1"; }
unnamed() { grep -cE 'Malformed|^ *(Header type|Error|Property|Identifier): [Uu]nknown' "$1"; }
rpcs() { grep -c "^Remote Procedure Call, Type:$1" "$2"; }
both_ways() {
    local procedure
    for procedure in $2; do
        [ "$(grep -cE "(V3 Procedure|Opcode): $procedure \(" "$1")" -ge 2 ] || { echo "     $procedure"; return 1; }
    done
}

# A mount without errors does not use some header types. rpcrdma-probe makes the mount's gateway send them. For long messages
# rpcrdma-perf is the server, because the probe uses only NULL with an NFS server.
capture_types() {
    local name="capture: every header type" file=$RUN/capture-types.pcap type
    start perf "$BIN/rpcrdma-perf" server --listen "iwarp:$HOST:20052"
    wait_for 10 listening 20052
    capture tcpdump-v2 lo "$file" 'portrange 20051-20052'
    check "$name: rpcrdma-probe and the far gateway" probe_v2 20051 --case v2.
    check "$name: rpcrdma-probe and rpcrdma-perf" probe_v2 20052 --program perf --case v2.data
    captured tcpdump-v2 "$name"
    stop perf
    : >"$RUN/stderr"
    check "$name: no Lua error" test "$(lua_errors "$file")" -eq 0
    named "$RUN/all" | sort -u >"$RUN/types"
    for type in ERROR GRANT CONNPROP_MIDDLE CONNPROP_FINAL CALL_EXTERNAL CALL_MIDDLE CALL_INLINE \
        REPLY_EXTERNAL REPLY_MIDDLE REPLY_INLINE; do
        check "$name: RDMA2_$type" grep -qx "RDMA2_$type" "$RUN/types"
    done
}
probe_v2() { inside timeout 100 "$BIN/rpcrdma-probe" "iwarp:$HOST:$1" --conformance "${@:2}" >"$RUN/probe-v2-$1.log"; }
