# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# waits.sh: scripts on the host and in guests source this file, and define pause SECONDS.

# wait_for SECONDS COMMAND...: runs COMMAND until it succeeds, for four times SECONDS at most, with pauses that grow from 0.1 to 0.5 s.
# So SECONDS is the time of a machine without other load. A test of a time limit needs a limit of its own.
wait_for() {
    local end=$((SECONDS + 4 * $1)) pause=1
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        pause "0.$pause"
        [ "$pause" -ge 5 ] || pause=$((pause + 1))
    done
}
