#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# messages.sh LUA MAKE_PCAP HERE: every message of messages.h in four ways on the wire says what
# expected.txt says, version 1 stays with its own dissector, and damaged messages do no harm.
set -u
lua=$1 make_pcap=$2 here=$3
# shellcheck source=tests/wireshark/lib.sh
. "$here/lib.sh"
trap 'rm -rf "$scratch"' EXIT
command -v tshark >/dev/null || skip "no tshark"

same() { # WHAT EXPECTED GOT
    diff -u "$2" "$3" || fail "$1"
}

# Of what lua_errors left, for most of what tshark costs is its start: procedures of NFS; transaction
# identifiers of version 1.
nfs_calls() { sed -n 's/^ *\[\(V3 Procedure: .*\)\]/\1/p' "$scratch/all"; }
v1_xids() {
    awk '/^[^ ]/ { on = /^RPC over RDMA/ } on && $1 == "XID:" { xid = $NF }
        on && $0 ~ /^ *Version: 1$/ { printf "%s ", xid }' "$scratch/all"
}

# table CAPTURE "FIELD..." OPTION...: reads those of it, once.
table() {
    local options=() field
    read -ra columns <<<"$2"
    for field in "${columns[@]}"; do options+=(-e "$field"); done
    shark -r "$1" "${@:3}" -T fields "${options[@]}" >"$scratch/table"
}
# values FIELD: of the table, a blank after each.
values() {
    local i
    for i in "${!columns[@]}"; do
        [ "${columns[i]}" != "$1" ] || cut -f $((i + 1)) "$scratch/table" | tr ',' '\n' | grep . | tr '\n' ' '
    done
}
expect_field() { # FIELD VALUES
    local got
    got=$(values "$1")
    [ "$got" = "$2 " ] || fail "${of:-}$1: $got, expected $2"
}

# Once it found a message of its own, the built-in dissector of version 1 comes first, and takes every
# RDMA2_ERROR for its RDMA_ERROR: it does not look at the version.
no_v1=(--disable-heuristic rpcrdma_infiniband --disable-heuristic rpcrdma_iwarp)

for way in "roce 0 1" "roce 20 1" "iwarp 0 1" "iwarp 20 3" "iwarp 0 4"; do
    cap=$scratch/${way// /-}
    # shellcheck disable=SC2086
    "$make_pcap" $way >"$cap" || fail "make_pcap $way"
    [ "$(lua_errors "$cap")" = 0 ] || fail "$way: Lua errors"
    only_headers <"$scratch/all" >"$scratch/got"
    same "$way: headers" "$here/expected.txt" "$scratch/got"
    headers "$cap" -2 "${no_v1[@]}" >"$scratch/got2"
    same "$way: headers in a second pass" "$here/expected.txt" "$scratch/got2"
    v1=$(v1_xids)
    [[ $way = "roce 20 1" || $way = "iwarp 20 3" || $v1 = "0x00000a05 " ]] || fail "$way: version 1: '$v1'"
    echo "$way: $(grep -c '^RPC-over-RDMA' "$scratch/got") messages of $(grep -o 'RDMA2_[A-Z_]*,' "$scratch/got" |
        grep -v ERR_ | sort -u | wc -l) types, NFS: $(nfs_calls | awk '{ print $3 }' | tr '\n' ' ')"
done

