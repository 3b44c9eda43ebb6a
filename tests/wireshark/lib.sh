# SPDX-License-Identifier: BSD-2-Clause
# What both tests of the dissector need; sourced by them, after $lua, the dissector, is set.
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

# shark ARGS: tshark with the dissector and with nobody's own preferences.
shark() {
    HOME=$scratch XDG_CONFIG_HOME=$scratch tshark -n -X "lua_script:${use_lua:-$lua}" "$@" 2>>"$scratch/stderr"
}

# headers CAPTURE [ARGS]: what the dissector says of each message, without frame numbers.
headers() {
    shark -r "$@" -O rpcrdma2 | awk '/^[^ ]/ { on = /^RPC-over-RDMA version 2, RDMA2_/ }
        on && NF && !/in frame: / { sub(/ +$/, ""); print }'
}

# lua_errors CAPTURE: how many times the dissector failed.
lua_errors() {
    shark -r "$1" -V >"$scratch/all" || echo "tshark ended with $?" >>"$scratch/all"
    cat "$scratch/stderr" >>"$scratch/all"
    grep -icE 'lua error|error calling|tshark ended|lua_script' "$scratch/all"
}
