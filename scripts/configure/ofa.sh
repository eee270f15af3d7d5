#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Chooses the ib_core to build for: the kernel's own, or one that replaces it (DOCA-OFED, MLNX_OFED), whose headers and
# Module.symvers are below /usr/src/ofa_kernel.
#
# usage: bash scripts/configure/ofa.sh RELEASE SYMVERS MODULES TREES OUT [OFA_DIR]
#
#   RELEASE  the kernel's release
#   SYMVERS  Module.symvers of the kernel
#   MODULES  where its modules are installed, such as /lib/modules/RELEASE
#   TREES    where trees are looked for: /usr/src/ofa_kernel
#   OUT      gets the symbols of the tree, for modpost
#   OFA_DIR  the tree to use, or "none" for the kernel's own ib_core
#
# Prints the tree, or nothing for the kernel's own, or "refused" after an error message. The installed ib_cm was built
# for the installed ib_core, so the versions of the symbols that it needs tell which ib_core that is: a module with
# other versions could not be loaded.
set -euo pipefail

[ "$#" -ge 5 ] || {
	echo "usage: bash scripts/configure/ofa.sh RELEASE SYMVERS MODULES TREES OUT [OFA_DIR]" >&2
	exit 2
}
release=$1
symvers=$2
modules=$3
trees=$4
out=$5
wanted=${6-}
PATH=$PATH:/usr/sbin:/sbin
# The makefile cannot see how this ended.
trap '[ $? -eq 0 ] || echo refused' EXIT

# refuse TEXT...
refuse() {
	{
		echo "rdma_cm_alt: error: $1"
		shift
		printf 'rdma_cm_alt: %s\n' "$@"
	} >&2
	echo refused
	exit 0
}

# kernel_of TREE: prints the release for which a tree was built, if it says so.
kernel_of() {
	local said name
	said=$(sed -n 's/^KVERSION *:\{0,1\}= *//p' "$1/configure.mk.kernel" 2>/dev/null | tail -n 1) || true
	name=$(basename "$(readlink -f "$1")")
	# The directory of a tree has the name of its kernel, which begins with a number.
	[[ -n $said || ! $name =~ ^[0-9]+\.[0-9]+ ]] || said=$name
	echo "$said"
}

# complete TREE: refuses a tree without the files that the build needs.
complete() {
	local file
	for file in include/rdma/ib_verbs.h include/rdma/ib_cm.h Module.symvers; do
		[ -s "$1/$file" ] || refuse "$1 has no $file, so the module cannot be built for the ib_core of this tree" \
			"Install the package with the headers of that ib_core (mlnx-ofa_kernel-devel, or mlnx-ofed-kernel-dkms with" \
			"its module built for $release), name another tree with OFA_DIR=, or build for the kernel's own: OFA_DIR=none."
	done
}

# installed NAME: prints the path of the module that modprobe would load.
installed() {
	local path
	path=$(sed -n "s|^\([^:]*/$1\.ko[.a-z]*\):.*|\1|p" "$modules/modules.dep" 2>/dev/null | head -n 1) || true
	[ -z "$path" ] || (cd "$modules" && readlink -e "$path") || true
}

# differing SYMVERS...: prints the symbols of the RDMA stack that the installed ib_cm needs in another version. A
# symbol of several lists has the version of the last one.
differing() {
	local list lists=()
	for list; do
		[ ! -e "$list" ] || lists+=("$list")
	done
	[ -n "$needed" ] && [ "${#lists[@]}" -gt 0 ] || return 0
	awk -v needed="$needed" '
		BEGIN {
			count = split(needed, words)
			for (i = 1; i < count; i += 2)
				version[words[i + 1]] = words[i]
		}
		$2 in version && $3 ~ /infiniband|ib_core/ { listed[$2] = $1 }
		END {
			for (name in listed)
				if (listed[name] != version[name] && listed[name] !~ /^0x0*$/)
					print name
		}' "${lists[@]}" | sort
}

# is_installed TREE: whether the installed ib_core is that of the tree and not the kernel's own. Packages with modules
# that serve several kernels have a tree for one of them only.
is_installed() {
	[ -n "$own" ] && [ -z "$(differing "$symvers" "$1/Module.symvers")" ]
}

core=$(installed ib_core)
cm=$(installed ib_cm)
needed=
[ -z "$cm" ] || needed=$(modprobe --dump-modversions "$cm" 2>/dev/null | tr '\n' ' ') || true
own=$(differing "$symvers")

case $wanted in
none) tree= ;;
"")
	tree=
	for place in "$trees/$(uname -m)/$release" "$trees/$release" "$trees/default"; do
		[ -d "$place" ] || continue
		for_kernel=$(kernel_of "$place")
		if [ -z "$for_kernel" ] || [ "$for_kernel" = "$release" ] || is_installed "$place"; then
			tree=$place
			break
		fi
	done
	;;
*)
	tree=$wanted
	[ -d "$tree" ] || refuse "OFA_DIR=$tree is no directory" \
		"It is the directory that has include/ and Module.symvers, such as $trees/default."
	for_kernel=$(kernel_of "$tree")
	[ -z "$for_kernel" ] || [ "$for_kernel" = "$release" ] || is_installed "$tree" ||
		refuse "OFA_DIR=$tree is for the kernel $for_kernel, and the module is built for $release" \
			"Build that ib_core for $release first, or name its tree for this kernel."
	;;
esac

if [ -z "$tree" ]; then
	[ -z "$own" ] || [ "$wanted" = none ] ||
		refuse "the installed ib_core of $release ($core) is not the kernel's own, and its headers are not in $trees" \
			"A module for the kernel's own could not be loaded: 'disagrees about version of symbol $(head -n 1 <<<"$own")'." \
			"Install the headers (mlnx-ofa_kernel-devel, or mlnx-ofed-kernel-dkms), or name their directory: OFA_DIR=..." \
			"To build for the kernel's own nevertheless: OFA_DIR=none."
	exit 0
fi
complete "$tree"
other=$(differing "$symvers" "$tree/Module.symvers")
if [ -n "$other" ]; then
	if [ -z "$wanted" ] && [ -z "$own" ]; then
		echo "rdma_cm_alt: the installed ib_core of $release is the kernel's own, so $tree is not used" >&2
		exit 0
	fi
	refuse "$tree is not the tree of the installed ib_core of $release ($core)" \
		"The module could not be loaded: 'disagrees about version of symbol ${other%%[[:space:]]*}'." \
		"Install both from the same packages (and run depmod), or build for the kernel's own: OFA_DIR=none."
fi
tree=$(readlink -f "$tree")
# modpost accepts a symbol of two lists only if the modules have different names, and some kernels name a module by a
# relative path.
mkdir -p "$(dirname "$out")"
awk -v tree="$tree" 'BEGIN { FS = OFS = "\t" } $3 !~ /^\// { $3 = tree "/" $3 } { print }' \
	"$tree/Module.symvers" >"$out.new"
if cmp -s "$out.new" "$out"; then
	rm "$out.new"
else
	mv "$out.new" "$out"
fi
echo "$tree"
