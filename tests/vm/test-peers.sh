# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# NFS-Ganesha and the newest Linux as peers, by hand and by ./check peers (tests/peers). A client does each work of a table over rxe:
# directly, through one gateway (v1-v1), and through two (v1-v2-v1). A work that succeeds directly must have the same result through
# gateways. A work that fails directly is "not served", which is no failure.
#
# PEERS selects tables ("ganesha linux"), PEERS_VERSIONS versions of NFS ("3 4.0 4.1 4.2 3,nconnect=8"), PEERS_WORKS works.

test_peers() {
    # shellcheck disable=SC2034 # for guests.sh
    local table EQUAL_FRAMES=yes
    verbs_built || return
    for table in ${PEERS:-ganesha linux}; do "peers_$table"; done
}

peers_paths=(peers-filer rxe-direct rxe-chained)
peers_gateways=(rxe-direct rxe-near rxe-far)
peers_chains_up() {
    rxe_chains_up
    chain peers-filer "${GUEST_ADDRESS[filer]}" 20049 ''
}

# --- works ---------------------------------------------------------------------

# peers_prepare: writes the files that works read, and sets `works` to the names of all works.
peers_prepare() {
    # shellcheck disable=SC2086 # words
    mapfile -t works < <([ -n "${PEERS_WORKS:-}" ] && printf '%s\n' $PEERS_WORKS || { "$TOP/tests/peers/works.py" && printf '%s\n' fio restart; })
    check "serves" fresh_mount peers-filer 3 || return
    check "files to be read" guest client 'python3 /run/here/../peers/works.py prepare /mnt/works' 300
}

peers_table() {
    local version
    local -A served=()
    for version in ${PEERS_VERSIONS:-3 4.0 4.1 4.2 3,nconnect=8}; do
        # For each connection that ended, NFS-Ganesha keeps 67 MB of the guest's memory pinned.
        [ "$PEER" != ganesha ] || peers_ganesha_start
        case $version in
        *nconnect*) peers_works "$version" ${PEERS_WORKS:-write_direct read_direct small_files fio restart} ;;
        *) peers_works "$version" "${works[@]}" ;;
        esac
    done
}

# peers_works VERSION WORK...: does each work on all paths with this version of NFS, and prints a line for each work.
peers_works() {
    local version=$1 path work
    local -A took=() results=()
    shift
    for path in "${peers_paths[@]}"; do
        if [ "${served[$version]:-yes}" = no ] || ! peers_mount "$path" "$version"; then
            [ "$path" != peers-filer ] || served[$version]=no
            for work in "$@"; do results[$path $work]='error: no mount'; done
            continue
        fi
        for work in "$@"; do
            peers_work "$path" "$version" "$work"
            echo "$(date +%T) $IN$version $path $work: $OUTCOME" >>"$RUN/peers.outcomes"
            took[$path $work]=${OUTCOME%% *} results[$path $work]=${OUTCOME#* }
        done
    done
    if [ "${served[$version]:-yes}" = no ]; then
        say "${IN}NFSv$version is not served"
        return
    fi
    for work in "$@"; do
        peers_line "$version" "$work"
    done
    guest client unmount_all
}
peers_mount() {
    peers_server_alive || { say "${IN}the server ended: $(tail -n 1 "$RUN/$PEER.log")"; "peers_${PEER}_start"; }
    fresh_mount "$1" "$2"
}
peers_server_alive() { alive "$PEER"; }

# peers_work PATH VERSION WORK: does one work. Sets OUTCOME to its milliseconds and its result. After an error the client mounts again.
peers_work() {
    case $3 in
    fio) OUTCOME=$(guest client 'peers_fio' 300) ;;
    restart) peers_restart ;;
    *) OUTCOME=$(guest client "timeout 240 python3 /run/here/../peers/works.py $3 /mnt/works" 260 | tail -n 1) ;;
    esac
    peers_server_alive || OUTCOME='0 error: the server ended'
    : "${OUTCOME:=0 error: no answer}"
    [[ $OUTCOME != *error* ]] || peers_mount "$1" "$2"
}
# peers_restart: kills the server and starts it again under a load. The load must go on without an error.
peers_restart() {
    local began ms
    guest client 'keep_loading'
    OUTCOME='0 error: no load'
    guest client 'wait_for 60 rounds_above 0' 260 || return
    began=${EPOCHREALTIME/./}
    "peers_${PEER}_start"
    OUTCOME='0 error: the load does not go on'
    guest client 'rounds_go_on 120' 500 || return
    ms=$(((${EPOCHREALTIME/./} - began) / 1000))
    OUTCOME='0 error: the load ended with an error'
    guest client 'finish_loading' 120 || return
    OUTCOME="$ms goes on"
}

