# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The lab, to be sourced: a network namespace with a bridge, on it virtual machines:
# the kernel NFS client, the kernel NFS filer and, where a gateway is to have an RDMA
# device, one for gateways. Those without a device stand in the namespace itself.
#
#     client 10.77.0.3 --- bridge 10.77.0.1 (gateways) --- filer 10.77.0.2
#                             |
#                       gateway 10.77.0.4 (gateways with a device)
#
# Another guest for gateways, second 10.77.0.6, is for test-protected.sh alone.
#
# One guest each, because each must be killable alone, and because siw cannot connect to its own
# address. Everything lives in process, mount and network namespaces of which no name is left
# anywhere: when the shell that sourced this ends, even by SIGKILL, the kernel ends the processes,
# and takes namespaces, interfaces, mounts and the files of $ROOM away with the last of them
# (test: ./leaves-nothing). What stays is $LAB, the cache, and the logs in $RUN.

VM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$VM/../.." && pwd)
# shellcheck source=tests/vm/cache.sh
. "$VM/cache.sh" # $LAB: kernels and the like, to be shared
BIN=${BIN:-$TOP/build/bin}
RUN=$(realpath -m "${LAB_RUN:-$LAB/run}") # logs of this run, gateway configurations; labs with different ones run side by side
[[ $RUN == "$LAB"/* ]] || own_folder "$(dirname "$RUN")" # files stand beside $RUN, too: its lock
ROOM=$RUN/room           # a tmpfs that nobody else sees: the guests' memory, the filer's disk
HOST=10.77.0.1
declare -A GUEST_ADDRESS=([client]=10.77.0.3 [filer]=10.77.0.2 [gateway]=10.77.0.4 [second]=10.77.0.6)
declare -A PID=()    # name -> process id of all that we started
declare -A WITHIN=() # name -> the guest in which it runs, if in one

say() { printf '%s %s\n' "$(date +%T)" "$*"; }
die() { echo "lab: $*" >&2; exit 1; }
inside() { nsenter "--net=/proc/$NET/ns/net" -- "$@"; }

# shellcheck source=tests/vm/verdicts.sh
. "$VM/verdicts.sh"

# lab_alone "$@": starts the calling script over in its namespaces, as the only one that uses $RUN;
# the others wait. flock keeps the lock to itself (-o): nothing started in the lab can hold it.
# Ending flock ends the rest: each process here takes the next one along, and `sh`, process 1,
# everything else there is.
lab_alone() {
    [ "${LAB_ALONE:-}" = "$RUN" ] && return
    [ "$(id -u)" -eq 0 ] || die "needs root (namespaces, virtual machines)"
    (umask 077 && mkdir -p "$RUN")
    export LAB_ALONE=$RUN
    # shellcheck disable=SC2016 # expanded by sh
    exec flock -o -w 3600 "$RUN.lock" setpriv --pdeathsig KILL \
        unshare --fork --pid --kill-child --mount-proc sh -c '"$0" "$@"; exit $?' "$0" "$@"
}

# --- the namespace -----------------------------------------------------------

lab_up() {
    local role
    kernels_made "${!KERNELS[@]}"
    # Being alone (see lab_alone), whatever an earlier run left is stale.
    rm -rf "$RUN" && mkdir -p "$ROOM"
    # Commands in guests are words with blanks between: the path of a checkout may have blanks, that of $RUN has none.
    ln -s "$(realpath "$BIN")" "$RUN/bin" && BIN=$RUN/bin
    mount -t tmpfs -o mode=700,size=90% lab "$ROOM" || die "no room in $RUN"
    unshare --net sleep infinity & # keeps the namespace
    NET=$!
    wait_for 10 eval '[ "$(readlink "/proc/$NET/ns/net")" != "$(readlink /proc/self/ns/net)" ]' ||
        die "no network namespace"
    inside ip link set lo up
    inside ip link add br0 address "$(mac "$HOST")" type bridge || die "no bridge"
    inside ip addr add "$HOST/24" dev br0
    inside ip link set br0 up
    for role in "${!GUEST_ADDRESS[@]}"; do
        inside ip tuntap add "tap-$role" mode tap
        inside ip link set "tap-$role" mtu "$LARGE_FRAMES" master br0 up
    done
}
mac() { echo "52:54:00:77:00:0${1##*.}"; }

# start NAME COMMAND...: in the namespace, in the background, log in $RUN/NAME.log.
# The log is appended to: a restarted process does not wipe what its forerunner said.
start() {
    local name=$1
    shift
    nsenter "--net=/proc/$NET/ns/net" -- "$@" </dev/null >>"$RUN/$name.log" 2>&1 &
    PID[$name]=$!
}

# start_in GUEST NAME COMMAND...: the same in a guest; the log comes here as it is written.
start_in() {
    local guest=$1 name=$2
    shift 2
    # shellcheck disable=SC2016 # expanded in the guest
    printf 'ulimit -l unlimited; (echo $BASHPID >/run/%s.pid; exec %s)\n' "$name" "$*" >"$RUN/$name.command"
    start "$name" socat -t 86400 "OPEN:$RUN/$name.command,rdonly!!STDOUT" "TCP:${GUEST_ADDRESS[$guest]}:7777"
    WITHIN[$name]=$guest
}

alive() { kill -0 "${PID[$1]}" 2>/dev/null; }

# signal NAME SIGNAL
signal() {
    if [ -n "${WITHIN[$1]:-}" ]; then
        guest "${WITHIN[$1]}" "kill -$2 \$(cat /run/$1.pid)" 20
    else
        kill "-$2" "${PID[$1]}"
    fi
}

# stop NAME [SIGNAL]: waits for the end; its exit status, or 124 if it had to be
# forced after 20 s. (Standard error goes away because bash would report each kill.)
stop() {
    local name=$1 pid=${PID[$1]:-} forced='' rc
    [ -n "$pid" ] || return 0
    signal "$name" "${2:-TERM}"
    wait_for 20 eval "! kill -0 $pid" || { forced=124; kill -KILL "$pid"; }
    wait "$pid"
    rc=$?
    [ -z "${WITHIN[$name]:-}" ] || rc=$(sed -n '$s/^rc=//p' "$RUN/$name.log")
    unset "PID[$name]" "WITHIN[$name]"
    return "${forced:-${rc:-125}}"
} 2>/dev/null

# --- guests: guests.sh -------------------------------------------------------

# shellcheck source=tests/vm/guests.sh
. "$VM/guests.sh"

# --- gateways ----------------------------------------------------------------

# gateway NAME LISTEN VERSIONS UPSTREAM VERSION: one gateway with one route, e.g.
# gateway near iwarp:10.77.0.1:20050 1 iwarp:10.77.0.1:20051 2
# It runs where LISTEN's address is: in the namespace or in a guest.
gateway() {
    local name=$1 listen upstream guest control=''
    [ -z "${GW_CONTROL:-}" ] || control="control = \"$RUN/$name.control\";"
    read -ra listen <<<"$(at_colons "$2")"
    read -ra upstream <<<"$(at_colons "$4")"
    for guest in "${!GUEST_ADDRESS[@]}"; do
        [ "${GUEST_ADDRESS[$guest]}" != "${listen[1]}" ] || PLACE[$name]=$guest
    done
    cat >"$RUN/$name.conf" <<EOF
workers = ${GW_WORKERS:-1};
memory_limit = "${GW_MEMORY:-1G}";
cut_through = ${GW_CUT_THROUGH:-true};
cut_through_from = ${GW_CUT_THROUGH_FROM:-33554432};
receive_queue = "${GW_RECEIVES:-auto}";
insecure_handles = "$([ "${DEVICE:-}" = siw ] && echo allow || echo refuse)";
peer_timeout = $PEER_TIMEOUT;
$control
log = { level = "${GW_LOG:-info}"; };
routes = ( {
  name = "$name";
  listen = { fabric = "${listen[0]}"; address = "${listen[1]}"; port = ${listen[2]}; versions = [$3]; ${GW_LISTEN:-} };
  upstream = { fabric = "${upstream[0]}"; address = "${upstream[1]}"; port = ${upstream[2]}; version = "$5";
    connect_timeout = ${GW_TIMEOUT:-10}; ${GW_UPSTREAM:-} };
} );
EOF
    gateway_start "$name"
}
at_colons() { sed 's/:/ /; s/\(.*\):/\1 /' <<<"$1"; } # the first and the last: IPv6 addresses have more
PEER_TIMEOUT=12 # seconds, of all gateways: 30 by default
declare -A PLACE=() # gateway -> the guest it belongs to, if to one

# gateway_start NAME: (again) with the configuration it already has.
gateway_start() {
    local name=$1 before
    before=$(count_event "$name" ready)
    if [ -n "${PLACE[$name]:-}" ]; then
        start_in "${PLACE[$name]}" "$name" "$BIN/rpcrdma-gw" -c "$RUN/$name.conf"
    else
        start "$name" "$BIN/rpcrdma-gw" -c "$RUN/$name.conf"
    fi
    wait_for 30 event_since "$name" ready "$before" || die "gateway $name is not ready, see $RUN/$name.log"
}
listening() { [ -n "$(inside ss -Htln "sport = :$1")" ]; }

# count_event GATEWAY EVENT: how often its log has it; event_since GATEWAY EVENT COUNT: it has more.
count_event() { touch "$RUN/$1.log" && grep -c "event=$2 " "$RUN/$1.log"; }
event_since() { [ "$(count_event "$1" "$2")" -gt "$3" ]; }

# The chains under test: where a client mounts, and the gateway that the chain begins with.
# chain NAME ADDRESS PORT GATEWAY: one more.
chain() { AT[$1]=$2 PORT[$1]=$3 FIRST[$1]=$4; }
# shellcheck disable=SC2034
declare -A PORT=([direct]=20049 [chained]=20050) FIRST=([direct]=direct [chained]=near) AT=()
FILER=${GUEST_ADDRESS[filer]}:20049
gateway_direct() { gateway direct "iwarp:$HOST:20049" 1 "iwarp:$FILER" 1; }
gateway_near() { GW_WORKERS=2 gateway near "iwarp:$HOST:20050" 1 "iwarp:$HOST:20051" 2; }
gateway_far() { GW_WORKERS=2 gateway far "iwarp:$HOST:20051" 2 "iwarp:$FILER" 1; }

# report NAME: what the gateway says on SIGUSR1; legs NAME: of its live sessions, a line a leg;
# live_sessions NAME: their numbers.
report() {
    local log=$RUN/$1.log before workers last=worker.counters
    workers=$(sed -n 's/^workers = \([0-9]*\);/\1/p' "$RUN/$1.conf")
    ! grep -q '"verbs"' "$RUN/$1.conf" || last=worker.verbs
    before=$(wc -l <"$log")
    signal "$1" USR1
    wait_for 10 eval "[ \$(tail -n +$((before + 1)) '$log' | grep -c 'event=$last ') -ge $workers ]"
    tail -n "+$((before + 1))" "$log"
}
legs() { report "$1" | grep 'event=leg '; }
live_sessions() { legs "$1" | field session | sort -nu; }

# field NAME: that key's value, of each line on standard input.
field() { sed -n "s/.*[[:space:]]$1=\([^[:space:]]*\).*/\1/p"; }
