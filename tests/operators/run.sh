#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh BIN CASE: cases about the gateway's control socket and metrics, with programs on loopback.
set -u
BIN=$1
CASE=$2
HERE=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/operators/gateway.sh
. "$HERE/gateway.sh"
PORT=9749
URL=http://$HOST:$PORT/metrics

configure() {
    cat >"$CONF" <<END
workers = 2;
memory_limit = "256M";
drain_timeout = 3;
control = "$CTL";
metrics = { address = "$HOST"; port = $PORT; names = [ "gw.example" ]; };
routes = ( { name = "one";
  listen   = { address = "$HOST"; port = 20049; };
  upstream = { address = "$HOST"; port = 20050; };
}, { name = "two";
  listen   = { address = "$HOST"; port = 20051; };
  upstream = { address = "$HOST"; port = 20050; };
} );
END
}

client() { python3 "$HERE/client.py" "$@" >"$DIR/out" 2>"$DIR/out.err" || fail "client.py $1"; }
ask() { client ask "$CTL" "$1"; }
refused() { ! python3 "$HERE/client.py" ask "$CTL" "$1" >"$DIR/out" 2>"$DIR/out.err" || fail "not refused: $1"; }
perf() { # PORT VERSION OPTION...
    timeout 60 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:$1" --version "$2" "${@:3}" --json
}
# load NAME PORT VERSION OPTION...: starts a client in the background, until a signal ends it; sets $pid. It makes 500 calls a second,
# because several cases share the processors.
load() {
    start "$1" "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:$2" --version "$3" --time 900 --rate 500 "${@:4}" --json
}
status_has() { python3 "$HERE/client.py" ask "$CTL" '{"do":"status"}' 2>/dev/null | grep -q "$1"; }
calls_in_flight() { python3 "$HERE/client.py" ask "$CTL" '{"do":"sessions"}' 2>/dev/null | grep -q '"in_flight": [1-9]'; }
counters_reported() { [ "$(grep -c event=worker.counters "$LOG")" -ge "$1" ]; }

# --- the cases ---------------------------------------------------------------

# The log, the control socket and the metrics agree with the client about the calls that it made.
case_agree() {
    local before
    configure
    perf_server 20050
    gateway
    perf 20049 1 --op read --size 64k --depth 4 --connections 3 --count 1200 >"$DIR/first" 2>&1 || fail "no service"
    # The calls use both workers and both routes.
    perf 20051 2 --op read --size 64k --depth 2 --connections 4 --count 800 >"$DIR/second" 2>&1 || fail "no service"
    python3 - "$DIR/first" "$DIR/second" >"$DIR/perf.json" <<'END' || fail "no totals"
import json, sys
both = [json.load(open(name)) for name in sys.argv[1:]]
print(json.dumps({key: sum(t[key] for t in both) for key in ("rpcs", "errors")}))
END
    wait_for 20 status_has '"sessions": 0' || fail "sessions stay"
    before=$(grep -c event=worker.counters "$LOG")
    kill -USR1 "$PID"
    wait_for 20 counters_reported $((before + 2)) || fail "no answer to SIGUSR1"
    client agree "$BIN/rpcrdma-gwctl" "$CTL" "$URL" "$LOG" "$DIR/perf.json" 65536 0
    cat "$DIR/out"
    stop
}

# The address of the metrics comes after the gateway has started, as an address of a tunnel may at boot. The gateway serves its routes
# meanwhile. Its log says what is missing, once.
case_metrics_later() {
    ip link set lo up || exit 77
    # A privileged port, for which the gateway has no privileges when the address comes.
    HOST=127.0.0.1
    configure
    sed -i 's/metrics = .*/metrics = { address = "192.0.2.7"; port = 749; };/' "$CONF"
    perf_server 20050
    gateway
    grep -q 'event=metrics.waiting address=192.0.2.7:749 why="Cannot assign requested address: give an address of this machine' "$LOG" ||
        fail "nobody is told"
    perf 20049 1 --op read --size 4k --count 20 >"$DIR/out" 2>&1 || fail "no service without metrics"
    # A successor takes the routes over, and waits for the address as well.
    start successor "$BIN/rpcrdma-gw" -c "$CONF" --take-over
    wait "$PID" || fail "exit code $?"
    PID=$pid LOG=$DIR/successor.err
    wait_for 20 grep -q event=ready "$LOG" || fail "no successor"
    grep -q event=metrics.waiting "$LOG" || fail "the successor does not wait for the address"
    sleep 2.5 # some tries
    ip address add 192.0.2.7/32 dev lo || exit 77
    wait_for 20 grep -q 'event=metrics address=192.0.2.7:749' "$LOG" || fail "no metrics when the address is there"
    [ "$(grep -c event=metrics.waiting "$LOG")" -eq 1 ] || fail "told again and again"
    client metrics http://192.0.2.7:749/metrics
    stop
    # An interface that comes later.
    ip link delete near 2>/dev/null
    sed -i 's/metrics = .*/metrics = { address = "fe80::7%near"; };/' "$CONF"
    LOG=$DIR/gateway.err
    gateway
    grep -q 'event=metrics.waiting address=fe80::7%near why="there is no such interface: name one that ip link lists' "$LOG" ||
        fail "nobody is told of the interface"
    ip link add near type veth peer name far && ip link set near up && ip link set far up || exit 77
    wait_for 20 grep -q 'event=metrics.waiting address=\[fe80::7%near]:9749 why="Cannot assign' "$LOG" || fail "not told what is missing now"
    ip address add fe80::7/64 dev near nodad || exit 77
    wait_for 20 grep -q 'event=metrics address=\[fe80::7%near]:9749' "$LOG" || fail "no metrics when the interface is there"
    exec 3<>'/dev/tcp/fe80::7%near/9749' || fail "nobody listens"
    printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n' >&3
    grep -q '^rpcrdma_gw_' <&3 || fail "no figures"
    exec 3>&-
    stop
    # Without the address, the end is as orderly.
    ip link delete near
    gateway
    stop
}

# The manual describes each figure.
case_manual() {
    configure
    gateway
    client manual "$URL" "$HERE/../../docs/rpcrdma-gw.8"
    cat "$DIR/out"
    stop
}

# The list of 150 sessions comes in several pages, while sessions make calls.
case_sessions() {
    configure
    perf_server 20050
    gateway
    load busy 20049 1 --op null --connections 150
    wait_for 30 status_has '"sessions": 150' || fail "not all sessions are open"
    client sessions "$CTL" 150
    kill "$pid"
    wait_for 20 status_has '"sessions": 0' || fail "sessions stay"
    stop
}

# Each metric that deploy/ names exists. A name that does not exist is noticed.
case_deployed() {
    local deploy=$HERE/../../deploy
    configure
    perf_server 20050
    gateway
    perf 20049 1 --op read --size 16k --count 100 >"$DIR/short" 2>&1 || fail "no service"
    expect_exit 0 python3 "$HERE/deployed.py" "$URL" "$deploy/prometheus/rpcrdma-gw.rules.yml" "$deploy/grafana/rpcrdma-gw.json"
    cat "$DIR/out"
    # Prometheus' own check, if promtool is installed.
    if command -v promtool >/dev/null; then
        client get "$URL"
        promtool check metrics <"$DIR/out" || fail "promtool: metrics"
        promtool check rules "$deploy/prometheus/rpcrdma-gw.rules.yml" || fail "promtool: rules"
    fi
    sed 's/rpcrdma_gw_budget_waits_total/rpcrdma_gw_budget_wait_total/' "$deploy/prometheus/rpcrdma-gw.rules.yml" >"$DIR/wrong.yml"
    expect_exit 1 python3 "$HERE/deployed.py" "$URL" "$DIR/wrong.yml" "$deploy/grafana/rpcrdma-gw.json"
    says 'no metric rpcrdma_gw_budget_wait_total'
    sed 's/step=\\"reply/step=\\"replies/' "$deploy/grafana/rpcrdma-gw.json" >"$DIR/wrong.json"
    expect_exit 1 python3 "$HERE/deployed.py" "$URL" "$deploy/prometheus/rpcrdma-gw.rules.yml" "$DIR/wrong.json"
    says replies
    stop
}

