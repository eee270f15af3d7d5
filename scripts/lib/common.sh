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

# release_here: prints the code name of this machine's release of Debian.
release_here() {
	# shellcheck disable=SC1091
	(. /etc/os-release && echo "${VERSION_CODENAME:-}")
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

# hint FILE: what to do about the failure of a program of Debian whose output is in the file.
hint() {
	if grep -qiE 'no space left|enough free space|not enough free disk space|disk quota exceeded' "$1"; then
		echo "; the disk is full: see df -h /var $RCA_CACHE"
	elif grep -qiE 'failed to fetch|unable to fetch|could not resolve|could not connect|cannot initiate the connection|no longer has a release file' "$1"; then
		echo "; the archive cannot be reached, or it has changed: check the network and the addresses in /etc/apt, then try apt-get update"
	elif grep -qiE 'unable to locate package|has no installation candidate|no packages found' "$1"; then
		echo "; the archive has no such package: is this Debian 12 or 13, and are its package lists there (apt-get update)?"
	elif grep -qiE 'could not get lock|unable to lock' "$1"; then
		echo "; another program is installing packages: try again when it has ended"
	fi
}

# failed STATUS LOG COMMAND...: shows a command's output, but the middle of a long one, says what to do, and ends the script.
failed() {
	local status=$1 log=$2 what
	shift 2
	awk 'FNR == NR { lines = FNR; next } FNR <= 30 || FNR > lines - 50; FNR == 31 && lines > 80 { print "[...]" }' "$log" "$log" >&2
	what=$*
	[ "${#what}" -le 200 ] || what="${what:0:200} ..."
	what="status $status of: $what (its output is above)$(hint "$log")"
	rm -f "$log"
	die "$what"
}

# quietly COMMAND...: runs a command and shows its output only if it fails, which ends the script.
quietly() {
	local log status=0
	log=$(mktemp)
	"$@" >"$log" 2>&1 || status=$?
	[ "$status" -eq 0 ] || failed "$status" "$log" "$@"
	rm -f "$log"
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
