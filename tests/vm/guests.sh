# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The lab's guests, to be sourced by lab.sh: which kernel each boots, by what machine, and how
# commands get into it.

# VM_KERNEL: what guests boot, a name of kernel/list or debian; for one guest alone, ROLE=NAME:
# "6.12", "client=6.12", "debian", "6.12 filer=6.1". The first of the list where nothing is said.
declare -A KERNEL=()  # guest -> the name of its kernel
declare -A KERNELS=() # the names there are in KERNEL
declare -A MADE=()    # kernel -> its program; initrd -> the initramfs for those: what setup printed
# shellcheck disable=SC2034 # KERNELS is for lab.sh
choose_kernels() {
    local word role
    KERNELS=()
    for role in "${!GUEST_ADDRESS[@]}"; do
        KERNEL[$role]=$(grep -m 1 '^[0-9]' "$VM/kernel/list")
        for word in "$@"; do
            case $word in
            "$role="*) KERNEL[$role]=${word#*=} ;;
            *=*) ;;
            *) KERNEL[$role]=$word ;;
            esac
        done
        KERNELS[${KERNEL[$role]}]=1
    done
}
# shellcheck disable=SC2086 # words
choose_kernels ${VM_KERNEL:-}

# kernels_made NAME...: they are there, built if need be.
kernels_made() {
    local made name path
    made=$("$VM/setup" "$@") || die "setup failed"
    while read -r name path; do MADE[$name]=$path; done <<<"$made"
}

declare -A LOGGED=() # guest -> lines in its log before this boot
guest_boot() {
    local role=$1 name
    for name in "${!WITHIN[@]}"; do # what ran in it before is gone
        [ "${WITHIN[$name]}" != "$role" ] || { unset "WITHIN[$name]"; stop "$name" KILL; }
    done
    [ "$role" != filer ] || [ -e "$ROOM/filer.disk" ] ||
        filer_disk "$ROOM/filer.disk"
    touch "$RUN/$role.log" && LOGGED[$role]=$(wc -l <"$RUN/$role.log")
    case ${KERNEL[$role]} in
    debian) boot_qemu "$role" ;;
    *) boot_uml "$role" ;;
    esac
}
# FILER_FS: xfs or, by default, ext4.
filer_disk() {
    truncate -s 4G "$1"
    case ${FILER_FS:-ext4} in
    xfs) mkfs.xfs -q "$1" ;;
    ext4) mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$1" >/dev/null ;;
    esac
}
# The kernel's command line parts words at blanks, and knows quotes: those of a path go as printf %b reads them.
settings() { echo "vm.here=$(in_a_word "$VM") vm.lab=$LAB vm.role=$1 vm.address=${GUEST_ADDRESS[$1]}"; }
in_a_word() { sed 's/\\/\\0134/g; s/ /\\0040/g; s/\t/\\0011/g; s/"/\\0042/g' <<<"$1"; }

# frames KERNEL: octets in one of its Ethernet's. Storage networks have large ones (docs/adapters.md), and so have
# most guests; those of the other kernels keep what Ethernet began with, unless EQUAL_FRAMES is set: with rxe all have to
# be equal. FPDUs are as large as the frames let them be.
frames() {
    [ -n "${EQUAL_FRAMES:-}" ] || [ "$1" = "$(grep -m 1 '^[0-9]' "$VM/kernel/list")" ] && echo "$LARGE_FRAMES" || echo 1500
}
LARGE_FRAMES=9000

