# shellcheck shell=bash disable=SC2034 # what lab.sh looks at
# SPDX-License-Identifier: BSD-2-Clause
# deploy/ha: two gateways with keepalived, each in a network namespace of its own. A kernel mount has a verified load. Meanwhile the
# gateway that has the address is killed, is drained, or loses its keepalived, in turn. Each time the other gateway must serve.
#
#     client --- 10.77.0.10, on ha-1 (10.77.0.11) or ha-2 (10.77.0.12) --- filer
#
# HA=COUNT fail-overs ("3").

HA_ADDRESS=10.77.0.10
declare -A HA_NET=() # 1, 2 -> a process that keeps the namespace

test_ha() {
    local n
    command -v keepalived >/dev/null || { fail "ha: keepalived is not installed"; return; }
    guests_up siw client filer
    for n in 1 2; do ha_net "$n" && ha_gateway "$n" && ha_keepalived "$n"; done
    check "ha: one of the two has the address" wait_for 30 ha_owner || return
    ha_under_load ha "${HA:-3}" ha_fail_over "fail-overs" || return
    for n in 1 2; do stop "keepalived-$n"; done
    gateways_end ha-1 ha-2
    for n in 1 2; do kill "${HA_NET[$n]}"; done
}

# ha_under_load STORY COUNT CHANGE WHAT: calls CHANGE COUNT times, with its number, under a mount with a load. The load must go on, and
# have no error. No write may take longer than a minute. Fails at once if there is no mount.
ha_under_load() {
    local story=$1 count=$2 i went=0 rc longest rounds
    chain "$story" "$HA_ADDRESS" 20049 ha-1
    check "$story: mount NFSv4.1, under load" eval 'fresh_mount "$story" 4.1 && guest client "keep_loading; sample_waits"' || return
    check "$story: the load runs" rounds_go_on 300
    for ((i = 0; i < count; i++)); do
        if "$3" "$i"; then went=$((went + 1)); else say "$story: change $i went wrong"; fi
    done
    check "$story: $went of $count $4" test "$went" -eq "$count"
    guest client finish_loading 600
    rc=$?
    longest=$(guest client longest_wait 300) rounds=$(guest client load_rounds)
    check "$story: $rounds rounds of fio verified, zero errors; the longest that a write of 4 KiB took: $longest ms" \
        test "$rc" -eq 0 -a "${longest:-0}" -gt 0 -a "${longest:-0}" -le 60000
    check "$story: unmount" guest client unmount_all || :
}

ha_in() { nsenter "--net=/proc/${HA_NET[$1]}/ns/net" -- "${@:2}"; }

ha_net() {
    unshare --net sleep infinity &
    HA_NET[$1]=$!
    wait_for 10 eval "[ \"\$(readlink /proc/${HA_NET[$1]}/ns/net)\" != \"\$(readlink /proc/self/ns/net)\" ]" || return
    inside ip link add "ha-$1" master br0 up type veth peer name eth0 netns "/proc/${HA_NET[$1]}/ns/net" &&
        ha_in "$1" ip addr add "10.77.0.1$1/24" dev eth0 &&
        ha_in "$1" ip link set lo up && ha_in "$1" ip link set eth0 up
}

ha_gateway() {
    local name=ha-$1
    cat >"$RUN/$name.conf" <<EOC
workers = 1;
memory_limit = "512M";
peer_timeout = $PEER_TIMEOUT;
drain_timeout = 3;
control = "$RUN/$name.control";
routes = ( { name = "filer";
  listen = { address = "0.0.0.0"; port = 20049; versions = [1]; };
  upstream = { address = "${FILER%:*}"; port = ${FILER#*:}; version = "1"; };
} );
EOC
    ha_gateway_start "$1"
}
ha_gateway_start() {
    local name=ha-$1 before
    before=$(count_event "$name" ready)
    nsenter "--net=/proc/${HA_NET[$1]}/ns/net" -- "$BIN/rpcrdma-gw" -c "$RUN/$name.conf" "${@:2}" \
        </dev/null >>"$RUN/$name.log" 2>&1 &
    PID[$name]=$!
    wait_for 30 event_since "$name" ready "$before"
}

# Starts keepalived with the configuration of deploy/ha, with the lab's addresses and paths. enable_script_security is removed, because
# keepalived would refuse the script in the lab's folder.
ha_keepalived() {
    local name=keepalived-$1
    [ -e "$RUN/$name.conf" ] || sed "s,/usr/libexec/rpcrdma-gw/serving /run/rpcrdma-gw/control,$RUN/serving $RUN/ha-$1.control,
        /enable_script_security/d; s/router_id gw1/router_id gw$1/; s/unicast_src_ip .*/unicast_src_ip 10.77.0.1$1/
        s,192.0.2.12,10.77.0.1$((3 - $1)),; s,192.0.2.10/24,$HA_ADDRESS/24," "$TOP/deploy/ha/keepalived.conf" >"$RUN/$name.conf"
    printf '#!/bin/sh\nPATH=%s:$PATH exec %s/deploy/ha/serving "$@"\n' "$BIN" "$TOP" >"$RUN/serving"
    chmod 755 "$RUN/serving"
    nsenter "--net=/proc/${HA_NET[$1]}/ns/net" -- keepalived --dont-fork --log-console --vrrp --no-syslog \
        --use-file "$RUN/$name.conf" --pid "$RUN/$name.pid" --vrrp_pid "$RUN/$name.vrrp.pid" </dev/null >>"$RUN/$name.log" 2>&1 &
    PID[$name]=$!
}

ha_has() { ha_in "$1" ip -o addr show dev eth0 | grep -q " $HA_ADDRESS/"; }
# ha_owner: sets $OWNER to the gateway that has the address. Succeeds if exactly one has it.
ha_owner() {
    local n
    OWNER=''
    for n in 1 2; do ha_has "$n" && OWNER+=$n; done
    [ "${#OWNER}" -eq 1 ]
}
ha_is_at() { ha_owner && [ "$OWNER" = "$1" ]; }
ha_serves() { "$RUN/serving" "$RUN/ha-$1.control"; }

# ha_fail_over NUMBER: stops the gateway that has the address, in one of three ways. The load must go on through the other gateway.
ha_fail_over() {
    local from to opened
    wait_for 30 ha_owner || return
    from=$OWNER to=$((3 - OWNER))
    wait_for 30 ha_serves "$to" || return
    opened=$(count_event "ha-$to" session.open)
    case $(($1 % 3)) in
    0) stop "ha-$from" KILL ;;
    1) stop "ha-$from" TERM ;;
    2) stop "keepalived-$from" TERM ;;
    esac
    wait_for 30 ha_is_at "$to" && wait_for 60 event_since "ha-$to" session.open "$opened" || return
    # The stopped gateway starts again, and does not get the address back.
    case $(($1 % 3)) in
    2) ha_keepalived "$from" ;;
    *) ha_gateway_start "$from" ;;
    esac
    sleep 3
    ha_is_at "$to" && rounds_go_on 120
}
