# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Lists of the project's own files; source this with the top of the tree as working directory.

# files: prints every text file that is not generated, one a line.
files() {
	local top place
	top=$(ls -A)
	for place in $top; do
		case $place in
		.git | build) continue ;;
		*) echo "$place" ;;
		esac
	done | tr '\n' '\0' | xargs -0 -I{} find {} -type f -size +0 ! -name '*.o' ! -name '*.ko' \
		! -name '*.mod' ! -name '*.mod.c' ! -name '.*.cmd' ! -name '*.pyc' ! -name modules.order \
		! -name Module.symvers ! -name '*.orig' ! -name '*.rej' ! -name '*.swp' | sort
}

# c_files DIRECTORY...: prints the C files below those directories that exist.
c_files() {
	local place
	for place in "$@"; do
		[ ! -d "$place" ] || find "$place" -name '*.[ch]' ! -name '*.mod.c'
	done | sort
}

# shell_files: prints every shell script, recognised by its name or its first line.
shell_files() {
	local file
	files | while read -r file; do
		case $file in
		*.sh) echo "$file" ;;
		*.*[a-z]) ;;
		*) if head -n 1 "$file" | grep -qE '^#!.*\b(bash|sh)$'; then echo "$file"; fi ;;
		esac
	done
	[ ! -e .ci/run ] || echo .ci/run
}
