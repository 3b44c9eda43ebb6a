# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# lab.sh: functions of the lab. `run` and ../../quickstart source this file.
#
# The lab is a network namespace with a bridge. Virtual machines (guests) are on the bridge: the kernel NFS client, the kernel NFS
# filer, and a guest for gateways with an RDMA device. Gateways without a device run in the namespace itself.
#
#     client 10.77.0.3 --- bridge 10.77.0.1 (gateways) --- filer 10.77.0.2
#                             |
#                       gateway 10.77.0.4 (gateways with a device)
#
# test-protected.sh alone uses a second guest for gateways (second, 10.77.0.6).
#
# Client, filer and gateways have a guest each, because tests kill them one at a time, and because siw cannot connect to its own
# address.
#
# All processes of the lab run in process, mount and network namespaces without a name. When the shell that sourced this file ends,
# even by SIGKILL, the kernel ends these processes. With the last process it removes namespaces, interfaces, mounts and the files of
# $ROOM (test: ./leaves-nothing). The cache $LAB and the logs in $RUN stay.

VM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$VM/../.." && pwd)
# shellcheck source=tests/vm/cache.sh
. "$VM/cache.sh" # $LAB: kernels and other things that labs share
BIN=${BIN:-$TOP/build/bin}
RUN=$(realpath -m "${LAB_RUN:-$LAB/run}") # logs of this run, and configurations of gateways; labs with different folders can run at the same time
[[ $RUN == "$LAB"/* ]] || own_folder "$(dirname "$RUN")" # the lock of $RUN is beside it
ROOM=$RUN/room           # a tmpfs that only the lab sees: the guests' memory, the filer's disk
HOST=10.77.0.1
declare -A GUEST_ADDRESS=([client]=10.77.0.3 [filer]=10.77.0.2 [gateway]=10.77.0.4 [second]=10.77.0.6)
declare -A PID=()    # name -> process id of everything that the lab started
declare -A WITHIN=() # name -> its guest, if it runs in one

say() { printf '%s %s\n' "$(date +%T)" "$*"; }
die() { echo "lab: $*" >&2; exit 1; }
inside() { nsenter "--net=/proc/$NET/ns/net" -- "$@"; }

# shellcheck source=tests/vm/verdicts.sh
. "$VM/verdicts.sh"

# lab_alone "$@": starts the calling script again, in namespaces of its own. Only one script at a time uses $RUN; others wait.
# - flock does not pass its lock on (-o), so no process of the lab can keep it.
# - If flock ends, all processes end: setpriv and unshare each end their child, and `sh` is process 1 of the namespace.
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
    # No other script uses $RUN (lab_alone), so its files are those of an earlier run.
    rm -rf "$RUN" && mkdir -p "$ROOM"
    # A command in a guest is divided at blanks. The path of a checkout can have blanks, the path of $RUN has none.
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

# start NAME COMMAND...: starts COMMAND in the namespace, in the background. It appends its output to $RUN/NAME.log, so that the log
# of an earlier process with this name stays.
start() {
    local name=$1
    shift
    nsenter "--net=/proc/$NET/ns/net" -- "$@" </dev/null >>"$RUN/$name.log" 2>&1 &
    PID[$name]=$!
}

# start_in GUEST NAME COMMAND...: as start, in a guest. The log is on this machine, too.
start_in() {
    local guest=$1 name=$2
    shift 2
    # shellcheck disable=SC2016 # expanded in the guest
    printf 'ulimit -l unlimited; (echo $BASHPID >/run/%s.pid; exec %s)\n' "$name" "$*" >"$RUN/$name.command"
    start "$name" socat -t 86400 "OPEN:$RUN/$name.command,rdonly!!STDOUT" "TCP:${GUEST_ADDRESS[$guest]}:7777"
    WITHIN[$name]=$guest
}

alive() { kill -0 "${PID[$1]}" 2>/dev/null; }

# signal NAME SIGNAL: sends SIGNAL to the process NAME, also in a guest.
signal() {
    if [ -n "${WITHIN[$1]:-}" ]; then
        guest "${WITHIN[$1]}" "kill -$2 \$(cat /run/$1.pid)" 20
    else
        kill "-$2" "${PID[$1]}"
    fi
}

# stop NAME [SIGNAL]: ends the process NAME, and waits for it. Returns its exit status, or 124 if SIGKILL was needed after 20 s.
# Standard error is closed, because bash reports each kill there.
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

# gateway NAME LISTEN VERSIONS UPSTREAM VERSION: starts a gateway with one route, for example
# gateway near iwarp:10.77.0.1:20050 1 iwarp:10.77.0.1:20051 2
# It runs in the guest that has the address of LISTEN, else in the namespace.
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
at_colons() { sed 's/:/ /; s/\(.*\):/\1 /' <<<"$1"; } # divides at the first and the last colon only, because IPv6 addresses have colons
PEER_TIMEOUT=12 # seconds: peer_timeout of all gateways of the lab; the gateway's default is 30
declare -A PLACE=() # gateway -> its guest, if it runs in one

# gateway_start NAME: starts the gateway NAME with its present configuration, and waits until it is ready.
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

# count_event GATEWAY EVENT: prints how often EVENT is in the gateway's log.
# event_since GATEWAY EVENT COUNT: whether EVENT is there more than COUNT times.
count_event() { touch "$RUN/$1.log" && grep -c "event=$2 " "$RUN/$1.log"; }
event_since() { [ "$(count_event "$1" "$2")" -gt "$3" ]; }

# A chain has the address and port at which a client mounts, and the name of its first gateway.
# chain NAME ADDRESS PORT GATEWAY: adds a chain.
chain() { AT[$1]=$2 PORT[$1]=$3 FIRST[$1]=$4; }
# shellcheck disable=SC2034
declare -A PORT=([direct]=20049 [chained]=20050) FIRST=([direct]=direct [chained]=near) AT=()
FILER=${GUEST_ADDRESS[filer]}:20049
gateway_direct() { gateway direct "iwarp:$HOST:20049" 1 "iwarp:$FILER" 1; }
gateway_near() { GW_WORKERS=2 gateway near "iwarp:$HOST:20050" 1 "iwarp:$HOST:20051" 2; }
gateway_far() { GW_WORKERS=2 gateway far "iwarp:$HOST:20051" 2 "iwarp:$FILER" 1; }

# report NAME: prints the gateway's report (SIGUSR1). legs NAME: prints its lines about legs of live sessions.
# live_sessions NAME: prints the numbers of live sessions.
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

# field NAME: prints the value of the key NAME in each line of standard input.
field() { sed -n "s/.*[[:space:]]$1=\([^[:space:]]*\).*/\1/p"; }
