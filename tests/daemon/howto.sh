#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# howto.sh BIN: does what docs/hostauth-howto.md says, word for word but for addresses and the directory, and
# looks whether that is so.
set -u
BIN=$1
CASE=howto
# shellcheck source=tests/loopback.sh
. "$(dirname "$0")/../loopback.sh"
HOWTO=$(cd "$(dirname "$0")/../.." && pwd)/docs/hostauth-howto.md
# Three hosts.
rest=${HOST#127.*.}
gw1=$HOST gw2=127.241.$rest filer=127.242.$rest

# command N: all up to the next number, as it is there
command_() {
    # shellcheck disable=SC2016 # backquotes of the document
    sed -n '/^```sh$/,/^```$/p' "$HOWTO" | sed '/^```/d' |
        awk -v n="# $1." '/^# [0-9]+\./ { on = index($0, n) == 1 } on' |
        sed -e "s|/etc/rpcrdma-gw|$DIR|g; s|192\.0\.2\.10|$filer|g; s|192\.0\.2\.1|$gw1|g; s|192\.0\.2\.2|$gw2|g"
}
[ "$(grep -c '^# [0-9]*\.' "$HOWTO")" -eq 10 ] || fail "ten commands were meant"

cd "$DIR" || exit 1
BIN=$(cd "$OLDPWD" && cd "$BIN" && pwd)
for n in 1 2 3 4 5 6 7 8; do
    command_ $n >"$DIR/command"
    bash -eu "$DIR/command" >"$DIR/out" 2>&1 || fail "command $n"
    [ $n -ne 6 ] || { says 'gw1.pem: OK' && says 'gw2.pem: OK'; }
done
chmod 600 ./*.key
HOST=$filer perf_server 20049
for n in 9 10; do
    gw=gw$((11 - n))
    command_ $n >"$DIR/command"
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$DIR/$gw.conf"
    PATH=$BIN:$PATH start "$gw" bash -c "exec $(grep -v '^#' "$DIR/command")"
    wait_for 20 grep -qs event=ready "$DIR/$gw.err" || fail "command $n: it is not ready"
done
timeout 60 "$BIN/rpcrdma-perf" client --connect "iwarp:$gw1:20049" --version 1 --op read --size 64k --count 50 --json \
    >"$DIR/out" 2>&1 || fail "no service"
says '"errors": 0'
grep -q 'event=hostauth .*leg=server .*name="gw2.example"' "$DIR"/gw?.err || fail "gw2 was not asked who it is"
grep -q 'event=hostauth .*leg=client .*name="gw1.example"' "$DIR"/gw?.err || fail "gw1 was not asked who it is"
# Somebody else is not let in.
timeout 60 "$BIN/rpcrdma-perf" client --connect "iwarp:$gw2:20049" --version 2 --op null --count 1 --timeout 5 \
    >"$DIR/out" 2>&1 && fail "anybody is let in"
echo "PASS $CASE"
