#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hostauth.sh BIN CASE: two gateways in a row, version 1 at both ends and version 2 between them, where
# each has to prove its name. Everything stays on loopback, on an address of this run's own.
#
#   client -> 20049 gateway A -> 20051 gateway B -> 20053 server     the route with hostauth
#   client -> 20050 gateway A -> 20052 gateway B -> 20054 server     another route, which is to be unharmed
set -u
BIN=$1
CASE=$2
# shellcheck source=tests/loopback.sh
. "$(dirname "$0")/../loopback.sh"
KEYS=$(dirname "$0")/../hostauth/keys
LOG_A=$DIR/a.err
LOG_B=$DIR/b.err

a_says() { grep -q -e "$1" "$LOG_A"; }
b_says() { grep -q -e "$1" "$LOG_B"; }
a_must_say() { wait_for 10 a_says "$1" || fail "gateway A does not say: $1"; }
b_must_say() { wait_for 10 b_says "$1" || fail "gateway B does not say: $1"; }

# put A|B NAME: certificate and key of keys/NAME.pem, or keys/NAME.txt, become those of a gateway
put() {
    local from=$KEYS/$2.pem
    case $2 in psk*) from=$KEYS/$2.txt ;; esac
    install -m 600 "$from" "$DIR/$1.pem"
    cp "$DIR/$1.pem" "$DIR/$1.key"
    chmod 600 "$DIR/$1.key"
}
certificates() { # A|B
    echo "certificate = \"$DIR/$1.pem\"; key = \"$DIR/$1.key\"; ca = \"$DIR/ca.pem\";"
}
shared_key() { echo "psk_file = \"$DIR/$1.pem\";"; }

# configure A|B LISTEN UPSTREAM: what their routes have of hostauth
configure() {
    local listen=20049 other=20050
    [ "$1" = A ] || { listen=20051 other=20052; }
    cat >"$DIR/$1.conf" <<END
workers = 2;
memory_limit = "256M";
drain_timeout = 3;
log = { level = "info"; };
routes = ( { name = "proved";
  listen   = { address = "$HOST"; port = $listen; $2 };
  upstream = { address = "$HOST"; port = $((listen + 2)); version = "auto"; $3 };
}, { name = "other";
  listen   = { address = "$HOST"; port = $other; };
  upstream = { address = "$HOST"; port = $((other + 2)); };
} );
END
}

# gateway A|B: its process id in $PID_A or $PID_B
gateway() {
    local log=${1,}
    start "$log" "$BIN/rpcrdma-gw" -c "$DIR/$1.conf"
    declare -g "PID_$1=$pid"
    wait_for 20 grep -qs event=ready "$DIR/$log.err" || fail "gateway $1 does not start"
}
stop_gateway() { # A|B
    local log=${1,} pid="PID_$1"
    kill -TERM "${!pid}"
    wait "${!pid}" || fail "gateway $1: exit code $?"
    grep -q 'event=end code=0 heap_live=0' "$DIR/$log.err" || fail "gateway $1 keeps something"
}

client() { # PORT OPTION...
    local port=$1
    shift
    timeout 60 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:$port" "$@"
}
is_served() { # PORT VERSION
    local op
    for op in echo read write; do
        client "$1" --version "$2" --op "$op" --size 9999 --depth 8 --connections 2 --count 100 --json \
            >"$DIR/out" 2>&1 || fail "port $1, version $2: no $op"
        says '"errors": 0'
    done
}
is_refused() { # [PORT VERSION]
    client "${1:-20049}" --version "${2:-1}" --op null --count 1 --timeout 10 >"$DIR/out" 2>&1 && fail "it is served"
    return 0
}

# The other route carries calls all the time, and none of them fails.
begin() {
    install -m 644 "$KEYS/ca.pem" "$DIR/ca.pem"
    perf_server 20053
    SERVER=$pid
    perf_server 20054
}
others_begin() {
    start other "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20050" --version 1 --op read --size 16k --depth 2 \
        --time 3600 --json
    OTHER=$pid
}
others_are_unharmed() {
    kill -0 "$OTHER" 2>/dev/null || fail "the other route's session has ended"
    kill -INT "$OTHER"
    wait "$OTHER" || fail "the other route's calls failed"
    grep -q '"errors": 0' "$DIR/other" || fail "the other route's calls failed"
}
# The server behind the route tells at its end what came: nothing.
nothing_came() {
    kill -TERM "$SERVER"
    wait "$SERVER"
    grep -q ' rpcs 0,' "$DIR/server20053" || fail "an RPC was forwarded: $(cat "$DIR/server20053")"
}

# use A|B NAME: by SIGHUP
use() {
    local log=${1,} pid="PID_$1" before
    before=$(grep -c event=hostauth.loaded "$DIR/$log.err")
    put "$1" "$2"
    kill -HUP "${!pid}"
    wait_for 10 reloaded "$DIR/$log.err" "$before" || fail "gateway $1 does not take $2"
}
reloaded() { [ "$(grep -c event=hostauth.loaded "$1")" -gt "$2" ]; }

# Only new lines count.
forget() { : >"$LOG_A" && : >"$LOG_B"; }

require() { echo "hostauth = { mode = \"require\"; timeout = 5; $1 };"; }

