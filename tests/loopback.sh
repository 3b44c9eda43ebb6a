# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# For tests of whole programs, sourced after $CASE, their name, is set: processes in the background
# on an address of loopback of this run's own, so that cases run side by side; all end with it.

HOST=127.$((RANDOM % 200 + 20)).$(($$ / 250 % 250 + 1)).$(($$ % 250 + 1))
DIR=$(mktemp -d) || exit 1
pids=()

cleanup() {
    [ "${#pids[@]}" -eq 0 ] || kill -CONT "${pids[@]}" 2>/dev/null
    [ "${#pids[@]}" -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null
    rm -rf "$DIR"
}
trap cleanup EXIT

# fail WORDS: the end, with the ends of all that was said
fail() {
    local f
    echo "FAIL $CASE: $*"
    for f in "$DIR"/*; do
        [ -f "$f" ] && [ -s "$f" ] && grep -av 'event=leg \|event=session.[bo]' "$f" | tail -n 130 | sed "s|^|    ${f##*/}: |"
    done
    exit 1
}

# wait_for SECONDS COMMAND...: until the command succeeds. SECONDS are those of a quiet machine; a busy one has four
# times as long. What must not take longer has a limit of its own.
wait_for() {
    local end=$((SECONDS + 4 * $1))
    shift
    until "$@"; do
        [ "$SECONDS" -le "$end" ] || return 1
        sleep 0.05
    done
}

# start NAME COMMAND...: in the background; its process id in $pid, what it says in $DIR/NAME
# and $DIR/NAME.err. Both are appended to: a test may empty them.
start() {
    local name=$1
    shift
    rm -f "$DIR/$name" "$DIR/$name.err" # what an earlier one said must not be waited for
    "$@" >>"$DIR/$name" 2>>"$DIR/$name.err" &
    pid=$!
    pids+=("$pid")
}

# expect_exit CODE COMMAND...: COMMAND ends with CODE within $TIMEOUT seconds, 60 unless set. Its output is in $DIR/out and
# $DIR/out.err.
expect_exit() {
    local want=$1 got
    shift
    timeout "${TIMEOUT:-60}" "$@" >"$DIR/out" 2>"$DIR/out.err"
    got=$?
    [ "$got" -eq "$want" ] || fail "exit status $got instead of $want: $*"
}

# says REGEXP: among what expect_exit got to hear
says() { grep -aqs -e "$1" "$DIR/out" "$DIR/out.err" || fail "the output lacks: $1"; }

# perf_server PORT OPTION...
perf_server() {
    start "server$1" "$BIN/rpcrdma-perf" server --listen "iwarp:$HOST:$1" "${@:2}"
    wait_for 20 grep -qs listening "$DIR/server$1" || fail "the server does not listen"
}