# A user-mode Linux is a process of ours that traces those of the guest. It is process 1 of a
# namespace of its own, and the patch exitkill has them end with it besides; its memory is a sparse
# file in $ROOM. A name (umid) must be new each time: it is looked up in uml_dir.
boot_uml() {
    local role=$1 disk=() dir
    dir=$(mktemp -d "$ROOM/$role.XXXXXX")
    [ "$role" != filer ] || disk=("ubd0=$ROOM/filer.disk")
    # shellcheck disable=SC2046 # words
    start "$role" unshare --fork --pid --kill-child --mount-proc "$VM/host-guest" "$ROOM" \
        env -i PATH="$PATH" HOME="$dir" TMPDIR="$dir" \
        "${MADE[${KERNEL[$role]}]}" "mem=${VM_MB:-3072}M" initrd="${MADE[initrd]}" umid="$role" uml_dir="$dir/" \
        "vec0:transport=tap,ifname=tap-$role,depth=128,gro=1,mtu=$(frames "${KERNEL[$role]}"),mac=$(mac "${GUEST_ADDRESS[$role]}")" \
        "${disk[@]}" con=null ssl=null con0=null,fd:1 quiet panic=-1 $(settings "$role")
}

# Emulated by default: a /dev/kvm that opens and then hangs has been met, emulation
# works everywhere. VM_ACCEL=kvm where it can be trusted. Two processors, for with
# one QEMU 7.2 leaves out memory barriers, and now and then a virtio interrupt is
# lost and the guest's network with it.
boot_qemu() {
    local role=$1 disk=()
    [ "$role" != filer ] || disk=(-drive "file=$ROOM/filer.disk,format=raw,if=virtio,cache=writeback")
    start "$role" qemu-system-x86_64 -accel "${VM_ACCEL:-tcg,thread=multi}" -cpu max \
        -smp 2 -m "${VM_MB:-3072}" \
        -kernel "$LAB/debian/vmlinuz" -initrd "$LAB/debian/initrd.gz" \
        -append "console=ttyS0 quiet panic=-1 no_timer_check mitigations=off $(settings "$role")" \
        -nographic -no-reboot \
        -virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
        -netdev "tap,id=net,ifname=tap-$role,script=no,downscript=no" \
        -device "virtio-net-pci,netdev=net,mac=$(mac "${GUEST_ADDRESS[$role]}")" \
        "${disk[@]}"
}

# Once in some hundred boots an emulated guest stands still before any program of ours runs
# in it. Such a one is booted again, which is said. One whose kernel panics is not waited for.
guest_wait() {
    local left=2
    until wait_for 400 eval "guest $1 true 5 || ! alive $1 || guest_panics $1 >/dev/null" && guest "$1" true 5; do
        [ "$left" -gt 0 ] || die "guest $1 does not answer, see $RUN/$1.log"
        say "guest $1 did not come up, see $RUN/$1.log: again $(guest_panics "$1")"
        left=$((left - 1))
        stop "$1" KILL
        guest_boot "$1"
    done
    guest_device "$1"
}
guest_panics() { tail -n "+$((LOGGED[$1] + 1))" "$RUN/$1.log" | grep -m 1 'Kernel panic'; }
DEVICE=siw # what the guests' RDMA is
guest_device() {
    # The filer gets another device by booting again: siw may have lost Sends that nfsd waits for
    # (kernel/README.md), and then "rdma link delete" waits for nfsd, for ever.
    if [ "$1" = filer ] && ! guest filer "rdma link | grep -q ${DEVICE}0/" 30; then
        guest filer sync 60
        stop filer KILL
        guest_boot filer
        wait_for 400 guest filer true 20
    fi
    guest "$1" "rdma_device $DEVICE" 120 || die "no $DEVICE in guest $1"
}

# guest_until ROLE SECONDS COMMANDS: waits there until they are true; asked again while it does not answer.
guest_until() {
    local end=$((SECONDS + $2)) left=$2 rc
    while :; do
        guest "$1" "wait_for $left eval $(printf %q "$3")" $((left + 20))
        rc=$? left=$((end - SECONDS))
        [ "$rc" -eq 125 ] && [ "$left" -gt 0 ] || return "$rc"
        pause 0.2
    done
}

# guest ROLE COMMANDS [SECONDS]: runs them in the guest as root with guest-lib.sh at
# hand, prints what they print, returns their result; 124 when time is up.
guest() {
    local role=$1 commands=$2 seconds=${3:-120} out rc
    out=$(printf '%s\n' "$commands" | inside timeout "$seconds" \
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