# --- the cases ---------------------------------------------------------------

case_served() {
    local way
    begin
    for way in certificates psk; do
        if [ $way = certificates ]; then
            put A client && put B server
            configure A '' "$(require "$(certificates A) names = [ \"server.example\" ];")"
            configure B "$(require "$(certificates B) names = [ \"*.example\" ];")" ''
        else
            put A psk && put B psk
            configure A '' "$(require "$(shared_key A)")"
            configure B "$(require "$(shared_key B) names = [ \"pair-1\" ];")" ''
        fi
        expect_exit 0 "$BIN/rpcrdma-gw" --check "$DIR/A.conf"
        gateway B
        gateway A
        is_served 20049 1
        is_served 20050 1
        if [ $way = certificates ]; then
            a_must_say 'event=hostauth .*route=proved leg=server .*name="server.example" suite=TLS_'
            b_must_say 'event=hostauth .*route=proved leg=client .*name="client.example" suite=TLS_'
            a_must_say 'event=session.open .*route=proved .*server_version=2 server_name=server.example'
            b_must_say 'event=session.end .*route=proved .*client_name=client.example'
            status_has_names
        else
            a_must_say 'event=hostauth .*name="pair-1"'
            b_must_say 'event=hostauth .*name="pair-1"'
        fi
        stop_gateway A
        stop_gateway B
    done
}
status_has_names() {
    start load "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 1 --op null --time 60
    wait_for 10 leg_is_named || fail "the answer to SIGUSR1 has no name"
    kill -INT "$pid"
    wait "$pid"
}
leg_is_named() {
    kill -USR1 "$PID_A" "$PID_B"
    a_says 'event=leg .*leg=server .*version=2 .* name=server.example' &&
        b_says 'event=leg .*leg=client .*version=2 .* name=client.example'
}

# EC P-256: the private key of one, said to be that of another. No program makes such a file.
key_of_another() { # KEY CERTIFICATE
    python3 - "$1" "$2" <<'END'
import base64, subprocess, sys
def der(name, *words):
    return subprocess.run(["openssl", *words, "-in", name, "-outform", "DER"], check=True, capture_output=True).stdout
own = der(sys.argv[1], "ec", )
theirs = der(sys.argv[2], "ec", "-pubout")[-65:]
text = base64.encodebytes(own[:-65] + theirs).decode()
print("-----BEGIN EC PRIVATE KEY-----\n" + text + "-----END EC PRIVATE KEY-----")
END
}

case_client_refused() {
    local name why reason
    begin
    put A client && put B server
    install -m 644 "$KEYS/crl.pem" "$DIR/crl.pem"
    configure A '' "$(require "$(certificates A)")"
    configure B "$(require "$(certificates B) crl = \"$DIR/crl.pem\"; names = [ \"client.example\" ];")" ''
    gateway B
    gateway A
    others_begin
    while read -r name why reason; do
        forget
        use A "$name"
        is_refused
        b_must_say "event=hostauth.failed .*route=proved leg=client .*cause=$why .*${reason%%|*}"
        a_must_say "event=hostauth.failed .*route=proved leg=server .*cause=peer .*the peer refused: .*${reason##*|}"
    done <<'END'
outsider tls unable to get local issuer certificate|unknown ca
revoked tls certificate revoked|certificate revoked
stranger name its name is not one of those allowed|our name is not allowed there
server-only tls unsuitable certificate purpose|unsupported certificate
nameless name its certificate has no name|our name is not allowed there
END
    # SIGHUP does not take a certificate that has expired or is not valid yet. A start does.
    forget
    put A expired
    kill -HUP "$PID_A"
    a_must_say 'event=hostauth.kept route=proved side=upstream key=certificate path=.* why="it expired at 2021'
    others_are_unharmed
    stop_gateway A
    for name in expired early; do
        put A $name
        gateway A
        is_refused
        stop_gateway A
    done
    b_must_say 'event=hostauth.failed .*leg=client .*cause=tls .*certificate has expired'
    b_must_say 'event=hostauth.failed .*leg=client .*cause=tls .*certificate is not yet valid'
    # A certificate without its key.
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$DIR/mine.pem" 2>/dev/null
    put A client-p256
    key_of_another "$DIR/mine.pem" "$DIR/A.pem" >"$DIR/A.key" || fail "no such key"
    gateway A
    is_refused
    b_must_say 'event=hostauth.failed .*leg=client .*cause=tls .*bad signature'
    a_must_say 'event=hostauth.failed .*leg=server .*cause=peer .*the peer refused: .*decrypt error'
    stop_gateway A
    # None at all, in version 2 and in version 1.
    configure A '' ''
    gateway A
    is_refused
    b_must_say 'event=hostauth.failed .*leg=client .*cause=absent .*the peer has none'
    a_must_say 'event=session.end .*route=proved leg=server'
    is_refused 20051 1
    b_must_say 'event=hostauth.failed .*leg=client .*cause=absent .*the peer speaks version 1, which has none'
    is_refused 20051 2
    is_served 20050 1
    stop_gateway A
    nothing_came
    stop_gateway B
}

