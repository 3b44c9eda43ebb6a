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
# One guest each, because each must be killable alone, and because siw cannot connect to
# its own address. All processes die with the shell that sourced this (pdeathsig), so even
# a run ended by SIGKILL leaves only a namespace behind, and the next run removes that.

VM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$VM/../.." && pwd)
export LAB=${LAB:-${TMPDIR:-/tmp}/rpcrdma-gw-lab}
BIN=${BIN:-$TOP/build/bin}
RUN=$LAB/run      # of this run: logs, the filer's disk, gateway configurations
HOST=10.77.0.1
declare -A GUEST_ADDRESS=([client]=10.77.0.3 [filer]=10.77.0.2 [gateway]=10.77.0.4)
declare -A PID=()    # name -> process id of all that we started
declare -A WITHIN=() # name -> the guest in which it runs, if in one

say() { printf '%s %s\n' "$(date +%T)" "$*"; }
die() { echo "lab: $*" >&2; exit 1; }
inside() { ip netns exec "$NETNS" "$@"; }

# wait_for SECONDS COMMAND...: until the command succeeds, bounded.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.2
    done
}

# lab_alone "$@": starts the calling script over, as the only one that uses $LAB; the
# others wait. flock keeps the lock to itself (-o): nothing started in the lab and
# left behind can hold it. Ending flock ends the script, and the other way round.
lab_alone() {
    [ "${LAB_ALONE:-}" = "$LAB" ] && return
    mkdir -p "$LAB"
    export LAB_ALONE=$LAB
    exec flock -o -w 1800 "$LAB/alone" setpriv --pdeathsig TERM "$0" "$@"
}

# --- the namespace -----------------------------------------------------------

lab_up() {
    [ "$(id -u)" -eq 0 ] || die "needs root (namespaces, virtual machines)"
    "$VM/setup" || die "setup failed"
    # Being alone (see lab_alone), whatever an earlier run left is stale.
    [ -e "$RUN/netns" ] && ip netns del "$(cat "$RUN/netns")" 2>/dev/null
    rm -rf "$RUN" && mkdir -p "$RUN"
    NETNS=rpcrdma-gw-$$
    echo "$NETNS" >"$RUN/netns"
    # A signal without a trap of its own ends bash at once and still runs this one;
    # with one, it would wait for whatever a guest is doing.
    trap lab_down EXIT
    ip netns add "$NETNS" || die "no network namespace"
    ip -n "$NETNS" link set lo up
    ip -n "$NETNS" link add br0 type bridge || die "no bridge"
    ip -n "$NETNS" addr add "$HOST/24" dev br0
    ip -n "$NETNS" link set br0 up
    local role
    for role in "${!GUEST_ADDRESS[@]}"; do
        ip -n "$NETNS" tuntap add "tap-$role" mode tap
        ip -n "$NETNS" link set "tap-$role" master br0 up
    done
}

lab_down() {
    local name
    WITHIN=() # guests end as a whole
    for name in "${!PID[@]}"; do stop "$name" KILL; done
    ip netns del "$NETNS" 2>/dev/null
    rm -f "$RUN/netns" "$RUN/filer.disk"
}

# start NAME COMMAND...: in the namespace, in the background, log in $RUN/NAME.log.
# The log is appended to: a restarted process does not wipe what its forerunner said.
start() {
    local name=$1
    shift
    setpriv --pdeathsig KILL ip netns exec "$NETNS" "$@" </dev/null >>"$RUN/$name.log" 2>&1 &
    PID[$name]=$!
}

