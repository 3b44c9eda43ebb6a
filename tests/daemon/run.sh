#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh BIN CASE: the real executable, from outside. Everything stays on loopback,
# on an address of this run's own, so that cases run side by side.
set -u
BIN=$1
CASE=$2
# shellcheck source=tests/loopback.sh
. "$(dirname "$0")/../loopback.sh"
CONF=$DIR/gw.conf
LOG=$DIR/gateway.err

has() { grep -q -e "$1" "$LOG"; }
# A thread writes the log, so a line may appear later than the answer that follows it.
expect() { wait_for 20 has "$1" || fail "no line of the log matches: $1"; }
count() { grep -c -e "$1" "$LOG"; }
counts() { [ "$(count "$2")" -ge "$1" ]; }

# configure [LISTEN_EXTRA]: nobody listens upstream, unless the case starts somebody
configure() {
    cat >"$CONF" <<END
workers = 2;
memory_limit = "256M";
drain_timeout = 3;
log = { level = "debug"; };
routes = ( { name = "one";
  listen   = { address = "$HOST"; port = 20049; versions = [1, 2]; ${1:-} };
  upstream = { address = "$HOST"; port = 20050; version = "auto"; };
} );
END
}

gateway() { # [COMMAND...]: that starts it
    start gateway "$@" "$BIN/rpcrdma-gw" -c "$CONF"
    PID=$pid
    wait_for 20 has event=ready || fail "it does not start"
}

alive() { kill -0 "$PID" 2>/dev/null || fail "the process is gone"; }

# stop CODE SECONDS [SIGNAL]: it must end with CODE within SECONDS
stop() {
    local begin=$SECONDS code
    alive
    kill "-${3:-TERM}" "$PID"
    wait "$PID"
    code=$?
    [ "$code" -eq "$1" ] || fail "exit code $code, not $1"
    [ $((SECONDS - begin)) -le "$2" ] || fail "took $((SECONDS - begin)) s to end"
    expect 'event=end code=0 heap_live=0'
}

# figure EVENT KEY: the last value logged; all workers' values are added up
report() { # AFRESH: nothing before it is looked at again
    local before
    [ -z "${AFRESH:-}" ] || : >"$LOG"
    before=$(count event=worker.counters)
    kill -USR1 "$PID"
    wait_for 10 counts $((before + 2)) event=worker.counters || fail "no answer to SIGUSR1"
}
descriptors() { sed -n 's/.*event=process descriptors=\([0-9]*\).*/\1/p' "$LOG" | tail -n 1; }
summed() { # KEY, over both workers' last line
    grep event=worker.counters "$LOG" | tail -n 2 | sed "s/.* $1=\([0-9]*\).*/\1/" | paste -sd+ | bc_
}
bc_() { # a sum on standard input, worked out
    local sum
    read -r sum
    echo $((sum))
}

# A set-up request of MPA: key, flags (C), revision 1, length of private data, the data
mpa_request() { printf 'MPA ID Req Frame\x40\x01\x00\x00'; }

# Each hostile peer is a subshell with one connection, over when its octets are sent.
poke() { # COMMAND...: its output is sent; what comes back, until the end, is swallowed
    (
        exec 3<>"/dev/tcp/$HOST/20049" || exit 1
        "$@" >&3
        timeout 10 cat <&3 >/dev/null
    ) 2>/dev/null
    return 0
}

# --- the cases ---------------------------------------------------------------

case_help() {
    expect_exit 0 "$BIN/rpcrdma-gw" --help
    says 'Exit codes:'
    says 'Signals:'
    says 'routes = ('
    # The example is a configuration that works.
    sed -n '/^Example FILE/,/^A client/p' "$DIR/out" | sed '1d;$d' >"$CONF"
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$CONF"
    says OK
}

case_version() {
    expect_exit 0 "$BIN/rpcrdma-gw" --version
    says '^rpcrdma-gw [0-9]*\.[0-9]*\.[0-9]*$'
}

case_usage() {
    expect_exit 2 "$BIN/rpcrdma-gw"
    expect_exit 2 "$BIN/rpcrdma-gw" --bogus
    expect_exit 2 "$BIN/rpcrdma-gw" -c
    expect_exit 2 "$BIN/rpcrdma-gw" extra
    says usage:
    expect_exit 2 "$BIN/rpcrdma-gw" -c "$CONF" --check "$CONF"
    expect_exit 2 "$BIN/rpcrdma-gw" --print
    expect_exit 2 "$BIN/rpcrdma-gw" --print-nft
    expect_exit 2 "$BIN/rpcrdma-gw" --print-nft "$CONF" --check "$CONF"
    expect_exit 2 "$BIN/rpcrdma-gw" --print-nft "$CONF" -c "$CONF"
    expect_exit 1 "$BIN/rpcrdma-gw" --print-nft "$CONF" # which is not there
    configure
    expect_exit 0 "$BIN/rpcrdma-gw" --print-nft "$CONF"
    says '^# No route has side_ports'
}

# rows: of the table of LONG HOPS in the manual.
rows() {
    sed -n '/^\.SH LONG HOPS/,/^\.SH HOST/p' "$(dirname "$0")/../../docs/rpcrdma-gw.conf.5" |
        awk '/^inline +credits/ { on = 1; next } /^\.fi/ { on = 0 } on'
}

