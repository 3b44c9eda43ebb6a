# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The reverse direction: the filer calls its NFSv4.1 client through the gateways. The filer recalls a read delegation because a
# process on the filer opens the file for writing.

test_callback() {
    chains_up
    local chain
    for chain in direct chained; do callback_one "$chain"; done
}

callback_one() {
    local chain=$1 name="callback: $1 NFSv4.1" gateway=${FIRST[$1]} before returned
    # During its grace period the filer gives no new delegations.
    check "$name: the filer's grace period is over" guest_until filer 30 grace_is_over || return
    # The file is new, because for some time after a recall the filer gives no delegation of the same file.
    local file seen
    file=$(guest filer 'mktemp /srv/export/delegated-XXXXXX') seen=/mnt/${file##*/}
    guest filer "echo before >$file && chmod a+r $file"
    check "$name: mount" fresh_mount "$chain" 4.1 || return
    check "$name: callback state: UP at the filer" guest_until filer 20 callback_up
    check "$name: the client has a delegation" wait_for 30 opens_with_delegation "$seen"
    returned=$(guest client delegations_returned)
    before=$(legs "$gateway" | field rcalls | sort -n | tail -n 1)
    # A writer on the filer waits until the delegation is returned. If the client did not answer, it would wait for the lease time.
    check "$name: a writer at the filer gets the file at once" \
        guest filer "timeout 5 bash -c 'echo after >$file'" 30
    check "$name: the filer has the delegation back" \
        guest_until filer 10 '! has_delegation'
    # The client counts a DELEGRETURN when it has the reply, so shortly after the filer has the delegation.
    check "$name: CB_RECALL reached the client, which gave it back" \
        guest_until client 10 "[ \$(delegations_returned) -gt ${returned:-0} ]"
    check "$name: the gateway counted a reverse call" \
        reverse_calls_above "$gateway" "${before:-0}"
    check "$name: the client reads the new data" \
        guest client "release; grep -q after $seen"
}

# The filer gives delegations again only shortly after its grace period ends, so a single try can fail.
opens_with_delegation() {
    guest client "release; hold_open $1"
    guest_until filer 3 has_delegation
}

reverse_calls_above() {
    local now
    now=$(legs "$1" | field rcalls | sort -n | tail -n 1)
    [ "${now:-0}" -gt "$2" ]
}