# Replies are known by their calls, which takes the connection's set-up in the capture.
for way in iwarp-0-1 roce-0-1; do
    got=$(shark -r "$scratch/$way" -Y 'nfs && rpcrdma2' -T fields -e _ws.col.Info |
        sed 's/, FH: [^ ]*//; s/Call In [0-9]*/Call In N/')
    [ "$got" = "V3 GETATTR Call
V3 GETATTR Reply (Call In N) Error: NFS3ERR_STALE
V3 WRITE Call Offset: 256 Len: 13 FILE_SYNC
V3 READ Call Offset: 0 Len: 16
V3 READ Reply (Call In N) Len: 16
V3 GETATTR Call
V3 READLINK Call
V3 READLINK Reply (Call In N) Path: /a/bc
V3 WRITE Call Offset: 256 Len: 13 FILE_SYNC
V3 WRITE Call Offset: 256 Len: 13 FILE_SYNC
V3 WRITE Call Offset: 256 Len: 13 FILE_SYNC" ] || fail "$way: NFS inside: $got"
    got=$(shark -r "$scratch/$way" -Y 'rpcrdma2.type == 0x52540005 && nfs' -T fields -e nfs.data | tr '\n' ' ')
    [ "$got" = "68656c6c6f2c20776f726c6421 00000000000000000000000000 00000000000000000000000000 " ] ||
        fail "$way: data that came with their calls: $got"
    shark -r "$scratch/$way" -2 -V | grep -q '^Network File System, READLINK Reply' ||
        fail "$way: no NFS in the Reply chunk in a second pass"
done

# The early draft: the same, in a capture of its own.
for way in "early-roce 0 1" "early-iwarp 20 3" "early-iwarp 0 4"; do
    cap=$scratch/${way// /-}
    # shellcheck disable=SC2086
    "$make_pcap" $way >"$cap" || fail "make_pcap $way"
    headers "$cap" "${no_v1[@]}" >"$scratch/got"
    same "$way: headers" "$here/expected-early.txt" "$scratch/got"
    headers "$cap" -2 "${no_v1[@]}" >"$scratch/got2"
    same "$way: headers in a second pass" "$here/expected-early.txt" "$scratch/got2"
    [ "$(lua_errors "$cap")" = 0 ] || fail "$way: Lua errors"
    got=$(shark -r "$cap" "${no_v1[@]}" -Y 'nfs && rpcrdma2' -T fields -e _ws.col.Info | tr ';' '\n' |
        sed 's/, FH: [^ ]*//; s/Call In [0-9]*/Call In N/')
    [[ $way != *" 1" || $got = "V3 GETATTR Call
V3 GETATTR Reply (Call In N) Error: NFS3ERR_STALE
V3 WRITE Call Offset: 256 Len: 13 FILE_SYNC
V3 READ Call Offset: 0 Len: 16
V3 READ Reply (Call In N) Len: 16
V3 READLINK Call
V3 READLINK Reply (Call In N) Path: /a/bc
V3 WRITE Call Offset: 256 Len: 13 FILE_SYNC" ]] || fail "$way: NFS inside: $got"
done

# RoCE and InfiniBand do without.
shark -r "$scratch/roce-0-1" -Y 'frame.number > 3' -w "$scratch/roce-late"
headers "$scratch/roce-late" >"$scratch/got"
same "roce without the connection's set-up" "$here/expected.txt" "$scratch/got"

rtr=$((0x52540000))
table "$scratch/roce-0-1" "$(printf 'rpcrdma2.%s ' type err vers_low vers_high max_segments chunk_index length_needed \
    prop.id prop.value prop.reverse remaining position rtr.fault rtr.number rtr.takes)"
expect_field rpcrdma2.type "4 4 4 4 4 5 6 7 8 9 10 11 12 13 10 13 10 10 13 9 9 10 10 11 7 $(printf ' %s' \
    $((rtr + 5)) $((rtr + 5)) $((rtr + 5)) $((rtr + 5)) $((rtr + 7)) $((rtr + 6)) $((rtr + 7)) $((rtr + 8)) $((rtr + 8)) \
    $((rtr + 8)) $((rtr + 5)) $((rtr + 5)) | cut -c2-)"
expect_field rpcrdma2.err "1 2 8 9 100"
expect_field rpcrdma2.vers_low 1
expect_field rpcrdma2.vers_high 2
expect_field rpcrdma2.max_segments 16
expect_field rpcrdma2.chunk_index 2
expect_field rpcrdma2.length_needed 1048576
expect_field rpcrdma2.prop.id "6 1 2 3 4 5 $((rtr + 3)) $((rtr + 4)) $((rtr + 5)) $((rtr + 6)) $((rtr + 4))"
expect_field rpcrdma2.prop.value "8192 16384 1048576 32 4 0"
expect_field rpcrdma2.prop.reverse 3
expect_field rpcrdma2.remaining "16 12 24 20"
expect_field rpcrdma2.position "0 0 28 28 64 72 72 72 72 72 76 84 8280 0 8320 72"
expect_field rpcrdma2.rtr.fault "4 7 3"
expect_field rpcrdma2.rtr.number "0 0 1 2 0"
expect_field rpcrdma2.rtr.takes 0x00000005

# Host authentication: the parts of each value, and the TLS in them, read with the secrets of the vector.
vectors=$here/../hostauth/vectors
for vector in certificates shared-key in-pieces wrong-name; do
    sed -n 's/^secret //p' "$vectors/$vector.txt" >"$scratch/secrets"
    for way in "iwarp 0 1" "iwarp 100 3" "roce 0 1"; do
        # shellcheck disable=SC2086
        "$make_pcap" $way "$vectors/$vector.txt" >"$scratch/hostauth" || fail "make_pcap $way $vector"
        of="$vector on $way: "
        table "$scratch/hostauth" "$(printf 'rpcrdma2.hostauth.%s ' kind sequence profile binding reason) tls.handshake.type" \
            -o "tls.keylog_file:$scratch/secrets"
        case $vector in
        certificates)
            expect_field rpcrdma2.hostauth.kind "2 2 4 4"
            expect_field rpcrdma2.hostauth.sequence "0 0 1 1"
            expect_field rpcrdma2.hostauth.profile "1 1 1 1"
            [ "$(values rpcrdma2.hostauth.binding | wc -w)" = 2 ] || fail "$way: binding values"
            expect_field tls.handshake.type "1 2 8 13 11 15 20 11 15 20"
            ;;
        shared-key) expect_field tls.handshake.type "1 2 8 20 20" ;;
        in-pieces)
            expect_field tls.handshake.type "1 2 8 13 11 15 20 11 15 20"
            [ "$(values rpcrdma2.hostauth.kind | tr ' ' '\n' | grep -c '^[13]$')" = 36 ] || fail "$way: pieces"
            ;;
        wrong-name) expect_field rpcrdma2.hostauth.reason 4 ;;
        esac
        [ "$(lua_errors "$scratch/hostauth")" = 0 ] || fail "$vector on $way: Lua errors"
        [ "$(faults)" = 0 ] || fail "$vector on $way: well-formed messages were found fault with"
    done
