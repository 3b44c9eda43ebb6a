#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh BIN CASE: routes with several servers, and with names of servers.
# The test has a network namespace of its own, a name server at 127.0.0.53, and files of its own in place of /etc/resolv.conf and
# /etc/hosts. Exit status 77: this machine allows no such namespace, or lacks something that the case needs.
set -u
BIN=$1
CASE=$2
PATH=$PATH:/usr/sbin:/sbin
if [ -z "${NETWORK:-}" ]; then
    user=
    [ "$(id -u)" -eq 0 ] || user=-r
    unshare $user -nm true 2>/dev/null || exit 77
    NETWORK=own exec unshare $user -nm "$0" "$BIN" "$CASE"
fi
HERE=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/loopback.sh
. "$HERE/../loopback.sh"
CONF=$DIR/gw.conf
LOG=$DIR/gateway.err
CTL=$DIR/control
GW=127.0.0.1
ip link set lo up
echo "nameserver 127.0.0.53
options timeout:1 attempts:2" >"$DIR/resolv.conf"
echo "127.0.0.1 localhost" >"$DIR/hosts"
: >"$DIR/zone"
mount --bind "$DIR/resolv.conf" /etc/resolv.conf && mount --bind "$DIR/hosts" /etc/hosts || exit 77

has() { grep -qs -e "$1" "$LOG"; }
expect() { wait_for 20 has "$1" || fail "no line of the log matches: $1"; }

# configure UPSTREAM: writes $CONF with one route; UPSTREAM has more keys of its upstream side
configure() {
    cat >"$CONF" <<END
workers = 2;
memory_limit = "256M";
drain_timeout = 2;
control = "$CTL";
metrics = { address = "$GW"; };
routes = ( { name = "one";
  listen   = { address = "$GW"; };
  upstream = { port = 20050; connect_timeout = 2; $1 };
} );
END
}

gateway() {
    start gateway "$BIN/rpcrdma-gw" -c "$CONF"
    PID=$pid
    wait_for 20 has event=ready || fail "it does not start"
}

stop() {
    kill "$PID"
    wait "$PID" || fail "exit code $?"
    has 'event=end code=0 heap_live=0' || fail "something is left"
}

# serve N: starts a server on 127.0.0.N; sets $server_N to its process
serve() {
    start "server$1" "$BIN/rpcrdma-perf" server --listen "iwarp:127.0.0.$1:20050"
    wait_for 20 grep -qs listening "$DIR/server$1" || fail "the server does not listen"
    declare -g "server_$1=$pid"
}
end_server() { # N
    local of=server_$1
    kill -KILL "${!of}"
    wait "${!of}" 2>/dev/null
}
dns() {
    start dns python3 "$HERE/dns.py" 127.0.0.53 "$DIR/zone"
    wait_for 20 grep -qs serving "$DIR/dns" || fail "no name server"
}
# zone TTL ADDRESS...: sets the answer about filer.example. The file is replaced at once, because the name server can be reading it.
zone() { zone_lines "filer.example $*"; }
zone_lines() { printf '%s\n' "$@" >"$DIR/zone.new" && mv "$DIR/zone.new" "$DIR/zone"; }
asked() { grep -c "filer.example A\$" "$DIR/dns"; }

perf() { timeout 40 "$BIN/rpcrdma-perf" client --connect "iwarp:$GW:20049" --version "${VERSION:-2}" --op null "$@" >"$DIR/client" 2>&1; }
# shellcheck disable=SC2120 # grows() and connected() pass its options
client() { perf --count 20 "$@" || fail "no service: $(cat "$DIR/client")"; }
no_client() { ! perf --count 20 || fail "there should be no service"; }
load() { # NAME OPTION...: starts a client in the background, with 500 calls a second until a signal ends it; sets $pid
    start "$1" "$BIN/rpcrdma-perf" client --connect "iwarp:$GW:20049" --version 2 --op echo --size 4k --time 900 --rate 500 "${@:2}"
}

