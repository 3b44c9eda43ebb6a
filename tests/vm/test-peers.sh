# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Servers and clients that change without us, by hand and by ./check peers (tests/peers): a table of works, each done
# directly, through one gateway (v1-v1) and through two (v1-v2-v1), over rxe. What works directly has to have the same
# result through gateways. What does not work directly is "not served", and no failure.
# PEERS: which of the tables, "ganesha linux"; PEERS_VERSIONS: of NFS, "3 4.0 4.1 4.2 3,nconnect=8"; PEERS_WORKS: of the works.

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

# peers_prepare: what works read that do not write first, and `works`, their names.
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

# peers_works VERSION WORK...: each of them on a mount by that version, on all paths; a line each.
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

# peers_work PATH VERSION WORK: OUTCOME is milliseconds and a result. After one without an answer there is a mount again.
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
# peers_restart: the server is killed and comes back under load, which goes on without an error.
peers_restart() {
    local began ms
    guest client 'keep_loading'
    OUTCOME='0 error: no load'
    guest client 'wait_for 60 rounds_above 0' 80 || return
    began=${EPOCHREALTIME/./}
    "peers_${PEER}_start"
    OUTCOME='0 error: the load does not go on'
    guest client 'rounds_go_on 120' 140 || return
    ms=$(((${EPOCHREALTIME/./} - began) / 1000))
    OUTCOME='0 error: the load ended with an error'
    guest client 'finish_loading' 120 || return
    OUTCOME="$ms goes on"
}

# peers_line VERSION WORK: of `results` and `took`.
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

# peers_wire VERSION: the Write chunks of READs that reach the server, for counts around each power of two, are those that
# the same client offers without a gateway.
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
    local file=$RUN/offered-$1.pcap
    guest client unmount_all
    : >"$RUN/tcpdump.log"
    start tcpdump tcpdump -Z root -i br0 -B 65536 -s 0 -U -w "$file" "udp port 4791 and dst host ${GUEST_ADDRESS[filer]}"
    wait_for 10 grep -q 'listening on' "$RUN/tcpdump.log"
    peers_mount "$1" "$2" && guest client 'python3 /run/here/../peers/works.py read_counts /mnt/works' 260 | grep -qv error &&
        guest client unmount_all || return
    sleep 1 # what is in tcpdump's hands gets written
    stop tcpdump INT
    grep -q '^0 packets dropped by kernel' "$RUN/tcpdump.log"
}
# peers_offered PATH: a line for each READ: offset, count, lengths of the segments of its Write chunk or "none".
peers_offered() {
    tshark -2 -r "$RUN/offered-$1.pcap" -Y 'nfs.procedure_v3 == 6 || nfs.opcode == 25' -T fields -e nfs.offset3 -e nfs.count3 \
        -e nfs.offset4 -e nfs.count4 -e rpcordma.writes_count -e rpcordma.segment_count -e rpcordma.rdma_length 2>/dev/null |
        awk -F'\t' '{ n = split($6, segments, ","); split($7, lengths, ","); offered = "none"
            for (i = 1; $5 > 0 && i <= segments[1]; i++) offered = i == 1 ? lengths[1] : offered "," lengths[i]
            print $1 $3, $2 $4, offered }' | sort -u
}
# peers_same_chunks DIRECT GATEWAY. Without a Write chunk may go what fits the inline threshold of the client's connection to
# the gateway, 4,096 octets: that to NFS-Ganesha has one of 1,024.
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

# Client, filer and gateways on that kernel, the filer with XFS, which has ACLs and CLONE. rxe of Linux 6.1 does not report the
# Sends of a gateway as failed if the filer's machine is gone, and that session ends after 60 s. MADE is what guests.sh boots.
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
    # Linux 7.3 on both sides, without a gateway, too: some READs under krb5i end with EIO, in one load of three.
    KRB5_FILER=$name KRB5_KERNEL=$name KRB5_UNSTEADY=krb5i test_krb5
    for role in client filer gateway; do matrix_guest "$role" "$(grep -m 1 '^[0-9]' "$VM/kernel/list")"; done
}
peers_filer_start() {
    stop filer KILL
    guest_boot filer
    guest_wait filer
}