case_server_refused() {
    local name why reason
    begin
    put A client && put B server
    configure A '' "$(require "$(certificates A) names = [ \"server.example\" ];")"
    configure B "$(require "$(certificates B)")" ''
    gateway B
    gateway A
    others_begin
    while read -r name why reason; do
        forget
        use B "$name"
        is_refused
        a_must_say "event=hostauth.failed .*route=proved leg=server .*cause=$why .*${reason%%|*}"
        b_must_say "event=hostauth.failed .*route=proved leg=client .*cause=peer .*the peer refused: .*${reason##*|}"
    done <<'END'
outsider tls unable to get local issuer certificate|unknown ca
stranger name its name is not one of those allowed|our name is not allowed there
client-only tls unsuitable certificate purpose|unsupported certificate
END
    use B server
    is_served 20049 1
    others_are_unharmed
    stop_gateway A
    stop_gateway B
    nothing_more_came
}
# The service at the end was the first.
nothing_more_came() {
    kill -TERM "$SERVER"
    wait "$SERVER"
    grep -q ' rpcs 300,' "$DIR/server20053" || fail "more came: $(cat "$DIR/server20053")"
}

# There is no session in version 1, and none without proof, whatever the next gateway answers.
case_no_way_around() {
    begin
    put A client
    configure A '' "$(require "$(certificates A)")"
    configure B '' ''
    gateway A
    gateway B
    is_refused
    a_must_say 'event=hostauth.failed .*route=proved leg=server .*cause=absent .*the peer has none'
    stop_gateway B
    configure B 'versions = [1];' ''
    gateway B
    is_refused
    a_must_say 'event=session.end .*route=proved leg=server cause=.* why="no protocol version in common"'
    grep -q 'event=upstream.retry' "$LOG_A" && fail "version 1 was tried"
    is_served 20050 1
    stop_gateway A
    stop_gateway B
    nothing_came
}

case_wrong_psk() {
    local name
    begin
    put A psk && put B psk
    configure A '' "$(require "$(shared_key A)")"
    configure B "$(require "$(shared_key B)")" ''
    gateway B
    gateway A
    others_begin
    for name in psk-wrong psk-other; do
        forget
        use A $name
        is_refused
        b_must_say 'event=hostauth.failed .*route=proved leg=client .*cause=tls .*binder does not verify'
        a_must_say 'event=hostauth.failed .*route=proved leg=server .*cause=peer .*the peer refused: '
    done
    others_are_unharmed
    stop_gateway A
    # One has certificates, the other a key.
    put A client
    configure A '' "$(require "$(certificates A)")"
    gateway A
    is_refused
    b_must_say 'event=hostauth.failed .*route=proved leg=client .*cause=tls '
    stop_gateway A
    nothing_came
    stop_gateway B
}

# With mode "allow", a client without host authentication is served. With mode "require", it is served if its network is
# in unneeded_from.
case_allowed() {
    begin
    put A client && put B server
    configure A '' ''
    configure B "hostauth = { mode = \"allow\"; $(certificates B) };" ''
    gateway B
    gateway A
    is_served 20049 1
    is_served 20051 1
    is_served 20051 2
    b_must_say 'event=hostauth.absent .*route=proved leg=client'
    stop_gateway B
    configure B "$(require "$(certificates B) unneeded_from = [ \"127.0.0.0/8\" ];")" ''
    gateway B
    is_served 20049 1
    is_served 20051 1
    stop_gateway B
    configure B "$(require "$(certificates B) unneeded_from = [ \"128.0.0.0/8\" ];")" ''
    gateway B
    is_refused 20051 1
    stop_gateway A
    stop_gateway B
}

# Two routes, or three, on one listener of gateway B; $1: what the first says of it besides.
share() { # HOSTAUTH [ROUTE...]
    cat >"$DIR/B.conf" <<END
workers = 2;
memory_limit = "256M";
routes = ( { name = "one"; for = [ "client.example" ];
  listen = { address = "$HOST"; port = 20051; $1 };
  upstream = { address = "$HOST"; port = 20053; };
}, { name = "two"; for = [ "*.nowhere.example", "STRANGER.example" ];
  listen = { address = "$HOST"; port = 20051; };
  upstream = { address = "$HOST"; port = 20054; };
} ${2:+, $2} );
END
}
# called NAME COUNT: by the client with that certificate
called() {
    put A "$1"
    client 20051 --version 2 --op echo --size 9k --count "$2" --timeout 10 --hostauth-cert "$DIR/A.pem" \
        --hostauth-key "$DIR/A.key" --hostauth-ca "$DIR/ca.pem" >"$DIR/out" 2>&1
}
served_by() { # PORT PROCESS RPCS
    kill -TERM "$2"
    wait "$2"
    grep -q " rpcs $3," "$DIR/server$1" || fail "server $1 had other than $3 calls: $(cat "$DIR/server$1")"
}

