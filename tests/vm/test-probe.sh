# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# rpcrdma-probe and the kernel: the probe surveys the filer, tests it (never with --hostile, which may crash nfsd), and acts as a server
# for the kernel's client. Then it does the same over a device.
#
# Linux 6.1's filer deviates from RFC 8166: it answers RDMA_MSGP and a message of 12 octets with ERR_CHUNK, and it answers a message
# that ends within the RPC header. If this last answer takes long, the probe takes it for silence.
PROBE_KNOWN='v1.msgp v1.short.header'

PROBE_PORT=20060
PROBED_PORT=20061
PROBE_CONNECTIONS=8

test_probe() {
    chains_up
    probe_filer
    probe_client
    probe_verbs
    check "probe: the filer is well" guest filer 'grep -q 20049 /proc/fs/nfsd/portlist && ! dmesg | grep -q "BUG:"'
}

probe_filer() {
    local out=$RUN/probe-filer.json
    inside timeout 200 "$BIN/rpcrdma-probe" "iwarp:$FILER" --program nfs,3 --program nfs4 --conformance --json \
        >"$out" 2>"$RUN/probe-filer.log"
    check "probe: filer: all but $PROBE_KNOWN" same "$PROBE_KNOWN" \
        "$(jq -r '[.cases[] | select(.result == "FAIL" and .id != "v1.short.rpc") | .id] | join(" ")' "$out")"
    jq -r '.cases[] | select(.result == "FAIL") | "     \(.id): \(.detail)"' "$out"
    probe_says "$out" "version 1 only, ERR_VERS echoed with range 1-1, and goes on" '
        .version_1.answer == "spoken" and .version_2.answer == "refused" and .version_2.version_field == 2
        and .version_2.low == 1 and .version_2.high == 1 and .version_2.goes_on'
    probe_says "$out" "an unknown version is refused the same way" '
        .version_unknown.answer == "refused" and .version_unknown.low == 1 and .version_unknown.high == 1
        and .version_unknown.version_field == .version_unknown.version'
    probe_says "$out" "private data: 4096 both ways" '
        .private_data.present and .private_data.send_size == 4096 and .private_data.receive_size == 4096'
    probe_says "$out" "credits are granted" '.version_1.first_credit > 0 and .version_1.steady_credit >= 32'
    probe_says "$out" "NFS versions 3 and 4 answer NULL" 'all(.version_1.programs[]; .available)'
    say "probe: filer: $(jq -c '{passed, failed, skipped, first: .version_1.first_credit,
        steady: .version_1.steady_credit, invalidates: .version_1.invalidates,
        median_us: .version_1.latency_us.median}' "$out")"
}

# The mount fails, because the probe serves only NULL. The test checks how the client begins.
probe_client() {
    local out=$RUN/prober.log
    guest client 'unmount_all' 30
    start prober "$BIN/rpcrdma-probe" --listen "iwarp:$HOST:$PROBE_PORT" --conformance \
        --connections $PROBE_CONNECTIONS --time 100 --json
    check "probe: the listener listens" wait_for 10 listening $PROBE_PORT || return
    guest client "! mount_nfs 3 $PROBE_PORT
        ! timeout 20 mount -t nfs -o vers=4.1,proto=rdma,port=$PROBE_PORT $HOST:/ /mnt" 120
    stop prober INT
    check "probe: client: no grade was lost" test $? -eq 0
    sed -n '/^{/p' "$out" >"$RUN/probe-client.json"
    jq -r '.cases[] | select(.result == "FAIL") | "     \(.id): \(.detail)"' "$RUN/probe-client.json"
    probe_says "$RUN/probe-client.json" "private data: 4096 both ways, R set" '
        .private_data.present and .private_data.send_size == 4096 and .private_data.receive_size == 4096
        and .private_data.remote_invalidation'
    probe_says "$RUN/probe-client.json" "128 credits asked for, version 1, a NULL first" '
        .credits == 128 and .first_message.version == 1 and .first_message.type == 0
        and .first_message.octets == 68 and .calls > 0'
    say "probe: client: $(jq -c '{connections, messages, calls, credits, largest: .largest_message}' "$RUN/probe-client.json")"
}

# Runs the probe with verbs on the filer's siw, against fabric/iwarp in the namespace.
probe_verbs() {
    local out=$RUN/probe-verbs.json
    [ -x "$BIN/test_contract_verbs" ] || { say "probe: no verbs in this build, skipped"; return; }
    start probed "$BIN/rpcrdma-perf" server --listen "iwarp:$HOST:$PROBED_PORT" --memory 64
    wait_for 10 listening $PROBED_PORT
    guest filer "ulimit -l unlimited; timeout 150 $BIN/rpcrdma-probe verbs:$HOST:$PROBED_PORT --program perf \
        --conformance --hostile --json" 160 >"$out"
    stop probed # with status 1: it was sent what is wrong
    probe_says "$out" "both versions, nothing fails, data of every length" '.fabric == "verbs" and .failed == 0
        and .passed > 110 and .version_1.answer == "spoken" and .version_2.answer == "spoken"'
}

# probe_says FILE NAME FILTER: checks that the jq filter FILTER is true for the JSON in FILE.
probe_says() {
    check "probe: $(basename "${1%.json}" | sed 's/probe-//'): $2" jq_true "$3" "$1"
}
jq_true() { jq -e "$1" "$2" >/dev/null; }
