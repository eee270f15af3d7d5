# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# KTAP for suites that are shell scripts: source it, run checks, end with ktap_end.
#
#	. tests/harness/guest/ktap.sh
#	check "a listener can be made" rping_listens
#	skip "a listener on iWARP" "no siw on this kernel"
#	ktap_end

ktap_count=0
ktap_failed=0
echo "KTAP version 1"

# check NAME COMMAND...: passes when the command succeeds; shows the output of a failing one.
check() {
	local name=$1 said status=0
	shift
	ktap_count=$((ktap_count + 1))
	said=$("$@" 2>&1) || status=$?
	if [ "$status" -eq 0 ]; then
		echo "ok $ktap_count $name"
	else
		ktap_failed=$((ktap_failed + 1))
		# shellcheck disable=SC2001
		sed 's/^/# /' <<<"$said"
		echo "# status $status from: $*"
		echo "not ok $ktap_count $name"
	fi
	return "$status"
}

# skip NAME REASON
skip() {
	ktap_count=$((ktap_count + 1))
	echo "ok $ktap_count $1 # SKIP $2"
}

# ktap_end: prints the plan; its status is that of the whole suite.
ktap_end() {
	echo "1..$ktap_count"
	[ "$ktap_failed" -eq 0 ]
	exit
}
