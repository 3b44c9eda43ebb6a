# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# guest-lib.sh: functions that the host calls in guests. guest-init and guest-agent source this file.

filer_address=10.77.0.2
gateway_address=10.77.0.1

# shellcheck source=tests/vm/waits.sh
. "${BASH_SOURCE[0]%/*}/waits.sh"
# pause SECONDS: waits by a read from a pipe to which no process writes. A `sleep` would be a process, which costs 10 to 30 ms of
# processor time in a guest.
pause() { read -r -t "$1" <>/run/never || :; }
# In user-mode Linux everything is built in, and there are no modules.
[ -e /proc/modules ] || modprobe() { :; }

# --- the filer ---------------------------------------------------------------

# The export and the NFS server's state are on the virtual disk, so both survive when the guest is killed. Without its state the filer
# would not know its clients, and their mounts would not go on.
filer_up() {
    local disk=/dev/vda b=/bin/busybox fresh=''
    modprobe -a virtio_blk ext4 nfsd
    [ ! -e /dev/ubda ] || disk=/dev/ubda
    $b mkdir -p /disk /srv/export && { $b mount -t ext4 $disk /disk 2>/dev/null || $b mount -t xfs $disk /disk; }
    [ -e /disk/export ] || fresh=yes
    $b mkdir -p /disk/export /disk/nfs
    $b touch /disk/nfs/etab /disk/nfs/rmtab
    $b mount -o bind /disk/nfs /var/lib/nfs
    $b mount -o bind /disk/export /srv/export
    $b mount -t nfsd nfsd /proc/fs/nfsd
    echo '/srv/export *(rw,no_root_squash,insecure,fsid=0,no_subtree_check,sync)' >/etc/exports
    rpcbind -w
    exportfs -ra
    rpc.mountd -p 20048
    nfsd_up
    [ -z "$fresh" ] || echo Y >$end_of_grace # no client can reclaim anything from a new filer
}
end_of_grace=/proc/fs/nfsd/v4_end_grace
grace_is_over() { [ "$(cat $end_of_grace)" = Y ]; }

# nfsd_up: starts nfsd. Grace and lease are 10 s, so that a restart does not take 90 s. lockd's grace, 50 s by default, is 1 s, because
# nfsd gives no delegations during it. The option -N 2 would make rpc.nfsd fail, because the kernel has no NFS version 2.
nfsd_up() {
    echo "${NLM_GRACE:-1}" >/proc/sys/fs/nfs/nlm_grace_period
    echo 4045 >/proc/sys/fs/nfs/nlm_tcpport
    echo 4045 >/proc/sys/fs/nfs/nlm_udpport
    rpc.nfsd --grace-time 10 --lease-time 10 8
    echo 'rdma 20049' >/proc/fs/nfsd/portlist
}
nfsd_down() { rpc.nfsd 0; }

# --- version 3's locks ---------------------------------------------------------

# statd_up: starts NSM, which lockd needs to give locks. Its state is in /var/lib/nfs.
statd_up() {
    mkdir -p /var/lib/nfs/sm /var/lib/nfs/sm.bak
    pgrep -x rpcbind >/dev/null || rpcbind -w
    pgrep -x rpc.statd >/dev/null || rpc.statd --no-notify -p 4046
}
# The hosts that NSM has to notify after a restart of this guest. keep_monitored prints them. restore_monitored TEXT puts them back.
keep_monitored() { tar -C /var/lib/nfs -c sm state | base64 -w 0; }
restore_monitored() { mkdir -p /var/lib/nfs && echo "$1" | base64 -d | tar -C /var/lib/nfs -x; }
# mount_nfs3 GATEWAY [OPTIONS]: mounts with the options that a user would give for the filer itself.
mount_nfs3() {
    local proto=rdma
    [ "$1" = "${1#*:}" ] || proto=rdma6
    statd_up
    timeout 90 mount -t nfs -o "vers=3,proto=$proto${2:-}" "$(in_brackets "$1"):/srv/export" /mnt
}
# side_answers NETID HOST: whether MOUNT, NLM and NSM of HOST answer.
side_answers() {
    local program
    for program in '100005 3' '100021 4' '100024 1'; do
        # shellcheck disable=SC2086 # words
        rpcinfo -T "$1" "$2" $program || return
    done
}
in_brackets() { case $1 in *:*) echo "[$1]" ;; *) echo "$1" ;; esac; } # IPv6 addresses

# --- Kerberos ------------------------------------------------------------------

krb5_realm=LAB.EXAMPLE krb5_gateway=gateway.lab.example krb5_client=client.lab.example
krb5_flavors=krb5:krb5i:krb5p

