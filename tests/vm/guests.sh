# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# guests.sh: the lab's guests. lab.sh sources this file. It chooses each guest's kernel and machine, and runs commands in guests.

# VM_KERNEL: the kernel that guests boot: a name of kernel/list, or debian. ROLE=NAME is for one guest. Examples: "6.12",
# "client=6.12", "debian", "6.12 filer=6.1". The default is the first name of kernel/list.
declare -A KERNEL=()  # guest -> the name of its kernel
declare -A KERNELS=() # the names that KERNEL has
declare -A MADE=()    # kernel -> path of its program; initrd -> path of the initramfs; setup prints these paths
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

# kernels_made NAME...: builds the kernels that are not built yet.
kernels_made() {
    local made name path
    made=$("$VM/setup" "$@") || die "setup failed"
    while read -r name path; do MADE[$name]=$path; done <<<"$made"
}

declare -A LOGGED=() # guest -> lines in its log before this boot
guest_boot() {
    local role=$1 name
    for name in "${!WITHIN[@]}"; do # processes of the guest's last boot are gone
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
# FILER_FS: the file system of the filer's disk: xfs, or ext4 (the default).
filer_disk() {
    truncate -s 4G "$1"
    case ${FILER_FS:-ext4} in
    xfs) mkfs.xfs -q "$1" ;;
    ext4) mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$1" >/dev/null ;;
    esac
}
# A kernel divides its command line at blanks, and interprets quotes. In a path they are escapes, which guest-init decodes (printf %b).
settings() { echo "vm.here=$(in_a_word "$VM") vm.lab=$LAB vm.role=$1 vm.address=${GUEST_ADDRESS[$1]}"; }
in_a_word() { sed 's/\\/\\0134/g; s/ /\\0040/g; s/\t/\\0011/g; s/"/\\0042/g' <<<"$1"; }

# frames KERNEL: prints the length of Ethernet frames of guests with KERNEL.
# - Guests with the default kernel have large frames, as in storage networks (docs/adapters.md).
# - Guests with other kernels have frames of 1,500 octets, so that both lengths are tested.
# - With EQUAL_FRAMES all have large frames, because rxe needs frames of equal length.
frames() {
    [ -n "${EQUAL_FRAMES:-}" ] || [ "$1" = "$(grep -m 1 '^[0-9]' "$VM/kernel/list")" ] && echo "$LARGE_FRAMES" || echo 1500
}
LARGE_FRAMES=9000

# A user-mode Linux is a process of this machine that traces the processes of its guest. It is process 1 of a namespace of its own,
# so the guest's processes end with it; the patch exitkill ensures the same. Its memory is a sparse file in $ROOM. The kernel refuses
# a name (umid) that uml_dir already has, so uml_dir is a new folder for each boot.
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

# The guest is emulated by default, because on some machines /dev/kvm opens and then hangs. VM_ACCEL=kvm uses KVM. The guest has two
# processors, because with one QEMU 7.2 omits memory barriers; then a virtio interrupt is sometimes lost, and the guest's network
# stops.
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

# An emulated guest hangs in about one of some hundred boots, before it runs the first program of the lab. A guest that hangs, or
# whose kernel panics, is booted again, with a message.
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
DEVICE=siw # the guests' RDMA device: siw or rxe
guest_device() {
    # To change its device the filer boots again. siw can have lost Sends for which nfsd waits (kernel/README.md), and then
    # "rdma link delete" would wait for nfsd for ever.
    if [ "$1" = filer ] && ! guest filer "rdma link | grep -q ${DEVICE}0/" 30; then
        guest filer sync 60
        stop filer KILL
        guest_boot filer
        wait_for 400 guest filer true 20
    fi
    guest "$1" "rdma_device $DEVICE" 120 || die "no $DEVICE in guest $1"
}

# guest_until ROLE SECONDS COMMANDS: wait_for in the guest. If the guest does not answer, this function asks again.
guest_until() {
    local end=$((SECONDS + 4 * $2)) left=$2 rc
    while :; do
        guest "$1" "wait_for $left eval $(printf %q "$3")" $((4 * left + 20))
        rc=$? left=$(((end - SECONDS) / 4))
        [ "$rc" -eq 125 ] && [ "$left" -gt 0 ] || return "$rc"
        pause 0.2
    done
}

# guest ROLE COMMANDS [SECONDS]: runs COMMANDS in the guest as root, with the functions of guest-lib.sh. Prints their output, and
# returns their result: 124 after SECONDS, 125 if the guest does not answer.
guest() {
    local role=$1 commands=$2 seconds=${3:-120} out rc
    out=$(printf '%s\n' "$commands" | inside timeout "$seconds" \
        socat -t "$seconds" - "TCP:${GUEST_ADDRESS[$role]}:7777,connect-timeout=30" 2>/dev/null)
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
