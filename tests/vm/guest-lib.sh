# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What the host may ask of a guest by name; sourced by guest-init and guest-agent.

filer_address=10.77.0.2
gateway_address=10.77.0.1

# shellcheck source=tests/vm/waits.sh
. "${BASH_SOURCE[0]%/*}/waits.sh"
# A process costs 10 to 30 ms of processor time here, so none is made to wait: nobody writes to that pipe.
pause() { read -r -t "$1" <>/run/never || :; }
# A user-mode kernel has no modules: all is built in.
[ -e /proc/modules ] || modprobe() { :; }

# --- the filer ---------------------------------------------------------------

# The export and the NFS server's own state live on the virtual disk, so that both
# survive when the guest is killed: a filer that forgets its clients could not show
# that a mount goes on.
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
    [ -z "$fresh" ] || echo Y >$end_of_grace # nobody was there before
}
end_of_grace=/proc/fs/nfsd/v4_end_grace
grace_is_over() { [ "$(cat $end_of_grace)" = Y ]; }

# Short grace and lease: a restart must not cost the tests 90 s. (That of lockd, 50 s by default, keeps
# delegations back as well; nobody here has locks of it.) -N 2 would fail
# and leave no threads at all: version 2 is gone.
nfsd_up() {
    echo "${NLM_GRACE:-1}" >/proc/sys/fs/nfs/nlm_grace_period
    echo 4045 >/proc/sys/fs/nfs/nlm_tcpport
    echo 4045 >/proc/sys/fs/nfs/nlm_udpport
    rpc.nfsd --grace-time 10 --lease-time 10 8
    echo 'rdma 20049' >/proc/fs/nfsd/portlist
}
nfsd_down() { rpc.nfsd 0; }

# --- version 3's locks ---------------------------------------------------------

# statd_up: NSM, without which lockd gives no locks; what it has to remember is in /var/lib/nfs.
statd_up() {
    mkdir -p /var/lib/nfs/sm /var/lib/nfs/sm.bak
    pgrep -x rpcbind >/dev/null || rpcbind -w
    pgrep -x rpc.statd >/dev/null || rpc.statd --no-notify -p 4046
}
# monitored: those that are to be told when this host comes back; a copy on standard output, and from it.
keep_monitored() { tar -C /var/lib/nfs -c sm state | base64 -w 0; }
restore_monitored() { mkdir -p /var/lib/nfs && echo "$1" | base64 -d | tar -C /var/lib/nfs -x; }
# mount_nfs3 GATEWAY [OPTIONS]: as a user would who knows of no gateway.
mount_nfs3() {
    local proto=rdma
    [ "$1" = "${1#*:}" ] || proto=rdma6
    statd_up
    timeout 90 mount -t nfs -o "vers=3,proto=$proto${2:-}" "$(in_brackets "$1"):/srv/export" /mnt
}
# side_answers NETID HOST: what is beside NFS there does.
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

# krb5_known: what every host of a realm has. The filer is known by the gateway's name, which clients mount.
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
    # The filer maps Kerberos names to users: the client's root has the name of its machine.
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

# kdc_up: the realm, in the filer's guest, and the filer in it; keys of the client and of its user in /run/client.keytab.
kdc_up() {
    krb5_known
    mkdir -p /etc/krb5kdc /var/lib/krb5kdc
    kdb5_util create -s -r $krb5_realm -P of-the-lab >/dev/null || return
    krb5kdc >/dev/null 2>&1 || return # its like, and those below, keep what they are given open
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
    mkdir -m 1777 /run/tickets # not in /tmp, where a guest sees what users of this machine have left
    rpc.gssd -d /run/tickets >/dev/null 2>&1
}
gssd_down() { pkill -x rpc.gssd; }

# mount_krb5 VERSION FLAVOR: by the gateway's name.
mount_krb5() {
    case $1 in
    3) mount_nfs3 $krb5_gateway ",sec=$2,retry=0" ;;
    *) mount_nfs "$1,sec=$2,retry=0" 20049 $krb5_gateway ;;
    esac
}
# as_games COMMAND...: a user whose ticket is where rpc.gssd looks for it.
as_games() { KRB5CCNAME=FILE:/run/tickets/krb5cc_5 setpriv --reuid games --regid games --clear-groups "$@"; }

# --- RDMA devices ------------------------------------------------------------

# rdma_device siw|rxe: eth0 as an iWARP or a RoCE device, in the other's place. What listens on
# all addresses, as nfsd does, goes on with the new one.
rdma_device() {
    ! rdma link | grep -q "${1}0/" || return 0
    rdma link | sed -n 's/^link \(...0\)\/.*/\1/p' | xargs -r -n 1 rdma link delete
    modprobe "${1/#rxe/rdma_rxe}" && rdma link add "${1}0" type "$1" netdev eth0
}
rdma_counter() { cat "/sys/class/infiniband/rxe0/ports/1/hw_counters/$1"; }

# The kernel's list of a device's queue pairs, regions and the like.
rdma_resources() { rdma resource show | sed 's/^[0-9]*: //'; }
regions() { rdma_resources | sed -n 's/.* mr \([0-9]*\).*/\1/p'; }

