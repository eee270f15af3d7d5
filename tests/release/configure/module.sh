# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Builds a small module with the probes, for tests of scripts/configure/. Source this after common.sh and ktap.sh, with the top
# of the tree as working directory. $work is a directory for the test; its files go away at the end.

here=tests/release/configure
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# module NAME: a new module in $work/NAME.
module() {
	rm -rf "${work:?}/$1"
	cp -r "$here/module" "$work/$1" && cp -r --parents scripts/configure "$work/$1/" && mkdir "$work/$1/kernel/lib" &&
		cp kernel/lib/compat.h "$work/$1/kernel/lib/"
}

# only NAME FEATURE: leaves one probe in that module, because the others take time.
only() {
	local probes=$work/$1/scripts/configure/probes.c
	awk -v name="$2" '
		/^#ifdef RCA_(PROBE|BEFORE)_/ && $2 !~ "^RCA_(PROBE|BEFORE)_" name "$" { skip = 1 }
		!skip { print }
		skip && /^#if/ { depth++ }
		skip && /^#endif/ && --depth == 0 { skip = 0 }' "$probes" >"$probes.new" && mv "$probes.new" "$probes"
}

# build NAME BUILD [VARIABLE]...: builds that module with the headers in BUILD, without a warning; $work/said has
# the messages.
build() {
	local name=$1 headers=$2 status=0
	shift 2
	make -s -j 2 -C "$headers" M="$work/$name" "$@" modules >"$work/said" 2>&1 || status=$?
	cat "$work/said"
	[ "$status" -eq 0 ] && ! grep -q warning "$work/said"
}

# has NAME: the features that were found, one a line.
has() {
	sed -n 's/^#define RCA_HAVE_\([A-Z0-9_]*\) 1$/\1/p' "$work/$1/build/configure/rca_config.h" | sort
}

# says TEXT...: the last build said each of these.
says() {
	local text
	for text; do
		grep -qF -- "$text" "$work/said" || { echo "not said: $text"; return 1; }
	done
}

# refuses TEXT... -- NAME BUILD [VARIABLE]...: the build fails with these texts, and there is no module.
refuses() {
	local texts=()
	while [ "$1" != -- ]; do
		texts+=("$1")
		shift
	done
	shift
	build "$@" && return 1
	says "${texts[@]}" && [ ! -e "$work/$1/build/configure/rca_config.h" ] && [ ! -e "$work/$1/rdma_cm_alt.ko" ]
}
