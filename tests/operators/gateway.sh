# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# gateway.sh: a gateway on loopback, for run.sh and edges.sh, which set BIN, CASE and HERE and read this file.
# The gateway has the configuration $CONF, logs to $LOG, and its control socket is $CTL.

# shellcheck source=tests/loopback.sh
. "$HERE/../loopback.sh"
CONF=$DIR/gw.conf
LOG=$DIR/gateway.err
# shellcheck disable=SC2034 # for the files that read this one
CTL=$DIR/control

gateway() {
    start gateway "$BIN/rpcrdma-gw" -c "$CONF"
    PID=$pid
    wait_for 20 grep -q event=ready "$LOG" || fail "it does not start"
}

# Ends the gateway, which must give back all memory.
stop() {
    kill "$PID"
    wait "$PID" || fail "exit code $?"
    grep -q 'event=end code=0 heap_live=0' "$LOG" || fail "something is left"
}