# figures NAME: prints the figure NAME of each server, from rpcrdma-gwctl; a line is "127.0.0.11 7"
figures() {
    "$BIN/rpcrdma-gwctl" --socket "$CTL" routes --json >"$DIR/routes" || fail "no routes"
    jq -r ".route.servers[]? | (.address | rtrimstr(\":20050\")) + \" \" + (.$1 | tostring)" "$DIR/routes"
}
# figure N NAME: prints the figure NAME of the server 127.0.0.N
figure() { figures "$2" | sed -n "s/^127\\.0\\.0\\.$1 //p"; }
is_figure() { [ "$(figure "$1" "$2")" = "$3" ]; }
figure_is() { wait_for 20 is_figure "$@" || fail "127.0.0.$1: $2 is $(figure "$1" "$2"), not $3"; }
# connected COMMAND...: runs COMMAND. Sets $connected to the servers to which the gateway connected meanwhile, and $times to the
# number of connections to each
connected() {
    local before server count
    before=$(figures connects)
    "$@"
    connected=
    times=
    while read -r server count; do
        local was
        was=$(awk -v s="$server" '$1 == s { print $2 }' <<<"$before")
        [ "$count" -eq "${was:-0}" ] && continue
        connected+=${connected:+ }${server#127.0.0.}
        times+=${times:+ }$((count - ${was:-0}))
    done < <(figures connects)
}
# grows N COMMAND...: while COMMAND runs, the gateway connects to the server 127.0.0.N and to no other
grows() {
    local n=$1
    shift
    connected "$@"
    [ "$connected" = "$n" ] || fail "connected to \"$connected\", not $n"
}

# --- the cases ---------------------------------------------------------------

# Clients get the first server of the list that serves. When an earlier server comes back, clients get that one again.
case_order() {
    configure 'addresses = ["127.0.0.11", "127.0.0.12", "127.0.0.13"];'
    serve 12
    serve 13
    gateway
    grows 12 client
    expect 'event=upstream.down route=one server=127.0.0.11:20050 cause=refused'
    figure_is 11 up 0
    end_server 12
    grows 13 client --connections 4
    serve 11
    sleep 1.5 # the gateway does not try a server again for a second after a failure
    grows 11 client
    expect 'event=upstream.up route=one server=127.0.0.11:20050'
    end_server 11
    end_server 13
    no_client
    expect 'event=session.end .*cause=refused'
    serve 13
    grows 13 client # if all servers count as down, the gateway tries each
    stop
}

# With balance = "client" all connections of a client get the same server, in both workers and after a restart.
case_spread() {
    local n first
    configure 'addresses = ["127.0.0.11", "127.0.0.12", "127.0.0.13"]; balance = "client";'
    serve 11
    serve 12
    serve 13
    for n in 1 2; do
        gateway
        for client in {1..15}; do
            connected client --from "127.0.1.$client" --connections 4
            [ "$times" = 4 ] || fail "client $client: $times connections to $connected"
            echo "$connected" >>"$DIR/spread.$n"
        done
        stop
    done
    first=$(cat "$DIR/spread.1")
    [ "$first" = "$(cat "$DIR/spread.2")" ] || fail "after a restart clients have other servers"
    [ "$(sort -u "$DIR/spread.1" | wc -l)" -eq 3 ] || fail "a server has no clients"
}

# If a server refuses a new connection of a client, all connections of this client move to another server. Connections of other
# clients stay.
case_nconnect() {
    configure 'addresses = ["127.0.0.11", "127.0.0.12"];'
    serve 11
    serve 12
    gateway
    load first --connections 6 --depth 4
    local first=$pid
    figure_is 11 sessions 6
    load other --from 127.0.1.9 --connections 2
    local other=$pid
    figure_is 11 sessions 8
    # The server's existing connections work, and new ones are refused.
    iptables -A INPUT -p tcp -d 127.0.0.11 --dport 20050 --syn -j REJECT --reject-with tcp-reset 2>/dev/null ||
        nft -f - <<END || exit 77
table inet t { chain c { type filter hook input priority 0; ip daddr 127.0.0.11 tcp dport 20050 tcp flags & (syn|ack) == syn reject with tcp reset; }; }
END
    load late --connections 1
    figure_is 12 sessions 1
    expect 'event=session.moves .*route=one'
    wait "$first" && fail "its sessions did not move"
    figure_is 11 sessions 2
    kill -0 "$other" || fail "another client's ended as well"
    [ "$(grep -c event=session.moves "$LOG")" -eq 6 ] || fail "$(grep -c event=session.moves "$LOG") sessions moved, not 6"
    # If no other server can be reached, existing sessions stay where they are.
    end_server 12
    load nowhere --from 127.0.1.9 --connections 1 --count 1
    wait "$pid" && fail "the server takes nobody"
    kill -0 "$other" || fail "it lost what it had"
    figure_is 11 sessions 2
    kill "$other"
    stop
}

# While a client has sessions, its new connections get the same server, even if an earlier server of the list has come back. Other
# clients get the earlier server.
case_back() {
    configure 'addresses = ["127.0.0.11", "127.0.0.12"];'
    serve 12
    gateway
    load first --connections 2
    local first=$pid
    figure_is 12 sessions 2
    serve 11
    sleep 1.5
    grows 12 client # the same client address as of the load
    grows 11 client --from 127.0.1.9
    kill -0 "$first" || fail "its sessions ended"
    kill "$first"
    figure_is 12 sessions 0
    grows 11 client
    stop
}

# A server accepts connections and answers no call. Only probes notice this.
case_hangs() {
    configure 'addresses = ["127.0.0.11", "127.0.0.12"]; version = "1"; probe_interval = 1;'
    start hangs python3 "$HERE/hangs.py" 127.0.0.11 20050
    local hangs=$pid
    wait_for 20 grep -qs listening "$DIR/hangs" || fail "it does not listen"
    serve 12
    gateway
    expect 'event=upstream.down route=one server=127.0.0.11:20050 why="probes: no answer in time"'
    VERSION=1 grows 12 client
    figure_is 12 up 1
    [ "$(figure 12 probe_failures)" -eq 0 ] || fail "a server that answers failed"
    [ "$(figure 11 failures)" -eq 0 ] || fail "a client had to find out"
    kill "$hangs"
    wait "$hangs" 2>/dev/null
    serve 11
    expect 'event=upstream.up route=one server=127.0.0.11:20050'
    VERSION=1 grows 11 client
    end_server 11
    figure_is 11 up 0 # although no client connected
    VERSION=1 grows 12 client
    [ "$(figure 11 failures)" -eq 0 ] || fail "a client had to find out"
    # The metrics, the log and rpcrdma-gwctl say which server is down.
    curl_metrics | grep -qx 'rpcrdma_gw_upstream_up{route="one",server="127.0.0.11:20050"} 0' || fail "no metric: $(curl_metrics | grep upstream)"
    curl_metrics | grep -qx 'rpcrdma_gw_upstream_servers_up{route="one"} 1' || fail "no metric"
    kill -USR1 "$PID"
    expect 'event=upstream route=one server=127.0.0.12:20050 host=127.0.0.12 up=1 sessions=0 connects=2 failures=0 probes=[0-9]* probe_failures=0'
    "$BIN/rpcrdma-gwctl" --socket "$CTL" status --json | grep -q '"upstreams": *{ *"servers_up": *1, *"servers_down": *1' || fail "status does not tell"
    "$BIN/rpcrdma-gwctl" --socket "$CTL" routes | grep -q '^server     127.0.0.11:20050 of 127.0.0.11: down, 0 sessions' || fail "routes do not tell"
    stop
}
# If the gateway lacks its own source address, no server counts as down. Once it has the address, all servers are used again.
case_own_want() {
    configure 'addresses = ["127.0.0.11", "127.0.0.12"]; probe_interval = 1; source = "10.99.0.1";'
    serve 11
    serve 12
    gateway
    sleep 3.5 # three probes
    no_client
    is_figure 11 up 1 && is_figure 12 up 1 || fail "servers are down that nobody asked"
    [ "$(figure 11 probes)" -eq 0 ] || fail "what was not asked counts as a probe"
    ! has event=upstream.down || fail "a server is down that nobody asked"
    ip address add 10.99.0.1/32 dev lo
    wait_for 20 eval '[ "$(figure 11 probes)" -gt 0 ]' || fail "no probes"
    grows 11 client
    stop
}
curl_metrics() {
    python3 -c 'import sys, urllib.request as u; print(u.urlopen("http://%s:9749/metrics" % sys.argv[1]).read().decode())' "$GW"
}

# The gateway has 64 source ports, and clients come and go. If no port is free, no server counts as down, and no session ends.
case_ports() {
    local round other hog
    sysctl -qw net.ipv4.ip_local_port_range="40000 40063" net.ipv4.tcp_tw_reuse=0 || exit 77
    configure 'addresses = ["127.0.0.11", "127.0.0.12"];'
    serve 11
    serve 12
    gateway
    load other --from 127.0.1.9 --connections 2
    other=$pid
    figure_is 11 sessions 2
    for round in {1..20}; do # a client address per round, because one address has too few ports for all rounds
        perf --from "127.0.2.$round" --connections 10 --count 10 || fail "no service in round $round: $(cat "$DIR/client")"
    done
    [ "$(figure 11 connects)" -eq 202 ] || fail "$(figure 11 connects) sessions, not 202"
    blameless "$other"
    [ "$(ss -Hatn state time-wait dst 127.0.0.11 | wc -l)" -eq 0 ] || fail "ports wait: $(ss -Hatn dst 127.0.0.11)"
    # All 64 ports are in use.
    load hog --from 127.0.3.1 --connections 62
    hog=$pid
    figure_is 11 sessions 64
    ! perf --from 127.0.3.2 --count 1 --timeout 5 || fail "a 65th port"
    expect 'event=upstream.short route=one server=127.0.0.11:20050 why="no source port is left'
    expect 'event=session.end .*cause=local'
    curl_metrics | grep -qx 'rpcrdma_gw_refusals_total{route="one",reason="machine"} 1' || fail "no metric: $(curl_metrics | grep refusals)"
    blameless "$other"
    kill "$hog"
    wait_for 2 perf --from 127.0.3.3 --count 1 --timeout 2 || fail "no service once there are ports: $(cat "$DIR/client")"
    blameless "$other"
    kill "$other"
    stop
}
# If a rule of the gateway's own machine forbids a connection (EACCES), the server does not count as down.
case_forbidden() {
    configure 'addresses = ["127.0.0.11", "127.0.0.12"]; probe_interval = 1;'
    serve 11
    serve 12
    gateway
    # The rule must come before the lookup of local addresses.
    { ip rule add pref 10 lookup local && ip rule del pref 0 && ip rule add pref 5 to 127.0.0.11 prohibit; } || exit 77
    no_client
    expect 'event=upstream.short route=one server=127.0.0.11:20050 why="this machine.s security policy forbids it'
    sleep 2.5 # two probes
    ! has event=upstream.down || fail "a server is blamed"
    is_figure 12 connects 0 || fail "a client went to the other server"
    ip rule del pref 5
    grows 11 client
    stop
}
blameless() { # PROCESS: no server counts as down, and the sessions of the client PROCESS continue
    ! has 'event=upstream.down' || fail "a server is blamed"
    ! has 'event=session.moves' || fail "a client has to go"
    is_figure 11 up 1 || fail "a server is down"
    is_figure 11 failures 0 || fail "a failure counts"
    is_figure 12 connects 0 || fail "a client went to the other server"
    kill -0 "$1" || fail "another client's sessions ended"
}

# The gateway looks a name up when a client comes. The answer is valid for its TTL. A client with sessions keeps its server.
case_names() {
    local before
    configure 'address = "filer.example";'
    serve 11
    serve 12
    dns
    zone 6 127.0.0.11 ::1
    gateway
    grows 11 client # the gateway first tries ::1, where no server listens
    expect 'event=name.found name=filer.example addresses=2 ttl_s=6'
    [ "$(asked)" -eq 1 ] || fail "asked $(asked) times"
    client
    [ "$(asked)" -eq 1 ] || fail "asked again within the time of the answer"
    zone 0 127.0.0.12
    sleep 6.1
    grows 12 client
    before=$(asked)
    client
    client
    [ "$(asked)" -eq $((before + 2)) ] || fail "an answer without time was kept"
    # A new connection of a client that has sessions gets the same server, without a look-up.
    load first --connections 1
    local first=$pid
    figure_is 12 sessions 1
    zone 0 127.0.0.11
    before=$(asked)
    grows 12 client
    [ "$(asked)" -eq "$before" ] || fail "asked for a client that is there"
    grows 11 client --from 127.0.1.9
    [ "$(figure 12 host)" = "" ] || fail "it is not what the name leads to"
    kill "$first"
    zone none
    sleep 0.2
    no_client
    expect 'event=name.failed name=filer.example known=0 why="there is no such name'
    expect 'event=session.end .*leg=server cause=refused why="the names of its servers lead to no address"'
    curl_metrics | grep -qx 'rpcrdma_gw_upstream_lookup_failures_total{route="one"} [1-9]' || fail "no metric of the failure"
    zone 1 127.0.0.12
    sleep 5.2
    grows 12 client
    stop
}

# /etc/hosts comes before the name server. A change of the file takes effect.
case_hosts() {
    configure 'address = "filer.example";'
    serve 11
    serve 12
    dns
    zone 1 127.0.0.99
    echo "127.0.0.11 Filer.example filer" >>"$DIR/hosts"
    gateway
    grows 11 client
    [ "$(asked)" -eq 0 ] || fail "the name server was asked"
    echo "127.0.0.12 filer.example" >"$DIR/hosts"
    sleep 5.2
    grows 12 client
    stop
}

# While the name server is silent, clients of a name that was known and clients of another route do not wait.
case_silent_dns() {
    configure 'address = "filer.example"; connect_timeout = 4;'
    sed -i 's/ connect_timeout = 2;//; s/^} );$/}, { name = "two"; listen = { address = "127.0.0.1"; port = 20051; }; upstream = { address = "127.0.0.11"; port = 20050; }; } );/' "$CONF"
    serve 11
    gateway # no name server runs
    no_client
    expect 'event=name.failed name=filer.example known=0 why="no name server answers"'
    dns
    zone 1 127.0.0.11
    sleep 5.2 # the gateway does not ask again for 5 s after a failure
    grows 11 client
    zone silence
    sleep 1.1
    load slow --count 20
    local slow=$pid
    for _ in {1..20}; do
        timeout 1 "$BIN/rpcrdma-perf" client --connect "iwarp:$GW:20051" --version 2 --op null --count 5 >/dev/null 2>&1 || fail "another route waits"
    done
    wait "$slow" || fail "what was known does not hold"
    expect 'event=name.failed name=filer.example known=1'
    stop
}

case_hostile_dns() {
    configure 'addresses = ["filer.example", "127.0.0.12"]; connect_timeout = 9;'
    sed -i 's/ connect_timeout = 2;//' "$CONF"
    serve 12
    serve 99
    dns
    gateway
    for how in truncated loop forged garbage refused nowhere; do
        zone $how
        sleep 5.2 # the gateway does not ask again for 5 s after a failure
        grows 12 client
    done
    [ "$(figure 99 connects)" = "" ] || fail "a forged answer was believed"
    kill -0 "$PID" || fail "it is gone"
    zone 5 127.0.0.99
    sleep 5.2
    grows 99 client
    stop
}

# A reload changes the servers of a route. Clients with sessions keep their server.
case_reload() {
    configure 'address = "127.0.0.11";'
    serve 11
    serve 12
    gateway
    load first --connections 2
    local first=$pid
    figure_is 11 sessions 2
    configure 'addresses = ["127.0.0.12", "127.0.0.11"]; balance = "order"; probe_interval = 1;'
    kill -HUP "$PID"
    expect 'event=reload routes=1 added=0 changed=1'
    expect 'event=listen route=one .*upstream=127.0.0.12:20050,127.0.0.11:20050'
    grows 11 client # the same client address as of the load
    grows 12 client --from 127.0.1.9
    wait_for 20 eval '[ "$(figure 12 probes)" -gt 0 ]' || fail "no probes"
    configure 'addresses = ["filer.example"]; balance = "client";'
    dns
    zone 100 127.0.0.12
    kill -HUP "$PID"
    wait_for 20 eval '[ "$(grep -c "event=reload routes=1" "$LOG")" -eq 2 ]' || fail "no second reload"
    grows 11 client
    kill "$first"
    figure_is 11 sessions ""
    grows 12 client
    kill -0 "$PID" || fail "it is gone"
    stop
}

# A look-up for a route does not end before reloads have replaced the route twice. Clients of the new route do not wait for it.
case_gone() {
    configure 'address = "filer.example";'
    zone_lines 'filer.example silence' 'other.example 100 127.0.0.11'
    dns
    serve 11
    echo "nameserver 127.0.0.53" >"$DIR/resolv.conf" # default time-outs: longer than the client waits
    gateway
    timeout 1 "$BIN/rpcrdma-perf" client --connect "iwarp:$GW:20049" --version 2 --op null --count 1 >/dev/null 2>&1
    wait_for 20 grep -qs 'filer.example A$' "$DIR/dns" || fail "nobody asks"
    expect "event=session.end .*why=\"the name of its server took too long"
    local name
    for name in two three; do
        configure 'address = "other.example";'
        sed -i "s/name = \"one\"/name = \"$name\"/" "$CONF"
        kill -HUP "$PID"
        expect "event=listen route=$name "
    done
    client
    stop
}

# A client waits for a look-up while a reload changes the server's name. The client then waits for the new name. Sessions with
# earlier settings of the route (old slots) do not make a look-up count twice.
case_renamed() {
    local n
    echo "nameserver 127.0.0.53
options timeout:1 attempts:9" >"$DIR/resolv.conf"
    zone_lines 'filer.example silence' 'other.example silence'
    configure 'address = "127.0.0.11";'
    dns
    serve 11
    serve 12
    gateway
    for n in 1 2 3; do # each session keeps an old slot
        load "old$n" --from "127.0.1.$n" --connections 1
        figure_is 11 sessions $n
        configure 'address = "127.0.0.11";'
        reload $n
    done
    configure 'address = "filer.example";'
    reload 4
    load waits --from 127.0.1.9 --connections 1 --count 20
    local waits=$pid
    wait_for 20 grep -qs 'filer.example A$' "$DIR/dns" || fail "nobody asks"
    configure 'address = "other.example";'
    reload 5
    wait_for 20 grep -qs 'other.example A$' "$DIR/dns" || fail "nobody asks for the other"
    zone_lines 'filer.example 100 127.0.0.11' 'other.example silence'
    expect 'event=name.found name=filer.example'
    zone_lines 'other.example 100 127.0.0.12'
    wait "$waits" || fail "it did not wait for the new name: $(cat "$DIR/waits")"
    [ "$(figure 12 connects)" = 1 ] || fail "it went elsewhere: $(figures connects)"
    [ "$(lookups)" = 1 ] || fail "one look-up counts as $(lookups)"
    stop
}
# reload N: makes the Nth reload, with another connect_timeout, so that sessions keep an old slot
reload() {
    sed -i "s/connect_timeout = 2;/connect_timeout = 1$1;/" "$CONF"
    kill -HUP "$PID"
    wait_for 20 eval '[ "$(grep -c "event=reload routes=1" "$LOG")" -eq '"$1"' ]' || fail "no reload $1"
}
lookups() { curl_metrics | sed -n 's/^rpcrdma_gw_upstream_lookups_total{route="one"} //p'; }

# A reload of a file with an error logs the error with its line, and changes nothing.
case_refused() {
    configure 'address = "127.0.0.11";'
    serve 11
    gateway
    configure 'addresses = ["127.0.0.12", "filer one"];'
    kill -HUP "$PID"
    expect "event=reload.refused why=\"$CONF:8: addresses has 'filer one', which is neither"
    grows 11 client
    expect_exit 1 "$BIN/rpcrdma-gw" --check "$CONF"
    says "$CONF:8: addresses has \"filer one\", which is neither an address nor a name"
    stop
}

# In the sandbox the gateway can look names up, and it reads /etc/resolv.conf again after a change of its content.
case_sandbox() {
    configure 'address = "filer.example";'
    serve 11
    dns
    zone 0 127.0.0.11
    gateway
    expect 'event=sandbox '
    grows 11 client
    # Another name server, in the same file.
    echo "nameserver 127.0.0.54
options timeout:1 attempts:1" >"$DIR/resolv.conf"
    start dns2 python3 "$HERE/dns.py" 127.0.0.54 "$DIR/zone2"
    wait_for 20 grep -qs serving "$DIR/dns2" || fail "no second name server"
    echo "filer.example 0 127.0.0.11" >"$DIR/zone2"
    grows 11 client
    grep -q 'filer.example A$' "$DIR/dns2" || fail "the file was not read anew"
    ls "/proc/$PID/fd" | wc -l >"$DIR/fds"
    for _ in {1..20}; do client; done
    [ "$(ls "/proc/$PID/fd" | wc -l)" -le $(($(cat "$DIR/fds") + 2)) ] || fail "descriptors are left: $(ls -l "/proc/$PID/fd")"
    stop
}

"case_$CASE"
