# shellcheck shell=bash disable=SC2034 # what lab.sh looks at
# SPDX-License-Identifier: BSD-2-Clause
# deploy/scale: HAProxy in front of two gateways, each of the three in a network namespace of its own (those of test-ha.sh). A kernel
# mount has a verified load. Meanwhile the gateway that has the mount is killed, ended (so that it drains), and replaced, in turn.
#
#     client --- 10.77.0.10 HAProxy --- ha-1 (10.77.0.11), ha-2 (10.77.0.12) --- filer
#
# SCALE=COUNT changes ("3").

test_scale() {
    local n
    command -v haproxy >/dev/null || { fail "scale: haproxy is not installed"; return; }
    guests_up siw client filer
    for n in 0 1 2; do ha_net "$n"; done
    for n in 1 2; do ha_gateway "$n"; done
    check "scale: HAProxy" scale_proxy || return
    ha_under_load scale "${SCALE:-3}" scale_change "gateways that were killed, drained or replaced" || return
    stop haproxy
    gateways_end ha-1 ha-2
    for n in 0 1 2; do kill "${HA_NET[$n]}"; done
}

# Starts HAProxy with the configuration of deploy/scale, with the lab's addresses and two of the three gateways.
scale_proxy() {
    local name=haproxy
    sed "s/192\.0\.2\./10.77.0./; /server gw3 /d; s/maxconn .*/maxconn 1000/" "$TOP/deploy/scale/haproxy.cfg" >"$RUN/haproxy.cfg"
    nsenter "--net=/proc/${HA_NET[0]}/ns/net" -- haproxy -db -f "$RUN/haproxy.cfg" </dev/null >>"$RUN/haproxy.log" 2>&1 &
    PID[$name]=$!
    wait_for 20 eval '[ -n "$(ha_in 0 ss -Htln "sport = :20049")" ]'
}

scale_sessions() { "$BIN/rpcrdma-gwctl" --socket "$RUN/ha-$1.control" --json status 2>/dev/null | jq -r 'select(.status) | .status.sessions'; }
# scale_owner: sets $OWNER to the gateway that has the mount. Succeeds if exactly one has it.
scale_owner() {
    local n
    OWNER=''
    for n in 1 2; do [ "$(scale_sessions "$n")" = 0 ] || OWNER+=$n; done
    [ "${#OWNER}" -eq 1 ]
}

# scale_change NUMBER: kills, ends or replaces the gateway that has the mount. The load must go on.
scale_change() {
    local from to opened
    wait_for 30 scale_owner || return
    from=$OWNER to=$((3 - OWNER))
    [ $(($1 % 3)) -ne 2 ] || to=$from
    opened=$(count_event "ha-$to" session.open)
    case $(($1 % 3)) in
    0) stop "ha-$from" KILL ;;
    1) stop "ha-$from" TERM ;;
    2) scale_replace "$from" ;;
    esac
    wait_for 60 event_since "ha-$to" session.open "$opened" || return
    [ $(($1 % 3)) -eq 2 ] || ha_gateway_start "$from" || return
    sleep 5 # until HAProxy has it back
    rounds_go_on 120
}
scale_replace() {
    local old=${PID[ha-$1]}
    ha_gateway_start "$1" --take-over && wait_for 60 eval "! kill -0 $old 2>/dev/null" && wait "$old"
}