# krb5_known: writes the Kerberos configuration that all hosts have. The filer's name is the gateway's, which clients mount.
krb5_known() {
    printf '%s\n' "$gateway_address $krb5_gateway" "10.77.0.3 $krb5_client" >>/etc/hosts
    cat >/etc/krb5.conf <<EOF
[libdefaults]
  default_realm = $krb5_realm
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
[realms]
  $krb5_realm = {
    kdc = $filer_address
  }
[domain_realm]
  .lab.example = $krb5_realm
EOF
    # The filer maps Kerberos names to users. root of the client has the name of the client's machine.
    cat >/etc/idmapd.conf <<EOF
[General]
Domain = lab.example
Local-Realms = $krb5_realm
[Translation]
Method = static,nsswitch
[Static]
nfs/$krb5_client@$krb5_realm = root
EOF
}

# kdc_up: starts the KDC in the filer's guest, with keys of the filer, the client and the client's user. Those of the client and its
# user are in /run/client.keytab.
kdc_up() {
    krb5_known
    mkdir -p /etc/krb5kdc /var/lib/krb5kdc
    kdb5_util create -s -r $krb5_realm -P of-the-lab >/dev/null || return
    krb5kdc >/dev/null 2>&1 || return # these daemons keep their output open, and the guest's connection would then not end
    kadmin.local addprinc -randkey nfs/$krb5_gateway &&
        kadmin.local addprinc -randkey nfs/$krb5_client && kadmin.local addprinc -randkey games &&
        kadmin.local ktadd -k /etc/krb5.keytab nfs/$krb5_gateway &&
        kadmin.local ktadd -k /run/client.keytab nfs/$krb5_client games || return
    rpc.svcgssd >/dev/null 2>&1
    exportfs -ua
    exportfs -o rw,no_root_squash,insecure,fsid=0,no_subtree_check,sync,sec=$krb5_flavors '*:/srv/export'
}
kdc_down() {
    exportfs -ua
    exportfs -ra
    pkill -x rpc.svcgssd
    pkill -x krb5kdc
}
gssd_up() {
    krb5_known
    mkdir -p /run/rpc_pipefs
    mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs
    mkdir -m 1777 /run/tickets # not in /tmp, where files of this machine's users are visible in a guest
    rpc.gssd -d /run/tickets >/dev/null 2>&1
}
gssd_down() { pkill -x rpc.gssd; }

# mount_krb5 VERSION FLAVOR: mounts by the gateway's name.
mount_krb5() {
    case $1 in
    3) mount_nfs3 $krb5_gateway ",sec=$2,retry=0" ;;
    *) mount_nfs "$1,sec=$2,retry=0" 20049 $krb5_gateway ;;
    esac
}
# as_games COMMAND...: runs COMMAND as the user games, with the ticket file in which rpc.gssd looks.
as_games() { KRB5CCNAME=FILE:/run/tickets/krb5cc_5 setpriv --reuid games --regid games --clear-groups "$@"; }

# --- RDMA devices ------------------------------------------------------------

# rdma_device siw|rxe: makes eth0 an iWARP or a RoCE device, and removes the other device. A server that listens on all addresses, such
# as nfsd, then uses the new device.
rdma_device() {
    ! rdma link | grep -q "${1}0/" || return 0
    rdma link | sed -n 's/^link \(...0\)\/.*/\1/p' | xargs -r -n 1 rdma link delete
    modprobe "${1/#rxe/rdma_rxe}" && rdma link add "${1}0" type "$1" netdev eth0
}
rdma_counter() { cat "/sys/class/infiniband/rxe0/ports/1/hw_counters/$1"; }

# rdma_resources: prints the kernel's list of queue pairs, memory regions and other resources of a device.
rdma_resources() { rdma resource show | sed 's/^[0-9]*: //'; }
regions() { rdma_resources | sed -n 's/.* mr \([0-9]*\).*/\1/p'; }

