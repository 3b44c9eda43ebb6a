#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# No RPC is more than 5 % dearer than its budget, in instructions of the gateway's own code; and a
# budget that is not kept is seen.
set -u
root=$1 build=$2
command -v valgrind >/dev/null || exit 77
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

fail() { echo "FAIL $*"; exit 1; }

# Other work on the machine makes an RPC dearer, for fewer of them are looked at together; nothing makes it cheaper.
for try in 1 2 3; do
	"$root/bench/cost" --build "$build" --rounds 2 --json >"$dir/cost" || fail "bench/cost ends with $?"
	"$root/bench/cost" --from "$dir/cost" --check "$root/bench/budget" && break
	[ "$try" -lt 3 ] || fail "an RPC is too dear"
done
"$root/bench/cost" --from "$dir/cost" --budget >"$dir/budget" || fail "no budget is printed"
grep -qE '^null [0-9]+$' "$dir/budget" || fail "not what is expected of a budget: $(cat "$dir/budget")"

# of_percent N: a budget of so much of what was measured
of_percent() { awk -v n="$1" '{ printf "%s %d\n", $1, $2 * n / 100 }' "$dir/budget" >"$dir/other"; }

of_percent 96
"$root/bench/cost" --from "$dir/cost" --check "$dir/other" >/dev/null || fail "4 % more are too much"
of_percent 94
"$root/bench/cost" --from "$dir/cost" --check "$dir/other" >"$dir/said"
[ $? = 3 ] && grep -q 'too dear' "$dir/said" || fail "6 % more go unseen"
"$root/bench/cost" --help | grep -q -- --budget || fail "--help"
"$root/bench/cost" --bogus 2>/dev/null
[ $? = 2 ] || fail "--bogus"
echo OK
