# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Actions of operators under a kernel mount with verified load: reloads that add, change and remove routes; drains; replacements of
# the gateways' processes (--take-over). The client sees no error, and no write takes longer than half a minute. In the end the gateways
# hold no more resources than before.
#
#     client - v1 - near 20080 = v2 = far 20081 - v1 - filer
#
# OPERATE="RELOADS DRAINS REPLACEMENTS" has the numbers of actions ("10 3 3"); "100 20 20" takes minutes. The gateways near and far
# alternate.

test_operate() {
    local reloads drains replaced name
    read -r reloads drains replaced <<<"${OPERATE:-10 3 3}"
    guests_up siw client filer
    for name in near far; do operate_begin "operate-$name" || return; done
    chain operate "$HOST" 20080 operate-near
    operate_warm || return
    check "operate: mount NFSv4.1, under load" eval 'fresh_mount operate 4.1 && guest client "keep_loading; sample_waits"' ||
        return
    check "operate: the load runs" rounds_go_on 300
    operate_replacements "$replaced"
    operate_reloads $((reloads - replaced)) "$drains"
    check "operate: the load went on" rounds_go_on 300
    operate_end
}

declare -A OPERATED=() # gateway -> number of changes of its configuration

# operate_configure NAME: writes the gateway's configuration after ${OPERATED[NAME]} changes. Each change alters the route of the mount.
# In two of three configurations there is a second route.
operate_configure() {
    local name=$1 n=${OPERATED[$1]} port upstream versions version extra=''
    case $name in
    operate-near) port=20080 upstream="address = \"$HOST\"; port = 20081" versions=1 version=2 ;;
    *) port=20081 upstream="address = \"${FILER%:*}\"; port = ${FILER#*:}" versions=2 version=1 ;;
    esac
    [ $((n % 3)) -eq 0 ] || extra=", { name = \"beside\";
  listen = { address = \"$HOST\"; port = $((port + 10)); credits = $((16 + n)); };
  upstream = { $upstream; version = \"$version\"; };
}"
    cat >"$RUN/$name.conf.new" <<EOC
workers = 2;
memory_limit = "512M";
peer_timeout = $PEER_TIMEOUT;
control = "$RUN/$name.control";
routes = ( { name = "mount";
  listen = { address = "$HOST"; port = $port; versions = [$versions]; credits = $((32 + n)); };
  upstream = { $upstream; version = "$version"; };
} $extra );
EOC
    mv "$RUN/$name.conf.new" "$RUN/$name.conf"
}

operate_begin() {
    OPERATED[$1]=0
    operate_configure "$1"
    gateway_start "$1"
}
operate_ctl() { "$BIN/rpcrdma-gwctl" --socket "$RUN/$1.control" "${@:2}" >>"$RUN/$1.ctl" 2>&1; }

# operate_reload NAME: changes the configuration and reloads. Succeeds if the gateway reports the right numbers of routes.
operate_reload() {
    local n=$((OPERATED[$1] + 1)) did
    OPERATED[$1]=$n
    operate_configure "$1"
    case $((n % 3)) in
    1) did='"added":1,"changed":1,"removed":0' ;;
    2) did='"added":0,"changed":2,"removed":0' ;;
    0) did='"added":0,"changed":1,"removed":1' ;;
    esac
    : >"$RUN/$1.ctl"
    operate_ctl "$1" --json reload && grep -q "$did" "$RUN/$1.ctl"
}

# operate_drain NAME: drains the mount's route. The session ends, and the client connects again.
operate_drain() {
    local ended opened
    ended=$(count_event "$1" session.end) opened=$(count_event "$1" session.open)
    operate_ctl "$1" drain mount && wait_for 60 event_since "$1" session.end "$ended" &&
        wait_for 60 event_since "$1" session.open "$opened"
}

# operate_replace NAME: a new process takes over. It reloads a changed configuration while the old process still drains.
operate_replace() {
    local name=$1 old=${PID[$1]} ready opened
    ready=$(count_event "$name" ready) opened=$(count_event "$name" session.open)
    start "$name" "$BIN/rpcrdma-gw" -c "$RUN/$name.conf" --take-over
    wait_for 30 event_since "$name" ready "$ready" && operate_reload "$name" &&
        wait_for 60 eval "! kill -0 $old 2>/dev/null" && wait "$old" &&
        wait_for 60 event_since "$name" session.open "$opened"
}

