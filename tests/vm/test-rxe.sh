# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The kernel's client and filer over software RoCE (rxe). The gateways are in a guest of their own, with verbs on both legs. The test
# repeats checks of the tests for iWARP. It also checks Memory Windows and remote invalidation, which no other test has.
#
#   rxe-direct   v1 - v1       client -rxe-[verbs verbs]-rxe- filer
#   rxe-chained  v1 - v2 - v1  client -rxe-[verbs verbs]-rxe-[verbs verbs]-rxe- filer

test_rxe() {
    verbs_built || return
    guests_up rxe client filer gateway
    guest gateway 'windows_traced; rdma_resources' >"$RUN/rxe-before"
    rxe_chains_up
    rxe_wire
    mounts_prepare 64 5000
    mounts_one rxe-direct 3
    mounts_one rxe-chained 4.2
    mounts_prepare 8 500 # smaller, because the paths above had the large files
    mounts_one rxe-direct 4.2
    mounts_one rxe-chained 3
    local chain
    for chain in rxe-direct rxe-chained; do
        callback_one $chain
        fio_one $chain 3 2M
        fio_one $chain 4.2 2M
    done
    guest client unmount_all
    rxe_source
    gateways_end rxe-direct rxe-near rxe-far
    check "rxe: every window the device made was given back" guest gateway \
        '[ "$(window_count alloc)" -gt 0 ] && [ "$(window_count alloc)" = "$(window_count dealloc)" ]'
    check "rxe: nothing of the device is left in use" rxe_resources_are "$(cat "$RUN/rxe-before")"
}

# The gateways of the chain have two workers, so that several threads of a process use one device.
rxe_chains_up() {
    local at=${GUEST_ADDRESS[gateway]}
    GW_RECEIVES=${DIRECT_RECEIVES:-auto} GW_MEMORY=128M gateway rxe-direct "verbs:$at:20049" 1 "verbs:$FILER" 1
    GW_MEMORY=256M GW_WORKERS=2 gateway rxe-far "verbs:$at:20061" 2 "verbs:$FILER" 1
    GW_MEMORY=256M GW_WORKERS=2 gateway rxe-near "verbs:$at:20050" 1 "verbs:$at:20061" 2
    chain rxe-direct "$at" 20049 rxe-direct
    chain rxe-chained "$at" 20050 rxe-near
}

# The filer sees a client's mapped address (`source`). A mount fails if the device does not have this address.
rxe_source() {
    local at=${GUEST_ADDRESS[gateway]} seen=10.77.0.99 name="rxe: source"
    guest gateway "ip address add $seen/24 dev eth0"
    guest filer "ip neigh replace $seen lladdr $(mac "$at") dev eth0 nud permanent"
    GW_MEMORY=128M GW_UPSTREAM='source = ( { clients = "10.77.0.0/28"; addresses = "10.77.0.96/28"; } );' \
        gateway rxe-source "verbs:$at:20070" 1 "verbs:$FILER" 1
    chain rxe-source "$at" 20070 rxe-source
    check "$name: mount" fresh_mount rxe-source 3
    check "$name: the filer sees the client's address of the map" same "1 $seen" "$(guest filer connected_from)"
    guest client unmount_all
    guest gateway "ip address del $seen/24 dev eth0"
    check "$name: no mount by an address that the device does not have" guest client "refused_nfs 20070 $at"
    check "$name: ... which is told" grep -q 'no RDMA device with that source address leads there' "$RUN/rxe-source.log"
    gateways_end rxe-source
}

# One mount. Its traffic is captured, and the devices' counters are read before, during and after it.
rxe_wire() {
    local name="rxe: rxe-direct NFSv3" file=$RUN/rxe.pcap before
    before=$(guest gateway rdma_resources)
    : >"$RUN/tcpdump.log"
    start tcpdump tcpdump -Z root -i br0 -B 65536 -s 0 -U -w "$file" udp port 4791
    wait_for 10 grep -q 'listening on' "$RUN/tcpdump.log"
    check "$name: mount" fresh_mount rxe-direct 3
    guest gateway 'sample_regions'
    check "$name: the work to be captured" guest client \
        'small_work /mnt/captured && head -c 8M /dev/urandom >/run/data && cp /run/data /mnt/data &&
            drop_caches && cmp /run/data /mnt/data' 120
    rxe_windows_in_use "$name"
    report rxe-direct >"$RUN/rxe-report"
    guest client unmount_all
    sleep 1 # tcpdump writes the last packets
    stop tcpdump INT
    check "$name: nothing missed" grep -q '^0 packets dropped by kernel' "$RUN/tcpdump.log"
    check "$name: queue pairs and regions are as before" wait_for 10 rxe_resources_are "$before"
    rxe_invalidations "$name" "$file"
    rm -f "$file"
}
rxe_resources_are() { [ "$(guest gateway rdma_resources)" = "$1" ]; }

