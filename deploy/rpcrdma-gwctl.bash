# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Completion of rpcrdma-gwctl for bash: commands, options, and the routes and sessions that the gateway has.

# Candidates go to a command line, and a socket may be any program's. So only names are offered, and nothing is expanded.
_rpcrdma_gwctl_offer() { # WORD CANDIDATE...
    local word=$1 candidate
    shift
    COMPREPLY=()
    for candidate in "$@"; do
        [[ $candidate == "$word"* && $candidate =~ ^[A-Za-z0-9._:-]+$ ]] && COMPREPLY+=("$candidate")
    done
    return 0
}
# Names of files may have any character. bash quotes them, because compopt marks them as file names.
_rpcrdma_gwctl_files() { # WORD
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_rpcrdma_gwctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' i
    local -a words=()
    local -a ask=(rpcrdma-gwctl --json)
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -s | --socket) ask+=(--socket "${COMP_WORDS[++i]}") ;;
        --route | --client | --name | --session | --slow | --program | --procedure | --time | --count | --size | --interval | --sort) ((++i)) ;;
        -*) ;;
        *) [ "$command" ] || command=${COMP_WORDS[i]} ;;
        esac
    done
    case $before in
    -s | --socket)
        _rpcrdma_gwctl_files "$word"
        return
        ;;
    --client | --name | --slow | --time | --count | --size | --interval) return ;;
    --route | --session | --program | --procedure | --sort) command=$before ;;
    esac
    case $command in
    '') words=(status routes sessions clients show drain kill reload top trace capture log) ;;
    --route | drain) mapfile -t words < <("${ask[@]}" routes 2>/dev/null | sed -n 's/^{"route":{"name":"\([^"]*\)".*/\1/p') ;;
    --sort) words=(calls octets flight memory) ;;
    --program) words=(nfs nfs3 nfs4 mount nlm nsm acl rpcbind callback) ;;
    --procedure)
        words=(null getattr setattr lookup access readlink read write create mkdir symlink mknod remove rmdir rename
            link readdir readdirplus fsstat fsinfo pathconf commit compound other)
        ;;
    capture)
        _rpcrdma_gwctl_files "$word"
        [[ $word == -* ]] || return
        ;;
    show | kill | --session)
        mapfile -t words < <("${ask[@]}" sessions 2>/dev/null | sed -n 's/^{"session":{"id":\([0-9]*\),.*/\1/p')
        ;;
    log) words=(error warn info debug) ;;
    esac
    case $word in
    -*)
        words=(--socket --json --route --client --name --session --slow --program --procedure --time --count --size --once
            --interval --sort --help --version)
        ;;
    esac
    _rpcrdma_gwctl_offer "$word" "${words[@]}"
}

complete -F _rpcrdma_gwctl rpcrdma-gwctl
