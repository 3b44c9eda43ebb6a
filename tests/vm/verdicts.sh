# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# verdicts.sh: the output of tests: a line for each check, and "N passed, N failed" at the end. Tests source this file.
passed=0 failed=0
IN='' # the beginning of the names of all further checks

pass() { passed=$((passed + 1)); echo "PASS $IN$*$(took)"; LAST=$SECONDS; }
fail() { failed=$((failed + 1)); echo "FAIL $IN$*$(took)"; LAST=$SECONDS; }
LAST=$SECONDS
took() { [ $((SECONDS - LAST)) -lt 3 ] || echo ", $((SECONDS - LAST)) s"; }

# check NAME COMMAND...: runs COMMAND, and prints one line: PASS if it succeeds, else FAIL.
check() {
    local name=$1
    shift
    if "$@"; then pass "$name"; else fail "$name"; return 1; fi
}
same() { [ -n "$1" ] && [ "$1" = "$2" ]; }

# verdict: prints the last line. Succeeds if at least one check passed and none failed.
verdict() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# shellcheck source=tests/vm/waits.sh
. "$(dirname "${BASH_SOURCE[0]}")/waits.sh"
pause() { sleep "$1"; }
