# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# rpcrdma-probe --device reports the same properties of rxe0 and siw0 as a gateway logs at its start. Its trials have the results that
# docs/adapters.md has. (The siw of some kernels cannot connect to itself.)

test_device() {
    verbs_built || return
    device_one rxe '' \
        '.usable and .found.exposures == "windows-on-registrations" and .found.handles == "connection" and
         ([.tried[] | select(. != "yes")] | length) == 0 and .gateway.use == "used"'
    device_one siw 'siw: ' \
        '.usable and .found.exposures == "registrations" and .found.handles == "domain" and
         (.tried.connects == "NO" or
          (.tried.written == "yes" and .tried.connection_alone == "NO" and .tried.domain_alone == "yes")) and
         .gateway.use == "used with insecure_handles = \"allow\" alone"'
    device_refused
    check "device: one that is not there" device_is_not_there
}

# device_one rxe|siw PREFIX FILTER: checks the table and the JSON that the probe prints of the device, and a gateway's log.
device_one() {
    local name=${1}0 at=${GUEST_ADDRESS[gateway]}
    guests_up "$1" gateway
    device_probe "$name" >"$RUN/$name.txt"
    check "device: rpcrdma-probe prints a table of $name" grep -q "^  the device  *used" "$RUN/$name.txt"
    sed "s/^/    /" "$RUN/$name.txt"
    device_probe "$name" --json >"$RUN/$name.json"
    check "device: $name is what it should be" jq -e "$3" "$RUN/$name.json"
    gateway "device-$1" "verbs:$at:20049" 1 "verbs:$at:21049" 1
    check "device: the gateway's log agrees" device_agrees "$name" "$RUN/device-$1.log"
    check "device: the gateway ends on SIGTERM" stop "device-$1"
}
device_probe() { guest gateway "ulimit -l unlimited; timeout 60 $BIN/rpcrdma-probe --device $* 2>&1" 70; }

# device_agrees NAME LOG: the log has every property that the probe found, with the same value.
device_agrees() {
    local key line
    line=$(grep "event=verbs.device device=$1 " "$2" | head -n 1)
    [ -n "$line" ] || return
    [ "$(jq '.found | length' "$RUN/$1.json")" -ge 11 ] || return
    for key in $(jq -r '.found | keys[]' "$RUN/$1.json"); do
        same "$(jq -r ".found.\"$key\"" "$RUN/$1.json")" "$(field "$key" <<<"$line")" || return
    done
}

# Without insecure_handles = "allow" a gateway does not start on siw, and its log names this key.
device_refused() {
    sed 's/insecure_handles = "allow"/insecure_handles = "refuse"/' "$RUN/device-siw.conf" >"$RUN/refused.conf"
    check "device: siw is refused where the operator does not allow it" eval \
        "! guest gateway 'ulimit -l unlimited; timeout 20 $BIN/rpcrdma-gw -c $RUN/refused.conf' 30 >'$RUN/refused.log' 2>&1"
    check "device: ... and the log says what would help" \
        grep -q 'event=verbs.device device=siw0 .*insecure_handles' "$RUN/refused.log"
}
device_is_not_there() { device_probe nothing0 >"$RUN/nothing0.txt"; [ $? -ne 0 ] && grep -q 'no such RDMA device' "$RUN/nothing0.txt"; }
