# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The verbs tests that need a device, and the programs, run with sanitizers over rxe in one guest. So fabric/verbs handles completions
# of a real driver.
#
# - In user-mode Linux the sanitizers are UndefinedBehaviorSanitizer and shadow/ (build-shadow, made by `./check vm`). A process has
#   512 GiB of addresses there, which is too little for AddressSanitizer's own runtime.
# - With VM_KERNEL=debian, in QEMU, they are UndefinedBehaviorSanitizer and AddressSanitizer (build-asan). This takes minutes.
# - `./check asan` runs the tests with the stand-in adapter with both.

[ "${KERNEL[gateway]}" = debian ] && SANITIZER=asan || SANITIZER=shadow
SANITIZED=${SANITIZED:-$TOP/build-$SANITIZER/bin}

test_sanitized() {
    verbs_built || return
    [ -x "$SANITIZED/test_verbs_device" ] || { say "no build under sanitizers in $SANITIZED: skipped"; return; }
    guests_up rxe gateway
    ln -s "$(realpath "$SANITIZED")" "$RUN/sanitized" && SANITIZED=$RUN/sanitized # see lab_up
    [ "$SANITIZER" = asan ] || sanitized_notices
    check "sanitized ($SANITIZER): the contract over rxe, but for its soaks" \
        sanitized test_contract_verbs setup message rdma written access end shared shared_end
    check "sanitized ($SANITIZER): calls, completions and queue pairs" sanitized test_verbs_device
    check "sanitized: shared Receives" sanitized test_verbs_shared
    sanitized_gateway
}

# sanitized PROGRAM ARGUMENT...: the program ends without a report of a sanitizer. Leaks are not reported, because the tests look for
# them themselves (mem_live()). Addresses are not randomized, because the shadow memory needs fixed ones.
sanitized() {
    local name=$1
    guest gateway "ulimit -l unlimited; VERBS_ADDRESS=${GUEST_ADDRESS[gateway]} $(sanitized_options) \
        timeout 1200 setarch -R $SANITIZED/$*" 1210 >"$RUN/sanitized-$name.log" 2>&1 &&
        grep -q PASSED "$RUN/sanitized-$name.log" && sanitized_silent "$RUN/sanitized-$name.log"
}
sanitized_options() { echo "ASAN_OPTIONS=detect_leaks=0:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1"; }
sanitized_silent() { ! grep -E 'Sanitizer|runtime error:' "$1"; }

# shadow/shadow.c finds each kind of fault that it has to find, and reports none in a program without a fault.
sanitized_notices() {
    local fault
    check "sanitized: a program without fault passes" guest gateway "$(sanitized_fault)"
    for fault in 1 2 3 4 5 6 7 8; do
        check "sanitized: fault $fault is noticed" eval \
            "! guest gateway '$(sanitized_fault $fault)' 20 >'$RUN/fault' 2>&1 && grep -q Sanitizer '$RUN/fault'"
    done
}
sanitized_fault() { echo "setarch -R $SANITIZED/shadow_faults ${1:-}"; }

# A gateway, a client and a server, all with sanitizers.
sanitized_gateway() {
    local at=${GUEST_ADDRESS[gateway]} version BIN=$SANITIZED
    start_in gateway san-server "$(sanitized_env)" "$BIN/rpcrdma-perf" server --listen "verbs:$at:21053" --memory 64
    check "sanitized: rpcrdma-perf listens" wait_for 60 grep -qs listening "$RUN/san-server.log" || return
    GW_MEMORY=128M gateway san "verbs:$at:20072" 1,2 "verbs:$at:21053" auto
    for version in 1 2; do
        check "sanitized: echo by a gateway, version $version" no_errors \
            "$(guest gateway "ulimit -l unlimited; $(sanitized_options) timeout 400 $BIN/rpcrdma-perf client \
                --connect verbs:$at:20072 --version $version --op echo --size 0,1000,4097,65536,1048576 --count 5 --json" 410)"
    done
    check "sanitized: the gateway ends on SIGTERM" stop san
    check "sanitized: the server ends without errors" stop san-server
    check "sanitized: neither complained" eval \
        "sanitized_silent '$RUN/san.log' && sanitized_silent '$RUN/san-server.log'"
}
sanitized_env() { echo "env $(sanitized_options)"; }