# rdma_held NAME: what the threads of that program hold of them.
rdma_held() {
    local threads kind
    threads=$(find "/proc/$(cat "/run/$1.pid")/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | paste -sd'|')
    for kind in pd mr cq srq qp cm_id; do
        echo "$kind=$(rdma resource show "$kind" | grep -cE " pid ($threads) ")"
    done
}

# sample_regions: notes their number every now and then, in the background, until
# sampled_regions prints the least and the most there were.
sample_regions() {
    rm -f /run/regions-*
    (until [ -e /run/regions-stop ]; do regions >>/run/regions-seen; pause 0.02; done) >/dev/null 2>&1 &
}
sampled_regions() {
    touch /run/regions-stop
    sort -n /run/regions-seen | sed -n '1p;$p' | xargs
}

# windows_traced: from now on rxe's driver counts what it does with Memory Windows, by itself where
# it has our patch (rxe-mw-counters), else by kprobes;
# window_count alloc|dealloc|bind|invalidate: how often.
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
# NFSv3's MOUNT protocol knows no RDMA; it goes to the filer itself, over TCP.
mount_nfs() {
    local options="vers=$1,proto=rdma,port=$2"
    local path=/
    if [ "${1%%,*}" = 3 ]; then
        options+=",nolock,mountproto=tcp,mountport=20048,mountaddr=$filer_address"
        path=/srv/export
    fi
    timeout 60 mount -t nfs -o "$options" "${3:-$gateway_address}:$path" /mnt
}
# refused_nfs PORT GATEWAY: an NFSv3 mount through that gateway fails, and soon.
refused_nfs() {
    local options="vers=3,proto=rdma,port=$1,nolock,soft,retry=0"
    options+=",mountproto=tcp,mountport=20048,mountaddr=$filer_address"
    mkdir -p /run/elsewhere
    ! timeout 40 mount -t nfs -o "$options" "$2:/srv/export" /run/elsewhere
}
mounted() { grep -q ' /mnt nfs' /proc/mounts; }
# The client may still be closing the last file: then the mount is busy for a moment.
unmount_all() { ! mounted || timeout 20 sh -c 'until umount /mnt; do sleep 0.5; done'; }

# ask_attributes N: those of /mnt/asked so often; how many GETATTRs the kernel sent for that.
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

# verified_load OPTION...: fio writes and reads 4k to 1M at random, then verifies
# what it wrote. O_DIRECT, so that each size goes over the wire as it is.
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

# peers_fio: a verified load; milliseconds, and what came of it.
peers_fio() {
    local began=${EPOCHREALTIME/./}
    rm -rf /mnt/fio
    verified_load --numjobs=8 --size=2M >/run/peers-fio 2>&1 &&
        echo "$(((${EPOCHREALTIME/./} - began) / 1000)) verified" || echo "0 error: $(tail -n 1 /run/peers-fio)"
}

# export_with OPTION: all again, `async` or `sync`: whether a WRITE waits for the disk.
export_with() { exportfs -ua && exportfs -o "rw,no_root_squash,insecure,fsid=0,no_subtree_check,$1" '*:/srv/export'; }

# distance_write N: writes of 128 KiB, one after the other; ms each.
distance_write() {
    local began
    dd if=/dev/zero of=/mnt/stream bs=128k count=1 oflag=direct status=none || return
    began=$(date +%s%N)
    dd if=/dev/zero of=/mnt/stream bs=128k count="$1" oflag=direct conv=notrunc status=none || return
    awk -v ns=$(($(date +%s%N) - began)) -v n="$1" 'BEGIN { printf "%.1f", ns / 1e6 / n }'
}

# timed_read FILE: ms that reading it takes, with nothing of it in the cache.
timed_read() {
    local began
    drop_caches
    began=$(date +%s%N)
    dd if="$1" of=/dev/null bs=1M iflag=direct status=none || return
    awk -v ns=$(($(date +%s%N) - began)) 'BEGIN { printf "%.0f", ns / 1e6 }'
}

# keep_loading: verified loads one after the other, in the background, until
# finish_loading, which waits for the last and is true if all were without error.
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
# rounds_go_on SECONDS: two more rounds of it end in that time: the first may have been nearly done
# before the blow.
rounds_go_on() {
    count_rounds
    wait_for "$1" rounds_above $((ROUNDS + 1))
}
rounds_above() { count_rounds && [ "$ROUNDS" -gt "$1" ]; }

# sample_waits: writes a little, one after the other, in the background; longest_wait: ends that, and is
# how long the longest of them took, in milliseconds, if none failed.
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
# delegations_returned: how many this client has given back, of what is mounted: it does when it is asked to.
delegations_returned() { sed -n 's/^[[:space:]]*DELEGRETURN: \([0-9]*\) .*/\1/p' /proc/self/mountstats; }

# hold_open FILE: a process that keeps it open for reading; release ends it.
hold_open() {
    tail -f "$1" >/dev/null 2>&1 &
    echo $! >/run/holder
}
release() {
    [ ! -e /run/holder ] || kill "$(cat /run/holder)"
    rm -f /run/holder
}

# connected_from: how many connections of whom nfsd has, by RDMA.
connected_from() {
    rdma resource show cm_id | sed -n 's/.*state CONNECT .*src-addr [^ ]*:20049 .*dst-addr \([^ ]*\):.*/\1/p' |
        sort | uniq -c | sed 's/^ *//'
}
connected_to_nfsd() { rdma resource show cm_id | grep -q 'state CONNECT .*src-addr [^ ]*:20049 '; }

# small_work DIR: a little of everything: create, write and read at sizes from one
# octet to many segments, list, link, rename, remove. What is read back has sizes
# that are multiples of four: tshark expects a pad where a Write chunk has none.
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
