# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# gateway.sh: starts and stops a gateway on loopback. run.sh and edges.sh source this file after they have set BIN, CASE and HERE.
# The gateway's configuration is $CONF, its log $LOG, its control socket $CTL.

# shellcheck source=tests/loopback.sh
. "$HERE/../loopback.sh"
CONF=$DIR/gw.conf
LOG=$DIR/gateway.err
# shellcheck disable=SC2034 # used by the scripts that source this file
CTL=$DIR/control

gateway() {
    start gateway "$BIN/rpcrdma-gw" -c "$CONF"
    PID=$pid
    wait_for 20 grep -q event=ready "$LOG" || fail "it does not start"
}

# Ends the gateway. It must have freed all memory.
stop() {
    kill "$PID"
    wait "$PID" || fail "exit code $?"
    grep -q 'event=end code=0 heap_live=0' "$LOG" || fail "something is left"
}
