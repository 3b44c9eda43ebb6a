#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# test_cli.sh BIN CASE: the executables over loopback, on an address of this run's own. The
# probe against rpcrdma-perf and against the gateway's listeners; the probe as a server, for
# rpcrdma-perf and for the gateway.
set -u
BIN=$1
CASE=$2
MAN=$(dirname "$0")/../../docs/rpcrdma-probe.1
TIMEOUT=150
# shellcheck source=tests/loopback.sh
. "$(dirname "$0")/../loopback.sh"

# gateway LISTEN_VERSIONS UPSTREAM_VERSION [LISTEN_KEYS [UPSTREAM_KEYS]]: from port 20049 to port 20050
gateway() {
    cat >"$DIR/gw.conf" <<END
workers = 1;
memory_limit = "64M";
routes = ( { name = "one";
  listen   = { address = "$HOST"; port = 20049; versions = [$1]; ${3:-} };
  upstream = { address = "$HOST"; port = 20050; version = "$2"; ${4:-} };
} );
END
    start gateway "$BIN/rpcrdma-gw" -c "$DIR/gw.conf"
    wait_for 20 grep -qs event=ready "$DIR/gateway.err" || fail "the gateway does not start"
}

probe() { expect_exit "$1" "$BIN/rpcrdma-probe" "${@:2}"; } # STATUS OPTION...

# skipped_are ID...: no other case was skipped
skipped_are() {
    local others
    # No peer has to prove its name here: tests/daemon/hostauth.sh tries these cases.
    # The early draft of version 2 is spoken where $early says so, the round-trip extension where $rtr does.
    others=$(sed -n 's/^SKIP \([^ ]*\) .*/\1/p' "$DIR/out" |
        grep -v "^auth\.${early-\|^early\.}${rtr-\|^rtr\.\|^early\.rtr\.}" |
        grep -vxF "$(printf '%s\n' "$@")")
    [ -z "$others" ] || fail "skipped without a reason: $others"
    tail -n 1 "$DIR/out" | grep -q ' 0 failed' || fail "no totals"
}

# conformance OPTION... -- SKIPPED...
conformance() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    probe 0 "iwarp:$HOST:20049" --conformance --hostile --program perf "${options[@]}"
    skipped_are "$@"
    grep -E 'passed, ' "$DIR/out"
}

not_2=(vers.not-2 vers.not-2.goes-on)
# The gateway's Maximum Segment Count cannot be exceeded in 4096 octets.
gateway_skips=("${not_2[@]}" v2.segments v2.segments.two)

# skips_of VERSION: the cases of a version that is not spoken
skips_of() {
    "$BIN/rpcrdma-probe" --list | sed -n "s/^\(v$1\.[^ ]*\|vers\.$1-[^ ]*\) .*/\1/p"
}

case_direct() {
    perf_server 20049 --memory 64
    conformance -- "${not_2[@]}"
    [ "$(grep -c '^PASS' "$DIR/out")" -ge 110 ] || fail "too few cases"
    probe 0 "iwarp:$HOST:20049" --program perf
    grep -q 'version 1 *spoken' "$DIR/out" || fail "version 1 not seen"
    grep -q 'version 2 *spoken' "$DIR/out" || fail "version 2 not seen"
    grep -q 'range 1 to 2, version field 24301 (echoed)' "$DIR/out" || fail "ERR_VERS not seen"
    probe 0 "iwarp:$HOST:20049" --program perf --program perf,1 --json --conformance --case v1.
    jq -e '.version_1.answer == "spoken" and .version_2.answer == "spoken"
        and .version_unknown.low == 1 and .version_unknown.high == 2
        and .version_unknown.version_field == 24301 and .version_unknown.goes_on
        and .private_data.send_size == 4096 and .private_data.remote_invalidation
        and .properties.receive_buffer_size == 4096 and .version_1.first_credit == 128
        and .version_2.latency_us.median > 0 and (.version_1.programs | length) == 2
        and all(.version_2.programs[]; .available) and .failed == 0
        and .passed == ([.cases[] | select(.result == "PASS")] | length)
        and all(.cases[]; has("id") and has("section") and has("level") and has("detail"))' \
        "$DIR/out" >/dev/null || fail "the JSON is not what is expected"
    jq -e ".fabric == \"iwarp\" and .version_2.inline_to_server == 4096 and .version_1.inline_from_server == 4096" \
        "$DIR/out" >/dev/null || fail "JSON: fabric and inline thresholds"
    documented
    probe 0 "iwarp:$HOST:20049" --program perf --json --conformance --case v2.
    jq -e '.failed == 0 and .readings.credits == "received" and .readings.excess == "tolerant"
        and .readings.malformed_part == "BAD_XDR" and (.readings | length) >= 16
        and ([.cases[] | select(.reading)] | length) == (.readings | length)
        and all(.cases[]; .level != "open" or .result == "SKIP" or has("reading"))' \
        "$DIR/out" >/dev/null || fail "the JSON of readings is not what is expected"
    documented
}

