# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Root directories of Debian that scripts/empty-machine makes, and programs in them. Source this after common.sh. The
# functions are for root in a mount namespace of its own (unshare --mount).

# What machines of all releases share: root directories, and packages that were downloaded.
RCA_MACHINES=${RCA_MACHINES:-$RCA_CACHE/machines}
export RCA_MACHINES
# Says that a root directory is a machine of ours: the release and the groups of scripts/packages, one a line.
# shellcheck disable=SC2034	# used where this is sourced
MACHINE_MARK=/etc/check-machine
# Home directory of root there.
MACHINE_HOME=/root

# machine_release: prints the release of machines, if none is named.
machine_release() {
	local release=${RCA_RELEASE:-$(release_here)}
	case $release in
	bookworm | trixie) echo "$release" ;;
	*) echo "${RCA_RELEASE:-bookworm}" ;;
	esac
}

# furnish ROOT: mounts what programs expect.
furnish() {
	# What is no mount point cannot become the root.
	mountpoint -q "$1" || mount --bind "$1" "$1"
	mount --rbind /dev "$1/dev"
	mount -t proc proc "$1/proc"
	mount --rbind /sys "$1/sys"
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

# offer_debs RELEASE PLACE: packages that were downloaded before need no download in the machine at PLACE/root. New ones are
# not added, as apt would lock them for all machines.
offer_debs() {
	local debs=$RCA_MACHINES/debs/$1
	mkdir -p "$debs/partial" "$2"/debs-{upper,work}
	mount -t overlay -o "lowerdir=$debs,upperdir=$2/debs-upper,workdir=$2/debs-work" debs "$2/root"/var/cache/apt/archives
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

# on_machine ROOT DIRECTORY COMMAND...: runs a command in a directory of the machine, whose root becomes that of this mount
# namespace: chroot alone would keep programs from making user namespaces. Nothing of the old root is left.
on_machine() {
	local root=$1 dir=$2 carried
	shift 2
	carry
	cd "$root" || exit
	pivot_root . mnt
	# shellcheck disable=SC2016	# for the shell inside
	chroot . /usr/bin/env -i HOME=$MACHINE_HOME LANG=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${carried[@]}" \
		/bin/sh -c 'umount -l /mnt && cd "$0" && exec "$@"' "$dir" "$@"
}