# A drained or killed client sees its connection end between two RPCs; others continue.
case_orders() {
    local other
    configure
    perf_server 20050
    gateway
    load drained 20049 2 --op read --size 4k --depth 4
    local drained=$pid
    load other 20051 2 --op null
    other=$pid
    wait_for 20 status_has '"sessions": 2' || fail "no sessions"
    refused '{"do":"drain","route":"three"}'
    says 'no such route'
    refused '{"do":"kill","session":999}'
    says 'no such session'
    refused '{"do":"show","session":5000000001}'
    says 'no such session'
    ask '{"do":"drain","route":"one"}'
    says '"sessions": 1'
    wait_for 20 grep -q 'event=session.end .*route=one .*cause=ok why="drained"' "$LOG" || fail "it was not drained"
    wait "$drained" && fail "its client saw nothing"
    kill -0 "$other" 2>/dev/null || fail "the other route's session ended as well"
    ask '{"do":"sessions"}'
    says '"done": {"sessions": 1}'
    ask "{\"do\":\"kill\",\"session\":$(sed -n 's/.*"session": {"id": \([0-9]*\),.*/\1/p' "$DIR/out")}"
    wait "$other" && fail "its client saw nothing"
    grep -q 'event=session.end .*route=two .*why="killed by the operator"' "$LOG" || fail "it was not killed"
    grep -q 'event=control do=kill .*sessions=1' "$LOG" || fail "the log does not tell"
    ask '{"do":"log"}'
    says '"level": "info"'
    ask '{"do":"log","level":"debug"}'
    perf 20049 1 --op null --count 10 >/dev/null 2>&1 || fail "no service"
    grep -q event=session.begin "$LOG" || fail "no lines of level debug"
    ask '{"do":"reload"}'
    says '"reload": {"added": 0, "changed": 0, "removed": 0, "kept": 2, "restart": \[\]}'
    grep -q 'event=reload routes=2 added=0 changed=0 removed=0 kept=2' "$LOG" || fail "nothing was read anew"
    stop
}

gwctl() { expect_exit "$1" "$BIN/rpcrdma-gwctl" --socket "$CTL" "${@:2}"; }
# Commands of rpcrdma-gwctl, their output and their exit status.
case_tool() {
    local session level
    expect_exit 0 "$BIN/rpcrdma-gwctl" --help
    says 'Exit status:'
    expect_exit 0 "$BIN/rpcrdma-gwctl" --version
    says '^rpcrdma-gwctl [0-9]'
    gwctl 3 status
    says "$CTL: No such file"
    gwctl 2
    gwctl 2 dance
    gwctl 2 kill
    gwctl 2 kill session one
    gwctl 2 status extra
    gwctl 2 status --route one
    gwctl 2 --bogus status
    configure
    perf_server 20050
    gateway
    load old 20049 1 --op read --size 8k --depth 2 --connections 2
    local old=$pid
    load new 20051 2 --op null
    wait_for 20 status_has '"sessions": 3' || fail "no sessions"
    wait_for 20 eval 'client metrics "$URL"; "$BIN/rpcrdma-gwctl" -s "$CTL" status | grep -q " calls [1-9]"' ||
        fail "no calls"
    gwctl 0 status
    says "process $PID, serving for"
    says 'serves     3 sessions of at most [0-9]*, 2 routes, 2 workers$'
    says 'used by .* connections [0-9.]*[KMG]'
    gwctl 0 routes
    says "listens    $HOST:20049, versions \[ 1, 2 \]"
    gwctl 0 sessions
    says '^3 sessions$'
    session=$(sed -n 's/^\([0-9]*\) *two .*/\1/p' "$DIR/out")
    gwctl 0 sessions --route two
    says '^1 session$'
    gwctl 0 sessions --json --route two
    says '^{"done":{"sessions":1}}$'
    gwctl 1 sessions --route three
    says 'rpcrdma-gwctl: there is no such route'
    wait_for 20 eval '"$BIN/rpcrdma-gwctl" -s "$CTL" clients | grep -q " 1  .* yes .*replies of some KiB"' ||
        fail "who reads 8 KiB by version 1 is not told from the others"
    gwctl 0 clients
    says ' SESSIONS  MEMORY '
    says ' 2  .* speaks '
    gwctl 0 clients --json
    says '^{"client":{.*"version":"1",.*"sessions":2,.*"fixed_bytes":[1-9][0-9]*,"call_bytes":[0-9]*,"version_2":"yes"}}$'
    says '^{"done":{}}$'
    gwctl 0 show session "$session"
    says "session $session of route two, open for"
    says 'version 2, sends'
    gwctl 1 show 999999
    says 'there is no such session'
    gwctl 0 drain one
    # Both sessions are of one client. It ends when the first session ends, perhaps before the other session's worker gets the order.
    says '^[12] sessions* will end between two RPCs'
    wait "$old" && fail "its client saw nothing"
    gwctl 0 log level error
    gwctl 0 log level debug
    says 'level debug'
    for level in error debug; do
        grep -q "level=info event=control do=log to=$level\$" "$LOG" || fail "log does not tell of level $level"
    done
    gwctl 1 log level loud
    gwctl 0 reload
    gwctl 0 kill session "$session"
    says "session $session is ended"
    wait_for 20 status_has '"sessions": 0' || fail "sessions stay"
    # Another program answers at the path. (The gateway, in its sandbox, could not remove its socket.)
    stop
    rm -f "$CTL"
    python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
for words in (b"hello\n", b"[1]\n", b"{\"status\":{}}\n", b"{\"error\":\"no\\u001b[2J\"}\n"):
    c = s.accept()[0]; c.recv(100); c.sendall(words); c.close()' "$CTL" &
    pids+=("$!")
    wait_for 10 test -S "$CTL" || fail "no impostor"
    gwctl 3 status
    says 'not rpcrdma-gw'
    gwctl 3 status
    says 'not rpcrdma-gw'
    gwctl 3 status
    says 'the gateway ended the connection before its answer was complete'
    gwctl 1 status
    says 'rpcrdma-gwctl: no?\[2J$'
    rm "$CTL"
}

case_one_of_each() {
    configure
    sed -i 's/^workers.*/workers = 1;/; /^}, {/,/upstream/d' "$CONF"
    gateway
    gwctl 0 status
    says ', 1 route, 1 worker$'
    stop
}

