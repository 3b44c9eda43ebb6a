# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# A kernel mount over two gateways 5 ms apart (bench/delay). The gateways notice the distance by themselves. Over version 2 they send
# the data of WRITEs with the calls. A mount over version 1 is measured for comparison.
#
#   over2    client - v1 - near 20080 == v2 == line 20082, 5 ms == far 20083 - v1 - filer
#   over1    client - v1 - near 20081 == v1 == the same line
#   overrtr  client - v1 - near 20086 == v2 == line 20084, 5 ms == far 20085 - v1 - filer, with the round-trip extension

test_distance() {
    local name=distance one=() two=() rtr=() before with octets placed
    guests_up siw client filer
    distance_up
    distance_load over2 4.1
    before=$(distance_count near joined)
    distance_load over2 3
    with=$(distance_count near joined)
    check "$name: data travelled with calls" test "$with" -gt "$before"
    octets=$(distance_count near joined_bytes)
    check "$name: $((octets >> 20)) MiB in $with calls, and far put together what came in pieces" \
        test "$(distance_count far assembled_bytes)" -gt 0
    placed=$(distance_count near placed)
    distance_load overrtr 4.1
    distance_load overrtr 3
    check "$name: data of $(($(distance_count near placed) - placed)) calls came in their Sends" \
        test "$(distance_count near placed)" -gt "$placed"
    check "$name: and those of $(distance_count near asked) replies were asked for" test "$(distance_count near asked)" -gt 0
    placed=$(distance_count near placed)
    check "$name: the filer answers from memory: the line is timed, not its disk" guest filer 'export_with async'
    for _ in 1 2 3; do
        one+=("$(distance_writes over1)") two+=("$(distance_writes over2)") rtr+=("$(distance_writes overrtr)")
    done
    say "$name: 128 KiB written at a time, ms each: version 1: ${one[*]}, version 2: ${two[*]}," \
        "$(distance_ratio "${one[@]}" : "${two[@]}") times as fast, with placement: ${rtr[*]}," \
        "$(distance_ratio "${one[@]}" : "${rtr[@]}") times"
    check "$name: of these, too" test "$(distance_count near joined)" -ge $((with + 3 * 64))
    check "$name: and with placement" test "$(distance_count near placed)" -ge $((placed + 3 * 64))
    guest client unmount_all
    guest filer 'export_with sync'
    gateways_end near far
    stop line
    stop rtrline
}

# Starts the gateways of all three chains. They replace the gateways near and far of other tests.
distance_up() {
    local line='inline = "64K"; credits = 128;' room='receive_structure = "1M"; credits = 32;'
    gateways_end near far
    distance_config far <<EOF
{ name = "far";
  listen = { address = "$HOST"; port = 20083; $line };
  upstream = { address = "${FILER%:*}"; port = ${FILER#*:}; version = "1"; }; },
{ name = "rtr";
  listen = { address = "$HOST"; port = 20085; versions = [2]; $room };
  upstream = { address = "${FILER%:*}"; port = ${FILER#*:}; version = "1"; }; }
EOF
    distance_config near <<EOF
{ name = "two";
  listen = { address = "$HOST"; port = 20080; versions = [1]; };
  upstream = { address = "$HOST"; port = 20082; version = "2"; $line }; },
{ name = "one";
  listen = { address = "$HOST"; port = 20081; versions = [1]; };
  upstream = { address = "$HOST"; port = 20082; version = "1"; }; },
{ name = "rtr";
  listen = { address = "$HOST"; port = 20086; versions = [1]; };
  upstream = { address = "$HOST"; port = 20084; version = "2"; $room }; }
EOF
    start line "$TOP/bench/delay" --listen "$HOST:20082" --to "$HOST:20083" --ms 5
    start rtrline "$TOP/bench/delay" --listen "$HOST:20084" --to "$HOST:20085" --ms 5
    wait_for 30 listening 20082 || die "no line, see $RUN/line.log"
    wait_for 30 listening 20084 || die "no line, see $RUN/rtrline.log"
    gateway_start far
    gateway_start near
    chain over2 "$HOST" 20080 near
    chain over1 "$HOST" 20081 near
    chain overrtr "$HOST" 20086 near
}
distance_config() { # NAME: the routes are on standard input
    cat >"$RUN/$1.conf" <<EOF
workers = 1;
memory_limit = "1G";
peer_timeout = $PEER_TIMEOUT;
routes = (
$(cat)
);
EOF
}

# distance_count GATEWAY COUNTER: prints the sum of COUNTER of all routes and workers.
distance_count() { report "$1" | grep 'event=worker.counters ' | field "$2" | awk '{ n += $1 } END { print n + 0 }'; }

# distance_load CHAIN VERSION
distance_load() {
    check "$name: $1 NFSv$2: mount" fresh_mount "$1" "$2" || return
    check "$name: $1 NFSv$2: 4 jobs, 4k to 1M, --verify=crc32c, zero errors" \
        guest client "verified_load --numjobs=4 --size=2M" 400
}

# distance_writes CHAIN: makes 64 writes of 128 KiB, one after the other. Prints the milliseconds of one.
distance_writes() {
    fresh_mount "$1" 3 >&2 || return
    guest client 'distance_write 64' 200
}
distance_ratio() {
    echo "$@" | awk '{ for (i = 1; $i != ":"; i++) a += $i; for (i++; i <= NF; i++) b += $i
        printf "%.2f", (b > 0 ? a / b : 0) }'
}
