# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What the suites of fuzzers over the library have in common: they build one with libFuzzer and sanitizers, run it,
# and prove that it finds the bugs of its planted.conf. As KTAP.
#
# A suite sets fuzzer, here, top, budget, PLANTED_RUNS, LEAST (executions), found (what a log says of a bug), subject
# and max_len, and sources this.
. "$top/tests/harness/guest/ktap.sh"

shim=$top/tests/robust/fuzz/shim
out=$top/build/fuzz/$fuzzer

# Without fixed addresses the inputs differ from run to run, even with one seed.
still=(setarch -R)
"${still[@]}" true 2>/dev/null || still=()

# The timeout finds what waits for ever.
common=("-max_len=$max_len" -timeout=20 -print_final_stats=1)

build() {
	make -s -j"$(nproc)" -C "$here" OUT="$top/build" "$@"
}

unpack() {
	rm -rf "$out/corpus"
	"$shim/corpus" unpack "$here/corpus.hex" "$out/corpus"
}

# report LOG: the output of a run that failed, without libFuzzer's own frames.
report() {
	grep -vE 'fuzzer::|^(INFO|#[0-9])' "$1" | tail -n 60
}

known_inputs() {
	"${still[@]}" "$out/fuzz-$fuzzer" "${common[@]}" -runs=0 -artifact_prefix="$out/" "$out/corpus" \
		>"$out/known.log" 2>&1 || {
		report "$out/known.log"
		return 1
	}
}

fuzz() {
	rm -rf "$out/new"
	mkdir -p "$out/new"
	"${still[@]}" "$out/fuzz-$fuzzer" "${common[@]}" "${budget[@]}" -artifact_prefix="$out/" "$out/new" \
		"$out/corpus" >"$out/fuzz.log" 2>&1 || {
		report "$out/fuzz.log"
		return 1
	}
}

# figures LOG: prints "executions edges features".
figures() {
	awk '/DONE +cov:/ { for (i = 1; i < NF; i++) { if ($i == "cov:") edges = $(i + 1)
			if ($i == "ft:") features = $(i + 1) } }
		/stat::number_of_executed_units/ { runs = $2 }
		END { print runs + 0, edges + 0, features + 0 }' "$1"
}

# planted NAME: the bug is found, by a sanitizer or by objects that are left.
planted() {
	local log=$out/planted/$1/log
	rm -rf "$out/planted/$1/new"
	mkdir -p "$out/planted/$1/new"
	if "${still[@]}" "$out/planted/$1/fuzz-$fuzzer" "${common[@]}" -runs="$PLANTED_RUNS" -seed=1 \
		-artifact_prefix="$out/planted/$1/" "$out/planted/$1/new" "$out/corpus" >"$log" 2>&1; then
		echo "not found by $PLANTED_RUNS executions"
		return 1
	fi
	grep -qE "$found" "$log" || {
		report "$log"
		return 1
	}
}

if ! command -v clang >/dev/null; then
	skip "$subject" "clang is not installed"
	ktap_end
fi
check "the fuzzer builds" build fuzz || ktap_end
check "the corpus is unpacked" unpack || ktap_end
check "inputs that are known do no harm" known_inputs
if check "new inputs do no harm" fuzz; then
	read -r runs edges features < <(figures "$out/fuzz.log")
	echo "# $runs executions, $edges edges, $features features"
	check "there were $LEAST executions" test "$runs" -ge "$LEAST"
fi
check "bugs can be planted" build planted || ktap_end
while read -r name what; do
	check "found: $what" planted "$name" || continue
	read -r runs _ _ < <(figures "$out/planted/$name/log")
	echo "# $name: $runs executions, $(grep -m 1 -E "$found" "$out/planted/$name/log" |
		sed -E 's/^SUMMARY: //; s|[^ ]*/userspace/||; s/ \(.*\)//')"
done < <(awk -F ' [|] ' '!/^#/ { print $1, $4 }' "$here/planted.conf")
ktap_end