# rdma_held NAME: prints how many of each kind the threads of the program NAME hold.
rdma_held() {
    local threads kind
    threads=$(find "/proc/$(cat "/run/$1.pid")/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | paste -sd'|')
    for kind in pd mr cq srq qp cm_id; do
        echo "$kind=$(rdma resource show "$kind" | grep -cE " pid ($threads) ")"
    done
}

# sample_regions: records the number of memory regions every 20 ms, in the background. sampled_regions ends that, and prints the least
# and the largest number.
sample_regions() {
    rm -f /run/regions-*
    (until [ -e /run/regions-stop ]; do regions >>/run/regions-seen; pause 0.02; done) >/dev/null 2>&1 &
}
sampled_regions() {
    touch /run/regions-stop
    sort -n /run/regions-seen | sed -n '1p;$p' | xargs
}

# windows_traced: lets the kernel count operations on Memory Windows of rxe: by the patch rxe-mw-counters if the kernel has it, else by
# kprobes. window_count alloc|dealloc|bind|invalidate: prints a count.
mw_counters=/sys/module/rdma_rxe/parameters/mw
windows_traced() {
    local what events=/sys/kernel/tracing/events/kprobes
    [ ! -e "${mw_counters}_alloc" ] && [ ! -e $events ] || return 0
    for what in alloc dealloc bind invalidate; do
        echo "p:rxe_$what rxe_${what}_mw" >>/sys/kernel/tracing/kprobe_events
        echo 1 >"$events/rxe_$what/enable"
    done
}
window_count() {
    cat "${mw_counters}_$1" 2>/dev/null ||
        awk -v name="rxe_$1" '$1 == name { print $2 }' /sys/kernel/tracing/kprobe_profile
}

# --- the client --------------------------------------------------------------

# mount_nfs VERSION[,OPTION...] PORT [GATEWAY]: mounts the filer on /mnt through the gateway at PORT.
# NFSv3's MOUNT protocol does not use RDMA. Its calls go directly to the filer, over TCP.
mount_nfs() {
    local options="vers=$1,proto=rdma,port=$2"
    local path=/
    if [ "${1%%,*}" = 3 ]; then
        options+=",nolock,mountproto=tcp,mountport=20048,mountaddr=$filer_address"
        path=/srv/export
    fi
    timeout 60 mount -t nfs -o "$options" "${3:-$gateway_address}:$path" /mnt
}
# refused_nfs PORT GATEWAY: whether an NFSv3 mount through the gateway fails. A mount that hangs is ended after 40 s.
refused_nfs() {
    local options="vers=3,proto=rdma,port=$1,nolock,soft,retry=0"
    options+=",mountproto=tcp,mountport=20048,mountaddr=$filer_address"
    mkdir -p /run/elsewhere
    ! timeout 40 mount -t nfs -o "$options" "$2:/srv/export" /run/elsewhere
}
mounted() { grep -q ' /mnt nfs' /proc/mounts; }
# unmount_all: unmounts /mnt, and tries again for 20 s, because the client can still be closing its last file.
unmount_all() { ! mounted || timeout 20 sh -c 'until umount /mnt; do sleep 0.5; done'; }

# ask_attributes N: reads the attributes of N files in /mnt/asked, and prints how many GETATTRs the kernel sent for that.
ask_attributes() {
    local before
    before=$(getattrs)
    seq "$1" | sed 's,.*,/mnt/asked,' | xargs stat -c %s >/run/sizes && [ "$(sort -u /run/sizes)" = 5 ] || return
    echo $(($(getattrs) - before))
}
getattrs() {
    awk '$1 == "device" { ours = $5 == "/mnt" } ours && $1 == "GETATTR:" { print $2 }' /proc/self/mountstats
}
drop_caches() { sync && echo 3 >/proc/sys/vm/drop_caches; }
digest() { sha256sum "$@" | cut -d' ' -f1; }

# --- loads -------------------------------------------------------------------

many_names() { mkdir -p "$1" && (cd "$1" && seq -f 'a-file-with-a-name-of-some-length-%05g' "$2" | xargs touch); }
list() { find "$1" -mindepth 1 -printf '%f\n' | sort | awk 'END { print NR } 1' | sha256sum | cut -d' ' -f1; }

# verified_load OPTION...: fio writes and reads 4k to 1M at random, then verifies what it wrote. O_DIRECT makes one call of each
# read and write.
verified_load() {
    mkdir -p /mnt/fio && cd /run || return 1
    if fio --name=load --directory=/mnt/fio --rw=randrw --bsrange=4k-1M --direct=1 \
        --ioengine=psync --thread --group_reporting --verify=crc32c --verify_fatal=1 \
        --verify_state_save=0 --randrepeat=0 "$@" >/run/fio.log 2>&1; then
        grep -q 'err= 0' /run/fio.log
    else
        tail -n 30 /run/fio.log
        return 1
    fi
}

# peers_fio: runs a verified load. Prints its milliseconds and its result.
peers_fio() {
    local began=${EPOCHREALTIME/./}
    rm -rf /mnt/fio
    verified_load --numjobs=8 --size=2M >/run/peers-fio 2>&1 &&
        echo "$(((${EPOCHREALTIME/./} - began) / 1000)) verified" || echo "0 error: $(tail -n 1 /run/peers-fio)"
}

# export_with async|sync: exports everything again; with sync a WRITE waits for the disk.
export_with() { exportfs -ua && exportfs -o "rw,no_root_squash,insecure,fsid=0,no_subtree_check,$1" '*:/srv/export'; }

# distance_write N: makes N writes of 128 KiB, one after the other. Prints the milliseconds of one.
distance_write() {
    local began
    dd if=/dev/zero of=/mnt/stream bs=128k count=1 oflag=direct status=none || return
    began=$(date +%s%N)
    dd if=/dev/zero of=/mnt/stream bs=128k count="$1" oflag=direct conv=notrunc status=none || return
    awk -v ns=$(($(date +%s%N) - began)) -v n="$1" 'BEGIN { printf "%.1f", ns / 1e6 / n }'
}

# timed_read FILE: prints the milliseconds that it takes to read FILE with an empty cache.
timed_read() {
    local began
    drop_caches
    began=$(date +%s%N)
    dd if="$1" of=/dev/null bs=1M iflag=direct status=none || return
    awk -v ns=$(($(date +%s%N) - began)) 'BEGIN { printf "%.0f", ns / 1e6 }'
}

# keep_loading: runs verified loads one after the other, in the background. finish_loading waits for the end of the last one; it
# succeeds if none had an error.
keep_loading() {
    rm -f /run/load-*
    (
        while [ ! -e /run/load-stop ]; do
            verified_load --numjobs=4 --size=4M || { touch /run/load-failed; break; }
            echo >>/run/load-rounds
        done
        touch /run/load-ended
    ) >/run/load-output 2>&1 &
}
finish_loading() {
    touch /run/load-stop
    until [ -e /run/load-ended ]; do pause 0.2; done
    cat /run/load-output
    [ ! -e /run/load-failed ] && [ -e /run/load-rounds ]
}
load_rounds() { count_rounds && echo "$ROUNDS"; }
count_rounds() {
    local lines=()
    [ ! -e /run/load-rounds ] || mapfile lines </run/load-rounds
    ROUNDS=${#lines[@]}
}
# rounds_go_on SECONDS: waits until two more rounds of the load have ended. One is not enough: it can have been nearly complete before
# the failure that the test causes.
rounds_go_on() {
    count_rounds
    wait_for "$1" rounds_above $((ROUNDS + 1))
}
rounds_above() { count_rounds && [ "$ROUNDS" -gt "$1" ]; }

# sample_waits: makes small writes one after the other, in the background. longest_wait ends that. If none failed, it prints the
# milliseconds of the longest.
sample_waits() {
    rm -f /run/waits-*
    (
        until [ -e /run/waits-stop ]; do
            began=${EPOCHREALTIME/./}
            dd if=/dev/zero of=/mnt/sampled bs=4k count=1 conv=notrunc oflag=direct status=none || touch /run/waits-failed
            echo $(((${EPOCHREALTIME/./} - began) / 1000)) >>/run/waits-seen
            pause 0.02
        done
        touch /run/waits-ended
    ) >/dev/null 2>&1 &
}
longest_wait() {
    touch /run/waits-stop
    until [ -e /run/waits-ended ]; do pause 0.1; done
    [ ! -e /run/waits-failed ] && sort -n /run/waits-seen | tail -n 1
}

# --- callbacks ---------------------------------------------------------------

callback_up() { grep -q 'callback state: UP' /proc/fs/nfsd/clients/*/info; }
has_delegation() { grep -q 'type: deleg' /proc/fs/nfsd/clients/*/states; }
# delegations_returned: prints how many delegations this client has returned since the mount.
delegations_returned() { sed -n 's/^[[:space:]]*DELEGRETURN: \([0-9]*\) .*/\1/p' /proc/self/mountstats; }

# hold_open FILE: keeps FILE open for reading, in the background, until release.
hold_open() {
    tail -f "$1" >/dev/null 2>&1 &
    echo $! >/run/holder
}
release() {
    [ ! -e /run/holder ] || kill "$(cat /run/holder)"
    rm -f /run/holder
}

# connected_from: prints the number of RDMA connections that nfsd has with each client address.
connected_from() {
    rdma resource show cm_id | sed -n 's/.*state CONNECT .*src-addr [^ ]*:20049 .*dst-addr \([^ ]*\):.*/\1/p' |
        sort | uniq -c | sed 's/^ *//'
}
connected_to_nfsd() { rdma resource show cm_id | grep -q 'state CONNECT .*src-addr [^ ]*:20049 '; }

# small_work DIR: does all kinds of operations: create, write and read at sizes from one octet to many segments, list, link, rename,
# remove. Files that are read have a multiple of four octets, because tshark expects pads in Write chunks, which have none.
small_work() {
    local size sizes='100 1000 4000 5000 70000 1048580'
    rm -rf "$1" && mkdir -p "$1" && cd "$1" || return 1
    echo 'a text to be damaged' >text
    for size in 1 $sizes; do
        head -c "$size" /dev/urandom >"/run/$size" && cp "/run/$size" "$size" || return 1
    done
    ln -s 70000 link && mv 1 one && drop_caches && ls -l >/dev/null || return 1
    for size in $sizes; do
        cmp "/run/$size" "$size" || return 1
    done
    cd / && rm -r "$1"
}
