#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rpcbind.sh BIN CASE: listeners in rpcbind, with a real one in a network and a /run of its own. 77: that
# takes root, and rpcbind.
set -u
BIN=$1
CASE=$2
export TIMEOUT=60
PATH=$PATH:/usr/sbin:/sbin
if [ -z "${NETWORK:-}" ]; then
    command -v rpcbind rpcinfo >/dev/null && [ "$(id -u)" -eq 0 ] && unshare -nm true 2>/dev/null || exit 77
    NETWORK=own exec unshare -nm "$0" "$BIN" "$CASE"
fi
# shellcheck source=tests/loopback.sh
. "$(dirname "$0")/../loopback.sh"
CONF=$DIR/gw.conf
mount -t tmpfs tmpfs /run || exit 77
ip link set lo up

begin() {
    chmod 755 "$DIR"
    start rpcbind rpcbind -f
    wait_for 20 registers rpcbind || fail "no rpcbind"
}
registers() { rpcinfo 2>/dev/null | grep -q "$1"; }
# has VERSION NETID ADDRESS
has() { rpcinfo | awk '$1 == 100003 { print $2, $3, $4 }' | grep -qx "$1 $2 $3"; }
has_all() { has 3 rdma 127.0.0.1.78.81 && has 4 rdma 127.0.0.1.78.81 && has 3 rdma6 ::1.78.82 && has 4 rdma6 ::1.78.82; }
has_none() { ! registers 100003; }
told() { grep -qs "$1" "$DIR/$2.err"; }

configure() { # RPCBIND_OF_IPV6
    cat >"$CONF" <<END
workers = 1;
memory_limit = "256M";
drain_timeout = 1;
control = "$DIR/control";
routes = ( { name = "one";
  listen   = { address = "127.0.0.1"; rpcbind = true; };
  upstream = { address = "127.0.0.1"; port = 20050; };
}, { name = "two";
  listen   = { address = "::1"; port = 20050; rpcbind = $1; };
  upstream = { address = "127.0.0.1"; port = 20050; };
} );
END
}

gateway() { # NAME OPTION...; as nobody, as the service is
    start "$1" setpriv --reuid 65534 --regid 65534 --clear-groups "$BIN/rpcrdma-gw" -c "$CONF" "${@:2}"
    wait_for 30 told event=ready "$1" || fail "$1 does not start"
}
end() { # NAME PID
    kill "$2"
    wait "$2" || fail "$1: exit status $?"
    told 'event=end code=0 heap_live=0' "$1" || fail "$1: something is left"
}

# There while it serves, and follows what it reads anew.
case_registered() {
    local gw
    begin
    configure true
    chown 65534 "$DIR"
    has_none || fail "who has registered?"
    gateway gw
    gw=$pid
    wait_for 20 has_all || fail "not all are there: $(rpcinfo)"
    configure false
    kill -HUP "$gw"
    wait_for 20 eval '! has 3 rdma6 ::1.78.82 && ! has 4 rdma6 ::1.78.82' || fail "IPv6 is there yet"
    has 4 rdma 127.0.0.1.78.81 || fail "IPv4 is not there any more"
    configure true
    kill -HUP "$gw"
    wait_for 20 has_all || fail "not all are back"
    end gw "$gw"
    has_none || fail "left behind: $(rpcinfo)"
}

# One that was killed could not; the next one finds what is its own.
case_kept() {
    begin
    configure true
    chown 65534 "$DIR"
    gateway first
    wait_for 20 has_all || fail "not all are there"
    kill -KILL "$pid"
    wait "$pid"
    has_all || fail "gone by themselves?"
    rm -f "$DIR/control"
    gateway second
    wait_for 20 told 'event=rpcbind netid=rdma6' second || fail "nothing was told"
    ! told rpcbind.failed second || fail "refused"
    end second "$pid"
    has_none || fail "left behind"
}

case_taken_over() {
    local old
    begin
    configure true
    chown 65534 "$DIR"
    gateway old
    old=$pid
    wait_for 20 has_all || fail "not all are there"
    gateway new --take-over
    wait "$old" || fail "exit status $?"
    wait_for 20 has_all || fail "gone with the old one"
    end new "$pid"
    has_none || fail "left behind"
}

# A program's registration stays when a gateway of another user wants the same one.
case_refused() {
    local other
    begin
    configure true
    chown 65534 "$DIR"
    gateway other
    other=$pid
    wait_for 20 has_all || fail "not all are there"
    CONF=$DIR/second.conf
    configure false
    sed -i "s/127.0.0.1\"; rpcbind/127.0.0.2\"; rpcbind/; s/port = 20050; rpcbind/port = 20060; rpcbind/; s/control\"/control2\"/" "$CONF"
    gateway second
    wait_for 20 told 'event=rpcbind.failed netid=rdma .*refused' second || fail "not refused"
    end second "$pid"
    has_all || fail "another's was taken back"
    end other "$other"
    has_none || fail "left behind"
}

# Without any rpcbind all else goes on.
case_nobody() {
    configure true
    chmod 755 "$DIR"
    chown 65534 "$DIR"
    gateway gw
    wait_for 20 told 'event=rpcbind.failed .*rpcbind.sock: ' gw || fail "nothing was told"
    end gw "$pid"
}

# One that takes calls and answers none is asked once for each address.
case_silent() {
    local began
    configure true
    chmod 755 "$DIR"
    chown 65534 "$DIR"
    start silent python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind("/run/rpcbind.sock")
s.listen(8)
print("listening", flush=True)
kept = []
while True:
    kept.append(s.accept())
'
    wait_for 20 grep -q listening "$DIR/silent" || fail "does not listen"
    chmod 666 /run/rpcbind.sock
    began=$SECONDS
    gateway gw
    wait_for 30 told 'event=rpcbind.failed netid=rdma6 .*does not answer' gw || fail "nothing was told"
    [ $((SECONDS - began)) -lt 20 ] || fail "asked for $((SECONDS - began)) s"
    end gw "$pid"
}

# A gateway without `rpcbind` at its start cannot reach rpcbind later, unless the sandbox lets everything pass.
case_sandboxed() {
    local gw
    begin
    configure false
    sed -i 's/rpcbind = true/rpcbind = false/' "$CONF"
    chown 65534 "$DIR"
    gateway gw
    gw=$pid
    told 'event=sandbox .*seccomp=yes' gw || exit 77
    configure true
    kill -HUP "$gw"
    wait_for 20 told 'event=rpcbind.failed .*Operation not permitted' gw || fail "nothing was told"
    has_none || fail "registered all the same"
    kill -HUP "$gw" # and serves on
    end gw "$gw"
}

declare -F "case_$CASE" >/dev/null || fail "no such case"
"case_$CASE"
echo "PASS $CASE"