# documented: section JSON of rpcrdma-probe(1) has every key of the output
documented() {
    local key
    for key in $(jq -r '[paths | .[] | strings] | unique[]' "$DIR/out"); do
        sed -n '/^\.SH JSON/,/^\.SH HOW/p' "$MAN" | grep -qw "$key" || fail "not in the manual: $key"
    done
}

case_only_1() {
    perf_server 20049 --memory 64 --versions 1
    mapfile -t skips < <(skips_of 2)
    conformance -- "${skips[@]}"
    grep -q '^PASS vers.not-2 ' "$DIR/out" || fail "the refusal of version 2 was not tested"
}

case_only_2() {
    perf_server 20049 --memory 64 --versions 2 --inline 8192
    mapfile -t skips < <(skips_of 1)
    conformance -- "${skips[@]}" vers.goes-on vers.not-2 vers.not-2.goes-on pdata.r-clear pdata.r-set
}

# The early draft of version 2, beside the others and alone.
case_early() {
    local early=
    perf_server 20049 --memory 64 --versions 1,2,2-early
    conformance -- "${not_2[@]}"
    [ "$(grep -c '^PASS early\.' "$DIR/out")" -ge 40 ] || fail "too few cases"
    probe 0 "iwarp:$HOST:20049" --program perf
    says '^version 2-early *spoken'
    says '^version 2-early:'
    probe 0 "iwarp:$HOST:20049" --program perf --json --conformance --case early.
    jq -e '.failed == 0 and .version_2_early.answer == "spoken" and .version_2_early.version == "2-early"
        and .version_2_early.inline_to_server == 4096 and .version_2_early.latency_us.median > 0
        and all(.cases[]; .result == "PASS" or (.id | startswith("early.bad") or startswith("early.rtr.")))' "$DIR/out" >/dev/null || fail "JSON"
    documented
    kill -TERM "$pid"
    wait "$pid" # with 1: the probe has told it of errors
    perf_server 20049 --memory 64 --versions 2-early
    mapfile -t skips < <(skips_of 1 && skips_of 2)
    conformance -- "${skips[@]}" vers.goes-on "${not_2[@]}" pdata.r-clear pdata.r-set
}

# The gateway, whose server speaks version 1, or the early draft, too; and as a client of it.
case_gateway_early() {
    local early=
    perf_server 20050 --memory 64 --versions 1,2-early
    gateway '1, 2, "2-early"' 1
    conformance -- "${gateway_skips[@]}"
    kill -TERM "$pid"
    wait "$pid" || fail "the gateway ended with $?"
    gateway '"2-early"' 2-early
    mapfile -t skips < <(skips_of 1 && skips_of 2)
    conformance -- "${skips[@]}" vers.goes-on "${not_2[@]}" pdata.r-clear pdata.r-set
}

