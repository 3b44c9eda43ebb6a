# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Host authentication between two gateways in a row. Kernel mounts go through a version 2 hop on which both gateways must prove their
# names, over iWARP in user space and over verbs. Another route of the same gateway trusts another authority: it refuses its client,
# and the mount goes on.
#
#   proved    client - v1 - near 20070 == v2, require == far 20071 - v1 - filer
#   doubting  client - v1 - near 20072 == v2, refused == far 20071

test_hostauth() {
    hostauth_one siw iwarp "$HOST" ''
    verbs_built || return
    hostauth_one rxe verbs "${GUEST_ADDRESS[gateway]}" gateway
}

# hostauth_one DEVICE FABRIC ADDRESS GUEST: starts the gateways in GUEST, or in the namespace if GUEST is empty, and tests them.
hostauth_one() {
    local fabric=$2 at=$3 place=$4 name="hostauth: $2" near=near-$2 far=far-$2 chain=hostauth-$2 before
    # shellcheck disable=SC2086 # none, or one
    guests_up "$1" client filer $place
    hostauth_configure "$near" "$far" "$fabric" "$at"
    # shellcheck disable=SC2034 # for lab.sh
    [ -z "$place" ] || PLACE[$near]=$place PLACE[$far]=$place
    gateway_start "$far"
    gateway_start "$near"
    chain "$chain" "$at" 20070 "$near"
    mounts_prepare 4 100
    mounts_one "$chain" 3
    mounts_one "$chain" 4.2
    check "$name: far proved who it is" gateway_says "$near" hostauth \
        'route=proved leg=server .*name="server.example" suite=TLS_'
    check "$name: near did" gateway_says "$far" hostauth 'route=proved leg=client .*name="client.example" suite=TLS_'
    hostauth_refused
    gateways_end "$near" "$far"
}

# A client is refused while a mount is under load. The variables are those of hostauth_one.
hostauth_refused() {
    check "$name: mount, under load" fresh_mount "$chain" 4.2
    guest client 'cp /run/data /mnt/data'
    wait_for 30 hostauth_one_session || say "$name: before: sessions $before"
    guest client keep_loading
    check "$name: the route that believes another authority refuses its client" \
        guest client "refused_nfs 20072 $at" 60
    check "$name: near says why" gateway_says "$near" hostauth.failed \
        'route=doubting leg=server .*cause=tls .*unable to get local issuer certificate'
    check "$name: far was told" gateway_says "$far" hostauth.failed 'leg=client .*cause=peer .*unknown ca'
    check "$name: no session of that route began" eval '! grep -q "event=session.open .*route=doubting" "$RUN/$near.log"'
    check "$name: the mount beside it went on" guest client finish_loading 120
    check "$name: on the same connection" wait_for 20 hostauth_same_session ||
        hostauth_tell
    check "$name: unmount" guest client unmount_all
}
# The mount before this one may be seen to end only now: on rxe its end is a message that may come late.
hostauth_one_session() { before=$(live_sessions "$near") && [ "$(wc -w <<<"$before")" = 1 ]; }
hostauth_tell() { # what became of the session
    local gateway
    say "$name: sessions before: $before, after: $(live_sessions "$near")"
    for gateway in "$near" "$far"; do
        grep -E 'event=(session\.(open|end)|hostauth(\.failed)?) ' "$RUN/$gateway.log" | sed "s/^/$gateway: /"
    done
}
hostauth_same_session() { same "$before" "$(live_sessions "$near")"; }

# gateway_says GATEWAY EVENT PATTERN
gateway_says() { wait_for 10 grep -q "event=$2 .*$3" "$RUN/$1.log"; }

# hostauth_configure NEAR FAR FABRIC ADDRESS
hostauth_configure() {
    local near=$1 far=$2 fabric=$3 at=$4 keys=$RUN/keys
    mkdir -p "$keys"
    install -m 600 "$TOP"/tests/hostauth/keys/{client,server,ca,other-ca,crl}.pem "$keys"
    hostauth_routes >"$RUN/$near.conf" <<EOF
{ name = "proved";
  listen = { fabric = "$fabric"; address = "$at"; port = 20070; versions = [1]; };
  upstream = { fabric = "$fabric"; address = "$at"; port = 20071;
    hostauth = { mode = "require"; names = ["server.example"]; $(hostauth_files client ca) }; };
}, { name = "doubting";
  listen = { fabric = "$fabric"; address = "$at"; port = 20072; versions = [1]; };
  upstream = { fabric = "$fabric"; address = "$at"; port = 20071;
    hostauth = { mode = "require"; $(hostauth_files client other-ca) }; };
}
EOF
    hostauth_routes >"$RUN/$far.conf" <<EOF
{ name = "proved";
  listen = { fabric = "$fabric"; address = "$at"; port = 20071;
    hostauth = { mode = "require"; names = ["client.example"]; crl = "$keys/crl.pem"; $(hostauth_files server ca) }; };
  upstream = { fabric = "$fabric"; address = "${FILER%:*}"; port = ${FILER#*:}; version = "1"; };
}
EOF
}
hostauth_files() { echo "certificate = \"$keys/$1.pem\"; key = \"$keys/$1.pem\"; ca = \"$keys/$2.pem\";"; }
hostauth_routes() { # the routes of standard input
    cat <<EOF
workers = 1;
memory_limit = "256M";
peer_timeout = $PEER_TIMEOUT;
routes = (
$(cat)
);
EOF
}
