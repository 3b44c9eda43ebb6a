#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The real executables over loopback: every op, both versions, IPv4 and IPv6; ends of all kinds.
set -u
perf=$1
dir=$(mktemp -d)
pids=()
failed=0

# shellcheck disable=SC2317 # called by the trap
cleanup() {
	for pid in "${pids[@]}"; do
		kill -9 "$pid" 2>/dev/null
	done
	rm -rf "$dir"
}
trap cleanup EXIT

bad() {
	echo "FAILED: $*" >&2
	cat "$dir/err" >&2
	failed=1
}

# start_server NAME OPTIONS...: sets server_pid and server_addr
start_server() {
	local out=$dir/$1
	shift
	"$perf" server "$@" >"$out" 2>"$out.err" &
	server_pid=$!
	pids+=("$server_pid")
	for _ in $(seq 100); do
		server_addr=$(sed -n 's/^listening on //p' "$out" 2>/dev/null)
		[ -n "$server_addr" ] && return
		sleep 0.05
	done
	echo "server does not listen" >&2
	exit 1
}

# stop_server NAME: by SIGTERM, which it answers with totals and status 0
stop_server() {
	kill -TERM "$server_pid"
	wait "$server_pid" || bad "server exit status $?"
	grep -q '^connections .* errors 0$' "$dir/$1" || bad "totals of $1: $(cat "$dir/$1")"
}

# client STATUS OPTIONS...
client() {
	local want=$1 got
	shift
	timeout 60 "$perf" client "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	[ $got = "$want" ] || bad "status $got instead of $want: client $*"
}

for listen in 127.0.0.1 '[::1]'; do
	start_server both --listen "iwarp:$listen:0"
	for version in 1 2; do
		for op in null echo read write; do
			client 0 --connect "iwarp:$server_addr" --version $version --op $op --size ladder --depth 4
		done
	done
	client 0 --connect "iwarp:$server_addr" --version 2 --op echo --size ladder --depth 4 --no-reply-chunk
	client 0 --connect "iwarp:$server_addr" --version 2 --op echo --size ladder --depth 4 --call-chunk
	client 0 --connect "iwarp:$server_addr" --version 2 --op read --size 0,1,5k --slack 3 --inline-data --depth 200
	stop_server both
done

start_server other --listen iwarp:127.0.0.1:0 --versions 1 --inline 1024 --credits 4 --no-crc
client 0 --connect "iwarp:$server_addr" --version 1 --op echo --size ladder --depth 8 --inline 8192 --no-crc
client 0 --connect "iwarp:$server_addr" --version 1 --op null --count 2000 --connections 20 --json
jq -e '.rpcs == 2000 and .errors == 0 and .rpcs_per_s > 0 and .p50_us > 0 and .p99_us >= .p50_us
	and .p999_us >= .p99_us and .bytes_per_s == 0 and .seconds > 0' "$dir/out" >/dev/null ||
	bad "JSON: $(cat "$dir/out")"
client 1 --connect "iwarp:$server_addr" --version 2 --op null --count 1 --timeout 5
grep -q 'cannot connect' "$dir/err" || bad "no word about the version"
stop_server other

# The other end dies, and stops: the client says so, in time.
start_server dies --listen iwarp:127.0.0.1:0
(sleep 0.5; kill -9 "$server_pid") &
client 1 --connect "iwarp:$server_addr" --version 1 --op read --size 1m --depth 4 --time 30
grep -q 'lost the connection' "$dir/err" || bad "no word about the lost connection"
start_server stops --listen iwarp:127.0.0.1:0
(sleep 0.5; kill -STOP "$server_pid") &
client 1 --connect "iwarp:$server_addr" --version 2 --op write --size 1m --depth 4 --time 30 --timeout 1
grep -q 'no reply within' "$dir/err" || bad "no word about the missing reply"
kill -9 "$server_pid"
client 1 --connect "iwarp:127.0.0.1:1" --version 2 --op null --count 1
grep -q 'refused' "$dir/err" || bad "no word about the refusal"

# The client is told to end: it prints what it has.
start_server ends --listen iwarp:127.0.0.1:0
"$perf" client --connect "iwarp:$server_addr" --version 1 --op null --time 60 --json >"$dir/out" 2>"$dir/err" &
client_pid=$!
pids+=("$client_pid")
sleep 0.5
kill -INT "$client_pid"
wait "$client_pid" || bad "status $? after SIGINT"
jq -e '.rpcs > 0' "$dir/out" >/dev/null || bad "no figures after SIGINT"
stop_server ends

for line in '' 'bogus' 'server' 'client' 'server --listen iwarp:127.0.0.1:x' \
	'client --connect iwarp:127.0.0.1:1 --version 9 --op null' 'server --listen iwarp:127.0.0.1:0 --depth 3'; do
	# shellcheck disable=SC2086
	"$perf" $line >"$dir/out" 2>"$dir/err"
	[ $? = 2 ] || bad "status of \"$line\""
	grep -q '^rpcrdma-perf: ' "$dir/err" || bad "no message for \"$line\""
done
"$perf" --help | grep -q 'Try it:' || bad "--help"

[ $failed = 0 ] && echo OK
exit $failed
