# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# How modules are built for the kernels of guests. Source this after common.sh.

# The name under which the compiler sees the sources, whatever tree they are in: so ccache knows objects again that another
# clone has built, or a build with a planted bug.
MODULE_PLACE=/var/tmp/rdma_cm_alt-src

# make_module GUEST SRC ARGUMENT...: runs make with the kernel of the guest for the modules in SRC; file names in what it prints
# are relative to SRC. With arguments of gcov, ccache is not used: objects have to know their own directory.
make_module() {
	local guest=$1 src=$2 kernel=$RCA_CACHE/kernels/$1 place=$2 arch command status=0
	shift 2
	arch=$(cat "$kernel/arch" 2>/dev/null || true)
	command=(make -s -C "$kernel/build" ${arch:+"ARCH=$arch"} OFA_DIR=none W=1)
	if [ ! -e "$kernel/tools" ] && [[ " $* " != *" GCOV_"* ]] && command -v ccache >/dev/null && [ "$(id -u)" -eq 0 ]; then
		place=$MODULE_PLACE
		mkdir -p "$place" "$RCA_CACHE/ccache"
		# Debian's headers call ccache if they are asked to; the kernels that we build know CC.
		if grep -qs DEBIAN_KERNEL_USE_CCACHE "$kernel/build/.kernelvariables"; then
			command+=(DEBIAN_KERNEL_USE_CCACHE=1)
		else
			command+=("CC=ccache gcc")
		fi
		# shellcheck disable=SC2016	# variables of the shell inside
		command=(env "CCACHE_DIR=$RCA_CACHE/ccache" CCACHE_MAXSIZE=3G unshare --mount
			sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' "$src" "$place" "${command[@]}")
	fi
	"$RCA_ROOT/scripts/with-toolchain" "$guest" "${command[@]}" M="$place" "$@" 2>&1 | sed "s|$place/||g" || status=${PIPESTATUS[0]}
	return "$status"
}