# Several routes on one listener: the name that is proved chooses.
case_by_name() {
    local two others rest
    begin
    two=$pid
    put B server
    share "$(require "$(certificates B)")"
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$DIR/B.conf"
    gateway B
    b_must_say 'event=listen route=two address=.*:20051 .* names=2'
    called client 7 || fail "the first client is not served"
    called stranger 5 || fail "the second client is not served"
    b_must_say 'event=hostauth .*route=one leg=client .*name="client.example"'
    b_must_say 'event=hostauth .*route=two leg=client .*name="stranger.example"'
    b_must_say 'event=session.open .*route=two .* client_name=stranger.example'
    called client-only 1 && fail "a name without a route is served"
    b_must_say 'event=hostauth.unrouted .*peer=.* name="server.example" why="no route is for this name'
    called outsider 1 && fail "anybody is served"
    is_refused 20051 1
    is_refused 20051 2
    # The files of the listener are read once.
    use B server
    [ "$(grep -c event=hostauth.loaded "$LOG_B")" = 1 ] || fail "each route has the listener's files"
    # One server that is away is no matter of the other's.
    served_by 20054 "$two" 5
    called stranger 1 && fail "a server that is away is reached"
    called client 3 || fail "the first client is not served any longer"
    stop_gateway B
    # A route for all the others; and for those that need no name.
    perf_server 20055
    others=$pid
    rest="{ name = \"rest\"; listen = { address = \"$HOST\"; port = 20051; };
        upstream = { address = \"$HOST\"; port = 20055; }; }"
    share "$(require "$(certificates B)")" "$rest"
    gateway B
    called client-only 2 || fail "the rest is not served"
    called client 4 || fail "the first client is not served beside the rest"
    is_refused 20051 1
    stop_gateway B
    share "$(require "$(certificates B) unneeded_from = [ \"127.0.0.0/8\" ];")" "$rest"
    gateway B
    client 20051 --version 1 --op null --count 8 >"$DIR/out" 2>&1 || fail "who needs no name is not served"
    stop_gateway B
    served_by 20055 "$others" 10
    share "$(require "$(certificates B) unneeded_from = [ \"127.0.0.0/8\" ];")"
    gateway B
    is_refused 20051 1
    b_must_say 'event=session.refused .*why="it need not prove a name, and no route is for those without'
    stop_gateway B
    served_by 20053 "$SERVER" 14
}

# The tools prove their names as gateways do.
case_tools() {
    local mine=(--hostauth-cert "$DIR/A.pem" --hostauth-key "$DIR/A.key" --hostauth-ca "$DIR/ca.pem")
    local shared
    begin
    put A client && put B server
    configure B "$(require "$(certificates B) names = [ \"client.example\" ];")" ''
    gateway B
    client 20051 --version 2 --op echo --size 9k --count 20 "${mine[@]}" --hostauth-name server.example \
        >"$DIR/out" 2>&1 || fail "perf is not served"
    says 'the server is server.example: TLS_AES_128_GCM_SHA256, proved in [0-9.]* ms, 4 messages, [0-9]* octets'
    client 20051 --version 2 --op null --count 1 "${mine[@]}" --json >"$DIR/out" 2>&1 || fail "perf is not served"
    says '"peer": {"name": "server.example", "suite": "TLS_AES_128_GCM_SHA256", "seconds": [0-9.]*, "messages": 4, '
    client 20051 --version 2 --op null --count 1 "${mine[@]}" --hostauth-name other.example >"$DIR/out" 2>&1 &&
        fail "perf believes another"
    says 'its name is not one of those allowed'
    b_must_say 'cause=peer .*our name is not allowed there'
    TIMEOUT=60 expect_exit 0 "$BIN/rpcrdma-probe" "iwarp:$HOST:20051" --program perf "${mine[@]}"
    says 'server is  *server.example: TLS_AES_128_GCM_SHA256, proved in [0-9.]* ms, 4 messages, [0-9]* octets'
    says 'version 2  *spoken'
    TIMEOUT=60 expect_exit 0 "$BIN/rpcrdma-probe" "iwarp:$HOST:20051" --program perf "${mine[@]}" --json
    says '"hostauth": *{'
    # A chain of 16 KiB goes in many messages.
    put A long
    client 20051 --version 2 --op null --count 1 "${mine[@]}" --json >"$DIR/out" 2>&1 || fail "no long chain"
    sed 's/.*"messages": \([0-9]*\), "octets": \([0-9]*\)}.*/long chain: \1 messages, \2 octets/' "$DIR/out"
    # Not with somebody else's.
    put A outsider
    client 20051 --version 2 --op null --count 1 --timeout 5 "${mine[@]}" >"$DIR/out" 2>&1 && fail "it is served"
    says 'unknown ca'
    TIMEOUT=60 expect_exit 1 "$BIN/rpcrdma-probe" "iwarp:$HOST:20051" "${mine[@]}"
    says 'host authentication: the peer refused: tlsv1 alert unknown ca'
    chmod 644 "$DIR/A.key"
    expect_exit 2 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20051" --version 2 --op null "${mine[@]}"
    says 'A.key: users other than its owner may read or write it: chmod 600'
    expect_exit 2 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20051" --version 1 --op null "${mine[@]}"
    says 'version 2 alone has host authentication'
    expect_exit 2 "$BIN/rpcrdma-probe" "iwarp:$HOST:20051" --hostauth-cert x
    says 'hostauth-cert, -key and -ca are needed, or --hostauth-psk alone'
    stop_gateway B
    # A server of the tool's own, with a shared key.
    put A psk
    shared=(--hostauth-psk "$DIR/A.pem")
    perf_server 20060 "${shared[@]}"
    client 20060 --version 2 --op read --size 64k --count 20 "${shared[@]}" >"$DIR/out" 2>&1 || fail "no service"
    says 'the server is pair-1'
    client 20060 --version 2 --op null --count 1 --timeout 5 >"$DIR/out" 2>&1 && fail "anybody is served"
    client 20060 --version 1 --op null --count 1 --timeout 5 >"$DIR/out" 2>&1 && fail "version 1 is served"
    kill -TERM "$pid"
    wait "$pid"
    grep -q 'clients that proved who they are 1, the last one pair-1' "$DIR/server20060" || fail "nobody was proved"
}

# The probe's cases: a gateway passes, and each case fails against a peer with just that fault.
case_conformance() {
    local peer=$KEYS/../peer defect cases id
    local mine=(--hostauth-cert "$DIR/A.pem" --hostauth-key "$DIR/A.key" --hostauth-ca "$DIR/ca.pem")
    python3 -c "import ctypes; ctypes.CDLL('libssl.so.3')" 2>/dev/null || exit 77
    begin
    put A psk && put B psk
    configure B "$(require "$(shared_key B)")" ''
    gateway B
    TIMEOUT=60 expect_exit 0 "$BIN/rpcrdma-probe" "iwarp:$HOST:20051" --program perf --conformance --case auth. \
        --hostauth-psk "$DIR/A.pem"
    [ "$(grep -c '^PASS auth\.' "$DIR/out")" = 11 ] || fail "not all cases passed with a key: $(cat "$DIR/out")"
    says '^SKIP auth.alpn.none .*only with a certificate'
    stop_gateway B
    put A client && put B server
    configure B "$(require "$(certificates B)")" ''
    gateway B
    TIMEOUT=60 expect_exit 0 "$BIN/rpcrdma-probe" "iwarp:$HOST:20051" --program perf --conformance --case auth. "${mine[@]}"
    [ "$(grep -c '^PASS auth\.' "$DIR/out")" = 14 ] || fail "not all cases passed: $(cat "$DIR/out")"
    TIMEOUT=60 expect_exit 0 "$BIN/rpcrdma-probe" "iwarp:$HOST:20053" --program perf --conformance --case auth.
    says '^SKIP auth.proved .*only with --hostauth'
    stop_gateway B
    while read -r defect cases; do
        start peer "$peer" server "$HOST" 20051 client.example "$DIR/B.pem" "$DIR/ca.pem" "$defect"
        wait_for 30 grep -qs listening "$DIR/peer" || fail "the peer does not listen"
        for id in $cases; do
            TIMEOUT=60 expect_exit 1 "$BIN/rpcrdma-probe" "iwarp:$HOST:20051" --program perf --conformance \
                --case "$id" --timeout 1 "${mine[@]}"
            says "^FAIL $id "
        done
        kill -TERM "$pid"
        wait "$pid"
    done <<'END'
properties auth.properties
same auth.same
size auth.size
credit auth.credit
pieces auth.pieces
lax auth.sequence auth.kind auth.binding auth.altered
early-call auth.early-call
purpose auth.alpn.other auth.alpn.none
old auth.tls-1.2
END
    # The probe as the server grades how clients begin.
    began PASS client --connect "iwarp:$HOST:20061" --version 2 --op null --count 1 --timeout 5 "${mine[@]}"
    began FAIL "$peer" client "$HOST" 20061 server.example "$DIR/A.pem" "$DIR/ca.pem" properties
}
began() { # VERDICT CLIENT...
    start listener "$BIN/rpcrdma-probe" --listen "iwarp:$HOST:20061" --time 20
    wait_for 20 grep -qs listening "$DIR/listener" "$DIR/listener.err" || fail "the probe does not listen"
    case $2 in
    client) timeout 60 "$BIN/rpcrdma-perf" "${@:2}" ;;
    *) "${@:2}" ;;
    esac >"$DIR/out" 2>&1 && fail "a server without host authentication is believed"
    wait "$pid"
    grep -q "^$1 client.auth.first" "$DIR/listener" || fail "the client's first message is not graded $1"
}

