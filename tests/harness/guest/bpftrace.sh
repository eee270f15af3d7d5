# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Runs the scripts of scripts/bpftrace beside a command. Source it.

watched_output=/tmp/bpftrace-output

# watched SCRIPT ARGUMENT COMMAND...: runs the command while the script traces; $watched_output has the output of the script.
watched() {
	local tracer tries=3000 waits=0 status=0
	rm -f "$watched_output"
	# shellcheck disable=SC2086 # there may be none
	bpftrace "scripts/bpftrace/$1" $2 >"$watched_output" 2>&1 &
	tracer=$!
	shift 2
	# The script prints its first line when all probes are attached.
	until grep -qs '^Tracing' "$watched_output"; do
		if [ $((tries -= 1)) -le 0 ] || [ ! -e "/proc/$tracer" ]; then
			cat "$watched_output"
			return 1
		fi
		sleep 0.1
	done
	"$@" || status=$?
	# Some scripts print every second.
	sleep 2
	kill -INT "$tracer"
	# bpftrace 0.17 may miss a signal while it handles events; a second one during its end kills it.
	while jobs -pr | grep -qx "$tracer"; do
		[ $(((waits += 1) % 300)) -ne 0 ] || kill -INT "$tracer"
		sleep 0.1
	done
	wait "$tracer" || status=$?
	cat "$watched_output"
	return "$status"
}
