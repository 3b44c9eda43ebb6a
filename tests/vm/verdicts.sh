# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What a test says, to be sourced: a line a check, "N passed, N failed" at the end.
passed=0 failed=0
IN='' # what all names begin with, for a while

pass() { passed=$((passed + 1)); echo "PASS $IN$*$(took)"; LAST=$SECONDS; }
fail() { failed=$((failed + 1)); echo "FAIL $IN$*$(took)"; LAST=$SECONDS; }
LAST=$SECONDS
took() { [ $((SECONDS - LAST)) -lt 3 ] || echo ", $((SECONDS - LAST)) s"; }

# check NAME COMMAND...: one line, one verdict.
check() {
    local name=$1
    shift
    if "$@"; then pass "$name"; else fail "$name"; return 1; fi
}
same() { [ -n "$1" ] && [ "$1" = "$2" ]; }

# verdict: the last line; true if something passed and nothing failed.
verdict() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# shellcheck source=tests/vm/waits.sh
. "$(dirname "${BASH_SOURCE[0]}")/waits.sh"
pause() { sleep "$1"; }