# --- the probe as the server behind gateway A

listener() { # OPTION...
    start listener "$BIN/rpcrdma-probe" --listen "iwarp:$HOST:20051" --time 60 --timeout 5 "$@"
    LISTENER=$pid
    wait_for 20 grep -qs listening "$DIR/listener" "$DIR/listener.err" || fail "the probe does not listen"
}
calls() { client 20049 --version 1 --op null --count "${1:-20}" --timeout 10 >"$DIR/out" 2>&1; }
graded() { # STATUS
    wait "$LISTENER"
    local got=$?
    [ "$got" -eq "$1" ] || fail "the probe ends with $got instead of $1: $(cat "$DIR/listener")"
}
heard() { grep -aq -e "$1" "$DIR/listener" || fail "the probe does not say: $1: $(cat "$DIR/listener")"; }

# The probe as the server: its findings about a gateway that connects, and connections with wrong certificates and keys.
case_listen() {
    local theirs=(--hostauth-cert "$DIR/B.pem" --hostauth-key "$DIR/B.key" --hostauth-ca "$DIR/ca.pem") i
    install -m 644 "$KEYS/ca.pem" "$DIR/ca.pem"
    put A client && put B server
    configure A '' "$(require "$(certificates A) names = [ \"server.example\" ];")"
    gateway A
    listener "${theirs[@]}" --hostauth-name '*.example'
    calls || fail "no service"
    graded 0
    heard '^client is  *client.example: TLS_AES_128_GCM_SHA256, proved in [0-9.]* ms, 4 messages, [0-9]* octets'
    for i in first hello turn value same final credit early proved binding; do
        heard "^PASS client.auth.$i "
    done
    # A chain of 16 KiB: in pieces, each acknowledged.
    use A long
    listener "${theirs[@]}" --json
    calls || fail "no service with a long chain"
    graded 0
    jq -e '.hostauth | .proved and .name == "client.example" and .messages > 8 and .octets > 16384 and .microseconds > 0' \
        "$DIR/listener" >/dev/null || fail "JSON of a long chain: $(cat "$DIR/listener")"
    for i in $(jq -r '.hostauth | keys[]' "$DIR/listener") hostauth; do
        sed -n '/^\.SH JSON/,/^\.SH READINGS/p' "$(dirname "$0")/../../docs/rpcrdma-probe.1" | grep -qw "$i" ||
            fail "not in the manual: $i"
    done
    # Not believed by the probe.
    while read -r i reason; do
        forget
        use A "$i"
        listener "${theirs[@]}" --hostauth-name client.example
        calls && fail "$i is served"
        graded 1
        heard "^client is  *not proved.*: $reason, after"
        heard "^FAIL client.auth.proved .*$reason"
        heard '^PASS client.auth.turn '
        a_must_say 'event=hostauth.failed .*leg=server .*cause=peer .*the peer refused'
    done <<'END'
outsider unable to get local issuer certificate
stranger its name is not one of those allowed
server-only un[a-z]* certificate purpose
END
    # The probe is not believed: it is told, and left.
    use A client
    put B outsider
    forget
    listener "${theirs[@]}"
    calls && fail "an outsider is believed"
    graded 1
    heard '^client is  *not proved: the peer refused: .*unknown ca, after'
    heard '^PASS client.auth.fail '
    a_must_say 'event=hostauth.failed .*leg=server .*cause=tls .*unable to get local issuer certificate'
    # Last words that are wrong, a connection each, are not believed.
    put B server
    listener "${theirs[@]}" --conformance --connections 5
    calls || fail "no service before the misdeeds"
    for i in 2 3 4 5; do
        calls 1 && fail "connection $i is served"
    done
    graded 0
    heard '^PASS client.auth.belief '
    heard '^PASS client.2.type.unknown '
    # Nobody is asked.
    listener
    calls && fail "a server that proves nothing is believed"
    graded 0
    heard '^PASS client.auth.first '
    heard '^SKIP client.auth.proved '
    stop_gateway A
    # Shared keys.
    put A psk && put B psk
    configure A '' "$(require "$(shared_key A)")"
    gateway A
    listener --hostauth-psk "$DIR/B.key"
    calls || fail "no service with a key"
    graded 0
    heard '^client is  *pair-1: TLS_AES_128_GCM_SHA256, proved in'
    for i in psk-wrong psk-other; do
        use A $i
        listener --hostauth-psk "$DIR/B.key"
        calls && fail "$i is served"
        graded 1
        heard '^client is  *not proved, says pair-[12]: .*binder does not verify'
    done
    heard '^FAIL client.auth.proved .*pair-2: there is no key of this identity'
    stop_gateway A
}