# start_in GUEST NAME COMMAND...: the same in a guest; the log comes here as it is written.
start_in() {
    local guest=$1 name=$2
    shift 2
    # shellcheck disable=SC2016 # expanded in the guest
    printf 'ulimit -l unlimited; echo $BASHPID >/run/%s.pid; exec %s\n' "$name" "$*" >"$RUN/$name.command"
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

# --- guests ------------------------------------------------------------------

# Emulated by default: a /dev/kvm that opens and then hangs has been met, emulation
# works everywhere. VM_ACCEL=kvm where it can be trusted. Two processors, for with
# one QEMU 7.2 leaves out memory barriers, and now and then a virtio interrupt is
# lost and the guest's network with it.
guest_boot() {
    local role=$1 disk=() name
    for name in "${!WITHIN[@]}"; do # what ran in it before is gone
        [ "${WITHIN[$name]}" != "$role" ] || { unset "WITHIN[$name]"; stop "$name" KILL; }
    done
    if [ "$role" = filer ]; then
        [ -e "$RUN/filer.disk" ] || truncate -s 4G "$RUN/filer.disk"
        disk=(-drive "file=$RUN/filer.disk,format=raw,if=virtio,cache=writeback")
    fi
    local settings="vm.here=$VM vm.lab=$LAB vm.role=$role vm.address=${GUEST_ADDRESS[$role]}"
    start "$role" qemu-system-x86_64 -accel "${VM_ACCEL:-tcg,thread=multi}" -cpu max \
        -smp 2 -m "${VM_MB:-3072}" \
        -kernel "$LAB/vmlinuz" -initrd "$LAB/initrd.gz" \
        -append "console=ttyS0 quiet panic=-1 no_timer_check mitigations=off $settings" \
        -nographic -no-reboot \
        -virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
        -netdev "tap,id=net,ifname=tap-$role,script=no,downscript=no" \
        -device "virtio-net-pci,netdev=net,mac=52:54:00:77:00:0${GUEST_ADDRESS[$role]##*.}" \
        "${disk[@]}"
}

# Once in some hundred boots an emulated guest stands still before any program of ours runs
# in it. Such a one is booted again, which is said.
guest_wait() {
    local left=2
    until wait_for 150 eval "guest $1 true 5 || ! alive $1" && guest "$1" true 5; do
        [ "$left" -gt 0 ] || die "guest $1 does not answer, see $RUN/$1.log"
        say "guest $1 did not come up, see $RUN/$1.log: again"
        left=$((left - 1))
        stop "$1" KILL
        guest_boot "$1"
    done
    guest_device "$1"
}
DEVICE=siw # what the guests' RDMA is
guest_device() { guest "$1" "rdma_device $DEVICE" 60 || die "no $DEVICE in guest $1"; }

# guest ROLE COMMANDS [SECONDS]: runs them in the guest as root with guest-lib.sh at
# hand, prints what they print, returns their result; 124 when time is up.
guest() {
    local role=$1 commands=$2 seconds=${3:-120} out rc
    out=$(printf '%s\n' "$commands" | timeout "$seconds" ip netns exec "$NETNS" \
        socat -t "$seconds" - "TCP:${GUEST_ADDRESS[$role]}:7777,connect-timeout=3" 2>/dev/null)
    rc=$?
    [ "$rc" -eq 124 ] && return 124
    case ${out##*$'\n'} in
    rc=*) rc=${out##*rc=} ;;
    *) rc=125 ;;
    esac
    out=${out%rc=*}
    [ -n "$out" ] && printf '%s' "$out"
    return "$rc"
}

# --- gateways ----------------------------------------------------------------

# gateway NAME LISTEN VERSIONS UPSTREAM VERSION: one gateway with one route, e.g.
# gateway near iwarp:10.77.0.1:20050 1 iwarp:10.77.0.1:20051 2
# It runs where LISTEN's address is: in the namespace or in a guest.
gateway() {
    local name=$1 listen upstream guest
    IFS=: read -ra listen <<<"$2"
    IFS=: read -ra upstream <<<"$4"
    for guest in "${!GUEST_ADDRESS[@]}"; do
        [ "${GUEST_ADDRESS[$guest]}" != "${listen[1]}" ] || PLACE[$name]=$guest
    done
    cat >"$RUN/$name.conf" <<EOF
workers = ${GW_WORKERS:-1};
memory_limit = "${GW_MEMORY:-1G}";
receive_queue = "${GW_RECEIVES:-auto}";
log = { level = "${GW_LOG:-info}"; };
routes = ( {
  name = "$name";
  listen = { fabric = "${listen[0]}"; address = "${listen[1]}"; port = ${listen[2]}; versions = [$3]; };
  upstream = { fabric = "${upstream[0]}"; address = "${upstream[1]}"; port = ${upstream[2]}; version = "$5";
    connect_timeout = ${GW_PATIENCE:-10}; };
} );
EOF
    gateway_start "$name"
}
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