# iproute2 shows memory regions but no windows. On rxe each window in use has a region of its own (fabric/verbs), so the number of
# regions shows windows. Calls of the driver's functions are counted, too.
rxe_windows_in_use() {
    local name=$1 least most allocated bound
    for _ in {1..20}; do
        read -r least most < <(guest gateway 'sampled_regions')
        [ "${most:-0}" -le "${least:-0}" ] || break
        # A window is in use for microseconds, so the samples can miss all windows: repeat.
        guest gateway 'sample_regions'
        guest client 'drop_caches && cmp /run/data /mnt/data' 120
    done
    check "$name: regions rise under load ($least to $most)" test "${most:-0}" -gt "${least:-0}"
    allocated=$(guest gateway 'window_count alloc') bound=$(guest gateway 'window_count bind')
    check "$name: the device made $allocated windows and bound them $bound times" \
        test "${allocated:-0}" -gt 0 -a "${bound:-0}" -gt 0
}

# A handle's upper 24 bits are its object's number in the device, and windows are
# numbered from 0x80001 (RXE_MIN_MW_INDEX).
RXE_FIRST_WINDOW=$((0x80001))
RXE_INVALIDATES='infiniband.bth.opcode in {22, 23}' # SEND Last, SEND Only with Invalidate

rxe_invalidations() {
    local name=$1 file=$2 client=${GUEST_ADDRESS[client]} gateway=${GUEST_ADDRESS[gateway]}
    local filer=${GUEST_ADDRESS[filer]} counted
    rxe_offered "$file" "$client" "$gateway" >"$RUN/rxe-offered-client"
    rxe_offered "$file" "$gateway" "$filer" >"$RUN/rxe-offered-gateway"
    rxe_invalidated "$file" "$gateway" "$client" >"$RUN/rxe-invalidated-client"
    rxe_invalidated "$file" "$filer" "$gateway" >"$RUN/rxe-invalidated-gateway"
    local side
    for side in client gateway; do
        check "$name: Send with Invalidate, to the $side: $(wc -l <"$RUN/rxe-invalidated-$side")" \
            test -s "$RUN/rxe-invalidated-$side"
        check "$name: ... each of a handle that the $side had offered" \
            test -z "$(comm -23 <(sort -u "$RUN/rxe-invalidated-$side") "$RUN/rxe-offered-$side")"
    done
    counted=$(field remote_invalidates <"$RUN/rxe-report")
    check "$name: as many as the gateway counted" same "$counted" "$(wc -l <"$RUN/rxe-invalidated-gateway")"
    check "$name: every handle of the gateway's is a Memory Window's" all_windows <"$RUN/rxe-offered-gateway"
}
rxe_offered() { rxe_keys "$1" "$2" "$3" rpcordma.rdma_handle rpcordma | sort -u; }
# A Send that the device repeats, because its acknowledgement is late, counts once. tshark prints the field IETH twice.
rxe_invalidated() {
    tshark -2 -r "$1" -Y "ip.src == $2 && ip.dst == $3 && $RXE_INVALIDATES" -T fields -E separator=/t \
        -e infiniband.bth.destqp -e infiniband.bth.psn -e infiniband.ieth 2>/dev/null | sort -u |
        awk '{ sub(/,.*/, "", $3); sub(/^0x/, "", $3); if ($3 != "") print $3 }'
}

# rxe_keys FILE SOURCE DESTINATION FIELD FILTER: prints the values of FIELD, one a line.
rxe_keys() {
    tshark -2 -r "$1" -Y "ip.src == $2 && ip.dst == $3 && $5" -T fields -E separator=/t -e "$4" 2>/dev/null |
        awk -F, '{ for (i = 1; i <= NF; i++) { sub(/^0x/, "", $i); if ($i != "") print $i } }'
}
all_windows() {
    local handle n=0
    while read -r handle; do
        [ $((0x$handle >> 8)) -ge $RXE_FIRST_WINDOW ] || return
        n=$((n + 1))
    done
    [ $n -gt 0 ]
}