done

# A dissector that fails must be seen to fail, or "no Lua error" below says nothing.
sed 's/^local function dissect(.*/&\n\terror("sabotage")/' "$lua" >"$scratch/sabotage.lua"
: >"$scratch/stderr"
use_lua=$scratch/sabotage.lua
n=$(lua_errors "$scratch/roce-0-1")
use_lua=$lua
[ "$n" -gt 0 ] || fail "a sabotaged dissector was not noticed"
: >"$scratch/stderr"

# Damaged messages, 10,000 of which still look like ours.
total=0
for way in "roce 0 1 7000 1" "iwarp 0 2 7000 2" "roce 20 1 1000 3" "iwarp 24 3 1000 4" \
    "early-roce 0 1 3000 5" "early-iwarp 24 3 1000 6" \
    "roce 0 1 $vectors/certificates.txt 1000 7" "iwarp 0 2 $vectors/in-pieces.txt 1000 8"; do
    cap=$scratch/damaged
    # shellcheck disable=SC2086
    "$make_pcap" $way >"$cap" || fail "make_pcap $way"
    n=$(lua_errors "$cap")
    [ "$n" = 0 ] || fail "$way: $n Lua errors: $(grep -im3 'lua error' "$scratch/all")"
    seen=$(grep -c '^RPC-over-RDMA version 2, RDMA2' "$scratch/all")
    total=$((total + seen))
    echo "damaged, $way: $seen dissected," \
        "$(grep -cE 'The header ends early|A count exceeds|Neither 0 nor 1' "$scratch/all") called malformed, $n Lua errors"
done
[ "$total" -ge 10000 ] || fail "only $total damaged messages were dissected"
[ "$failures" = 0 ]
