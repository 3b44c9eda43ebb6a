# SPDX-License-Identifier: BSD-2-Clause
# tshark with the dissector; sourced, after $lua (the dissector) and $scratch (a folder) are set.
# shellcheck shell=bash disable=SC2154

# shark ARGS: tshark with the dissector and with nobody's own preferences.
shark() {
    HOME=$scratch XDG_CONFIG_HOME=$scratch tshark -n -X "lua_script:${use_lua:-$lua}" "$@" 2>>"$scratch/stderr"
}

# types CAPTURE: how many messages there are of each header type, lines of "COUNT TYPE".
types() { shark -r "$1" -T fields -e rpcrdma2.type | tr ',' '\n' | grep . | sort -n | uniq -c; }
of_type() { awk -v t="$1" '$2 == t { n = $1 } END { print n + 0 }' "$2"; } # TYPE FILE_OF_TYPES

# lua_errors CAPTURE: how many times the dissector failed, here and since $scratch/stderr was emptied.
# All that it says of CAPTURE is in $scratch/all then.
lua_errors() {
    shark -r "$1" -V >"$scratch/all" || echo "tshark ended with $?" >>"$scratch/all"
    cat "$scratch/stderr" >>"$scratch/all"
    grep -icE 'lua error|error calling|tshark ended|lua_script' "$scratch/all"
}

# faults: what the dissector finds wrong with headers, in what lua_errors left.
faults() { grep -cFf <(sed -n 's/.* = problem("[a-z]*", "\([^"]*\)".*/\1/p' "$lua") "$scratch/all"; }
