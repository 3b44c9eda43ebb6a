#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# edges.sh BIN CASE: messages to operators if a file, an output or a name is wrong. Everything runs on loopback.
set -u
BIN=$1
CASE=$2
HERE=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/operators/gateway.sh
. "$HERE/gateway.sh"
KEYS=$HERE/../hostauth/keys

# configure CREDITS: writes $CONF with a route with host authentication, and a route without, which has CREDITS credits
configure() {
    cat >"$CONF" <<END
workers = 1;
memory_limit = "256M";
control = "$CTL";
routes = ( { name = "proved";
  listen   = { address = "$HOST"; port = 20049; hostauth = { mode = "require";
    certificate = "$DIR/gw.pem"; key = "$DIR/gw.key"; ca = "$DIR/ca.pem"; }; };
  upstream = { address = "$HOST"; port = 20050; };
}, { name = "plain";
  listen   = { address = "$HOST"; port = 20051; credits = $1; };
  upstream = { address = "$HOST"; port = 20050; };
} );
END
}
put() { # CERTIFICATE KEY
    install -m 644 "$KEYS/$1.pem" "$DIR/gw.pem"
    install -m 600 "$KEYS/$2.pem" "$DIR/gw.key"
    install -m 644 "$KEYS/ca.pem" "$DIR/ca.pem"
}
gwctl() { expect_exit "$1" "$BIN/rpcrdma-gwctl" -s "$CTL" "${@:2}"; }
is_proved() { # a client with a certificate is served
    timeout 20 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 2 --op null --count 3 \
        --hostauth-cert "$KEYS/client.pem" --hostauth-key "$DIR/client.key" --hostauth-ca "$KEYS/ca.pem" \
        --hostauth-name server.example >"$DIR/perf" 2>&1 || fail "no service: $(cat "$DIR/perf")"
}
# refuses_reload REGEXP: the gateway refuses a reload with a message like REGEXP, and applies nothing of the file
refuses_reload() {
    gwctl 1 reload
    says "$1"
    says 'the configuration was refused, and nothing has changed'
    grep -q 'event=reload routes' "$LOG" && fail "a refused file is applied"
    is_proved
}

# A reload reports failure if files of host authentication are missing, unusable or expired.
case_reload_files() {
    install -m 600 "$KEYS/client.pem" "$DIR/client.key"
    put server server
    configure 64
    perf_server 20050
    gateway
    is_proved
    configure 32
    rm "$DIR/gw.pem"
    refuses_reload "gw.conf:6: certificate .*/gw.pem\": No such file"
    put client server
    refuses_reload "gw.conf:6: key .*the key is not the certificate's"
    put server server
    chmod 644 "$DIR/gw.key"
    refuses_reload "gw.conf:6: key .*users other than its owner"
    # If a certificate has expired, changes of other routes are applied, and the answer names the certificate.
    put expired expired
    gwctl 1 reload
    says 'route "proved", listen: certificate .*/gw.pem": it expired at 2021'
    says 'routes     0 added, 1 changed, 0 removed, 1 as they were'
    says 'rpcrdma-gwctl: the configuration was applied, except these files'
    is_proved
    put server server
    gwctl 0 reload
    says 'routes     0 added, 0 changed, 0 removed, 2 as they were'
    is_proved
    stop
}

# full STATUS PROGRAM OPTION...: PROGRAM ends with STATUS and a message if its output cannot be written
full() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    expect_exit "$1" bash -c '"$@" >/dev/full' full "$BIN/$2" "${@:3}"
    says "$2: standard output: No space left on device"
}

# Every program reports output that it could not write, even if the output was still in a buffer when the program ended.
case_full_output() {
    put server server
    configure 64
    perf_server 20050
    gateway
    full 3 rpcrdma-gw --version
    full 3 rpcrdma-gw --help
    full 3 rpcrdma-gw --check "$CONF"
    full 3 rpcrdma-gw --check "$CONF" --print
    full 3 rpcrdma-gw --print-nft "$CONF"
    full 1 rpcrdma-gwctl --version
    full 1 rpcrdma-gwctl --help
    full 1 rpcrdma-gwctl -s "$CTL" --json status
    full 1 rpcrdma-gwctl -s "$CTL" clients
    full 1 rpcrdma-gwctl -s "$CTL" --json trace --time 1s
    full 1 rpcrdma-perf --version
    full 1 rpcrdma-perf --help
    full 1 rpcrdma-perf client --connect "iwarp:$HOST:20050" --version 2 --op null --count 3
    full 1 rpcrdma-perf client --connect "iwarp:$HOST:20050" --version 2 --op null --count 3 --json
    full 1 rpcrdma-probe --version
    full 1 rpcrdma-probe --help
    full 1 rpcrdma-probe --list
    full 1 rpcrdma-probe "iwarp:$HOST:20051"
    full 1 rpcrdma-probe "iwarp:$HOST:20051" --json
    # shellcheck disable=SC2016 # expanded by the inner shell
    expect_exit 1 bash -c '"$@" >/dev/full' full "$BIN/rpcrdma-gwctl" -s "$CTL" capture --time 1s -
    says 'rpcrdma-gwctl: the output cannot be written: No space left on device'
    stop
}