# Clients that do just one thing wrong.
case_graded() {
    local theirs=(--hostauth-cert "$DIR/B.pem" --hostauth-key "$DIR/B.key" --hostauth-ca "$DIR/ca.pem")
    local peer=$KEYS/../peer defect grade
    python3 -c "import ctypes; ctypes.CDLL('libssl.so.3')" 2>/dev/null || exit 77
    install -m 644 "$KEYS/ca.pem" "$DIR/ca.pem"
    put A client && put B server
    listener "${theirs[@]}"
    expect_exit 0 "$peer" client "$HOST" 20051 server.example "$DIR/A.pem" "$DIR/ca.pem"
    graded 0
    while read -r defect grade; do
        listener "${theirs[@]}"
        timeout 20 "$peer" client "$HOST" 20051 server.example "$DIR/A.pem" "$DIR/ca.pem" "$defect" >"$DIR/out" 2>&1
        graded 1
        heard "^FAIL client.auth.$grade "
    done <<'END'
properties first
same same
credit credit
purpose hello
purpose proved
tls1.2 hello
tls1.2 proved
END
    # One that believes anybody, on the second connection.
    listener "${theirs[@]}" --conformance --connections 2
    expect_exit 0 "$peer" client "$HOST" 20051 server.example "$DIR/A.pem" "$DIR/ca.pem"
    expect_exit 0 "$peer" client "$HOST" 20051 server.example "$DIR/A.pem" "$DIR/ca.pem" lax
    graded 1
    heard '^FAIL client.auth.belief .*altered'
}