# The round-trip extension, over both drafts.
case_gateway_rtr() {
    local early='' rtr=''
    perf_server 20050 --memory 64
    gateway '1, 2, "2-early"' 1 'receive_structure = "16K";'
    conformance -- "${gateway_skips[@]}" rtr.unannounced
    [ "$(grep -c '^PASS rtr\.' "$DIR/out")" -ge 31 ] || fail "too few cases of draft -07"
    [ "$(grep -c '^PASS early\.rtr\.' "$DIR/out")" -ge 31 ] || fail "too few cases of the early draft"
}

case_early_client() {
    listener
    client 20050 --version 2-early || fail "version 2-early"
    graded 0
    grep -q '^first message *version 2-early' "$DIR/listener" || fail "no first message"
    grep -q '^PASS client.early.credits ' "$DIR/listener" || fail "its credits were not looked at"
    listener --conformance --json --versions 2-early
    client 20050 --version 2-early || fail "version 2-early, provoked"
    graded 0
    jq -e '.failed == 0 and .calls == 300 and .credits >= 16 and .first_message.version == "2-early"
        and any(.cases[]; .id == "client.early.option" and .result == "PASS")' "$DIR/listener" >/dev/null ||
        fail "JSON of a client"
    cp "$DIR/listener" "$DIR/out" && documented
    listener --conformance
    gateway 1,2 2-early
    client 20049 --version 1 || fail "upstream 2-early"
    graded 0
    grep -q '^PASS client.early.option ' "$DIR/listener" || fail "the gateway was not tested"
}

case_ipv6() {
    start server "$BIN/rpcrdma-perf" server --listen 'iwarp:[::1]:0' --memory 64 --no-crc
    wait_for 20 grep -qs listening "$DIR/server" || fail "the server does not listen"
    probe 0 "iwarp:$(sed -n 's/^listening on //p' "$DIR/server")" --program perf --no-crc --conformance --case v1.r
}

case_gateway_1() {
    perf_server 20050 --memory 64
    gateway 1,2 1
    conformance -- "${gateway_skips[@]}"
}

case_gateway_2() {
    perf_server 20050 --memory 64
    gateway 1,2 2
    conformance -- "${gateway_skips[@]}"
    reads credits received excess tolerant dropping ends grant_between tolerant late_version VERS_MISMATCH
}