# peers_line VERSION WORK: prints the line of a work, from `results` and `took`.
peers_line() {
    local path direct=${results[peers-filer $2]} line verdict=pass
    if [[ $direct == error* ]]; then
        printf '     %s%-12s %-15s not served: %s\n' "$IN" "$1" "$2" "${direct#error }"
        return
    fi
    printf -v line '%-12s %-15s %6d ms' "$1" "$2" "${took[peers-filer $2]}"
    for path in "${peers_paths[@]:1}"; do
        if [ "${results[$path $2]}" = "$direct" ]; then
            line+=$(awk -v a="${took[$path $2]}" -v b="${took[peers-filer $2]}" 'BEGIN { printf "   same %5.1f", a / (b ? b : 1) }')
        else
            line+="   DIFFERENT (${results[$path $2]})" verdict=fail
        fi
    done
    "$verdict" "$line"
}

# --- the wire --------------------------------------------------------------------

# peers_wire VERSION: READs of counts around each power of two reach the server with the same Write chunks through gateways as without.
peers_wire() {
    local path name="NFSv$1: Write chunks of READs at the server"
    for path in "${peers_paths[@]}"; do
        check "$name, $path: captured" peers_capture "$path" "$1" || return
        peers_offered "$path" >"$RUN/offered-$path"
    done
    for path in "${peers_paths[@]:1}"; do
        check "$name, $path: $(wc -l <"$RUN/offered-$path") as without a gateway" \
            peers_same_chunks "$RUN/offered-peers-filer" "$RUN/offered-$path"
    done
}
peers_capture() {
    local file=$RUN/offered-$1.pcap read
    guest client unmount_all
    : >"$RUN/tcpdump.log"
    start tcpdump tcpdump -Z root -i br0 -B 65536 -s 0 -U -w "$file" "udp port 4791 and dst host ${GUEST_ADDRESS[filer]}"
    wait_for 10 grep -q 'listening on' "$RUN/tcpdump.log"
    peers_mount "$1" "$2" || return
    read=$(guest client 'python3 /run/here/../peers/works.py read_counts /mnt/works' 260)
    [ -n "$read" ] && [[ $read != *error* ]] && guest client unmount_all || return
    sleep 1 # tcpdump writes the last packets
    stop tcpdump INT
    grep -q '^0 packets dropped by kernel' "$RUN/tcpdump.log"
}
# peers_offered PATH: prints a line for each READ: offset, count, and lengths of the segments of its Write chunk, or "none".
peers_offered() {
    tshark -2 -r "$RUN/offered-$1.pcap" -Y 'nfs.procedure_v3 == 6 || nfs.opcode == 25' -T fields -e nfs.offset3 -e nfs.count3 \
        -e nfs.offset4 -e nfs.count4 -e rpcordma.writes_count -e rpcordma.segment_count -e rpcordma.rdma_length 2>/dev/null |
        awk -F'\t' '{ n = split($6, segments, ","); split($7, lengths, ","); offered = "none"
            for (i = 1; $5 > 0 && i <= segments[1]; i++) offered = i == 1 ? lengths[1] : offered "," lengths[i]
            print $1 $3, $2 $4, offered }' | sort -u
}
# peers_same_chunks DIRECT GATEWAY: compares the Write chunks in two files. A READ of less than 4,096 octets may have none through a
# gateway: the client's inline threshold toward a gateway is 4,096 octets, and toward NFS-Ganesha 1,024.
peers_same_chunks() {
    join -a 1 -a 2 -e absent -o 0,1.2,2.2 <(sed 's/ /:/' "$1" | sort) <(sed 's/ /:/' "$2" | sort) |
        awk '{ split($1, read, ":"); if ($2 != "none" && $2 == $3) equal++
            else if ($2 != $3 && !($3 == "none" && read[2] < 4096)) { print "     " $0; bad = 1 } }
            END { exit bad || equal < 100 }'
}

