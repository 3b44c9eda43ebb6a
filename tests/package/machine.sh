# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# machine.sh: makes trees of Debian from its mirrors, and boots a tree with its own systemd (systemd-nspawn). Scripts source this
# file after tests/vm/verdicts.sh.

# debian_sources: prints the sources of this machine's apt that are Debian's, as lines of a sources.list.
debian_sources() {
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
        sort -u
}

# make_tree VARIANT DIR PACKAGE,...: makes a tree with mmdebstrap. Of this machine's settings it has only the sources.
make_tree() {
    local suite sources
    sources=$(debian_sources)
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    [ -n "$sources" ] || { echo "apt has no lists of Debian: apt-get update" && return 1; }
    mmdebstrap --quiet --mode=root --variant="$1" ${3:+--include="$3"} --aptopt='Acquire::Languages "none"' \
        --aptopt='Acquire::Retries "3"' "$suite" "$2" - <<<"$sources"
}

# machine_alone: mounts cgroups of version 2 at /sys/fs/cgroup, which systemd needs. Call it in a mount namespace.
machine_alone() {
    grep -q ' /sys/fs/cgroup cgroup2 ' /proc/self/mounts || mount -t cgroup2 cgroup2 /sys/fs/cgroup
}

# machine_boot DIR LOG [OPTION...]: boots DIR, and sets MACHINE to the host's number of its process 1.
machine_boot() {
    local dir=$1 log=$2
    shift 2
    # The name is random. The number of this process is not unique, because another PID namespace can have the same number.
    MACHINE_CGROUP=$(mktemp -d /sys/fs/cgroup/rpcrdma-gw.XXXXXX) || return
    # shellcheck disable=SC2016 # expanded by sh
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$MACHINE_CGROUP" \
        systemd-nspawn --quiet --directory="$dir" --boot --register=no --keep-unit --settings=no --link-journal=no \
        --resolv-conf=off --timezone=off --console=pipe --machine=gateway \
        --system-call-filter='landlock_create_ruleset landlock_add_rule landlock_restrict_self' "$@" </dev/null >"$log" 2>&1 &
    NSPAWN=$!
    wait_for 60 machine_up || { tail -n 20 "$log" && return 1; }
}
machine_up() {
    MACHINE=$(pgrep -P "$NSPAWN" | head -n 1)
    case $([ -n "$MACHINE" ] && machine_does systemctl is-system-running 2>/dev/null) in
    running | degraded) ;;
    *) false ;;
    esac
}

# machine_does COMMAND...: runs COMMAND as root in the machine.
machine_does() { nsenter --target "$MACHINE" --all env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C "$@"; }

machine_end() {
    [ -n "${NSPAWN:-}" ] || return 0
    # SIGRTMIN+4 tells systemd to power off.
    [ -z "${MACHINE:-}" ] || kill -s RTMIN+4 "$MACHINE" 2>/dev/null
    wait_for 30 eval '! kill -0 "$NSPAWN" 2>/dev/null' || kill -KILL "$NSPAWN"
    wait "$NSPAWN" 2>/dev/null
    NSPAWN='' MACHINE=''
    find "$MACHINE_CGROUP" -depth -type d -exec rmdir {} + 2>/dev/null
}

# what_is_there: prints files, users, units and packages of the machine on which it runs, without the records of apt, dpkg, systemd
# and similar programs.
what_is_there() {
    local notes=(-path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /debs -o -path /var/log
        -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/lib/systemd -o -path /var/tmp
        -o -path /etc/ld.so.cache)
    find / -xdev \( "${notes[@]}" \) -prune -o -printf '%p %y %m %U:%G %l\n' | sort
    find / -xdev \( "${notes[@]}" \) -prune -o -type f -print0 | sort -z | xargs -0 sha256sum
    find /run /tmp /var/tmp /var/log /var/cache /var/lib/systemd -name '*rpcrdma*' | sort
    getent passwd
    getent group
    systemctl list-unit-files --no-legend --plain
    dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\n'
    find /var/lib/dpkg/info -name '*rpcrdma*'
    ls /var/lib/dpkg/alternatives /var/lib/dpkg/triggers
}