# SIGHUP while handshakes are under way: they end with what they began with, and nothing is left.
case_reload_under_way() {
    local peer=$KEYS/../peer i hups PEER_go PEER_never
    python3 -c "import ctypes; ctypes.CDLL('libssl.so.3')" 2>/dev/null || exit 77
    begin
    put A client && put B server
    cp "$DIR/ca.pem" "$DIR/mine.pem"
    configure B "$(require "$(certificates B)" | sed 's/timeout = 5/timeout = 60/')" ''
    gateway B
    mkfifo "$DIR/go" "$DIR/never"
    exec 7<>"$DIR/go" 8<>"$DIR/never"
    for i in go never; do
        start "peer_$i" bash -c 'exec "$@" <"$0"' "$DIR/$i" "$peer" client "$HOST" 20051 server.example "$DIR/A.pem" \
            "$DIR/mine.pem" pause
        wait_for 30 grep -qs paused "$DIR/peer_$i" || fail "no handshake is under way"
        [ $i = go ] && PEER_go=$pid || PEER_never=$pid
    done
    # Another authority is believed from now on.
    install -m 644 "$KEYS/other-ca.pem" "$DIR/ca.pem"
    use B server
    expect_exit 1 "$peer" client "$HOST" 20051 server.example "$DIR/A.pem" "$DIR/mine.pem"
    b_must_say 'event=hostauth.failed .*cause=tls .*self-signed certificate in certificate chain'
    b_says 'event=hostauth .*name="client.example"' && fail "somebody has proved it already"
    echo >&7
    wait "$PEER_go" || fail "the handshake under way failed: $(cat "$DIR/peer_go")"
    grep -q '^served' "$DIR/peer_go" || fail "it was not served"
    b_must_say 'event=hostauth .*leg=client .*name="client.example"'
    # The other goes away in the middle.
    kill -KILL "$PEER_never"
    install -m 644 "$KEYS/ca.pem" "$DIR/ca.pem"
    use B server
    # One after the other, and SIGHUP all the time.
    start hups bash -c 'while kill -HUP "$0"; do sleep 0.02; done' "$PID_B"
    hups=$pid
    for i in $(seq 12); do
        client 20051 --version 2 --op echo --size 9k --count 5 --timeout 20 --hostauth-cert "$DIR/A.pem" \
            --hostauth-key "$DIR/A.key" --hostauth-ca "$DIR/mine.pem" >"$DIR/out" 2>&1 || fail "connection $i is not served"
    done
    kill -TERM "$hups"
    wait "$hups"
    [ "$(grep -c event=hostauth.loaded "$LOG_B")" -gt 12 ] || fail "it was not read anew all the time"
    grep -q event=hostauth.kept "$LOG_B" && fail "something could not be read"
    stop_gateway B
}

# many WHAT COUNT KEYS CA: clients that fail
many() {
    "$KEYS/../many" "$HOST" "$many_port" "$1" "$2" "$3" "$4" >"$DIR/many" 2>&1 || fail "$*: $(cat "$DIR/many")"
}
# heap: octets in use at gateway B, libraries' included
heap() {
    local before
    before=$(grep -c event=process "$LOG_B")
    kill -USR1 "$PID_B"
    wait_for 10 said_more event=process "$LOG_B" "$before" || fail "no answer to SIGUSR1"
    sed -n 's/.*event=process .* heap_bytes=\([0-9]*\).*/\1/p' "$LOG_B" | tail -n 1
}
said_more() { [ "$(grep -c "$1" "$2")" -gt "$3" ]; }
heap_is_at_most() { [ "$(heap)" -le "$1" ]; }

# Memory after failed handshakes is what it was before: HOSTAUTH_FAILURES of each kind (300).
case_leaks() {
    local count=${HOSTAUTH_FAILURES:-300} before what keys ca many_port noise=16384
    python3 -c "import ctypes; ctypes.CDLL('libssl.so.3')" 2>/dev/null || exit 77
    begin
    put A outsider && put B server
    install -m 600 "$KEYS/psk.txt" "$DIR/keys"
    cat >"$DIR/B.conf" <<END
workers = 2;
memory_limit = "256M";
max_setups_per_second = 0;
routes = ( { name = "certificates";
  listen = { address = "$HOST"; port = 20051; crc = false; $(require "$(certificates B)") };
  upstream = { address = "$HOST"; port = 20053; };
}, { name = "keys";
  listen = { address = "$HOST"; port = 20052; crc = false; $(require "psk_file = \"$DIR/keys\";") };
  upstream = { address = "$HOST"; port = 20053; };
} );
END
    # Memory that a thread's cache holds back would be noise.
    export GLIBC_TUNABLES=glibc.malloc.tcache_count=0
    gateway B
    while read -r what many_port keys ca; do
        many "$what" 50 "$keys" "$ca"
        before=$(heap)
        many "$what" "$count" "$keys" "$ca"
        wait_for 20 heap_is_at_most $((before + noise)) ||
            fail "$count times $what: $before octets of heap before, $(heap) after"
        echo "$count times $what: $before octets of heap before, $(heap) after"
    done <<END
implausible 20051 $DIR/A.pem $DIR/ca.pem
wrong-key 20052 $KEYS/psk-wrong.txt psk
wrong-name 20051 $DIR/A.pem $DIR/ca.pem
END
    b_must_say 'event=hostauth.failed .*cause=value .*the first value holds no ClientHello'
    b_must_say 'event=hostauth.failed .*cause=tls .*binder does not verify'
    b_must_say 'event=hostauth.failed .*cause=tls .*unable to get local issuer certificate'
    stop_gateway B
    nothing_came
}