# --- NFS-Ganesha ---------------------------------------------------------------

peers_ganesha() {
    local version
    ganesha=$("$TOP/tests/peers/build-ganesha") || { fail "NFS-Ganesha builds"; return; }
    guests_up rxe client filer gateway
    GW_UPSTREAM='inline = "32K";' peers_chains_up
    guest filer 'nfsd_down; pkill -x rpc.mountd; mkdir -p /disk/ganesha; :'
    sed "s,@GANESHA@,$ganesha," "$TOP/tests/peers/ganesha.conf" >"$RUN/ganesha.conf"
    PEER=ganesha IN="$(xargs <"$ganesha/versions"): "
    check "starts" peers_ganesha_start || return
    peers_prepare || return
    peers_table
    for version in 3 4.0; do peers_wire "$version"; done
    stop ganesha KILL
    IN=''
    guest filer 'rpc.mountd -p 20048; nfsd_up'
    gateways_end "${peers_gateways[@]}"
}
peers_ganesha_start() {
    local before
    before=$(ganesha_starts)
    stop ganesha KILL
    start_in filer ganesha prlimit --nofile=65536 env "LD_LIBRARY_PATH=$ganesha/lib" "$ganesha/bin/ganesha.nfsd" -F -x -L STDOUT \
        -f "$RUN/ganesha.conf" -p /run/ganesha-pid
    wait_for 60 ganesha_started "$before" && alive ganesha
}
ganesha_starts() { touch "$RUN/ganesha.log" && grep -c 'NFS SERVER INITIALIZED' "$RUN/ganesha.log"; }
ganesha_started() { [ "$(ganesha_starts)" -gt "$1" ] || ! alive ganesha; }

# --- the newest Linux ------------------------------------------------------------

# Client, filer and gateways have the newest kernel, because rxe of Linux 6.1 does not report a gateway's Sends as failed when the
# filer's machine is gone, and the session then ends only after 60 s. The filer has XFS, which has ACLs and CLONE. MADE has the kernels
# that guests.sh can boot.
# shellcheck disable=SC2034 # MADE, IN, FILER_FS
peers_linux() {
    local name path role version
    read -r name path < <("$TOP/tests/peers/build-linux")
    [ -n "$name" ] || { fail "the newest Linux builds"; return; }
    check "Linux $name: proxy/plan has all of its NFSv4" "$TOP/tests/peers/plan-knows" "$path.nfs4.h"
    guests_up rxe client filer gateway
    MADE[$name]=$path
    FILER_FS=xfs
    for role in client filer gateway; do matrix_guest "$role" "$name"; done
    FILER_FS=''
    peers_chains_up
    PEER=filer IN="Linux $(guest filer 'uname -r'): "
    peers_prepare || return
    peers_table
    for version in 3 4.2; do peers_wire "$version"; done
    for path in rxe-direct rxe-chained; do callback_one "$path"; done
    guest client unmount_all
    IN=''
    gateways_end "${peers_gateways[@]}"
    guests_up siw client filer
    # With Linux 7.3 on both sides some READs with krb5i end with EIO in one of three loads, even without a gateway.
    KRB5_FILER=$name KRB5_KERNEL=$name KRB5_UNSTEADY=krb5i test_krb5
    for role in client filer gateway; do matrix_guest "$role" "$(grep -m 1 '^[0-9]' "$VM/kernel/list")"; done
}
peers_filer_start() {
    stop filer KILL
    guest_boot filer
    guest_wait filer
}
