# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Shared by the scripts: paths, messages, locks.

RCA_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
RCA_CACHE=${RCA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rdma_cm_alt}
export RCA_ROOT RCA_CACHE

say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
	printf '%s: error: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# as_root COMMAND...: runs the command as root, with sudo if necessary.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "'$*' needs root, and sudo is not installed; run this as root"
	fi
}

# lock NAME: takes a lock, which is held until the script ends.
lock() {
	local fd
	mkdir -p "$RCA_CACHE/locks"
	exec {fd}>"$RCA_CACHE/locks/$1"
	if ! flock -n "$fd"; then
		say "waiting for another run that holds the lock '$1'"
		flock "$fd"
	fi
}

# publish GUEST DIR: makes a finished store directory the guest's current one, atomically.
publish() {
	mkdir -p "$RCA_CACHE/kernels"
	ln -sfn "$2" "$RCA_CACHE/kernels/.$1.$$"
	mv -T "$RCA_CACHE/kernels/.$1.$$" "$RCA_CACHE/kernels/$1"
}

# prune GUEST KEEP: deletes old store directories of the guest; recent ones may still be in use.
prune() {
	find "$RCA_CACHE/store" -maxdepth 1 -name "$1-*" ! -path "$2" -mtime +2 -exec rm -rf {} +
}