# An end that shares nothing with hostauth/ (tests/hostauth/peer), either way.
case_independent() {
    local peer=$KEYS/../peer defect
    python3 -c "import ctypes; ctypes.CDLL('libssl.so.3')" 2>/dev/null || exit 77
    begin
    put A client && put B server
    configure B "$(require "$(certificates B) names = [ \"client.example\" ];")" ''
    gateway B
    expect_exit 0 "$peer" client "$HOST" 20051 server.example "$DIR/A.pem" "$DIR/ca.pem"
    says 'proved in 4 messages'
    says served
    b_must_say 'event=hostauth .*leg=client .*name="client.example"'
    # The gateway takes a first message without properties 1 to 5, or of 1,028 octets, and a last one with others.
    for defect in properties same over; do
        expect_exit 0 "$peer" client "$HOST" 20051 server.example "$DIR/A.pem" "$DIR/ca.pem" "$defect"
        says served
    done
    put A long
    expect_exit 0 "$peer" client "$HOST" 20051 server.example "$DIR/A.pem" "$DIR/ca.pem"
    says 'proved in [1-9][0-9]* messages'
    put A client
    forget
    expect_exit 1 "$peer" client "$HOST" 20051 server.example "$DIR/A.pem" "$DIR/ca.pem" tls1.2
    says 'refused: the peer says tls'
    b_must_say 'event=hostauth.failed .*leg=client .*cause=tls .*unsupported protocol'
    expect_exit 1 "$peer" client "$HOST" 20051 other.example "$DIR/A.pem" "$DIR/ca.pem"
    b_must_say 'cause=peer .*our name is not allowed there'
    put A outsider
    expect_exit 1 "$peer" client "$HOST" 20051 server.example "$DIR/A.pem" "$DIR/ca.pem"
    says 'refused: the peer says tls'
    stop_gateway B
    # The peer as the server behind a gateway.
    put A client
    configure A '' "$(require "$(certificates A) names = [ \"server.example\" ];")"
    gateway A
    start peer "$peer" server "$HOST" 20051 client.example "$DIR/B.pem" "$DIR/ca.pem"
    wait_for 30 grep -qs listening "$DIR/peer" || fail "the peer does not listen"
    client 20049 --version 1 --op null --count 1 --timeout 20 >"$DIR/out" 2>&1 || fail "no service"
    wait "$pid" || fail "the peer failed"
    grep -q served "$DIR/peer" || fail "the peer did not serve"
    a_must_say 'event=hostauth .*leg=server .*name="server.example"'
    for defect in properties same; do
        start peer "$peer" server "$HOST" 20051 client.example "$DIR/B.pem" "$DIR/ca.pem" "$defect"
        wait_for 30 grep -qs listening "$DIR/peer" || fail "the peer does not listen"
        client 20049 --version 1 --op null --count 1 --timeout 20 >"$DIR/out" 2>&1 || fail "$defect: no service"
        kill -TERM "$pid"
        wait "$pid"
    done
    put B outsider
    start peer "$peer" server "$HOST" 20051 client.example "$DIR/B.pem" "$DIR/ca.pem"
    wait_for 30 grep -qs listening "$DIR/peer" || fail "the peer does not listen"
    is_refused
    a_must_say 'event=hostauth.failed .*leg=server .*unable to get local issuer certificate'
    stop_gateway A
    independent_with_psk "$peer"
}

# The same with shared keys.
independent_with_psk() { # PEER
    local name
    put B psk && put A psk
    configure B "$(require "$(shared_key B) names = [ \"pair-1\" ];")" ''
    gateway B
    expect_exit 0 "$1" client "$HOST" 20051 pair-1 "$DIR/A.pem" psk
    says 'proved in 4 messages'
    says served
    b_must_say 'event=hostauth .*leg=client .*name="pair-1" suite=TLS_AES_128_GCM_SHA256'
    for name in psk-wrong psk-other; do
        forget
        put A $name
        expect_exit 1 "$1" client "$HOST" 20051 pair-1 "$DIR/A.pem" psk
        says 'refused: the peer says tls'
        b_must_say 'event=hostauth.failed .*leg=client .*cause=tls .*binder does not verify'
    done
    stop_gateway B
    put A psk
    configure A '' "$(require "$(shared_key A)")"
    gateway A
    start peer "$1" server "$HOST" 20051 pair-1 "$DIR/B.pem" psk
    wait_for 30 grep -qs listening "$DIR/peer" || fail "the peer does not listen"
    client 20049 --version 1 --op null --count 1 --timeout 20 >"$DIR/out" 2>&1 || fail "no service"
    wait "$pid" || fail "the peer failed"
    a_must_say 'event=hostauth .*leg=server .*name="pair-1"'
    put B psk-wrong
    start peer "$1" server "$HOST" 20051 pair-1 "$DIR/B.pem" psk
    wait_for 30 grep -qs listening "$DIR/peer" || fail "the peer does not listen"
    is_refused
    a_must_say 'event=hostauth.failed .*leg=server .*cause=peer'
    stop_gateway A
}

declare -F "case_$CASE" >/dev/null || fail "no such case"
"case_$CASE"
echo "PASS $CASE"
