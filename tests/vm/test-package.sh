# shellcheck shell=bash disable=SC2034 # what lab.sh looks at
# SPDX-License-Identifier: BSD-2-Clause
# By hand, or by `tests/package/package mount`: a kernel mounts through the service of the Debian package. The service runs in a machine
# with its own systemd (PACKAGE_TREE, which has the packages in /debs). Under verified load the service is reloaded and restarted. Its
# socket unit keeps the socket meanwhile.
#
#     client --- 10.77.0.5, rpcrdma-gw.socket and .service --- filer

PACKAGE_ADDRESS=10.77.0.5

test_package() {
    [ -d "${PACKAGE_TREE:-}/debs" ] || { fail "package: no PACKAGE_TREE: run tests/package/package mount"; return; }
    # shellcheck source=tests/package/machine.sh
    . "$TOP/tests/package/machine.sh"
    guests_up siw client filer
    check "package: a machine in the lab's network" eval 'package_net && machine_alone &&
        machine_boot "$PACKAGE_TREE" "$RUN/machine.log" --network-namespace-path="/proc/$PACKAGE_NET/ns/net"' &&
        package_story
    # The machine is ended after any result, because it uses the tree.
    machine_end
    [ -z "${PACKAGE_NET:-}" ] || kill "$PACKAGE_NET"
}

package_story() {
    local rc rounds
    check "package: installs, and starts" package_starts || return
    chain package "$PACKAGE_ADDRESS" 20049 package
    check "package: mount NFSv4.1, under load" eval 'fresh_mount package 4.1 && guest client keep_loading' || return
    check "package: the load runs" rounds_go_on 300
    check "package: the session is one of the service" package_sessions 1
    check "package: reload" eval 'package_configure 48 && machine_does systemctl reload rpcrdma-gw.service'
    check "package: drain: the client connects anew" eval 'machine_does "${package_ctl[@]}" drain filer1 &&
        wait_for 60 package_sessions 1'
    check "package: restart" eval 'machine_does systemctl restart rpcrdma-gw.service && wait_for 60 package_sessions 1'
    check "package: the load went on" rounds_go_on 300
    guest client finish_loading 600
    rc=$? rounds=$(guest client load_rounds)
    check "package: $rounds rounds of fio verified, zero errors" test "$rc" -eq 0
    check "package: unmount" guest client unmount_all
    check "package: stops" eval 'machine_does systemctl stop rpcrdma-gw.socket rpcrdma-gw.service && package_ended'
}

package_ctl=(rpcrdma-gwctl --socket /run/rpcrdma-gw/control)
package_sessions() { [ "$(machine_does "${package_ctl[@]}" --json status | jq -r 'select(.status) | .status.sessions')" = "$1" ]; }
# All of them since the machine was booted: what was restarted, too.
package_ended() {
    machine_does journalctl -b --no-pager -o cat -u rpcrdma-gw.service >"$RUN/package.log"
    grep -q event=end "$RUN/package.log" && ! grep event=end "$RUN/package.log" | grep -v 'code=0 heap_live=0'
}

package_net() {
    unshare --net sleep infinity &
    PACKAGE_NET=$!
    wait_for 10 eval '[ "$(readlink "/proc/$PACKAGE_NET/ns/net")" != "$(readlink /proc/self/ns/net)" ]' &&
        inside ip link add package master br0 up type veth peer name eth0 netns "/proc/$PACKAGE_NET/ns/net" &&
        nsenter "--net=/proc/$PACKAGE_NET/ns/net" -- sh -c "ip link set lo up && ip link set eth0 up &&
            ip addr add $PACKAGE_ADDRESS/24 dev eth0"
}

package_configure() { # CREDITS
    cat >"$PACKAGE_TREE/etc/rpcrdma-gw/rpcrdma-gw.conf" <<EOC
memory_limit = "512M";
drain_timeout = 3;
peer_timeout = $PEER_TIMEOUT;
control = "/run/rpcrdma-gw/control";
routes = ( { name = "filer1";
  listen = { address = "0.0.0.0"; port = 20049; versions = [1]; credits = $1; };
  upstream = { address = "${FILER%:*}"; port = ${FILER#*:}; version = "1"; };
} );
EOC
}
package_starts() {
    machine_does sh -c 'DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install /debs/*.deb' \
        >"$RUN/package.install" 2>&1 && package_configure 32 &&
        machine_does systemctl start rpcrdma-gw.socket rpcrdma-gw.service &&
        machine_does systemctl is-active rpcrdma-gw.service
}