# Unprintable characters in the configuration's path are replaced: answers stay valid JSON, and an event stays one line.
case_path() {
    local plain=$CONF
    put server server
    configure 64
    CONF=$DIR/$(printf 'gw\377 "x\\\n\033[31m.conf')
    cp "$plain" "$CONF"
    perf_server 20050
    gateway
    grep -aq 'event=start .* config="[ -~]*/gw? ?x???\[31m.conf" workers=1' "$LOG" || fail "no such start: $(cat -v "$LOG")"
    expect_exit 0 "$BIN/rpcrdma-gwctl" -s "$CTL" --json status
    python3 -c 'import json, sys; [json.loads(l.decode()) for l in open(sys.argv[1], "rb")]' "$DIR/out" || fail "no JSON"
    echo '!' >>"$CONF"
    gwctl 1 --json reload
    python3 -c 'import json, sys; [json.loads(l.decode()) for l in open(sys.argv[1], "rb")]' "$DIR/out" || fail "no JSON"
    grep -av '^time=' "$LOG" && fail "an event has two lines"
    stop
}

# drain --client refuses a text that is no address. Otherwise it would report success without ending a session.
case_client() {
    local word
    put server server
    configure 64
    perf_server 20050
    gateway
    start calls "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20051" --version 2 --op null --time 900 --rate 50 --json
    wait_for 20 grep -q 'event=session.open' "$LOG" || fail "no session"
    for word in filer1 10.0.0.300 127.0.0.0/8 2001:db8::/48 /64 : 2001:db8::5%nowhere; do
        gwctl 1 drain --client "$word"
        says 'client: it is no IPv4 or IPv6 address'
    done
    # A link-local address is one of an interface. Without it no session would be found.
    for word in fe80::1 fe80::/64; do
        gwctl 1 sessions --client "$word"
        says 'client: it is link-local, and each interface has such addresses: add the interface, like fe80::1%eth0'
    done
    gwctl 1 sessions --client fe80::1%nowhere
    says 'client: there is no such interface: name one that ip link lists'
    gwctl 0 sessions --client fe80::1%lo
    says '^0 sessions$'
    gwctl 0 drain --client 2001:db8::5
    says '^0 sessions will end'
    gwctl 0 drain --client 2001:db8::/64
    gwctl 0 sessions --client "$(grep -ao 'event=session.open .* client=[0-9.]*' "$LOG" | sed 's/.*client=//;q')"
    says '^1 session$'
    stop
}

# A reload refuses a configuration that is a pipe, because it could wait for ever for octets. --check reads a pipe.
case_pipe() {
    TIMEOUT=10
    put server server
    configure 64
    expect_exit 0 "$BIN/rpcrdma-gw" --check <(cat "$CONF")
    expect_exit 1 "$BIN/rpcrdma-gw" --check "$DIR"
    says "$DIR: Is a directory"
    gateway
    mv "$CONF" "$DIR/old" && mkfifo "$CONF"
    gwctl 1 reload
    says "it is no regular file"
    stop
}

# Messages name the key that the operator has to change.
case_messages() {
    put server server
    configure 64
    perf_server 20050
    gateway
    configure '64; crc = false'
    gwctl 1 reload
    says 'gw.conf:9: listen has a crc that no route had at start: restart to have it'
    configure '64; setup_timeout = 31'
    gwctl 1 reload
    says 'gw.conf:9: listen has a longer setup_timeout than any route had at start: restart to have it'
    expect_exit 2 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20050" --version 2 --op null --inline 1024
    says 'version 2 needs 4096 at least (or version 1 alone)'
    stop
}

declare -F "case_$CASE" >/dev/null || fail "no such case"
"case_$CASE"
echo "PASS $CASE"
