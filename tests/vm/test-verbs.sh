# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# fabric/verbs on software RoCE (rxe), all in one guest: the contract of fabric.h,
# rpcrdma-perf with itself, and the kernel's client - gateways - the kernel's filer with
# verbs on every leg. Before that, on siw, user space outside the guest with the kernel's
# iWARP inside, nothing of ours on the other side. No device, no test: that is said, and is no failure.

test_verbs() {
    [ -x "$BIN/test_contract_verbs" ] || { say "verbs: not in this build, skipped"; return; }
    [ -n "${PID[filer]:-}" ] || guest_boot filer
    guest_wait filer
    verbs_siw
    guest filer rxe || { say "verbs: no rxe in this kernel, skipped"; return; }
    check "verbs: the contract of fabric.h over rxe" verbs_contract
    verbs_perf
    verbs_chains
}

verbs_address=${GUEST_ADDRESS[filer]}

# The same rpcrdma-perf with fabric iwarp out here and verbs in there, each as the server.
verbs_siw() {
    guest filer 'rdma link | grep -q siw0' || { say "verbs: no siw0, skipped"; return; }
    guest filer "ulimit -l unlimited
        run_here siw-server $BIN/rpcrdma-perf server --listen verbs:$verbs_address:21070 --memory 64"
    wait_for 30 guest filer 'grep -q listening /run/siw-server.log'
    start siw-peer "$BIN/rpcrdma-perf" server --listen "iwarp:$HOST:21071"
    wait_for 10 listening 21071
    local op version
    for op in null echo read write; do
        for version in 1 2; do
            check "verbs: siw serves iwarp, $op, version $version" no_errors \
                "$(inside timeout 100 "$BIN/rpcrdma-perf" client --connect "iwarp:$verbs_address:21070" \
                    --version "$version" --op "$op" --size "$(verbs_sizes "$op")" --count 5 --json)"
            check "verbs: iwarp serves siw, $op, version $version" no_errors \
                "$(guest filer "ulimit -l unlimited; timeout 100 $BIN/rpcrdma-perf client \
                    --connect verbs:$HOST:21071 --version $version --op $op \
                    --size $(verbs_sizes "$op") --count 5 --json")"
        done
    done
    check "verbs: the server on siw ends without errors" guest filer 'end_here siw-server'
    check "verbs: the server on iwarp ends without errors" stop siw-peer
}
no_errors() { [ "$(jq -r .errors <<<"$1")" = 0 ]; }

verbs_contract() {
    guest filer "VERBS_ADDRESS=$verbs_address timeout 500 $BIN/test_contract_verbs" 510 \
        >"$RUN/verbs-contract.log" 2>&1 && grep -q PASSED "$RUN/verbs-contract.log"
}

verbs_perf() {
    local op version
    guest filer "run_here perf-server $BIN/rpcrdma-perf server --listen verbs:$verbs_address:21049 --memory 128"
    wait_for 30 guest filer 'grep -q listening /run/perf-server.log'
    for op in null echo read write; do
        for version in 1 2; do
            check "verbs: rpcrdma-perf $op, version $version, the ladder, zero errors" \
                verbs_perf_one --version "$version" --op "$op" --size "$(verbs_sizes "$op")" --count 5
        done
    done
    for op in echo read write; do
        check "verbs: rpcrdma-perf $op, 64 connections, zero errors" \
            verbs_perf_one --version 2 --op "$op" --size 4096 --connections 64 --count 512
    done
    check "verbs: the server ends without errors" guest filer 'end_here perf-server'
}
verbs_sizes() { [ "$1" = null ] && echo 0 || echo 0,1,3,100,1000,3000,4000,4097,8193,65536,262145,1048576; }
verbs_perf_one() {
    local out
    out=$(guest filer "timeout 100 $BIN/rpcrdma-perf client --connect verbs:$verbs_address:21049 \
        --depth 4 --time 90 --timeout 60 --json $*" 110) || { echo "$out" >>"$RUN/verbs-perf.log"; return 1; }
    no_errors "$out"
}

# verbs_conf NAME PORT VERSIONS UPSTREAM_PORT VERSION
verbs_conf() {
    cat >"$RUN/$1.conf" <<CONF
workers = 1;
memory_limit = "128M";
routes = ( {
  name = "$1";
  listen = { fabric = "verbs"; address = "$verbs_address"; port = $2; versions = [$3]; };
  upstream = { fabric = "verbs"; address = "$verbs_address"; port = $4; version = "$5"; };
} );
CONF
    guest filer "run_here $1 $BIN/rpcrdma-gw -c $RUN/$1.conf"
}

verbs_chains() {
    verbs_conf verbs-direct 20050 1 20049 1
    verbs_conf verbs-far 20052 2 20049 1
    verbs_conf verbs-near 20051 1 20052 2
    local port version name
    guest filer 'head -c 4M /dev/urandom >/run/data'
    for port in 20050 20051; do
        for version in 3 4.2; do
            case $port in 20050) name="verbs: v1-v1" ;; *) name="verbs: v1-v2-v1" ;; esac
            verbs_mount_one "$name NFSv$version" "$version" "$port"
        done
    done
    for name in direct near far; do
        check "verbs: gateway $name ends on SIGTERM" guest filer "end_here verbs-$name"
    done
}

verbs_mount_one() {
    local name=$1 before after
    before=$(guest filer 'rm -f /srv/export/data*; rdma_counter rdma_sends')
    check "$name: mount" guest filer "mount_nfs $2 $3 $verbs_address" 90 || return
    check "$name: a file written is the filer's, and read back" \
        guest filer 'cp /run/data /mnt/data && cmp /run/data /srv/export/data &&
            drop_caches && cmp /run/data /mnt/data' 120
    check "$name: a directory of 500 names" \
        guest filer "many_names /srv/export/names 500; [ \"\$(list /srv/export/names)\" = \"\$(list /mnt/names)\" ]" 120
    after=$(guest filer 'rdma_counter rdma_sends')
    check "$name: by way of the device" test "${after:-0}" -gt "${before:-0}"
    check "$name: unmount" guest filer unmount_all
}
