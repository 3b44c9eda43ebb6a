# SPDX-License-Identifier: BSD-2-Clause
# What both tests of the dissector need; sourced by them, after $lua, the dissector, and $here are set.
# shellcheck shell=bash

scratch=$(mktemp -d)
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

skip() {
    echo "skipped: $*"
    exit 77
}

# shellcheck source=tests/wireshark/shark.sh disable=SC2154 # here: see above
. "$here/shark.sh"

# headers CAPTURE [ARGS]: what the dissector says of each message, without frame numbers;
# only_headers: of what tshark said before.
headers() { shark -r "$@" -O rpcrdma2 | only_headers; }
only_headers() {
    awk '/^[^ ]/ { on = /^RPC-over-RDMA version 2, RDMA2_/ }
        on && NF && !/in frame: / { sub(/ +$/, ""); print }'
}