# reads NAME VALUE...: how the server reads what the document leaves open
reads() {
    while [ $# -gt 0 ]; do
        grep -q "^readings .*$1: $2" "$DIR/out" || fail "not $1: $2: $(grep '^readings' "$DIR/out")"
        shift 2
    done
}

# A peer that takes the letter of 4.2.1 is told apart.
case_literal() {
    perf_server 20050 --memory 64
    gateway 1,2 2 'literal_credits = true;'
    probe 0 "iwarp:$HOST:20049" --conformance --program perf --case v2.credit.count
    reads credits literal
}

case_gateway_only_1() {
    perf_server 20050 --memory 64
    gateway 1 auto
    mapfile -t skips < <(skips_of 2)
    conformance -- "${skips[@]}"
}

case_gateway_only_2() {
    perf_server 20050 --memory 64 --versions 1
    gateway 2 auto
    mapfile -t skips < <(skips_of 1)
    conformance -- "${skips[@]}" vers.goes-on "${gateway_skips[@]}" pdata.r-clear pdata.r-set
}

# graded STATUS: what the listener makes of its client
graded() {
    wait "$listener"
    local got=$?
    [ "$got" -eq "$1" ] || fail "the listener ends with $got instead of $1"
}

listener() {
    start listener "$BIN/rpcrdma-probe" --listen "iwarp:$HOST:20050" --time 60 "$@"
    listener=$pid
    wait_for 20 grep -qs listening "$DIR/listener" "$DIR/listener.err" || fail "it does not listen"
}

client() { # PORT OPTION...
    timeout 60 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:$1" --op null --count 300 --depth 16 \
        "${@:2}" >"$DIR/client" 2>&1
}

case_client() {
    local version
    for version in 1 2; do
        listener
        client 20050 --version "$version" || fail "version $version"
        graded 0
        grep -q "^first message *version $version" "$DIR/listener" || fail "no first message"
        grep -q '^[0-9]* passed, 0 failed, [0-9]* skipped$' "$DIR/listener" || fail "no totals of a client"
        listener --conformance --json --connections 2
        client 20050 --version "$version" || fail "version $version, provoked"
        client 20050 --version "$version" || fail "version $version, once more"
        graded 0
        jq -e ".failed == 0 and .calls == 600 and .connections == 2 and .credits >= 16
            and .first_message.version == $version and .private_data.receive_size == 4096" \
            "$DIR/listener" >/dev/null || fail "JSON of a client"
        cp "$DIR/listener" "$DIR/out" && documented
    done
    grep -q '"client.2.type.unknown".*"result": "PASS"' "$DIR/listener" || fail "INVAL_HTYPE was not tested"
    # A client of version 2 alone, refused: it goes, and sends nothing else.
    listener --versions 1
    client 20050 --version 2 && fail "there was no version in common"
    graded 0
}

# The gateway as a client, and its fall-back.
case_gateway_client() {
    local version
    for version in 1 2 auto; do
        listener --conformance
        gateway 1,2 "$version"
        client 20049 --version 1 || fail "upstream $version"
        graded 0
        kill -TERM "$pid"
        wait "$pid"
    done
    listener --versions 1
    gateway 1,2 auto
    client 20049 --version 2 || fail "fall-back"
    graded 0
    grep -q '^PASS client.version.range ' "$DIR/listener" || fail "no fall-back was seen"
}

# The listener has room for data in the Sends of calls, and says so; to a far server a gateway sends them there. It has no
# procedure but NULL, so the client hears of errors. Over the early draft no reply of this program would be known to be short.
case_gateway_client_rtr() {
    local grade
    listener --versions 2
    gateway 1,2 2 '' 'hop = "far"; receive_structure = "8K";'
    client 20049 --version 1 --op write --size 20000 --depth 1
    graded 0
    for grade in group items padding; do
        grep -q "^PASS client.rtr.$grade " "$DIR/listener" || fail "$grade was not looked at"
    done
}

case_ends() {
    local line
    for line in '' 'bogus' "iwarp:$HOST:20049 --hostile" "iwarp:$HOST:x" '--listen'; do
        # shellcheck disable=SC2086
        probe 2 $line
        grep -q '^rpcrdma-probe: ' "$DIR/out.err" || fail "no message for \"$line\""
    done
    probe 0 --help
    grep -q 'Try it:' "$DIR/out" || fail "--help"
    probe 0 --version
    probe 0 --list
    [ "$(wc -l <"$DIR/out")" -ge 100 ] || fail "a short list"
    probe 3 "iwarp:$HOST:20049"
    grep -q 'nobody listens\|refused' "$DIR/out.err" || fail "no word about the refusal"
    probe 3 --listen "iwarp:$HOST:20050" --time 0.3
    # No device has an address of loopback, if there is a device at all.
    probe 3 "verbs:$HOST:20049" --timeout 1
    grep -q '^rpcrdma-probe: .*\(verbs\|connect\)' "$DIR/out.err" || fail "no word about the device"
    perf_server 20049 --memory 64
    probe 1 "iwarp:$HOST:20049" --program nfs,3
    grep -q 'program unavailable' "$DIR/out" || fail "no word about the program"
    probe 3 --listen "iwarp:$HOST:20049"
    # A server that has stopped: nothing waits for ever.
    kill -STOP "$pid"
    probe 3 "iwarp:$HOST:20049" --timeout 0.5
    kill -CONT "$pid"
    # A listener is told to end: it grades what it has seen.
    listener
    client 20050 --version 1 --time 60 --count 1000000 &
    sleep 1
    kill -INT "$listener"
    graded 0
    grep -q '^PASS client.1.credits ' "$DIR/listener" || fail "no grades after SIGINT"
}

"case_$CASE"
echo "OK $CASE"