# Each row, in either end of a hop: what --check and --print say, and where sessions are few, what a start says. Of two
# processors, whatever this machine has.
case_capacity() {
    local cpus inline credits structure memory workers sessions least to most end keys n=0 few=0
    cpus=$(python3 -c 'import os; print(",".join(map(str, sorted(os.sched_getaffinity(0))[:2])))')
    [[ $cpus == *,* ]] || exit 77
    while read -r inline credits structure memory workers sessions least to most; do
        keys="inline = \"$inline\"; credits = $credits; receive_structure = \"$structure\";"
        for end in listen upstream; do
            configure
            sed -i "/^workers/d; s/^memory_limit.*/memory_limit = \"$memory\";/; s/^  $end *= {/& $keys/" "$CONF"
            expect_exit 0 taskset -c "$cpus" "$BIN/rpcrdma-gw" --check "$CONF"
            says "$CONF: OK, 1 route"
            says "^workers $workers, max_sessions $sessions$"
            says "^route one: memory a session $least $to $most$"
            if [ "$sessions" -lt 64 ]; then
                says "^$CONF: warning: memory_limit is enough for $sessions sessions* of route one: "
            else
                ! grep -q warning "$DIR/out.err" || fail "a warning, with $sessions sessions"
            fi
        done
        expect_exit 0 taskset -c "$cpus" "$BIN/rpcrdma-gw" --check "$CONF" --print
        says "^# workers $workers, max_sessions $sessions$"
        n=$((n + 1))
        [ "$sessions" -lt 64 ] || continue
        few=$((few + 1))
        rm -f "$LOG"
        start gateway taskset -c "$cpus" "$BIN/rpcrdma-gw" -c "$CONF"
        PID=$pid
        wait_for 20 has event=ready || fail "it does not start"
        has "event=start .* workers=$workers .* max_sessions=$sessions " || fail "a start says otherwise"
        has "level=warn event=limit what=memory_limit route=one sessions=$sessions " || fail "a start says nothing"
        kill -HUP "$PID"
        wait_for 20 counts 2 'event=limit what=memory_limit' || fail "a reload says nothing"
        stop 0 10
    done < <(rows)
    echo "$n rows, $few of them with few sessions"
    [ "$n" -ge 5 ] && [ "$few" -ge 2 ] && [ "$few" -lt "$n" ] || fail "$n rows, $few of them with few sessions"
    # An operator who sets max_sessions wants few sessions, so there is no warning.
    sed -i 's/^memory_limit/max_sessions = 1; &/' "$CONF"
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$CONF"
    ! grep -q warning "$DIR/out.err" || fail "a warning about what was asked for"
}

case_check() {
    configure
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$CONF"
    says "$CONF: OK, 1 route"
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$CONF" --print
    says "$HOST"
    # The printed text is a configuration again.
    mv "$DIR/out" "$DIR/printed.conf"
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$DIR/printed.conf"
    configure 'colour = "blue"; credits = "many";'
    expect_exit 1 "$BIN/rpcrdma-gw" --check "$CONF"
    says "$CONF:6: .*colour"
    says "$CONF:6: .*credits"
    expect_exit 1 "$BIN/rpcrdma-gw" -c "$CONF"
    says "$CONF:6: .*colour"
    expect_exit 1 "$BIN/rpcrdma-gw" --check "$DIR/none.conf"
    says none.conf
}

# A start would fail: the configuration is right, but not all is there that it needs.
case_check_control() {
    configure
    mkdir "$DIR/there"
    echo "control = \"$DIR/there/s\";" >>"$CONF"
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$CONF"
    ! grep -q warning "$DIR/out.err" || fail "a warning, though the folder is there"
    : >"$DIR/there/s"
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$CONF"
    says "^$CONF:9: warning: control is $DIR/there/s, where another file is: "
    rm -r "$DIR/there"
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$CONF"
    says "^$CONF:9: warning: control's folder $DIR/there/: No such file or directory: "
}

# accepts ADDRESS: whether somebody listens there
accepts() {
    python3 -c 'import socket, sys; socket.create_connection((sys.argv[1], 20049), 5)' "$1" 2>"$DIR/connect.err"
}

# In a network of its own, as the port is taken on all addresses.
case_all_addresses() {
    if [ -z "${INSIDE-}" ]; then
        unshare -Urn true 2>/dev/null || exit 77
        rm -r "$DIR"
        INSIDE=1 exec unshare -Urn "$0" "$BIN" "$CASE"
    fi
    ip link set lo up
    configure
    sed -i "s/listen *= { address = \"$HOST\"/listen = { address = \"::\"/" "$CONF"
    gateway
    accepts ::1 || fail "nobody listens at ::1"
    ! accepts 127.0.0.1 || fail "\"::\" takes IPv4"
    stop 0 3
    sed -i 's/^} );/}, { name = "four"; listen = { address = "0.0.0.0"; }; upstream = { address = "192.0.2.1"; }; } );/' "$CONF"
    gateway
    accepts ::1 || fail "nobody listens at ::1"
    accepts 127.0.0.1 || fail "nobody listens at 127.0.0.1"
    stop 0 3
}

case_listen_conflict() {
    configure
    gateway
    expect_exit 3 "$BIN/rpcrdma-gw" -c "$CONF"
    says "event=listen.failed config=\"$CONF.*\" route=one address=$HOST:20049"
    says 'Address already in use: another program, or this gateway at an overlapping address, listens there'
    stop 0 3
    # The address is free at once.
    gateway
    stop 0 3
    sed -i "s/address = \"$HOST\"; port = 20049/address = \"192.0.2.1\"; port = 20049/" "$CONF"
    expect_exit 3 "$BIN/rpcrdma-gw" -c "$CONF"
    says 'route=one address=192.0.2.1:20049 why="Cannot assign requested address: give an address of this machine'
}

case_signals() {
    configure
    gateway
    kill -HUP "$PID"
    wait_for 5 has event=reload || fail "SIGHUP is not answered"
    kill -PIPE "$PID"
    report
    expect 'event=process descriptors=[0-9]* resident_bytes=[0-9]* heap_live=[0-9]*'
    stop 0 3 INT
    expect 'event=worker.totals worker=0'
    expect 'event=worker.totals worker=1'
}

# Signals that come before the configuration is read are answered when the gateway serves. The configuration is a FIFO at first, so
# that the gateway waits for it.
case_signals_at_start() {
    local fifo
    configure
    cp "$CONF" "$DIR/whole"
    rm "$CONF"
    mkfifo "$CONF"
    start gateway "$BIN/rpcrdma-gw" -c "$CONF"
    PID=$pid
    exec {fifo}>"$CONF" # which waits until the gateway has opened it to read
    kill -HUP "$PID" && kill -USR1 "$PID" && sleep 0.2
    cp "$DIR/whole" "$DIR/new" && mv "$DIR/new" "$CONF"
    alive
    cat "$DIR/whole" >&"$fifo"
    exec {fifo}>&-
    wait_for 20 has event=ready || fail "it does not start"
    expect 'event=reload routes=1 added=0 changed=0'
    wait_for 10 counts 2 event=worker.counters || fail "SIGUSR1 is lost"
    stop 0 3
}

case_two_workers() {
    configure
    gateway
    expect 'event=start .*workers=2'
    for _ in {1..40}; do
        poke mpa_request &
    done
    wait_for 20 counts 40 'event=session.end .*leg=server cause=refused' ||
        fail "not every connection was refused: $(count event=session.end)"
    report
    [ "$(summed sessions_opened)" -eq 40 ] || fail "sessions_opened $(summed sessions_opened)"
    [ "$(summed sessions_refused)" -eq 40 ] || fail "sessions_refused"
    [ "$(summed sessions)" -eq 0 ] || fail "sessions are left"
    stop 0 3
}

