# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# rpcrdma-perf as a version 2 client, one gateway, rpcrdma-perf as a version 1 server, without a guest. The sizes are those at which the
# gateway changes the form of a message (proxy/plan). rpcrdma-perf verifies every octet, and counts a difference as an error.

# Tiny and odd; around the thresholds 1024 and 4096, where the headers' own size
# shifts the border; around a page, 64 KiB and 1 MiB; up to 4 MiB.
PERF_SIZES=(0 1 2 3 4 5 7 8 13 31 100 509 860 900 940
    {964..1028..4} 1023 1025 1500 2047 2048 2049 3001
    {3936..4104..8} 4095 4097 5000 8191 8192 8193 12289 65535 65536 65537
    262143 524289 1048575 1048576 1048577 2097153 4194303 4194304)

test_perf() {
    start perf-server "$BIN/rpcrdma-perf" server --listen iwarp:127.0.0.1:21049 --versions 1
    gateway perf iwarp:127.0.0.1:21050 2 iwarp:127.0.0.1:21049 1
    check "perf: v1 server listens" wait_for 10 listening 21049 || return
    local op
    perf_sizes null 0
    for op in echo read write; do perf_sizes "$op" "${PERF_SIZES[@]}"; done
    for op in read write; do perf_sizes "$op" --no-reply-chunk "${PERF_SIZES[@]}"; done
    # A reply whose length the client has not limited may have 1 MiB (decision 52).
    perf_sizes echo --no-reply-chunk "${PERF_SIZES[@]:0:${#PERF_SIZES[@]}-3}"
    check "perf: echo --no-reply-chunk of 2 MiB is an error" eval '! perf_one echo 2097153 --no-reply-chunk'
    check "perf: the gateway ends on SIGTERM" stop perf
    stop perf-server
}

# perf_sizes OP [--no-reply-chunk] SIZE...: prints one line for OP, with the sizes that failed.
perf_sizes() {
    local op=$1 option=() size bad=()
    shift
    case $1 in --*) option=("$1"); shift ;; esac
    for size in "$@"; do
        perf_one "$op" "$size" "${option[@]}" || bad+=("$size")
    done
    check "perf: $op${option[0]:+ ${option[0]}}, $# sizes${bad[*]:+; failed: ${bad[*]}}" test "${#bad[@]}" -eq 0
}

# Twenty calls, four at a time, so that calls and replies of one size also mix.
perf_one() {
    local op=$1 size=$2 out
    shift 2
    out=$(inside timeout 30 "$BIN/rpcrdma-perf" client --connect iwarp:127.0.0.1:21050 --version 2 \
        --op "$op" --size "$size" --depth 4 --count 20 --time 20 --json "$@" 2>>"$RUN/perf-client.log") || return 1
    [ "$(jq -r '"\(.rpcs) \(.errors)"' <<<"$out")" = "20 0" ]
}
