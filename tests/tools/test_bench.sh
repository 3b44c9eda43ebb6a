#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# bench/run from end to end, too short to judge anything: every path carries every load, and the
# result has the figures that are asked of it.
set -u
root=$1 build=$2
command -v haproxy >/dev/null && command -v jq >/dev/null && command -v gnuplot >/dev/null || exit 77
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
out=$("$root/bench/run" --build "$build" --before "$build" --rounds 1 --seconds 0.1 --verify --json --plot "$room/plots")
status=$?
if [ $status != 0 ] && [ $status != 3 ]; then
	echo "bench/run ends with $status" >&2
	exit 1
fi
jq -e '(.medians | length) == 36 and all(.medians[]; .errors == 0 and .rpcs_per_s > 0)
	and (.ratios | length) == 12 and all(.ratios[]; .rate_of_haproxy > 0 and .p50_of_haproxy > 0 and .rate_of_before > 0)
	and (.goals | length) == 7 and all(.goals[]; has("met"))' <<<"$out" >/dev/null || {
	echo "not what is expected: $out" >&2
	exit 1
}
for plot in rate latency cpu; do
	[ "$(grep -c v1-v1-before "$room/plots/$plot.svg")" -ge 1 ] || { echo "$plot.svg does not show all paths" >&2; exit 1; }
done
# Of some works alone there are the goals of these.
out=$("$root/bench/run" --build "$build" --rounds 1 --seconds 0.1 --only null64,read4m --config "cut_through_from = 0;" --json)
jq -e '(.medians | length) == 8 and (.goals | length) == 3' <<<"$out" >/dev/null || { echo "--only: $out" >&2; exit 1; }
out=$("$root/bench/run" --build "$build" --rounds 1 --seconds 0.1 --markdown)
[ "$(grep -c '^|' <<<"$out")" = 8 ] || { echo "--markdown: $out" >&2; exit 1; }
# The same of distance: all paths carry every load, in as many round trips as they should, for these are counted.
out=$(TMPDIR=$room "$root/bench/run" distance --build "$build" --delays 3 --sizes 512,131072 --count 3 --seconds 0.1 --json \
	--paths v1-v1-v1,v1-v2-v1,v1-rtr-v1,v1-early-v1,v1-ertr-v1)
status=$?
if [ $status != 0 ]; then
	echo "bench/run distance ends with $status" >&2
	exit 1
fi
if pgrep -f -- "$room/"; then
	echo "bench/run distance leaves these processes behind" >&2
	exit 1
fi
jq -e '(.runs | length) == 55 and all(.runs[]; .errors == 0 and .rpcs > 0) and (.goals | length) == 8
	and all(.runs[] | select(.depth == 1); .p50_us >= 2000 * .delay_ms)
	and all(.runs[] | select(.depth == 1 and .path == "v1-v1-v1" and .op != "read" and .size > 512); .round_trips == 2)' <<<"$out" >/dev/null || {
	echo "not what is expected: $out" >&2
	exit 1
}
# Curves: every point has a figure for each path, and is drawn.
out=$(TMPDIR=$room "$root/bench/run" curves --build "$build" --rounds 1 --seconds 0.02 --json --plot "$room/curves") || {
	echo "bench/run curves ends with $?" >&2
	exit 1
}
jq -e '(.curves | map_values(.points | length)) == {latency: 10, depth: 8, size: 12, connections: 9}
	and all(.curves[].points[]; .haproxy > 0 and .["v2-v1"] > 0 and .of_haproxy > 0)
	and all(.curves | del(.connections) | .[].points[]; .direct > 0)
	and ([.curves.latency.points[]["v2-v1"]] | . == sort) and all(.runs[]; .errors == 0)' <<<"$out" >/dev/null || {
	echo "bench/run curves: not what is expected: $out" >&2
	exit 1
}
for plot in latency depth size connections; do
	[ "$(grep -c '<path' "$room/curves/$plot.svg")" -ge 3 ] || { echo "bench/run curves: $plot.svg is empty" >&2; exit 1; }
done
"$root/bench/run" curves --build "$build" --rounds 1 --seconds 0.02 --only depth --config "cut_through_from = 0;" | grep -q '^NULL *128 ' || { echo "no table of curves" >&2; exit 1; }
# Workers: as many as are asked for, and every connection was somebody's.
out=$(TMPDIR=$room "$root/bench/run" workers --build "$build" --workers 3 --connections 7 --rounds 1 --seconds 0.1 --json) || {
	echo "bench/run workers ends with $?" >&2
	exit 1
}
jq -e '[.medians[] | .workers] == [1, 2, 3, 1, 2, 3, 1, 2, 3] and all(.medians[]; .rpcs_per_s > 0 and .fair >= 1)
	and all(.runs[]; (.connections | length) == .workers and (.connections | add) == 7 and (.calls | add) > 0)' <<<"$out" >/dev/null || {
	echo "bench/run workers: not what is expected: $out" >&2
	exit 1
}
"$root/bench/run" workers --build "$build" --rounds 1 --seconds 0.1 --only null --config "cut_through_from = 0;" | grep -q '^null *1 ' || { echo "no table of workers" >&2; exit 1; }
for program in curves workers; do
	"$root/bench/run" $program --help | grep -q -- --rounds || exit 1
	"$root/bench/run" $program --bogus 2>/dev/null
	[ $? = 2 ] || exit 1
	"$root/bench/run" $program --rounds 0 2>/dev/null
	[ $? = 2 ] || exit 1
done
if pgrep -f -- "$room/"; then
	echo "bench/run curves or workers leave these processes behind" >&2
	exit 1
fi
"$root/bench/run" --bogus 2>/dev/null
[ $? = 2 ] || exit 1
"$root/bench/run" --help | grep -q -- --rounds || exit 1
echo OK