# Connections of one client that come one after the other, as nconnect's do: each worker has as many. When they come at once
# they spread as well, though a worker may have accepted all before the first of them says a word.
opened() { grep event=worker.counters "$LOG" | tail -n 2 | sed 's/.* sessions_opened=\([0-9]*\) .*/\1/' | sort -n | paste -sd' '; }
case_spread() {
    local fewest
    configure
    start_server
    gateway
    for n in {1..9}; do
        start "client.$n" "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 1 --op null --rate 20 --time 600
        wait_for 20 counts "$n" event=session.open || fail "no session is open for client $n"
    done
    report
    [ "$(opened)" = "4 5" ] || fail "of nine: $(opened)"
    client --version 1 --op null --connections 16 --count 1600 >"$DIR/out" 2>&1 || fail "sixteen at once"
    AFRESH=1 report
    read -r fewest _ <<<"$(opened)"
    [ "$fewest" -ge 9 ] || fail "of 25, 16 at once: $(opened)"
    stop 0 10
}

garbage() { head -c 3000 /dev/urandom; }
zeros() { head -c 3000 /dev/zero; }
half_key() { printf 'MPA ID Re'; }
wrong_key() { printf 'MPA ID Rep Frame\x40\x01\x00\x00'; }
bad_revision() { printf 'MPA ID Req Frame\x40\x07\x00\x00'; }
oversize() { printf 'MPA ID Req Frame\x40\x01\xff\xff' && head -c 70000 /dev/zero; }
early_data() { mpa_request && head -c 5000 /dev/urandom; }
http() { printf 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'; }

# The process survives whatever peers send, gives everything back and serves the next client.
case_hostile() {
    local before what silent
    configure 'setup_timeout = 1;'
    gateway
    report
    before=$(descriptors)
    exec {silent}<>"/dev/tcp/$HOST/20049" || fail "cannot connect"
    for what in garbage zeros half_key wrong_key bad_revision oversize early_data http mpa_request true; do
        poke "$what"
        poke "$what" &
        alive
    done
    # The connection that sends nothing is closed within its second.
    timeout 5 cat <&"$silent" >/dev/null 2>&1
    [ $? -ne 124 ] || fail "a silent connection stays"
    exec {silent}>&-
    wait_for 15 is_back_to "$before" || fail "descriptors: $before before, $(descriptors) after"
    [ "$(summed setup_failures)" -ge 16 ] || fail "setup_failures $(summed setup_failures)"
    [ "$(summed sessions)" -eq 0 ] || fail "sessions are left"
    stop 0 3
}
is_back_to() {
    report
    [ "$(descriptors)" -le "$1" ]
}

# A connection still in set-up does not hold up the end; nor does one in the backlog.
case_stop_with_silent_peers() {
    local fd fds=()
    configure
    gateway
    for _ in {1..20}; do
        exec {fd}<>"/dev/tcp/$HOST/20049" || fail "cannot connect"
        fds+=("$fd")
    done
    stop 0 3
    [ "${#fds[@]}" -eq 20 ] || fail "20 connections were meant"
}

# --- with something behind the gateway --------------------------------------

start_server() {
    perf_server 20050
    SERVER=$pid
}

client() { # OPTION...
    timeout 60 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" "$@"
}

# load OPTION...: four connections with calls in flight, in the background
load() {
    start client "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 1 --op read --size 64k \
        --depth 8 --connections 4 "$@"
    LOAD=$pid
    wait_for 10 under_load || fail "no session is open"
}
under_load() { counts 4 event=session.open; }

case_traffic() {
    local version op
    configure
    start_server
    gateway
    for version in 1 2; do
        for op in null echo read write; do
            client --version "$version" --op "$op" --size 9999 --depth 8 --connections 4 \
                --count 400 --json >"$DIR/out" 2>&1 || fail "version $version $op"
            says '"errors": 0'
        done
    done
    report
    [ "$(summed calls)" -eq "$(summed replies)" ] || fail "calls without a reply"
    [ "$(summed calls)" -ge 3200 ] || fail "calls $(summed calls)"
    stop 0 3
}

# Data of calls are behind later calls of the same client. A client that holds too many Receives continues, and so do more
# clients than there are Receives for all that they may send.
case_writers() {
    configure "credits = 64;"
    sed -i 's/^workers = 2/workers = 1/; s/"256M"/"32M"/' "$CONF"
    start_server
    gateway
    for version in 1 2; do
        for n in 4 8 12 24 60; do
            client --version $version --op write --size 4096 --depth 64 --connections $n --count 3000 --json \
                >"$DIR/out" 2>&1 || fail "$n clients of version $version"
            says '"errors": 0'
        done
    done
    stop 0 3
}

# However much there is for those that move much, a worker looks at its sockets every so many octets, a few turns of
# one connection each way. So a client with a small call waits no longer than that.
case_turns() {
    local most
    [ -e "$BIN/libbetween.so" ] || exit 77 # a sanitizer wants to be the first that is loaded
    configure
    start_server
    LD_PRELOAD=$BIN/libbetween.so gateway
    client --version 1 --op read --size 1m --depth 16 --connections 8 --time 1 --json >"$DIR/out" 2>&1 || fail "reads"
    says '"errors": 0'
    stop 0 10
    most=$(sed -n 's/^event=between octets=//p' "$LOG")
    [ "${most:-0}" -gt 100000 ] || fail "not counted: $most"
    [ "$most" -le $((4 << 20)) ] || fail "$most octets between two looks"
}

# Calls in flight are answered, however long the server takes within drain_timeout.
case_drain() {
    configure
    sed -i 's/drain_timeout = 3/drain_timeout = 30/' "$CONF"
    start_server
    gateway
    load --count 20000
    kill -STOP "$SERVER"
    sleep 0.3
    report
    kill -TERM "$PID"
    wait_for 5 has event=stop || fail "SIGTERM is not heard"
    # Nobody is let in any more, while the calls wait.
    wait_for 5 is_closed || fail "it still listens"
    alive
    kill -CONT "$SERVER"
    wait "$PID" || fail "exit code $?"
    expect 'event=end code=0 heap_live=0'
    has 'event=session.end .*cause=[^o]' && fail "a session was cut"
    return 0
}
is_closed() { ! (exec 3<>"/dev/tcp/$HOST/20049") 2>/dev/null; }

# rpcrdma-perf --reconnect, by version 1 and 2, reading and writing, through a take-over, a drain and a gateway that is killed with
# calls in flight: every call is answered, no octet is wrong at either end, and what was sent again is counted.
case_reconnect() {
    local clients=() i old total=0 resent=0
    configure
    echo "control = \"$DIR/control\";" >>"$CONF"
    start_server
    gateway
    for i in 1 2; do
        start "client$i" "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version "$i" --reconnect --json \
            --op "$([ "$i" = 1 ] && echo write || echo read)" --size 100k --depth 4 --rate 200 --time 600 --timeout 60
        clients+=("$pid")
    done
    wait_for 20 counts 2 event=session.open || fail "no sessions"
    old=$PID
    LOG=$DIR/successor.err
    start successor "$BIN/rpcrdma-gw" -c "$CONF" --take-over
    PID=$pid
    wait "$old" || fail "the old gateway ended with $?"
    wait_for 30 counts 2 event=session.open || fail "no sessions after a take-over"
    "$BIN/rpcrdma-gwctl" -s "$DIR/control" drain one >"$DIR/drain" || fail "drain: $(cat "$DIR/drain")"
    wait_for 30 counts 4 event=session.open || fail "no sessions after a drain"
    kill -STOP "$SERVER"
    sleep 0.3
    kill -KILL "$PID"
    wait "$PID" 2>/dev/null
    kill -CONT "$SERVER"
    sleep 0.5 # nobody listens meanwhile
    LOG=$DIR/gateway.err
    gateway
    wait_for 30 counts 2 event=session.open || fail "no sessions after a gateway was killed"
    sleep 0.3
    kill -INT "${clients[@]}"
    for i in 1 2; do
        wait "${clients[i - 1]}" || fail "client $i: exit code $?"
        cat "$DIR/client$i"
        grep -q '"errors": 0, .*"reconnects": [3-9],' "$DIR/client$i" || fail "client $i"
        total=$((total + $(reported_by "$i" rpcs)))
        resent=$((resent + $(reported_by "$i" resent)))
    done
    # Both had calls in flight when the gateway was killed. What was sent again may be done twice, nothing else is.
    [ "$(reported_by 1 resent)" -ge 1 ] && [ "$(reported_by 2 resent)" -ge 1 ] || fail "nothing was sent again"
    kill -TERM "$SERVER"
    wait "$SERVER" || fail "the server found something wrong"
    i=$(sed -n 's/^connections .*, rpcs \([0-9]*\),.*/\1/p' "$DIR/server20050")
    echo "$total calls answered, $resent sent again, $i done"
    [ "$i" -ge "$total" ] && [ "$i" -le $((total + resent)) ] || fail "$total calls, $resent sent again, $i done"
    stop 0 5
}
reported_by() { sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p" "$DIR/client$1"; } # CLIENT KEY

# A client whose session is in set-up when the gateway receives SIGTERM is accepted. Its one server takes its time, and the
# gateway waits for it.
case_stop_in_setup() {
    local client silent
    configure
    sed -i 's/drain_timeout = 3/drain_timeout = 30/' "$CONF"
    start_server
    gateway
    kill -STOP "$SERVER"
    start client "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 1 --op null --count 1
    client=$pid
    wait_for 10 has event=session.begin || fail "nobody is being let in"
    # ... and a client that has connected, but sent only half of its set-up request.
    exec {silent}<>"/dev/tcp/$HOST/20049"
    mpa_request >&"$silent"
    sleep 0.3
    kill -TERM "$PID"
    wait_for 5 has event=stop || fail "SIGTERM is not heard"
    printf '\0\0' >&"$silent"
    wait_for 5 counts 2 event=session.begin || fail "who was in the middle of its request is not let in"
    wait_for 5 is_closed || fail "it still listens"
    kill -CONT "$SERVER"
    wait "$PID" || fail "exit code $?"
    wait "$client"
    counts 2 event=session.open || fail "who was in set-up is not let in"
    ! has event=session.refused || fail "somebody is refused"
    ! grep -q 'cannot connect\|refused\|rejected' "$DIR/client" "$DIR/client.err" || fail "the client is refused"
    expect 'event=end code=0 heap_live=0'
}

# A server that does not answer does not keep it: after drain_timeout calls are cut.
case_drain_timeout() {
    local begin=$SECONDS
    configure
    start_server
    gateway
    load --time 30
    kill -STOP "$SERVER"
    sleep 0.3
    stop 0 6
    [ $((SECONDS - begin)) -ge 3 ] || fail "drain_timeout was not waited for"
    wait "$LOAD" && fail "the client must have seen the end"
    return 0
}

case_second_signal() {
    configure
    start_server
    sed -i 's/drain_timeout = 3/drain_timeout = 60/' "$CONF"
    gateway
    load --time 30
    kill -STOP "$SERVER"
    sleep 0.3
    kill -TERM "$PID"
    wait_for 5 has event=stop || fail "SIGTERM is not heard"
    sleep 0.3
    stop 0 3
    expect 'why="second signal'
}

# The server dies under load and comes back; so does the client. Nothing is left over.
case_upstream_dies() {
    local before
    configure
    gateway
    report
    before=$(descriptors)
    for _ in 1 2 3; do
        start_server
        : >"$LOG"
        load --time 30
        kill -KILL "$SERVER"
        wait "$LOAD" && fail "the client must have seen the end"
        alive
        wait_for 10 is_back_to "$before" || fail "descriptors: $before before, $(descriptors) after"
    done
    start_server
    : >"$LOG"
    load --time 30
    kill -KILL "$LOAD"
    wait "$LOAD"
    wait_for 10 is_back_to "$before" || fail "descriptors: $before before, $(descriptors) after"
    client --version 2 --op echo --size 300k --count 20 >"$DIR/out" 2>&1 || fail "no service"
    stop 0 3
}

# Over a link that has no other addresses; the server is on its other end.
case_link_local() {
    ip link set lo up && ip link add near type veth peer name far &&
        ip address add fe80::1/64 dev near nodad && ip address add fe80::2/64 dev far nodad &&
        ip link set near up && ip link set far up || exit 77 # no namespace, or no IPv6
    wait_for 10 is_linked || fail "the link does not come up"
    HOST='[fe80::1%near]'
    configure
    expect_exit 0 "$BIN/rpcrdma-gw" --check "$CONF"
    sed -i '/upstream/s/fe80::1%near/fe80::2%near/' "$CONF"
    HOST='[fe80::2%far]' perf_server 20050
    gateway
    expect 'event=listen route=one address=\[fe80::1%near]:20049 .*upstream=\[fe80::2%near]:20050'
    client --version 1 --op read --size 64k --depth 4 --count 100 --json >"$DIR/out" 2>&1 || fail "no service"
    says '"errors": 0'
    expect 'event=session.open .*client=\[fe80::1%near]:[0-9]* server=\[fe80::2%near]:20050'
    expect_exit 0 "$BIN/rpcrdma-probe" "iwarp:$HOST:20049" --program perf
    says 'iwarp:\[fe80::1%near]:20049'
    stop 0 3
    # The interface is gone.
    ip link delete near
    expect_exit 3 "$BIN/rpcrdma-gw" -c "$CONF"
    says "event=address.failed config=\"$CONF:6\" route=one address=fe80::1%near why=\"there is no such interface"
    expect_exit 2 "$BIN/rpcrdma-probe" "iwarp:$HOST:20049"
    says 'no such interface'
}
# The interface of a server's link-local address comes after the gateway has started, and is made again later, with another number.
case_link_local_again() {
    ip link set lo up || exit 77
    HOST=127.0.0.1
    configure
    sed -i '/upstream/s/127.0.0.1/fe80::2%near/' "$CONF"
    gateway
    expect_exit 1 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 1 --op null --count 1 --timeout 5
    expect 'event=name.failed name=fe80::2%near known=0 why="there is no such interface: name one that ip link lists"'
    expect 'event=session.end .*cause=refused why="the names of its servers lead to no address"'
    for _ in 1 2; do
        ip link add near type veth peer name far &&
            ip address add fe80::1/64 dev near nodad && ip address add fe80::2/64 dev far nodad &&
            ip link set near up && ip link set far up || exit 77
        wait_for 10 is_linked || fail "the link does not come up"
        HOST='[fe80::2%far]' perf_server 20050
        wait_for 20 client --version 1 --op null --count 20 >"$DIR/out" 2>&1 || fail "no service with interface $(cat /sys/class/net/near/ifindex)"
        client --version 1 --op echo --count 20 --json >"$DIR/out" 2>&1 || fail "no service"
        says '"errors": 0'
        kill "$pid"
        wait "$pid"
        ip link delete near
    done
    stop 0 3
}
# The interface of a listener is removed, and made again with another number.
case_link_local_lost() {
    ip link set lo up || exit 77
    make_link
    HOST='[fe80::1%near]'
    configure
    sed -i '/upstream/s/\[fe80::1%near\]/127.0.0.1/; /upstream/s/fe80::1%near/127.0.0.1/' "$CONF"
    gateway
    ip link delete near
    expect 'event=listen.lost route=one address=fe80::1%near why="its interface is gone: make it again, and restart the gateway'
    make_link
    expect 'event=listen.lost route=one address=fe80::1%near why="its interface was made again, and has another number: restart the gateway'
    sleep 6
    [ "$(grep -c event=listen.lost "$LOG")" -eq 2 ] || fail "told again and again"
    stop 0 3
}
make_link() {
    ip link add near type veth peer name far && ip address add fe80::1/64 dev near nodad && ip link set near up && ip link set far up || exit 77
    wait_for 10 is_linked || fail "the link does not come up"
}
# Under BBR: a peer on this machine is not paced, a peer on another has the machine's congestion control.
case_pacing() {
    local far
    [ "$(id -u)" -eq 0 ] && ip link set lo up && sysctl -qw net.ipv4.tcp_congestion_control=bbr 2>/dev/null || exit 77
    start far unshare -n sleep 300
    far=$pid
    wait_for 10 eval '[ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/self/ns/net)" ]' || exit 77
    ip link add near type veth peer name far netns "$far" && ip address add 192.0.2.1/24 dev near && ip link set near up || exit 77
    there ip address add 192.0.2.2/24 dev far && there ip link set far up || exit 77
    HOST=0.0.0.0
    configure
    sed -i '/upstream/s/0.0.0.0/127.0.0.1/' "$CONF"
    HOST=127.0.0.1 perf_server 20050
    gateway
    start here "$BIN/rpcrdma-perf" client --connect iwarp:127.0.0.1:20049 --version 1 --op null --rate 20 --time 60
    start there nsenter -t "$far" -n "$BIN/rpcrdma-perf" client --connect iwarp:192.0.2.1:20049 --version 1 --op null --rate 20 --time 60
    wait_for 20 eval '[ "$(controls -tn src 192.0.2.1:20049)" = bbr ]' || fail "a remote client: $(controls -tn src 192.0.2.1:20049)"
    wait_for 20 eval '[ "$(controls -tn src 127.0.0.1:20049)" = reno ]' || fail "a client here: $(controls -tn src 127.0.0.1:20049)"
    [ "$(controls -tn dst 127.0.0.1:20050)" = reno ] || fail "to a server here: $(controls -tn dst 127.0.0.1:20050)"
    # Pacing that has begun would go on.
    [ "$(controls -tln src :20049)" = reno ] || fail "the listening socket: $(controls -tln src :20049)"
    stop 0 3
}
there() { nsenter -t "$far" -n "$@"; }
# controls OPTION... FILTER: the congestion controls of these sockets, each once
controls() { ss -Hi "$@" | grep -ow 'bbr\|reno\|cubic' | sort -u | xargs; }
is_linked() { [ "$(ip -o link show up | grep -c 'near@far.*LOWER_UP\|far@near.*LOWER_UP')" -eq 2 ]; }

# 200 connections at once, opened and closed again and again: what is held stays the same.
# Each client has an address of its own at the server, here the second route's listener, which is for these alone.
case_source() {
    local from
    cat >"$CONF" <<END
workers = 2;
memory_limit = "256M";
log = { level = "debug"; };
routes = ( { name = "one";
  listen   = { address = "$HOST"; port = 20049; };
  upstream = { address = "$HOST"; port = 20051; version = 2;
    source = ( { clients = "127.77.0.0/16"; addresses = "127.78.0.0/16"; },
               { clients = "127.79.0.0/24"; addresses = "192.0.2.1"; },
               { clients = "127.80.0.0/24"; addresses = "127.80.1.0/24"; } ); };
}, { name = "two";
  listen   = { address = "$HOST"; port = 20051; clients = [ "127.78.0.0/16" ]; };
  upstream = { address = "$HOST"; port = 20050; version = 1; };
} );
END
    perf_server 20050
    gateway
    for from in 127.77.3.9 127.77.200.1; do
        expect_exit 0 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 1 --op echo --count 3 --from "$from"
        expect "event=session.begin .*route=two peer=127.78.${from#127.77.}:"
    done
    # Refused by the first route, for want of an address; one that is not this machine's; by the second.
    for from in 127.81.0.1 127.79.0.1 127.80.0.1; do
        expect_exit 1 "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 1 --op null --count 1 --timeout 5 \
            --from "$from"
    done
    expect 'event=session.refused route=one peer=127.81.0.1:[0-9]* why="no source address is for it"'
    expect 'event=session.end .*route=one .*cause=config why="its source is no address of this machine, see ip address"'
    ! has "event=upstream.down route=one .*cause=refused" || fail "a server is blamed for an address that is not here"
    expect 'event=session.refused route=two peer=127.80.1.1:[0-9]* why="its address is not on the listener.s clients"'
    stop 0 5
}

case_churn() {
    local round heap fds
    configure
    sed -i 's/256M/1G/; s/"debug"/"info"/' "$CONF"
    start_server
    gateway
    for round in {1..50}; do
        client --version $((round % 2 + 1)) --op read --size 1k --depth 1 --connections 200 \
            --count 200 --json >"$DIR/out" 2>&1 || fail "round $round"
        says '"errors": 0'
        wait_for 20 no_sessions || fail "sessions stay"
        [ "$round" -eq 5 ] || [ "$round" -eq 50 ] || continue
        grep event=process "$LOG" | tail -n 1 | sed "s/^/round $round: /"
        [ "$round" -eq 50 ] || { fds=$(descriptors) heap=$(heap_live); }
    done
    [ "$(summed sessions_opened)" -eq 10000 ] || fail "sessions_opened $(summed sessions_opened)"
    # A session that has ended may have sockets that wait for what TCP has to say.
    wait_for 20 is_back_to "$fds" || fail "descriptors: $fds, then $(descriptors)"
    # Memory that pools took for the busiest moment goes back some seconds after it. A leak of one
    # allocation a round would show, and one for each connection all the more.
    wait_for 60 heap_is_back || fail "heap: $heap, then $(heap_live)"
    stop 0 3
}

rss() { sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$PID/status"; }

# Half of the clients speak each version; SESSIONS=10000, ROUNDS=5 by hand. The default memory_limit is enough,
# no session that is idle costs more than 64 KiB, and a second round leaves what the first has left,
# within 5 %. What is free goes back to the system within a minute after it was in use.
#
# A report has two lines for each session, so the log is emptied before each, and few are asked for.
case_sessions() {
    local n=${SESSIONS:-1000} round before left=0 kept=0 clients i group=200 began AFRESH=1 rounds=${ROUNDS:-2}
    ulimit -n "$(ulimit -H -n)"
    # The gateway has two for each session, a fifth of all for connections in set-up, and some of its own.
    while [ $((5 * n / 2 + 400)) -gt "$(ulimit -n)" ]; do
        n=$((n - group))
    done
    [ "$n" -eq "${SESSIONS:-1000}" ] ||
        echo "$n sessions, not $SESSIONS: the hard limit of descriptors is $(ulimit -n)"
    configure
    sed -i "/memory_limit/d; s/\"debug\"/\"info\"/" "$CONF"
    perf_server 20050 --memory $((1024 + n))
    gateway
    before=$(rss)
    for ((round = 1; round <= rounds; round++)); do
        clients=() began=$SECONDS
        for ((i = 0; i < n / group; i++)); do
            start "client$i" "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" \
                --version $((i % 2 + 1)) --op null --connections $group --time 300 --timeout 300
            clients+=("$pid")
            wait_for 60 are_open $(((i + 1) * group)) || fail "not all sessions are open"
            # Twenty calls a session: each of them has spoken.
            wait_for 60 have_called $(($(summed calls) + 20 * group)) || fail "no service"
            kill -STOP "$pid" # what it has asked for is answered, and no more is asked
        done
        wait_for 60 are_answered || fail "calls without a reply"
        [ "$(summed sessions)" -eq $((i * group)) ] || fail "$(summed sessions) sessions"
        is_sanitized || wait_for 60 is_resident $((before + 64 * n)) ||
            fail "a session costs $((($(rss) - before) / n)) KiB"
        echo "round $round: $n sessions after $((SECONDS - began)) s, $((($(rss) - before) / n)) KiB each"
        began=$SECONDS
        kill -KILL "${clients[@]}"
        wait "${clients[@]}" 2>/dev/null
        wait_for 100 no_sessions || fail "sessions stay"
        echo "round $round: ended after $((SECONDS - began)) s"
        # Twice what it was before anybody came: then next to all is back.
        is_sanitized || wait_for 100 is_resident $((2 * before)) || fail "memory stays: $(rss) KiB"
        report
        echo "round $round: $(rss) KiB are left, $(heap_live) allocations"
        [ "$round" -gt 1 ] || left=$(rss) kept=$(heap_live)
    done
    # The kernel deals connections out to workers, so a worker can have more of them in a later round, and
    # keeps its memory in larger blocks. A leak is an allocation a session.
    wait_for 60 are_allocated $((kept + n / 4)) || fail "allocations grow: $kept, then $(heap_live)"
    is_sanitized || wait_for 60 is_resident $((left + 4 * n)) ||
        fail "memory grows: $left, then $(rss) KiB"
    echo "answered: $(summed calls) calls, refused: $(summed sessions_refused) sessions"
    echo "left at last: $(rss) KiB"
    [ "$(summed sessions_refused)" -eq 0 ] || fail "a session was refused"
    stop 0 10
}
# True if N sessions are open: the process's descriptors (two a session) show it at less cost than a report.
are_open() { [ "$(ls "/proc/$PID/fd" | wc -l)" -ge $((2 * $1)) ]; }
are_answered() {
    report
    [ "$(summed replies)" -eq "$(summed calls)" ]
}
is_resident() { [ "$(rss)" -le "$1" ]; } # KiB at most
are_allocated() { report && [ "$(heap_live)" -le "$1" ]; }
no_sessions() { are_sessions 0; }
are_sessions() {
    report
    [ "$(summed sessions)" -eq "$1" ]
}
heap_is_back() { report && [ "$(heap_live)" -le $((heap + 40)) ]; }
heap_live() { sed -n 's/.*event=process .*heap_live=\([0-9]*\).*/\1/p' "$LOG" | tail -n 1; }

# Standard error is a pipe, and its reader stops after the first lines: connections come and go,
# a busy session goes on, a report is asked for, and the end is an orderly one.
case_log_not_read() {
    local fifo=$DIR/fifo busy line="" round
    configure
    sed -i 's/256M/1G/' "$CONF"
    start_server
    mkfifo "$fifo"
    exec {stalled}<>"$fifo"
    # One page: how many lines come depends on how fast the machine is, for the log is limited.
    python3 -c "import fcntl; fcntl.fcntl($stalled, fcntl.F_SETPIPE_SZ, 4096)" || fail "no small pipe"
    "$BIN/rpcrdma-gw" -c "$CONF" 2>"$fifo" &
    PID=$!
    pids+=("$PID")
    while [[ $line != *event=ready* ]]; do
        IFS= read -r -t 10 -u "$stalled" line || fail "it does not start"
    done
    start busy "$BIN/rpcrdma-perf" client --connect "iwarp:$HOST:20049" --version 2 --op null \
        --depth 8 --time 6 --json
    busy=$pid
    for round in {1..5}; do
        client --version $((round % 2 + 1)) --op null --depth 1 --connections 200 --count 200 --json \
            >"$DIR/out" 2>&1 || fail "round $round: no service while nobody reads the log"
        says '"errors": 0'
        kill -USR1 "$PID"
    done
    wait "$busy" || fail "the busy session did not go on"
    grep -q '"errors": 0' "$DIR/busy" || fail "calls of the busy session failed"
    line=$SECONDS
    kill -TERM "$PID"
    wait "$PID" || fail "exit code $?"
    [ $((SECONDS - line)) -le 4 ] || fail "took $((SECONDS - line)) s to end"
    # The pipe is as full as it gets, and not for want of lines: the last of them found no room.
    timeout 2 cat <&"$stalled" >"$DIR/read"
    [ -s "$DIR/read" ] || fail "nothing in the pipe"
    ! grep -q event=end "$DIR/read" || fail "the pipe was never full"
}

# Far more clients than max_sessions connect, send nothing and stay: a client with calls is served all the same.
case_crowd() {
    local fd fds=()
    configure
    sed -i '1i max_sessions = 40; max_sessions_per_client = 39; max_setups_per_second = 0;' "$CONF"
    start_server
    gateway
    expect 'event=start .*max_sessions=40 max_setups=20'
    load --version 2 --time 4
    wait_for 10 have_called 100 || fail "no service"
    for _ in {1..300}; do
        exec {fd}<>"/dev/tcp/$HOST/20049" || fail "cannot connect"
        mpa_request >&"$fd"
        fds+=("$fd")
    done
    wait_for 10 is_displaced 250 || fail "nobody made room: $(displaced)"
    client --version 1 --op echo --size 1k --depth 2 --connections 4 --count 100 --json >"$DIR/out" 2>&1 ||
        fail "no service beside the silent ones"
    says '"errors": 0'
    wait "$LOAD" || fail "who was there already was not served"
    report
    expect 'event=session.end .*why="its client has sent no message, and another connection needs its place"'
    [ "$(summed sessions_refused)" -eq 0 ] || fail "sessions_refused $(summed sessions_refused)"
    [ "$(summed sessions)" -le 40 ] || fail "sessions $(summed sessions)"
    stop 0 6
    [ "${#fds[@]}" -eq 300 ] || fail "300 connections were meant"
}
have_called() {
    report
    [ "$(summed calls)" -ge "$1" ]
}
# When many connect at once some make room before their request was looked at.
displaced() { echo $(($(summed sessions_displaced) + $(summed setup_failures))); }
is_displaced() {
    report
    [ "$(displaced)" -ge "$1" ]
}

# From inside a worker: what it needs, and nothing else. What the kernel has not got is said.
tried() { # OTHER [files-and-sockets-alone]
    "$BIN/inject" "$PID" worker-0 "$CONF" "$@" >"$DIR/tried" 2>"$DIR/tried.err" || {
        [ $? -ne 77 ] || { echo "not on this machine" && exit 77; }
        fail "inject"
    }
}
tells() { # WHAT NAME...
    local name
    for name in "${@:2}"; do
        grep -qx "$name $1" "$DIR/tried" || fail "$name is not $1: $(grep "^$name " "$DIR/tried")"
    done
}
case_sandbox() {
    local thread elsewhere=$DIR/elsewhere/file
    mkdir "$DIR/elsewhere" "$DIR/etc"
    echo 'what is none of its business' >"$elsewhere"
    CONF=$DIR/etc/gw.conf
    configure
    gateway
    if grep -q 'event=sandbox .*seccomp=no' "$LOG"; then echo "no filters here" && exit 77; fi
    for thread in "/proc/$PID"/task/*/status; do
        grep -q '^NoNewPrivs:[[:space:]]*1' "$thread" && grep -q '^Seccomp:[[:space:]]*2' "$thread" &&
            grep -q '^CapPrm:[[:space:]]*0*$' "$thread" || fail "a thread is free: $thread $(cat "$thread")"
    done
    [ "$(find "/proc/$PID/task" -mindepth 1 -maxdepth 1 | wc -l)" -ge 4 ] || fail "threads are missing"
    tried "$elsewhere"
    tells OK open_readable socket_tcp socket_udp6 socket_routes
    tells EPERM open_to_write open_to_append rename chmod mount socket_unix socket_raw socket_packet socket_audit \
        exec execveat fork vfork ptrace process_vm_readv kill tgkill prlimit setuid unshare bpf io_uring_setup \
        keyctl code stack_as_code
    tells ENOSYS clone3
    if has 'event=sandbox landlock=[1-9]'; then tells EACCES open_other; else tells OK open_other; fi
    alive
    # Files that a reload needs can still be read, also when another file is in the place of the old one.
    sed 's/name = "one"/name = "two"/' "$CONF" >"$DIR/etc/new" && mv "$DIR/etc/new" "$CONF"
    kill -HUP "$PID"
    wait_for 10 has 'event=reload routes=1 added=1 changed=0 removed=1' || fail "no reload"
    report
    stop 0 3
    # Without the sandbox, nothing refuses these calls.
    start gateway "$BIN/rpcrdma-gw" -c "$CONF" --no-sandbox
    PID=$pid
    wait_for 20 has event=ready || fail "it does not start"
    expect 'level=warn event=sandbox .*--no-sandbox'
    tried "$elsewhere" open
    tells OK open_readable open_other open_to_write open_to_append socket_unix
    stop 0 3
}

# victim: a process that takes no signal that can be left aside, and tells which ones came once $DIR/enough is there
victim() {
    start victim python3 -c '
import os, resource, signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
def state(): return os.getpriority(os.PRIO_PROCESS, 0), os.getpgid(0), os.sched_getaffinity(0), resource.getrlimit(resource.RLIMIT_CPU)
was = state()
print("there", flush=True)
while not os.path.exists(sys.argv[1]): time.sleep(0.05)
print("signals", sorted(signal.sigpending()), "changed" if state() != was else "as it was", flush=True)' "$DIR/enough"
    victim=$pid
    wait_for 20 grep -qs there "$DIR/victim" || fail "no victim"
}

# From inside a worker, as the account that this runs as, root included: no call that the filter lets through signals
# another process or changes it, nor makes, opens, renames or removes a file outside of the configured paths.
case_sandbox_inside() {
    inside
    [ -S "$CTL" ] || fail "the control socket was removed: there is a right to do so"
    # Another start replaces it.
    unset INSIDE_OUT
    gateway
    stop 0 3
}
# The filter alone: what it lets through nothing else keeps, but for files to read.
case_sandbox_inside_without_landlock() {
    export INSIDE_WITHOUT_LANDLOCK=yes
    inside
}
# A worker that may make local sockets as well. Its /run is its own: the rpcbind of this machine hears nothing of it.
case_sandbox_inside_with_rpcbind() {
    unshare --mount true 2>/dev/null || { echo "cannot make a mount namespace" && exit 77; }
    export INSIDE_WITH_RPCBIND=yes
    # shellcheck disable=SC2016 # expanded there
    inside "rpcbind = true;" unshare --mount sh -c 'mount -t tmpfs tmpfs /run && exec "$@"' sh
}
# inside [SETTING_OF_LISTEN [COMMAND...]]: a gateway, started by COMMAND, from whose worker all is tried
inside() {
    [ -f "$BIN/libinside.so" ] || { echo "a build without a sandbox" && exit 77; }
    mkdir "$DIR/etc" "$DIR/run" "$DIR/outside"
    CONF=$DIR/etc/gw.conf
    CTL=$DIR/run/control
    configure "${1:-}"
    sed -i "1i control = \"$CTL\";" "$CONF"
    echo "of somebody else" >"$DIR/outside/file"
    echo "of somebody else" >"$CTL.beside"
    ln -s "$DIR/outside/file" "$DIR/etc/link"
    cp "$CONF" "$DIR/configured"
    victim
    # A local socket without a name is what a service manager's child has.
    export NOTIFY_SOCKET=$DIR/nobody INSIDE_OUT=$DIR/inside INSIDE_VICTIM=$victim INSIDE_FOLDER=$DIR/outside \
        INSIDE_LINK=$DIR/etc/link INSIDE_CONFIGURATION=$CONF INSIDE_CONTROL=$CTL
    gateway "${@:2}" env LD_PRELOAD="$BIN/libinside.so"
    wait_for 60 grep -qs '^done' "$DIR/inside" || fail "it does not end"
    if has 'event=sandbox .*seccomp=no'; then echo "no filters here" && exit 77; fi
    if has 'event=sandbox landlock=0'; then echo "no Landlock: files can be read as the account may"; fi
    if has 'event=sandbox landlock=0' && [ -n "${INSIDE_WITH_RPCBIND:-}" ]; then
        echo "no Landlock here: local sockets can be bound as the account may" && exit 77
    fi
    cat "$DIR/inside"
    [ "$(wc -l <"$DIR/inside")" -eq 1 ] || fail "a worker reaches what it should not"
    [ "$(cat "$DIR/outside/file" "$CTL.beside")" = $'of somebody else\nof somebody else' ] || fail "a file was changed"
    cmp -s "$CONF" "$DIR/configured" || fail "the configuration was changed"
    [ "$(find "$DIR/outside" "$DIR/run" "$DIR/etc" | wc -l)" -eq 8 ] || fail "files came or went: $(find "$DIR/outside" "$DIR/run" "$DIR/etc")"
    touch "$DIR/enough"
    wait "$victim" || fail "the victim ended with $?"
    grep -qx 'signals \[\] as it was' "$DIR/victim" || fail "the victim: $(cat "$DIR/victim")"
    alive
    stop 0 3
}

# Certificates and configurations that are somewhere else, with a link where they are looked for: made anew they are
# new files there, and the link leads to these.
case_sandbox_links() {
    local keys i
    keys=$(dirname "$0")/../hostauth/keys
    mkdir "$DIR/etc" "$DIR/store" "$DIR/live" "$DIR/archive"
    CONF=$DIR/store/1.conf
    configure "hostauth = { mode = \"require\"; psk_file = \"$DIR/live/psk\"; };"
    sed 's/name = "one"/name = "two"/' "$CONF" >"$DIR/store/2.conf"
    for i in 1 2; do install -m 600 "$keys/psk.txt" "$DIR/archive/psk$i"; done
    ln -s ../archive/psk1 "$DIR/live/psk"
    ln -s ../store/1.conf "$DIR/etc/gw.conf"
    CONF=$DIR/etc/gw.conf
    gateway
    ln -sfn ../archive/psk2 "$DIR/live/psk"
    ln -sfn ../store/2.conf "$CONF"
    kill -HUP "$PID"
    wait_for 10 has 'event=reload' || fail "no reload"
    expect 'event=reload routes=1 added=1 changed=0 removed=1'
    stop 0 3
}

# A file in a folder of the root's, as /etc is: its neighbours are none of the gateway's business.
case_sandbox_system_folder() {
    local other
    CONF=$(mktemp /tmp/rpcrdma-gw-test.XXXXXX) && other=$(mktemp /tmp/rpcrdma-gw-test.XXXXXX) || fail "no file in /tmp"
    # shellcheck disable=SC2064 # now
    trap "rm -f '$CONF' '$other'; cleanup" EXIT
    configure
    gateway
    has 'event=sandbox landlock=[1-9]' || { echo "no Landlock here" && exit 77; }
    expect "level=warn event=sandbox.file file=\"$CONF\" why=.*keep it in a folder of its own"
    mkdir "$DIR/aside"
    echo 'of somebody else' >"$other"
    tried "$other" open
    tells OK open_readable
    tells EACCES open_other
    # Written in place it is read anew; another in its place is not, and all goes on.
    sed 's/name = "one"/name = "two"/' "$CONF" >"$DIR/aside/new" && cat "$DIR/aside/new" >"$CONF"
    kill -HUP "$PID"
    wait_for 10 has 'event=reload routes=1 added=1 changed=0 removed=1' || fail "no reload"
    cp "$CONF" "$DIR/aside/new" && mv "$DIR/aside/new" "$CONF"
    kill -HUP "$PID"
    wait_for 10 has 'event=reload.refused .*Permission denied' || fail "another file was read"
    alive
    stop 0 3
}

declare -F "case_$CASE" >/dev/null || fail "no such case"
# In a network of its own, where there may be one.
if [[ $CASE =~ ^(link_local|link_local_again|link_local_lost|pacing)$ ]] && [ -z "${NETWORK:-}" ]; then
    unshare -rn true 2>/dev/null || exit 77
    NETWORK=own exec unshare -rn "$0" "$BIN" "$CASE"
fi
"case_$CASE"
echo "PASS $CASE"
