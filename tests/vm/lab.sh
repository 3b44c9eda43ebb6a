# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The lab, to be sourced: a network namespace with a bridge, on it two virtual
# machines (the kernel NFS client, the kernel NFS filer) and, in the namespace
# itself, whatever stands between them.
#
#     client 10.77.0.3 --- bridge 10.77.0.1 (gateways) --- filer 10.77.0.2
#
# Two guests rather than one, because each must be killable alone. All processes
# die with the shell that sourced this (pdeathsig), so even a run ended by SIGKILL
# leaves only a namespace behind, and the next run removes that.

VM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$VM/../.." && pwd)
export LAB=${LAB:-${TMPDIR:-/tmp}/rpcrdma-gw-lab}
BIN=${BIN:-$TOP/build/bin}
RUN=$LAB/run      # of this run: logs, the filer's disk, gateway configurations
HOST=10.77.0.1
declare -A GUEST_ADDRESS=([client]=10.77.0.3 [filer]=10.77.0.2)
declare -A PID=() # name -> process id of all that we started

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
    for role in client filer; do
        ip -n "$NETNS" tuntap add "tap-$role" mode tap
        ip -n "$NETNS" link set "tap-$role" master br0 up
    done
}

lab_down() {
    local name
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

alive() { kill -0 "${PID[$1]}" 2>/dev/null; }

# stop NAME [SIGNAL]: waits for the end; its exit status, or 124 if it had to be
# forced after 20 s. (Standard error goes away because bash would report each kill.)
stop() {
    local name=$1 pid=${PID[$1]:-} forced=
    [ -n "$pid" ] || return 0
    unset "PID[$name]"
    kill "-${2:-TERM}" "$pid"
    wait_for 20 eval "! kill -0 $pid" || { forced=124; kill -KILL "$pid"; }
    wait "$pid"
    local rc=$?
    return "${forced:-$rc}"
} 2>/dev/null

# --- guests ------------------------------------------------------------------

# Emulated by default: a /dev/kvm that opens and then hangs has been met, emulation
# works everywhere. VM_ACCEL=kvm where it can be trusted. Two processors, for with
# one QEMU 7.2 leaves out memory barriers, and now and then a virtio interrupt is
# lost and the guest's network with it.
guest_boot() {
    local role=$1 disk=()
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

guest_wait() {
    wait_for 180 eval "guest $1 true 5 || ! alive $1"
    guest "$1" true 5 || die "guest $1 does not answer, see $RUN/$1.log"
}

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
# gateway near 10.77.0.1:20050 1 10.77.0.1:20051 2
gateway() {
    local name=$1 listen=$2 versions=$3 upstream=$4 version=$5
    cat >"$RUN/$name.conf" <<EOF
workers = ${GW_WORKERS:-1};
memory_limit = "1G";
log = { level = "${GW_LOG:-info}"; };
routes = ( {
  name = "$name";
  listen = { fabric = "iwarp"; address = "${listen%:*}"; port = ${listen##*:}; versions = [$versions]; };
  upstream = { fabric = "iwarp"; address = "${upstream%:*}"; port = ${upstream##*:}; version = "$version"; };
} );
EOF
    gateway_start "$name"
}

# gateway_start NAME: (again) with the configuration it already has.
gateway_start() {
    start "$1" "$BIN/rpcrdma-gw" -c "$RUN/$1.conf"
    local port
    port=$(sed -n 's/.*listen = .*port = \([0-9]*\).*/\1/p' "$RUN/$1.conf")
    wait_for 10 listening "$port" || die "gateway $1 does not listen, see $RUN/$1.log"
}
listening() { [ -n "$(inside ss -Htln "sport = :$1")" ]; }

# The two chains under test; PORT is where a client mounts.
# shellcheck disable=SC2034 # FIRST: the gateway that chain begins with
declare -A PORT=([direct]=20049 [chained]=20050) FIRST=([direct]=direct [chained]=near)
FILER=${GUEST_ADDRESS[filer]}:20049
gateway_direct() { gateway direct "$HOST:20049" 1 "$FILER" 1; }
gateway_near() { gateway near "$HOST:20050" 1 "$HOST:20051" 2; }
gateway_far() { gateway far "$HOST:20051" 2 "$FILER" 1; }

# legs NAME: what the gateway says of its live sessions now, a line a leg.
legs() {
    local log=$RUN/$1.log before
    before=$(wc -l <"$log")
    kill -USR1 "${PID[$1]}"
    wait_for 5 eval "tail -n +$((before + 1)) '$log' | grep -q 'event=leg .*leg=server'"
    tail -n "+$((before + 1))" "$log" | grep 'event=leg '
}

# field NAME: that key's value, of each line on standard input.
field() { sed -n "s/.*[[:space:]]$1=\([^[:space:]]*\).*/\1/p"; }
