# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Completion of rpcrdma-gwctl for bash: commands, options, and the routes and sessions that the gateway has.

_rpcrdma_gwctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' words='' i
    local -a ask=(rpcrdma-gwctl --json)
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -s | --socket) ask+=(--socket "${COMP_WORDS[++i]}") ;;
        --route | --client | --name | --session | --slow | --program | --procedure | --time | --count | --size | --interval) ((++i)) ;;
        -*) ;;
        *) [ "$command" ] || command=${COMP_WORDS[i]} ;;
        esac
    done
    case $before in
    -s | --socket)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    --client | --name | --slow | --time | --count | --size | --interval) return ;;
    --route | --session | --program | --procedure) command=$before ;;
    esac
    case $command in
    '') words='status routes sessions clients show drain kill reload top trace capture log' ;;
    --route | drain) words=$("${ask[@]}" routes 2>/dev/null | sed -n 's/^{"route":{"name":"\([^"]*\)".*/\1/p') ;;
    --program) words='nfs nfs3 nfs4 mount nlm nsm acl rpcbind callback' ;;
    --procedure)
        words='null getattr setattr lookup access readlink read write create mkdir symlink mknod remove rmdir rename
            link readdir readdirplus fsstat fsinfo pathconf commit compound other'
        ;;
    capture)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        [[ $word == -* ]] || return
        ;;
    show | kill | --session) words=$("${ask[@]}" sessions 2>/dev/null | sed -n 's/^{"session":{"id":\([0-9]*\),.*/\1/p') ;;
    log) words='error warn info debug' ;;
    esac
    case $word in
    -*) words='--socket --json --route --client --name --session --slow --program --procedure --time --count --size --once --interval --help --version' ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -F _rpcrdma_gwctl rpcrdma-gwctl
