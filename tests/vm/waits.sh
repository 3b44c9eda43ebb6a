# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Waiting, to be sourced: here and in guests. The script that sources this file defines pause SECONDS.

# wait_for SECONDS COMMAND...: until the command succeeds, bounded; asks less often as time goes by.
wait_for() {
    local end=$((SECONDS + $1)) pause=1
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        pause "0.$pause"
        [ "$pause" -ge 5 ] || pause=$((pause + 1))
    done
}
