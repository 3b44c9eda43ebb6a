# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The lab's cache, to be sourced before anything of it is used: sets and exports $LAB, makes the folder, and
# ends the script where another user could have put files there.
#
# State: root runs programs out of $LAB: kernels, modules, an initramfs.
# Danger: in a folder that another user can write to, or can exchange for his own, these are his programs.
# Rule: the folder belongs to this user and has mode 0700. Each folder above it belongs to root or to this user,
#     and others may write to it only where it is sticky (/tmp). Each symbolic link on the way belongs to root or
#     to this user; the folder itself is none.
# Pinned: tests/planted/run

if [ -z "${LAB:-}" ] && [ "$EUID" -eq 0 ]; then
    LAB=/var/cache/rpcrdma-gw-lab
else
    LAB=${LAB:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/rpcrdma-gw-lab}
fi

# cache_refused PATH WHY: the end of the script.
cache_refused() {
    echo "lab: $1: $2" >&2
    exit 1
}

# way_is_safe PATH: each folder and each link above it, as far as they exist, both as it is written and as it is.
way_is_safe() {
    local path dir owner mode above=()
    for path in "$1" "$(realpath -m "$1")"; do
        while [ -n "$path" ]; do
            path=${path%/*}
            above+=("${path:-/}")
        done
    done
    while read -r owner mode dir; do
        [ "$owner" -eq 0 ] || [ "$owner" -eq "$EUID" ] ||
            cache_refused "$1" "$dir belongs to $(id -un "$owner"), who can exchange what is in it: set LAB (or LAB_RUN) to another folder"
        [ -L "$dir" ] || (((8#$mode & 8#022) == 0 || (8#$mode & 8#1000) != 0)) ||
            cache_refused "$1" "others can write to $dir (mode $mode): take that right away, or set LAB (or LAB_RUN) to another folder"
    done < <(stat -c '%u %a %n' "${above[@]}" 2>/dev/null)
}

# own_folder PATH: is there from now on, and is as the rule above says.
own_folder() {
    local owner mode
    [[ $1 == /* ]] || cache_refused "$1" "no path from /: set LAB (or LAB_RUN) to one"
    # make(1) takes no other names, nor does a kernel's command line.
    [[ $1 =~ ^[A-Za-z0-9/._+@-]+$ ]] || cache_refused "$1" "kernels can be built and booted only below a path of letters, digits and /._+@-"
    way_is_safe "$1"
    [ -e "$1" ] || [ -L "$1" ] || (umask 077 && mkdir -p "$1") || exit 1
    [ ! -L "$1" ] && [ -d "$1" ] || cache_refused "$1" "it is no folder: move it away, or set LAB (or LAB_RUN) to another folder"
    read -r owner mode < <(stat -c '%u %a' "$1")
    [ "$owner" -eq "$EUID" ] || cache_refused "$1" "it belongs to $(id -un "$owner"), not to $(id -un): move it away, or set LAB (or LAB_RUN) to another folder"
    [ "$mode" = 700 ] || cache_refused "$1" "mode $mode lets others in, who may have left files there: remove it, or chmod 700 if it is as you left it"
}

own_folder "${LAB%/}"
LAB=$(realpath "$LAB")
export LAB
