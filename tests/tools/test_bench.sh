#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# bench/run from end to end, too short to judge anything: every path carries every load, and the
# result has the figures that are asked of it. Loads that have the same shape are run once.
set -u
root=$1 build=$2
command -v haproxy >/dev/null && command -v jq >/dev/null && command -v gnuplot >/dev/null || exit 77
unshare --net --map-root-user true 2>/dev/null || exit 77
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
die() {
	echo "$*" >&2
	exit 1
}
# bench OPTION...: sets $out. A goal may be missed (status 3). A busy machine may serve no RPC in 0.1 s: then once more, with 3 s.
bench() {
	if run "$@"; then return; fi
	grep -q -e '--seconds has to be longer' "$room/err" && run "${@/#0.1/3}" || die "bench/run $* fails: $out $(cat "$room/err")"
}
run() {
	out=$(TMPDIR=$room "$root/bench/run" "$@" --build "$build" 2>"$room/err") || [ $? = 3 ]
}
# has FILTER: what jq finds in $out
has() {
	jq -e "$1" <<<"$out" >/dev/null || die "not what is expected, $1: $out"
}

# A verdict needs a gap that exceeds the error bar.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/bench python3 - <<-'END' || die "paths.judge"
	from paths import judge
	assert judge(1.1, 0.05, '<=', 1.2) == judge(0.9, 0.05, '>=', 0.8) == judge(0, 0, '<=', 0) == 'met'
	assert judge(1.3, 0.05, '<=', 1.2) == judge(0.7, 0.05, '>=', 0.8) == judge(1, 0, '<=', 0) == 'missed'
	assert judge(1.1, 0.2, '<=', 1.2) == judge(1.3, 0.2, '<=', 1.2) == judge(0.9, 0.2, '>=', 0.8) == 'within the error bar'
END

# Every path, data verified at both ends (bench-floor passes them unchanged), and the loads about polling.
bench --before "$build" --rounds 1 --seconds 0.1 --verify --json --plot "$room/plots" --tcp reno \
	--only echo64,one-cpu,paced2000,idle --paths direct,haproxy,floor,v2-v1,again,v1-v1
has '.machine != "" and (.tcp | length) == 1 and (.tcp[0] | .congestion == "reno" and (.medians | length) == 13 and (.goals | length) == 4
	and all(.medians[]; .errors == 0 and .rpcs_per_s > 0)
	and all(.medians[] | select(.work == "echo64" and .path == "v2-v1");
		.["CPU / floor"] > 0 and .["CPU / HAProxy"] > 0 and .["rate / HAProxy"] > 0 and .["rate / before"] > 0 and .mib_per_cpu_s > 0)
	and all(.goals[]; .error >= 0 and (.verdict | IN("met", "missed", "within the error bar"))))'
for plot in rate latency cpu; do
	[ "$(grep -c v1-v1 "$room/plots/$plot.svg")" -ge 1 ] || die "$plot.svg does not show all paths"
done
# The table, with the system's congestion control: without goals.
bench --rounds 1 --seconds 0.1 --tcp system --only null64 --paths floor,v2-v1 --config "cut_through_from = 0;"
grep -q "^TCP with $(cat /proc/sys/net/ipv4/tcp_congestion_control), the system's default:" <<<"$out" &&
	grep -q '^| null64 | v2-v1 | [0-9]' <<<"$out" && ! grep -q '^| goal' <<<"$out" || die "no table: $out"

# Counts: floor makes two calls for two messages or more, and the gateway paces nothing on loopback.
if [ "$(id -u)" = 0 ] && unshare --mount sh -c 'mount -t tracefs tracefs /sys/kernel/tracing && test -d /sys/kernel/tracing/events/syscalls'; then
	bench counts --rounds 1 --seconds 0.1 --only null1,null64 --paths floor,v2-v1,no-poll --json
	has '(.counts | length) == 5 and (.goals | length) == 4 and all(.counts[]; .reads > 0 and .sends > 0 and .waits > 0 and .pacing == 0)
		and all(.counts[] | select(.work == "null1"); .sends >= 1.9 and .sends < 2.5)'
	bench counts --rounds 1 --seconds 0.1 --only null64 --paths v2-v1
	grep -q '^| null64 | v2-v1 | [0-9]' <<<"$out" || die "no table of counts: $out"
fi

# The floor says what is wrong with its arguments.
for wrong in 127.0.0.1 :20049 127.0.0.1:0 127.0.0.1:65536 127.0.0.1:20049x name:20049; do
	err=$("$build/bin/bench-floor" "$wrong" 127.0.0.1:20049 2>&1)
	[ $? = 2 ] && [[ $err == *"$wrong: an IPv4 address and a port are needed"* ]] || die "bench-floor $wrong: $err"
done

# Distance: all paths carry every load, in as many round trips as they should, for these are counted.
bench distance --delays 3 --sizes 131072 --count 3 --seconds 0.1 --json --paths v1-v1-v1,v1-v2-v1,v1-ertr-v1
has '(.runs | length) == 18 and all(.runs[]; .errors == 0 and .rpcs > 0) and (.goals | length) == 4 and all(.goals[]; .met)
	and all(.runs[] | select(.depth == 1); .p50_us >= 2000 * .delay_ms)
	and all(.runs[] | select(.depth == 1 and .path == "v1-v1-v1" and .op != "read" and .size > 512); .round_trips == 2)'
# Curves: every point has a figure for each path, and is drawn.
bench curves --rounds 1 --seconds 0.02 --points 2 --json --plot "$room/curves"
has '(.curves | map_values(.points | length)) == {latency: 10, depth: 2, size: 4, connections: 2}
	and all(.curves[].points[]; .haproxy > 0 and .["v2-v1"] > 0 and .of_haproxy > 0)
	and all(.curves | del(.connections) | .[].points[]; .direct > 0)
	and ([.curves.latency.points[]["v2-v1"]] | . == sort) and all(.runs[]; .errors == 0)'
for plot in latency depth size connections; do
	[ "$(grep -c '<path' "$room/curves/$plot.svg")" -ge 3 ] || die "bench/run curves: $plot.svg is empty"
done
bench curves --rounds 1 --seconds 0.02 --points 2 --only depth --config "cut_through_from = 0;"
grep -q '^NULL *128 ' <<<"$out" || die "no table of curves: $out"
# Workers: as many as are asked for, and every connection was somebody's.
bench workers --workers 3 --connections 7 --rounds 1 --seconds 0.1 --only null,read --json
has '[.medians[] | .workers] == [1, 2, 3, 1, 2, 3] and all(.medians[]; .rpcs_per_s > 0 and .fair >= 1)
	and all(.runs[]; (.connections | length) == .workers and (.connections | add) == 7 and (.calls | add) > 0)'
bench workers --rounds 1 --seconds 0.1 --workers 1 --only null --config "cut_through_from = 0;"
grep -q '^null *1 ' <<<"$out" || die "no table of workers: $out"
if pgrep -f -- "$room/"; then
	die "bench/run leaves these processes behind"
fi

for program in '' counts curves workers; do
	# shellcheck disable=SC2086 # none or one
	"$root/bench/run" $program --help | grep -q -- --rounds || die "bench/run $program --help"
done
for wrong in --bogus '--rounds 0' '--only bogus' '--seconds x' 'counts --bogus' 'curves --rounds 0' 'workers --bogus' bogus; do
	# shellcheck disable=SC2086 # words
	"$root/bench/run" $wrong 2>/dev/null
	[ $? = 2 ] || die "bench/run $wrong is not refused"
done
echo OK
