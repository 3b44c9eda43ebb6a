# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# loopback.sh: functions for tests of whole programs. A test sets $CASE to its name, and sources this file. Its processes run in the
# background, at a random loopback address, so that tests can run at the same time. All processes end with the test.

HOST=127.$((RANDOM % 200 + 20)).$(($$ / 250 % 250 + 1)).$(($$ % 250 + 1))
DIR=$(mktemp -d) || exit 1
pids=()

cleanup() {
    [ "${#pids[@]}" -eq 0 ] || kill -CONT "${pids[@]}" 2>/dev/null
    [ "${#pids[@]}" -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null
    rm -rf "$DIR"
}
trap cleanup EXIT

# fail WORDS: ends the test as failed, and prints the last lines of all files of output
fail() {
    local f
    echo "FAIL $CASE: $*"
    for f in "$DIR"/*; do
        [ -f "$f" ] && [ -s "$f" ] && grep -av 'event=leg \|event=session.[bo]' "$f" | tail -n 130 | sed "s|^|    ${f##*/}: |"
    done
    exit 1
}

# wait_for SECONDS COMMAND...: runs COMMAND until it succeeds, for four times SECONDS at most. So SECONDS is the time of a machine without
# other load. A test of a time limit needs a limit of its own.
wait_for() {
    local end=$((SECONDS + 4 * $1))
    shift
    until "$@"; do
        [ "$SECONDS" -le "$end" ] || return 1
        sleep 0.05
    done
}

# start NAME COMMAND...: starts COMMAND in the background, and sets $pid. Its output is appended to $DIR/NAME and $DIR/NAME.err, which a
# test may empty.
start() {
    local name=$1
    shift
    rm -f "$DIR/$name" "$DIR/$name.err" # the output of an earlier process would satisfy a wait
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

# says REGEXP: a line of the last command's output matches REGEXP
says() { grep -aqs -e "$1" "$DIR/out" "$DIR/out.err" || fail "the output lacks: $1"; }

# Whether the gateway is built with a sanitizer, whose own memory is not the gateway's
is_sanitized() { grep -qa '__[at]san_init' "$BIN/rpcrdma-gw"; }

# perf_server PORT OPTION...: starts rpcrdma-perf as a server, and waits until it listens
perf_server() {
    start "server$1" "$BIN/rpcrdma-perf" server --listen "iwarp:$HOST:$1" "${@:2}"
    wait_for 20 grep -qs listening "$DIR/server$1" || fail "the server does not listen"
}