# completes WORDS REGEXP: the completions of the last of WORDS match REGEXP
completes() {
    (
        PATH=$BIN:$PATH
        # shellcheck source=deploy/rpcrdma-gwctl.bash
        . "$HERE/../../deploy/rpcrdma-gwctl.bash"
        read -ra COMP_WORDS <<<"rpcrdma-gwctl -s $CTL $1"
        [[ $1 == *' ' || -z $1 ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _rpcrdma_gwctl
        [[ "${COMPREPLY[*]}" =~ $2 ]] || { echo "completes \"$1\": ${COMPREPLY[*]}" && exit 1; }
    ) || fail "completion of \"$1\""
}

# The shell completes commands and options, and names of routes and numbers of sessions that the gateway has.
case_completion() {
    configure
    perf_server 20050
    gateway
    load calls 20051 2 --op null
    wait_for 20 status_has '"sessions": 1' || fail "no session"
    completes '' '^status routes sessions clients show drain kill reload top trace capture log$'
    completes 's' '^status sessions show$'
    completes 't' '^top trace$'
    completes 'drain ' '^one two$'
    completes 'drain t' '^two$'
    completes 'sessions --route o' '^one$'
    completes 'kill ' '^(1|2)$'
    completes 'log w' '^warn$'
    completes 'status --j' '^--json$'
    completes 'status ' '^$'
    completes 'trace --procedure readd' '^readdir readdirplus$'
    completes 'trace --session ' '^(1|2)$'
    completes 'top --sort m' '^memory$'
    completes 'trace --slow 5ms --p' '^--program --procedure$'
    kill "$pid"
    stop
}

# A gateway does not start if another process listens at its control socket's path. It replaces the socket of a dead process.
case_socket() {
    configure
    perf_server 20050
    gateway
    [ "$(stat -c %a "$CTL")" = 600 ] || fail "mode $(stat -c %a "$CTL")"
    sed "s/port = 200\(49\|51\)/port = 300\1/; s/port = $PORT/port = 9750/" "$CONF" >"$DIR/second.conf"
    expect_exit 3 "$BIN/rpcrdma-gw" -c "$DIR/second.conf"
    says "event=control.failed path=\"$CTL\" why=\"another process answers there"
    ask '{"do":"status"}'
    says "\"pid\": $PID,"
    kill -KILL "$PID"
    wait "$PID" 2>/dev/null
    [ -S "$CTL" ] || fail "the dead process left none"
    gateway
    ask '{"do":"status"}'
    says "\"pid\": $PID,"
    # A gateway whose metrics' address is in use does not start, either.
    sed -i "s|$CTL|$DIR/other|; s/port = 9750/port = $PORT/" "$DIR/second.conf"
    expect_exit 3 "$BIN/rpcrdma-gw" -c "$DIR/second.conf"
    says "event=metrics.failed address=$HOST:$PORT why=\"Address already in use"
    stop
}

# While a gateway that ends waits for its last calls, another process can have the control socket.
case_successor() {
    local first
    configure
    sed -i 's/drain_timeout = 3/drain_timeout = 120/' "$CONF"
    perf_server 20050
    local server=$pid
    gateway
    first=$PID
    load calls 20049 2 --op null --depth 4
    wait_for 20 status_has '"sessions": 1' || fail "no session"
    kill -STOP "$server"
    wait_for 20 calls_in_flight || fail "no call waits for the server"
    kill "$first"
    wait_for 20 eval '! python3 "$HERE/client.py" ask "$CTL" "{\"do\":\"status\"}" 2>/dev/null >&2' || fail "it answers still"
    : >"$DIR/gateway.first"
    cp "$LOG" "$DIR/gateway.first"
    gateway
    kill -0 "$first" 2>/dev/null || fail "the first did not wait for its calls"
    ask '{"do":"status"}'
    says "\"pid\": $PID"
    kill -CONT "$server"
    wait "$first" || fail "the first ended with $?"
    ask '{"do":"status"}'
    says "\"pid\": $PID,"
    stop
}

# deploy/ha/serving succeeds only while a gateway serves: not without a gateway, nor while the gateway hangs or drains.
serving() { PATH=$BIN:$PATH "$HERE/../../deploy/ha/serving" "$CTL"; }
case_serving() {
    local server
    configure
    sed -i 's/drain_timeout = 3/drain_timeout = 120/' "$CONF"
    perf_server 20050
    server=$pid
    ! serving || fail "a gateway that is not there serves"
    gateway
    serving || fail "a gateway that serves does not"
    kill -STOP "$PID"
    ! serving || fail "a gateway that hangs serves"
    kill -CONT "$PID"
    load calls 20049 2 --op null --depth 4
    wait_for 20 status_has '"sessions": 1' || fail "no session"
    kill -STOP "$server"
    wait_for 20 calls_in_flight || fail "no call waits for the server"
    kill "$PID"
    wait_for 5 eval '! serving' || fail "a gateway that drains serves"
    kill -0 "$PID" 2>/dev/null || fail "it did not wait for its calls"
    kill -CONT "$server"
    wait "$PID" || fail "exit code $?"
    ! serving || fail "a gateway that has ended serves"
}

# Garbage, many connections, clients that do not read: the gateway serves other clients, and afterwards has no more descriptors than
# before. It never had more than 32 MiB of memory; without these clients it has 8 MiB.
case_hostile() {
    local before after
    configure
    perf_server 20050
    gateway
    load calls 20049 2 --op echo --size 1k --depth 4
    local calls=$pid
    wait_for 20 status_has '"sessions": 1' || fail "no session"
    before=$(find "/proc/$PID/fd" | wc -l)
    timeout 100 python3 "$HERE/hostile.py" "$CTL" "$URL" >"$DIR/out" 2>&1 || fail "hostile.py"
    cat "$DIR/out"
    kill -0 "$calls" 2>/dev/null || fail "the session ended"
    wait_for 20 fds_are "$before" || fail "descriptors: $before, then $(find "/proc/$PID/fd" | wc -l)"
    after=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$PID/status")
    echo "at most $after KiB"
    is_sanitized || [ "$after" -le 32768 ] || fail "memory: $after KiB"
    kill "$calls"
    stop
}
fds_are() { [ "$(find "/proc/$PID/fd" | wc -l)" -le "$1" ]; }

# One host uses up the metrics listener, and another host can still scrape. With 60 routes an answer does not fit into a socket.
case_hosts() {
    local i sixty=()
    configure
    sed -i 's/^memory_limit = .*/memory_limit = "1G";/' "$CONF"
    for i in {1..60}; do sixty+=("route$i" $((20100 + i)) ''); done
    routes "${sixty[@]}"
    gateway
    timeout 400 python3 "$HERE/hosts.py" "$URL" >"$DIR/out" 2>&1 || fail "hosts.py"
    cat "$DIR/out"
    stop
}

# routes [NAME PORT EXTRA]...: replaces the routes in $CONF by these. EXTRA has more keys of the listen side.
routes() {
    local comma=''
    sed -i '/^routes = /,$d' "$CONF"
    echo 'routes = (' >>"$CONF"
    while [ $# -gt 0 ]; do
        cat >>"$CONF" <<END
$comma { name = "$1";
  listen   = { address = "$HOST"; port = $2; $3 };
  upstream = { address = "$HOST"; port = 20050; };
}
END
        comma=,
        shift 3
    done
    echo ');' >>"$CONF"
}
process_has() { python3 "$HERE/client.py" ask "$CTL" '{"do":"status"}' | sed "s/.*\"$1\": \([0-9]*\).*/\1/;q"; }
heap_is() { [ "$(process_has heap_live)" -le "$1" ]; }
reload() { # ADDED CHANGED REMOVED KEPT RESTART: reloads; the answer must have these numbers
    client ask "$CTL" '{"do":"reload"}'
    says "\"reload\": {\"added\": $1, \"changed\": $2, \"removed\": $3, \"kept\": $4, \"restart\": \[$5\]}"
}
end_well() { # NAME PID: ends a load, which must have had no error
    kill -INT "$2"
    wait "$2" || fail "$1 ended with $?"
    grep -q '"errors": 0' "$DIR/$1" || fail "$1: errors"
}

# Fifty reloads. Clients of a route that stays, and of a route that each pair of reloads changes, see no error. New clients get the routes of
# the file. In the end the gateway has no more descriptors and hardly more allocations than before.
case_reload() {
    local i stays changes fds heap
    configure
    perf_server 20050
    routes stays 20049 '' changes 20051 ''
    gateway
    load stays 20049 1 --op read --size 16k --depth 4 --connections 2
    stays=$pid
    load changes 20051 2 --op null --depth 2
    changes=$pid
    wait_for 20 status_has '"sessions": 3' || fail "no sessions"
    for i in {1..25}; do
        routes stays 20049 '' changes 20051 "credits = $((20 + i));" "new$i" $((20100 + i)) ''
        reload 1 1 0 1 ''
        perf $((20100 + i)) $((i % 2 + 1)) --op null --count 3 >"$DIR/short" 2>&1 || fail "new$i does not serve"
        ((i % 4)) || perf 20051 $((i % 3 ? 1 : 2)) --op null --count 3 >"$DIR/short" 2>&1 || fail "changes does not serve"
        routes stays 20049 '' changes 20051 "credits = $((20 + i));"
        reload 0 0 1 2 ''
        ((i % 4)) || ! perf $((20100 + i)) 2 --op null --count 1 >"$DIR/short" 2>&1 || fail "new$i serves yet"
        if [ "$i" -eq 3 ]; then
            wait_for 20 status_has '"sessions": 3' || fail "short sessions stay"
            fds=$(process_has descriptors)
            heap=$(process_has heap_live)
        fi
    done
    ask '{"do":"sessions","route":"changes"}'
    says '"old_settings": true'
    ask '{"do":"sessions","route":"stays"}'
    says '"old_settings": false'
    wait_for 20 status_has '"sessions": 3' || fail "short sessions stay"
    [ "$(process_has descriptors)" -eq "$fds" ] || fail "descriptors: $fds, then $(process_has descriptors)"
    wait_for 20 heap_is $((heap + 3)) || fail "allocations: $heap, then $(process_has heap_live)"
    client metrics "$URL"
    ask '{"do":"routes"}'
    [ "$(grep -c '"route"' "$DIR/out")" -eq 2 ] || fail "routes: $(cat "$DIR/out")"
    [ "$(grep -c event=session.end "$LOG")" -eq "$(grep -c 'event=session.end .*route=\(new\|changes\)' "$LOG")" ] ||
        fail "a session of the route that stays ended"
    end_well stays "$stays"
    end_well changes "$changes"
    stop
}

# When a reload removes a route, its sessions end between two RPCs. Its memory and its name are free again.
case_reload_removes() {
    configure
    perf_server 20050
    gateway
    load gone 20051 2 --op read --size 4k --depth 4
    local gone=$pid
    wait_for 20 status_has '"sessions": 1' || fail "no session"
    routes one 20049 ''
    reload 0 0 1 1 ''
    wait_for 20 grep -q 'event=session.end .*route=two .*cause=ok why="drained"' "$LOG" || fail "it was not drained"
    wait "$gone" && fail "its client saw nothing"
    wait_for 20 status_has '"sessions": 0' || fail "sessions stay"
    # A new route has the name of the removed route, and the port of another one.
    routes two 20049 '' three 20051 ''
    reload 2 0 1 0 ''
    perf 20049 1 --op null --count 10 >/dev/null 2>&1 || fail "no service at what was one's"
    perf 20051 2 --op null --count 10 >/dev/null 2>&1 || fail "no service at what was two's"
    ask '{"do":"routes"}'
    [ "$(grep -c '"route"' "$DIR/out")" -eq 2 ] || fail "routes: $(cat "$DIR/out")"
    # With another setup_timeout the route has another instance of the fabric, with the same socket.
    routes two 20049 'setup_timeout = 8;' three 20051 ''
    reload 0 1 0 1 ''
    perf 20049 1 --op null --count 10 >/dev/null 2>&1 || fail "no service after a new setup_timeout"
    # When a route goes, its sessions with earlier settings end as well, and no other route's sessions.
    load older 20051 1 --op null
    local older=$pid
    load stays 20049 2 --op null
    wait_for 20 status_has '"sessions": 2' || fail "no sessions"
    routes two 20049 'setup_timeout = 8;' three 20051 'credits = 20;'
    reload 0 1 0 1 ''
    ask '{"do":"sessions","route":"three"}'
    says '"old_settings": true'
    routes two 20049 'setup_timeout = 8;'
    reload 0 0 1 1 ''
    wait_for 20 status_has '"sessions": 1' || fail "a session of older settings stays"
    wait "$older" && fail "its client saw nothing"
    ask '{"do":"sessions","route":"two"}'
    [ "$(grep -c '"session"' "$DIR/out")" -eq 1 ] || fail "another's session was drained: $(cat "$DIR/out")"
    stop
}

says_nothing() { # REGEXP: no line of the last command's output matches REGEXP
    ! grep -aqs -e "$1" "$DIR/out" "$DIR/out.err" || fail "the output has: $1"
}

# A reload removes a route whose sessions have calls in flight, one of them with older settings. The route and its sessions are listed
# until the last session has ended, whichever session ends first. Its metrics end with the reload.
case_reload_leaving() {
    local server older
    configure
    sed -i 's/drain_timeout = 3/drain_timeout = 120/' "$CONF"
    perf_server 20050
    server=$pid
    routes one 20049 '' two 20051 ''
    gateway
    load older 20051 1 --op null
    wait_for 20 status_has '"sessions": 1' || fail "no session"
    routes one 20049 '' two 20051 'credits = 20;'
    reload 0 1 0 1 ''
    load newer 20051 2 --op null
    wait_for 20 status_has '"sessions": 2' || fail "no second session"
    kill -STOP "$server"
    wait_for 20 two_wait || fail "no calls wait for the server"
    client get "$URL"
    says '^rpcrdma_gw_sessions{route="two"} 2$'
    routes one 20049 ''
    reload 0 0 1 1 ''
    client get "$URL"
    says_nothing 'route="two"'
    grep -q 'event=listen route=two address=none$' "$LOG" || fail "the log does not tell which route was removed"
    ask '{"do":"sessions"}'
    older=$(sed -n 's/.*"session": {"id": \([0-9]*\),.*"old_settings": true.*"version": "1".*/\1/p' "$DIR/out" | head -n 1)
    gwctl 0 kill session "$older"
    wait_for 20 is_one_left two || fail "session $older stays"
    gwctl 0 routes
    says '^two, removed: its sessions end$'
    says_nothing '^listens .*:20051,'
    kill -CONT "$server"
    wait_for 20 is_no_route two || fail "sessions stay"
    gwctl 1 sessions --route two
    says 'there is no such route'
    stop
}
# A worker gives a session up some turns after its end, and then its route.
is_one_left() { "$BIN/rpcrdma-gwctl" --socket "$CTL" sessions --route "$1" 2>&1 | grep -qx '1 session'; }
is_no_route() { ! "$BIN/rpcrdma-gwctl" --socket "$CTL" sessions --route "$1" >"$DIR/none" 2>&1; }
two_wait() { [ "$(python3 "$HERE/client.py" ask "$CTL" '{"do":"sessions"}' 2>/dev/null | grep -c '"in_flight": [1-9]')" -eq 2 ]; }

# reload_refused REGEXP...: the gateway refuses a reload by the control socket and by SIGHUP, with a message like each REGEXP, and still
# serves
reload_refused() {
    local words
    refused '{"do":"reload"}'
    says 'error: the configuration was refused, and nothing has changed'
    for words in "$@"; do says "$words"; done
    : >"$LOG"
    kill -HUP "$PID"
    wait_for 20 grep -q event=reload.refused "$LOG" || fail "SIGHUP is not answered"
    gwctl 1 reload
    says "$1"
    perf 20049 1 --op null --count 3 >/dev/null 2>&1 || fail "no service afterwards"
}

# A file with errors is refused as a whole, with the lines of the errors. The answer names keys that need a restart.
case_reload_refused() {
    local fds value begun
    configure
    perf_server 20050
    gateway
    begun=$(grep 'event=start ' "$LOG")
    load calls 20049 2 --op echo --size 1k --depth 4
    local calls=$pid
    wait_for 20 status_has '"sessions": 1' || fail "no session"
    fds=$(process_has descriptors)
    cp "$CONF" "$DIR/good"
    sed -i '/port = 20051/s/$/ !/' "$CONF"
    reload_refused "gw.conf:10: "
    cp "$DIR/good" "$CONF"
    sed -i 's/port = 20051/port = 20049; credits = 0/; s/drain_timeout = 3/drain_timeout = "soon"/' "$CONF"
    reload_refused 'gw.conf:3: drain_timeout' 'gw.conf:10: credits' 'gw.conf:10: .* listens on'
    # The file is valid, but a port is in use: no route is applied.
    cp "$DIR/good" "$CONF"
    perf_server 20059
    sed -i 's/port = 20051/port = 20059/; s/port = 20049;/port = 20052;/' "$CONF"
    reload_refused "gw.conf:10: $HOST:20059: Address already in use"
    ! perf 20052 1 --op null --count 1 >/dev/null 2>&1 || fail "half of it was applied"
    cp "$DIR/good" "$CONF"
    sed -i 's/port = 20051;/port = 20051; inline = 8192; crc = false;/' "$CONF"
    reload_refused 'gw.conf:10: listen has an inline of more than the 4096' 'gw.conf:10: listen has a crc'
    rm "$CONF"
    reload_refused 'gw.conf: No such file'
    wait_for 20 status_has '"sessions": 1' || fail "sessions stay"
    [ "$(process_has descriptors)" -eq "$fds" ] || fail "descriptors: $fds, then $(process_has descriptors)"
    sed '1s/^/max_setups = 7; /; s/drain_timeout = 3/drain_timeout = 4/; s|^control = .*|control = "/nowhere";|' \
        "$DIR/good" >"$CONF"
    reload 0 0 0 2 '"max_setups", "control"'
    grep -q 'event=reload.restart keys="max_setups, control"' "$LOG" || fail "the log does not tell"
    gwctl 0 reload
    says 'routes     0 added, 0 changed, 0 removed, 2 as they were'
    says 'restart    max_setups has another value'
    # A value that is in effect already is no change, although the file had none before.
    for value in max_sessions max_setups; do
        [[ $begun =~ $value=([0-9]+) ]] || fail "the log does not tell $value: $begun"
        sed "1s/^/$value = ${BASH_REMATCH[1]}; /; s/drain_timeout = 3/drain_timeout = 4/" "$DIR/good" >"$CONF"
        reload 0 0 0 2 ''
    done
    end_well calls "$calls"
    stop
    grep -q 'event=stop .*drain_timeout_s=4' "$LOG" || fail "drain_timeout is as it was"
}

# A service manager passes sockets to the gateway, gets its notifications, and has a watchdog. A client that connects while no gateway
# runs waits, and is served by the next one.
case_service() {
    local manager early
    configure
    perf_server 20050
    start manager python3 "$HERE/service.py" restart "$BIN/rpcrdma-gw" "$CONF" "$LOG" "$HOST:20049" "$HOST:20051" "$HOST:$PORT"
    manager=$pid
    wait_for 60 grep -q away "$DIR/manager" || fail "$(cat "$DIR/manager.err")"
    load early 20049 2 --op null --count 20
    early=$pid
    wait_for 60 grep -q back "$DIR/manager" || fail "$(cat "$DIR/manager.err")"
    wait "$early" || fail "a client that connected while no gateway ran is not served"
    perf 20051 1 --op null --count 3 >/dev/null 2>&1 || fail "no service at the second socket"
    client metrics "$URL"
    begin_reconnecting
    touch "$CONF.go"
    wait_for 60 grep -q restarted "$DIR/manager" || fail "$(cat "$DIR/manager.err")"
    nobody_was_refused
    touch "$CONF.end"
    wait "$manager" || fail "$(cat "$DIR/manager.err")"
    ! grep 'event=end' "$LOG" | grep -v 'code=0 heap_live=0\|code=3' || fail "something is left"
}

# turned_away PORT: a client that connects there sees its connection end at once
turned_away() {
    python3 - "$HOST" "$1" <<'END' || fail "a client of port $1 is not turned away"
import socket, sys
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
    assert s.recv(1) == b""
except ConnectionResetError:
    pass
END
}
served() { perf "$1" 1 --op null --count 3 >/dev/null 2>&1 || fail "no service at port $1 $2"; }

# A service manager keeps its sockets open. A socket without a route turns clients away. A route that a reload adds, or adds again, uses
# its socket. Both hold for the process that the manager started, and for its successor.
case_service_reload() {
    local manager old
    configure
    perf_server 20050
    start manager python3 "$HERE/service.py" lend "$BIN/rpcrdma-gw" "$CONF" "$LOG" "$HOST:20049" "$HOST:20051" "$HOST:20053" "$HOST:$PORT"
    manager=$pid
    wait_for 60 grep -q ready "$DIR/manager" || fail "$(cat "$DIR/manager.err")"
    PID=$(cut -d ' ' -f 1 "$DIR/manager")
    pids+=("$PID")
    served 20051 "at first"
    turned_away 20053
    routes one 20049 ''
    reload 0 0 1 1 ''
    turned_away 20051
    routes one 20049 '' two 20051 '' three 20053 ''
    reload 2 0 0 1 ''
    served 20051 "again"
    served 20053 "from now on"
    # With another setup_timeout a route opens the same socket with other settings.
    routes one 20049 '' two 20051 'setup_timeout = 8;'
    reload 0 1 1 1 ''
    turned_away 20053
    served 20051 "with other settings"
    # A reload that fails half-way gives back the socket that it took.
    routes one 20049 '' three 20053 '' four 20050 ''
    refused '{"do":"reload"}'
    turned_away 20053
    routes one 20049 ''
    reload 0 0 1 1 ''
    old=$PID LOG=$DIR/successor.err
    start successor "$BIN/rpcrdma-gw" -c "$CONF" --take-over
    PID=$pid
    wait_for 20 grep -qs event=ready "$LOG" || fail "the successor does not start"
    touch "$CONF.end"
    wait "$manager" || fail "$(cat "$DIR/manager.err")"
    wait_for 20 successor_serves "$PID" || fail "the successor is not at the control socket"
    turned_away 20051
    routes one 20049 '' two 20051 '' three 20053 ''
    reload 2 0 0 1 ''
    served 20051 "by the successor"
    served 20053 "by the successor"
    served 20049 "by the successor"
    # The gateway closes a listening socket of its own when a reload removes the route. Another program can then use the port.
    routes one 20049 '' four 20054 ''
    reload 1 0 2 1 ''
    routes one 20049 ''
    reload 0 0 1 1 ''
    perf_server 20054
    stop
}

# A client that connects again whenever its connection ends, as a kernel client does, until $DIR/enough exists.
reconnect() { # PORT VERSION NAME
    local n=0
    while [ ! -e "$DIR/enough" ]; do
        perf "$1" "$2" --op null --depth 2 --count 400 >"$DIR/$3.one" 2>&1
        [ $? -ne 124 ] || echo "run $n hung" >>"$DIR/$3.refused"
        grep -h 'cannot connect\|refused' "$DIR/$3.one" >>"$DIR/$3.refused"
        n=$((n + 1))
        echo "$n" >"$DIR/$3"
    done
}
begin_reconnecting() {
    : >"$DIR/one.refused"
    : >"$DIR/two.refused"
    reconnect 20049 1 one &
    loops=("$!")
    reconnect 20051 2 two &
    loops+=("$!")
    pids+=("${loops[@]}")
}
nobody_was_refused() {
    wait_for 30 eval '[ "$(cat "$DIR/one" 2>/dev/null || echo 0)" -ge 5 ]' || fail "next to no clients came"
    touch "$DIR/enough"
    wait "${loops[@]}"
    echo "$(cat "$DIR/one") and $(cat "$DIR/two") runs of a client"
    [ ! -s "$DIR/one.refused" ] && [ ! -s "$DIR/two.refused" ] || fail "refused: $(cat "$DIR/one.refused" "$DIR/two.refused")"
}
successor_serves() { python3 "$HERE/client.py" ask "$CTL" '{"do":"status"}' 2>/dev/null | grep -q "\"pid\": $1,.*\"state\": \"serving\""; }

# Twenty times a new process takes over, while clients connect again and again. No client is refused.
case_takeover() {
    local i most old
    configure
    perf_server 20050
    refused '{"do":"yield"}'
    expect_exit 0 "$BIN/rpcrdma-gw" --help
    says 'take-over'
    # If no gateway runs, --take-over is an ordinary start.
    start gateway "$BIN/rpcrdma-gw" -c "$CONF" --take-over
    PID=$pid
    wait_for 20 grep -q event=ready "$LOG" || fail "it does not start"
    refused '{"do":"yield"}'
    says 'only for a process that was handed'
    most=$(find "/proc/$PID/fd" | wc -l)
    begin_reconnecting
    # A successor that ends before it asks for the sockets, or after it got them, changes nothing.
    sed "s/port = 20049/port = 20059/; s/workers = 2/workers = 2; log = { level = \"nonsense\"; }/" "$CONF" >"$DIR/bad.conf"
    expect_exit 1 "$BIN/rpcrdma-gw" -c "$DIR/bad.conf" --take-over
    client hangs_up "$CTL" "$PID"
    wait_for 20 grep -q 'level=warn event=control do=hand_over why="the sockets could not be sent"' "$LOG" || fail "a failure is not told"
    ! grep 'event=control do=hand_over sockets=' "$LOG" || fail "the log tells of sockets that nobody has"
    ask '{"do":"hand_over"}'
    says '"sockets": 4'
    for i in {1..20}; do
        old=$PID
        LOG=$DIR/gateway$i.err
        start "gateway$i" "$BIN/rpcrdma-gw" -c "$CONF" --take-over
        PID=$pid
        wait_for 20 grep -qs event=ready "$LOG" || fail "successor $i does not start"
        wait "$old" || fail "number $((i - 1)) ended with $?"
        ! grep -q event=listen.unused "$LOG" || fail "a socket was passed in vain"
        wait_for 20 successor_serves "$PID" || fail "successor $i is not at the control socket"
    done
    nobody_was_refused
    client metrics "$URL"
    echo "$(find "/proc/$PID/fd" | wc -l) descriptors, the first process had $most"
    wait_for 20 fds_are "$most" || fail "descriptors: $most, then $(find "/proc/$PID/fd" | wc -l)"
    ! grep -h 'event=end' "$DIR"/gateway*.err | grep -v 'code=0 heap_live=0' || fail "something is left"
    stop
}

# If the successor fails, the old gateway goes on. If the old gateway ends meanwhile, the successor keeps the path of the control socket.
case_takeover_fails() {
    configure
    perf_server 20050
    gateway
    sed "s/port = $PORT;/port = 20050;/" "$CONF" >"$DIR/taken.conf"
    expect_exit 3 "$BIN/rpcrdma-gw" -c "$DIR/taken.conf" --take-over
    says 'event=metrics.failed .*Address already in use'
    ask '{"do":"status"}'
    says "\"pid\": $PID,.*\"state\": \"serving\""
    client left_to "$CTL" "$PID"
    wait "$PID" || fail "exit code $?"
    # The successor is gone, too, and has left its socket at the path. A new gateway can start.
    gateway
    ask '{"do":"status"}'
    says "\"pid\": $PID,"
    stop
}

# Exactly one of both gateways serves, even if one of them is slow or goes away.
case_takeover_once() {
    local other
    configure
    perf_server 20050
    gateway
    client impatient_successor "$CTL" "$PID"
    client slow_successor "$CTL" "$PID"
    wait "$PID" || fail "exit code $?"
    grep -q 'event=end code=0 heap_live=0' "$LOG" || fail "something is left"
    rm "$CTL"
    # The old gateway refuses to yield and goes on. The successor ends, and leaves the path to the old gateway.
    start other python3 "$HERE/client.py" stand_in "$CTL" goes_on
    other=$pid
    wait_for 20 grep -qs listening "$DIR/other" || fail "no other one"
    expect_exit 3 "$BIN/rpcrdma-gw" -c "$CONF" --take-over
    says "event=takeover.failed why=\".*it took too long"
    says 'event=end code=3 heap_live=0'
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$CTL" || fail "nobody is at the path"
    wait "$other" || fail "the other one: $(cat "$DIR/other.err")"
    rm "$CTL"
    # The old gateway ends during the take-over. The successor serves.
    start other python3 "$HERE/client.py" stand_in "$CTL" gone
    wait_for 20 grep -qs listening "$DIR/other" || fail "no other one"
    start gateway "$BIN/rpcrdma-gw" -c "$CONF" --take-over
    PID=$pid
    wait_for 20 successor_serves "$PID" || fail "nobody serves"
    perf 20049 1 --op null --count 10 >/dev/null 2>&1 || fail "no service"
    stop
}

holds_a_socket() { [ -n "$(find "/proc/$1/fd" -lname 'socket:*' 2>/dev/null)" ]; }

# A successor that gets signals while it waits for the old gateway handles them when it serves. While another process has the listening
# sockets, a gateway refuses reloads, because that process would not get the sockets that a reload adds.
case_takeover_signals() {
    local old
    configure
    perf_server 20050
    gateway
    old=$PID
    kill -STOP "$old"
    start successor "$BIN/rpcrdma-gw" -c "$CONF" --take-over
    PID=$pid LOG=$DIR/successor.err
    wait_for 20 holds_a_socket "$PID" || fail "it does not ask"
    kill -HUP "$PID" && kill -USR1 "$PID"
    kill -CONT "$old"
    wait_for 20 grep -q event=ready "$LOG" || fail "it does not start"
    wait_for 20 grep -q 'event=reload routes=2 added=0' "$LOG" || fail "SIGHUP is lost"
    wait_for 20 counters_reported 2 || fail "SIGUSR1 is lost"
    wait "$old" || fail "the old one ended with $?"
    routes one 20049 '' two 20051 '' three 20053 ''
    client reload_meanwhile "$CTL" "$PID"
    grep -q "event=reload.refused why=\".*takes over" "$LOG" || fail "SIGHUP: $(grep event=reload "$LOG")"
    perf 20053 1 --op null --count 3 >/dev/null 2>&1 || fail "no service after a reload that was made again"
    stop
}

# The old gateway reloads after its successor has read the file, and before it hands over. The successor serves the routes that the reload
# added.
case_takeover_reload() {
    local old
    configure
    perf_server 20050
    gateway
    old=$PID
    kill -STOP "$old"
    start successor "$BIN/rpcrdma-gw" -c "$CONF" --take-over
    PID=$pid LOG=$DIR/successor.err
    wait_for 20 holds_a_socket "$PID" || fail "it does not ask"
    routes one 20049 '' two 20051 '' three 20053 ''
    kill -HUP "$old" && kill -CONT "$old"
    wait_for 20 grep -q event=ready "$LOG" || fail "it does not start"
    wait "$old" || fail "the old one ended with $?"
    perf 20053 1 --op null --count 3 >/dev/null 2>&1 || fail "no service at what was reloaded: $(cat "$LOG")"
    ! grep event=listen.unused "$LOG" || fail "a socket was passed in vain"
    # The file has an error when the successor reads it again. The successor ends, and the gateway that serves goes on.
    kill -STOP "$PID"
    start late "$BIN/rpcrdma-gw" -c "$CONF" --take-over
    wait_for 20 holds_a_socket "$pid" || fail "it does not ask"
    echo 'nonsense = 1;' >>"$CONF"
    kill -CONT "$PID"
    wait "$pid"
    [ $? -eq 1 ] || fail "a file of no use: $(cat "$DIR/late.err")"
    grep -q 'event=end code=1 heap_live=0' "$DIR/late.err" || fail "something is left: $(cat "$DIR/late.err")"
    perf 20053 1 --op null --count 3 >/dev/null 2>&1 || fail "the one that serves does not go on"
    stop
}

# silent N: starts a program with N connections that send nothing, until it is ended
silent() {
    start silent python3 -c 'import socket, sys, time
all = [socket.create_connection((sys.argv[1], 20049), 20) for _ in range(int(sys.argv[2]))]
print("all", flush=True)
time.sleep(900)' "$HOST" "$1"
    wait_for 60 grep -qs all "$DIR/silent" || fail "not all connected"
}

# The limit of descriptors limits sessions. Some descriptors stay for operators, however many clients connect.
case_descriptors() {
    local most n
    configure
    sed -i '1i max_sessions = 2000; max_sessions_per_client = 2000; max_setups_per_second = 0;' "$CONF"
    perf_server 20050
    expect_exit 4 prlimit --nofile=100:100 "$BIN/rpcrdma-gw" -c "$CONF"
    says 'event=start.failed why="100 open files are too few for a session: raise LimitNOFILE'
    start gateway prlimit --nofile=400:400 "$BIN/rpcrdma-gw" -c "$CONF"
    PID=$pid
    wait_for 20 grep -q event=ready "$LOG" || fail "it does not start"
    most=$(sed -n 's/.*level=warn event=limit what=open_files have=400 max_sessions=\([0-9]*\) max_setups=[0-9]* .*raise LimitNOFILE.*/\1/p' "$LOG")
    [ "${most:-0}" -ge 50 ] && [ "$most" -le 152 ] || fail "max_sessions: ${most:-not told}"
    # Five clients connect at a time: fewer than the limit of silent sessions.
    for ((n = 5; n <= most; n += 5)); do
        load "load$n" 20049 2 --op null --connections 5
        wait_for 20 status_has "\"sessions\": $n\b" || fail "no $n sessions are open"
    done
    silent 600
    client metrics "$URL"
    ask '{"do":"sessions"}'
    [ "$(grep -c '"session"' "$DIR/out")" -eq $((n - 5)) ] || fail "sessions that serve made room"
    ! grep 'event=session.end' "$LOG" | grep -v 'said nothing' | head -n 3 | grep . || fail "sessions ended"
    stop
}

# start_closed NAME COMMAND...: as start, with standard input, output and error closed
start_closed() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    start "$1" bash -c 'exec "$@" <&- >&- 2>&-' closed "${@:2}"
}
is_null() { [ "$(readlink "/proc/$1/fd/$2")" = /dev/null ]; }
has_three() { is_null "$1" 0 && is_null "$1" 1 && is_null "$1" 2; }

# A program that is started with descriptors 0 to 2 closed opens /dev/null for them. Otherwise a socket, file or pipe would get one of
# these numbers, and the program's messages would go there.
case_closed_output() {
    local old
    configure
    start_closed server "$BIN/rpcrdma-perf" server --listen "iwarp:$HOST:20050"
    wait_for 20 has_three "$pid" || fail "rpcrdma-perf: $(ls -l "/proc/$pid/fd")"
    start_closed probe "$BIN/rpcrdma-probe" --listen "iwarp:$HOST:20060"
    wait_for 20 has_three "$pid" || fail "rpcrdma-probe: $(ls -l "/proc/$pid/fd")"
    start_closed gateway "$BIN/rpcrdma-gw" -c "$CONF"
    PID=$pid
    wait_for 20 status_has '"state": "serving"' || fail "it does not start"
    has_three "$PID" || fail "rpcrdma-gw: $(ls -l "/proc/$PID/fd")"
    start_closed trace "$BIN/rpcrdma-gwctl" --socket "$CTL" trace
    wait_for 20 has_three "$pid" || fail "rpcrdma-gwctl: $(ls -l "/proc/$pid/fd")"
    kill "$pid"
    # A program reports a closed output like a full one.
    expect_exit 1 bash -c '"$@" >&-' closed "$BIN/rpcrdma-gwctl" --socket "$CTL" status
    says 'rpcrdma-gwctl: standard output: Bad file descriptor'
    # A successor with standard error closed does not send its log to the old gateway's control socket.
    old=$PID
    # shellcheck disable=SC2016 # expanded by the inner shell
    start successor bash -c 'exec "$@" 2>&-' closed "$BIN/rpcrdma-gw" -c "$CONF" --take-over
    PID=$pid
    wait_for 20 successor_serves "$PID" || fail "the successor does not serve"
    wait "$old" || fail "the old one ended with $?"
    perf 20049 2 --op null --count 3 >/dev/null 2>&1 || fail "no service"
    kill "$PID"
    wait "$PID" || fail "exit code $?"
}

# A trace has RPCs with their steps: all of a run, those that took long, or those of one program. A trace ends when its client ends.
case_trace() {
    local i
    configure
    perf_server 20050
    local server=$pid
    gateway
    start traced "$BIN/rpcrdma-gwctl" -s "$CTL" --json trace --route one
    local traced=$pid
    wait_for 20 grep -q 'event=control do=trace route=one' "$LOG" || fail "nobody traces"
    perf 20049 2 --op read --size 64k --depth 4 --count 300 >"$DIR/short" 2>&1 || fail "no service"
    perf 20051 1 --op null --count 10 >"$DIR/short" 2>&1 || fail "no service"
    wait_for 20 eval '[ "$(grep -c "\"rpc\"" "$DIR/traced")" -ge 300 ]' || fail "$(grep -c '"rpc"' "$DIR/traced") RPCs of 300"
    kill -INT "$traced"
    wait "$traced" || fail "interrupted, it ends with $?"
    client trace "$DIR/traced" 300
    cat "$DIR/out"
    # The time of a slow call is counted as the server's.
    load calls 20051 2 --op null
    wait_for 20 status_has '"sessions": 1' || fail "no session"
    start slow "$BIN/rpcrdma-gwctl" -s "$CTL" trace --slow 700ms --count 1
    local slow=$pid
    wait_for 20 eval '[ "$(grep -c "do=trace" "$LOG")" -eq 2 ]' || fail "nobody traces"
    kill -STOP "$server"
    sleep 1
    kill -CONT "$server"
    wait "$slow" || fail "it ends with $?"
    grep -q '^1 RPC$' "$DIR/slow" || fail "not one"
    awk '$NF == "replied" { exit !($7 >= 700 && $11 >= 600) }' "$DIR/slow" || fail "it is not the server's time"
    gwctl 0 trace --program nfs --time 300ms
    says '^0 RPCs$'
    gwctl 1 trace --route three
    says 'there is no such route'
    gwctl 2 trace --program nfs9
    says 'no such program or procedure; a number will do: nfs9'
    gwctl 2 sessions --slow 5ms
    refused '{"do":"more"}'
    says 'trace or capture comes first'
    # There are at most two traces at a time. A trace that is killed makes room for another one.
    for i in 1 2; do
        start "hung$i" "$BIN/rpcrdma-gwctl" -s "$CTL" trace --slow 60s
        wait_for 20 eval '[ "$(grep -c "do=trace" "$LOG")" -eq '"$((3 + i))"' ]' || fail "number $i does not trace"
    done
    gwctl 1 trace --count 1
    says 'too many traces and captures'
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    wait_for 20 eval '"$BIN/rpcrdma-gwctl" -s "$CTL" trace --count 1 >"$DIR/out" 2>&1' || fail "no place comes free"
    stop
}

# At the end of a trace rpcrdma-gwctl fetches all records that are left, in many answers if necessary. It stops if there is no end.
case_tail() {
    start teller python3 "$HERE/client.py" teller "$CTL" 50
    wait_for 20 grep -qs listening "$DIR/teller" || fail "nobody is there"
    gwctl 0 --json trace --time 1us
    says '{"done":{"rpcs":50,"lost":0}}'
    [ "$(grep -c '"rpc"' "$DIR/out")" -eq 50 ] || fail "not all are told"
    [ ! -s "$DIR/out.err" ] || fail "$(cat "$DIR/out.err")"
    rm "$CTL"
    start teller python3 "$HERE/client.py" teller "$CTL" 0
    wait_for 20 grep -qs listening "$DIR/teller" || fail "nobody is there"
    gwctl 0 --json trace --time 1us
    says 'more records than could be read'
}

# "top" uses a screen of its own, and restores the terminal. With --once it prints a page.
case_top() {
    local slow
    configure
    perf_server 20050
    gateway
    load calls 20049 1 --op read --size 64k --depth 4 --connections 3
    wait_for 20 status_has '"sessions": 3' || fail "no sessions"
    # longer than the gateway waits for a request
    start slow "$BIN/rpcrdma-gwctl" -s "$CTL" top --once --interval 21s
    slow=$pid
    gwctl 0 top --once --interval 700ms
    says 'serving for .*: 3 of at most'
    awk '$1 == "one" && $2 == 3 && $3 > 0 && $7 > 0 { n++ } $1 == "two" && $2 == 0 && $3 == 0 { n++ }
        $2 == "one" && $4 == "1-2" && $5 > 0 { n++ } END { exit n != 5 }' "$DIR/out" || fail "not what goes on"
    gwctl 0 top --once --interval 10ms --sort memory
    says ' FLIGHT   MEMORY '
    gwctl 0 top --once --interval 10ms --route two
    ! grep -q ' one .* 1-2 ' "$DIR/out" || fail "sessions of another route"
    gwctl 1 top
    says 'this is no terminal: --once'
    gwctl 2 top --json
    gwctl 2 top --slow 5ms
    client screen "$BIN/rpcrdma-gwctl" "$CTL"
    cat "$DIR/out"
    gwctl 1 top --once --route three
    wait "$slow" || fail "top with a long interval: $(cat "$DIR/slow.err")"
    stop
    gwctl 3 top --once
}

# The status page, run in node (page.js).
case_page() {
    command -v node >/dev/null || exit 77
    configure
    sed -i '/name = "one"/,/}, {/s/port = 20050;/port = 20050; version = "2";/' "$CONF"
    sed -i '/name = "two"/,$s/port = 20050;/port = 20059;/' "$CONF" # a port without a listener
    perf_server 20050
    gateway
    load calls 20049 1 --op read --size 4k --depth 1 --connections 3
    ! perf 20051 1 --op null --count 1 >"$DIR/refused" 2>&1 || fail "served by nobody"
    wait_for 20 eval 'client get "$URL"; grep -q "sessions_speaking{route=\"one\",leg=\"client\",version=\"1\"} 3" "$DIR/out"' ||
        fail "what they speak is not counted"
    TIMEOUT=60 expect_exit 0 node "$HERE/page.js" "$URL" one two -- \
        "$HOST:20050 up one 3 0" "$HOST:20059 down two 0 1"
    cat "$DIR/out"
    # The page in a browser, if chromium is installed.
    if command -v chromium >/dev/null; then
        mkdir "$DIR/browser"
        TIMEOUT=150 expect_exit 0 python3 "$HERE/browser.py" chromium "${URL%metrics}" "${PICTURES:-$DIR/browser}"
        cat "$DIR/out"
    fi
    kill "$pid"
    wait_for 20 status_has '"sessions": 0' || fail "sessions stay"
    client get "$URL"
    ! grep '^rpcrdma_gw_sessions_speaking' "$DIR/out" | grep -v ' 0$' || fail "of sessions that are gone, versions stay"
    stop
}

# tshark reads the captured messages of both legs, and finds no fault.
case_capture() {
    local lua=$HERE/../../deploy/wireshark/rpcrdma2.lua scratch=$DIR/scratch cap=$DIR/file.pcapng leg n
    command -v tshark >/dev/null || exit 77
    mkdir "$scratch"
    # shellcheck source=tests/wireshark/shark.sh
    . "$HERE/../wireshark/shark.sh"
    configure
    sed -i '/name = "one"/,/}, {/s/port = 20050;/port = 20050; version = "2";/' "$CONF"
    perf_server 20050
    gateway
    start capture "$BIN/rpcrdma-gwctl" -s "$CTL" capture "$cap" --route one --time 60s
    local capture=$pid
    wait_for 20 grep -q 'event=control do=capture route=one' "$LOG" || fail "nobody captures"
    perf 20049 1 --op null --count 40 >"$DIR/short" 2>&1 || fail "no service"
    perf 20049 1 --op echo --size 3000 --depth 4 --count 40 >"$DIR/short" 2>&1 || fail "no service"
    perf 20049 2 --op echo --size 20000 --no-reply-chunk --depth 2 --count 40 >"$DIR/short" 2>&1 || fail "no service"
    perf 20051 1 --op null --count 40 >"$DIR/short" 2>&1 || fail "no service"
    wait_for 20 status_has '"sessions": 0' || fail "sessions stay"
    kill -INT "$capture"
    wait "$capture" || fail "interrupted, it ends with $?"
    grep -q ' messages of 6 legs, ' "$DIR/capture.err" || fail "not what was captured"
    [ "$(stat -c %a "$cap")" = 600 ] || fail "mode $(stat -c %a "$cap")"
    use_lua=$lua
    [ "$(lua_errors "$cap")" = 0 ] || fail "Lua errors"
    [ "$(faults)" = 0 ] || fail "faults: $(grep -Ff <(sed -n 's/.* = problem("[a-z]*", "\([^"]*\)".*/\1/p' "$lua") "$scratch/all" | sort | uniq -c)"
    ! grep -i 'malformed\|\[expert info (error' "$scratch/all" >"$DIR/wrong" || fail "frames are malformed"
    shark -r "$cap" -T fields -e frame.interface_name -e rpcrdma2.type -e rpcordma.version -e frame.comment >"$DIR/fields"
    # The capture has the 120 calls of route one, on both legs.
    client captured "$DIR/fields" 80 40
    cat "$DIR/out"
    for leg in client server; do
        n=$(shark -r "$cap" -o rpc.dissect_unknown_programs:TRUE -Y "rpc.repframe && frame.interface_name == \"$leg leg\"" | wc -l)
        [ "$n" -eq 120 ] || fail "$leg leg: $n calls are known with their replies"
    done
    # A capture with a limit of size ends by itself, and its file can be read.
    gwctl 1 capture "$cap"
    says 'it is there already: remove it, or name another file'
    rm "$cap"
    start capture "$BIN/rpcrdma-gwctl" -s "$CTL" capture "$cap" --size 20K --time 60s
    capture=$pid
    wait_for 20 eval '[ "$(grep -c "do=capture" "$LOG")" -eq 2 ]' || fail "nobody captures"
    perf 20051 1 --op echo --size 3000 --depth 4 --count 40 >"$DIR/short" 2>&1 || fail "no service"
    wait "$capture" || fail "full, it ends with $?"
    grep -q 'the size that was set' "$DIR/capture.err" || fail "that is not told"
    [ "$(stat -c %s "$cap")" -le 20480 ] || fail "$(stat -c %s "$cap") octets"
    [ "$(shark -r "$cap" -Y 'rpcordma || rpcrdma2' | wc -l)" -ge 3 ] || fail "nothing is in it"
    gwctl 0 capture - --time 100ms
    "$BIN/rpcrdma-gwctl" -s "$DIR/nobody" capture "$DIR/none" >/dev/null 2>&1 && fail "a capture of nobody"
    [ ! -e "$DIR/none" ] || fail "a file without a capture is left"
    gwctl 1 capture /nowhere/file
    says '/nowhere/file: No such file'
    gwctl 2 capture
    gwctl 2 capture "$cap" --slow 5ms
    stop
}

declare -F "case_$CASE" >/dev/null || fail "no such case"
# In a network of its own, where there may be one.
if [ "$CASE" = metrics_later ] && [ -z "${NETWORK:-}" ]; then
    unshare -rn true 2>/dev/null || exit 77
    NETWORK=own exec unshare -rn "$0" "$BIN" "$CASE"
fi
"case_$CASE"
echo "PASS $CASE"