# operate_each NUMBER WHAT: calls WHAT for near if NUMBER is even, else for far. Counts successes in $went.
operate_each() {
    local name=operate-near
    [ $(($1 % 2)) -eq 0 ] || name=operate-far
    if "$2" "$name"; then went=$((went + 1)); else say "operate: number $1 of $2 $name went wrong"; fi
}

operate_replacements() { # COUNT
    local i went=0
    for ((i = 0; i < $1; i++)); do operate_each "$i" operate_replace; done
    check "operate: $went of $1 replacements, each with a reload" test "$went" -eq "$1"
}

operate_reloads() { # COUNT DRAINS: reloads, with drains between them
    local i went=0 drained=0
    for ((i = 0; i < $1; i++)); do
        operate_each "$i" operate_reload
        sleep 0.2 # I/O of the load between two reloads
        [ $((drained * $1)) -ge $(((i + 1) * $2)) ] || operate_drained
    done
    check "operate: $went of $1 reloads" test "$went" -eq "$1"
    check "operate: $drained of $2 drains" test "$drained" -eq "$2"
}
operate_drained() {
    local went=$drained
    operate_each "$drained" operate_drain
    drained=$went
}

# operate_figure NAME KEY: prints the figure KEY of the gateway's status.
operate_figure() {
    "$BIN/rpcrdma-gwctl" --socket "$RUN/$1.control" --json status | jq -r "[select(.status) | .. | objects | .$2? | numbers][0] // empty"
}
operate_idle() { [ "$(operate_figure "$1" sessions)" = 0 ]; }
figure_is_within() { # NAME KEY MOST
    local is
    is=$(operate_figure "$1" "$2")
    [ "${is:-$(($3 + 1))}" -le "$3" ]
}

# Resources that a gateway holds after its clients have left.
declare -A OPERATE_HAD=()
operate_warm() {
    local name key
    check "operate: a mount and a load before" eval 'fresh_mount operate 4.1 &&
        guest client "verified_load --numjobs=4 --size=4M && unmount_all" 240' || return
    for name in operate-near operate-far; do
        # Three changes: a route is added, both routes change, the route is removed.
        for _ in 1 2 3; do operate_reload "$name"; done
        check "operate: $name is idle" wait_for 60 operate_idle "$name"
        for key in descriptors heap_live resident_bytes; do
            OPERATE_HAD[$name.$key]=$(operate_figure "$name" "$key")
        done
    done
}

operate_end() {
    local rc longest rounds name
    guest client finish_loading 600
    rc=$?
    longest=$(guest client longest_wait 300) rounds=$(guest client load_rounds)
    check "operate: $rounds rounds of fio verified, zero errors; the longest that a write of 4 KiB took: $longest ms" \
        test "$rc" -eq 0 -a "${longest:-0}" -gt 0 -a "${longest:-0}" -le 30000
    check "operate: unmount" guest client unmount_all
    for name in operate-near operate-far; do operate_has_as_before "$name"; done
    gateways_end operate-near operate-far
}

operate_has_as_before() {
    local name=$1 fds=${OPERATE_HAD[$1.descriptors]} heap=${OPERATE_HAD[$1.heap_live]}
    local bytes=${OPERATE_HAD[$1.resident_bytes]}
    wait_for 60 operate_idle "$name"
    while [ $((OPERATED[$name] % 3)) -ne 0 ]; do operate_reload "$name"; done
    wait_for 30 figure_is_within "$name" descriptors "$fds"
    check "operate: $name has $(operate_figure "$name" descriptors) descriptors, had $fds" \
        figure_is_within "$name" descriptors "$fds"
    wait_for 30 figure_is_within "$name" heap_live $((heap + 3))
    check "operate: $name has $(operate_figure "$name" heap_live) allocations, had $heap" \
        figure_is_within "$name" heap_live $((heap + 3))
    # The gateway returns freed memory to the system within about half a minute.
    wait_for 90 figure_is_within "$name" resident_bytes $((bytes * 11 / 10 + (1 << 20)))
    check "operate: $name has $(operate_figure "$name" resident_bytes) octets resident, had $bytes" \
        figure_is_within "$name" resident_bytes $((bytes * 11 / 10 + (1 << 20)))
}
