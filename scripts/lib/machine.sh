# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Root directories of Debian that scripts/empty-machine makes, and programs in them. Source this after common.sh. The
# functions are for root in a mount namespace of its own (unshare --mount).

# What machines of all releases share: root directories, and packages that were downloaded.
RCA_MACHINES=${RCA_MACHINES:-$RCA_CACHE/machines}
export RCA_MACHINES
# Says that a root directory is a machine of ours: the release and the groups of scripts/packages, one a line.
# shellcheck disable=SC2034	# used where this is sourced
MACHINE_MARK=/etc/rdma_cm_alt-machine
# Home directory of root there.
MACHINE_HOME=/root

# furnish ROOT RELEASE: mounts what programs expect; packages of this release are downloaded once for all machines.
furnish() {
	local debs=$RCA_MACHINES/debs/$2
	mkdir -p "$debs/partial"
	mount --rbind /dev "$1/dev"
	mount -t proc proc "$1/proc"
	mount --rbind /sys "$1/sys"
	mount --bind "$debs" "$1/var/cache/apt/archives"
	cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
}

# lay LOWER PLACE: mounts a writable copy of a root directory at PLACE/root. What is written goes to PLACE/upper, or to
# memory where the file system of PLACE cannot serve.
lay() {
	local place=$2 options=lowerdir=$1,upperdir=$2/upper,workdir=$2/work
	mkdir -p "$place"/{upper,work,root}
	mount -t overlay -o "$options" machine "$place/root" 2>/dev/null || {
		mount -t tmpfs -o mode=755 machine "$place"
		mkdir "$place"/{upper,work,root}
		mount -t overlay -o "$options" machine "$place/root"
	} || die "cannot lay a writable copy over $1: overlayfs and the right to mount are needed; RCA_HERE=1 uses this machine as it is"
}

# share ROOT DIRECTORY...: makes directories of this machine visible at the same paths.
share() {
	local root=$1 dir
	shift
	for dir; do
		mkdir -p "$root$dir"
		mount --rbind "$dir" "$root$dir"
	done
}

# carry: sets the array carried to what programs on a machine get of this environment, as NAME=value.
carry() {
	local name
	carried=("TERM=${TERM:-dumb}")
	for name in "${!RCA_@}" http_proxy https_proxy no_proxy COLUMNS LINES; do
		[ -z "${!name+set}" ] || [ "$name" = RCA_ROOT ] || carried+=("$name=${!name}")
	done
}

# on_machine ROOT DIRECTORY COMMAND...: runs a command in a directory of the machine.
on_machine() {
	local root=$1 dir=$2 carried
	shift 2
	carry
	chroot "$root" /usr/bin/env -i -C "$dir" HOME=$MACHINE_HOME LANG=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${carried[@]}" "$@"
}
