# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Packages of Debian that are unpacked and not installed: of the release of this machine, of the next one, and of others.

# The release whose backports have the newest kernels.
NEXT=trixie
# Age in minutes at which package lists of other releases are read again.
LISTS_AGE=1440

# depends PACKAGE PATTERN: prints the dependencies of PACKAGE whose names match PATTERN.
depends() {
	apt-cache depends --important "$1" 2>/dev/null |
		awk -v want="$2" '$1 == "Depends:" && $2 ~ want { print $2 }'
}

version_of() {
	apt-cache show --no-all-versions "$1" 2>/dev/null | awk '$1 == "Version:" { print $2; exit }'
}

# unpack DIR PACKAGE...: downloads the packages and unpacks them under DIR/root.
unpack() {
	local dir=$1 deb
	shift
	mkdir -p "$dir/debs" "$dir/root"
	# As root, apt-get download would warn if the user _apt cannot write to the directory.
	(cd "$dir/debs" && quietly apt-get -q -o APT::Sandbox::User=root download "$@")
	for deb in "$dir"/debs/*.deb; do
		dpkg-deb -x "$deb" "$dir/root"
	done
	rm -rf "$dir/debs"
}

# closure PACKAGE...: prints the packages and all that they depend on, as if nothing were installed, each as NAME=VERSION.
closure() {
	apt-get -qq --print-uris --no-install-recommends install "$@" |
		awk '{ split($2, part, "_"); sub(/%3a/, ":", part[2]); print part[1] "=" part[2] }'
}

# mirror: prints the address of the archive of Debian that this machine uses.
mirror() {
	# shellcheck disable=SC2016	# variables of apt
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1
}

# use_next_release: lets all calls of apt that follow see the archive of the next release, and only that.
use_next_release() {
	use_release "$NEXT" "$NEXT" "$NEXT-backports" || die "the archive has no $NEXT"
}

# use_release NAME SUITE...: lets all calls of apt that follow see suites of the archive, and only these. Their package lists
# are read into the cache, with apt's checks of signatures, but also from a mirror that is behind; the sources of this machine stay
# as they are. Status 3: the archive does not have one of the suites.
use_release() {
	local dir=$RCA_CACHE/apt/$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg from log status=0
	shift
	from=$(mirror)
	from=${from:-http://deb.debian.org/debian}
	mkdir -p "$dir/lists/partial" "$dir/archives/partial" "$dir/state"
	printf "deb [signed-by=$keys] $from %s main\n" "$@" >"$dir/sources.list"
	cat >"$dir/apt.conf" <<-CONF
		Dir::Etc::SourceList "$dir/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::Etc::Preferences "/dev/null";
		Dir::Etc::PreferencesParts "/dev/null";
		Dir::State "$dir/state";
		Dir::State::Lists "$dir/lists";
		Dir::State::Status "/dev/null";
		Dir::Cache "$dir";
		APT::Sandbox::User "root";
		APT::Update::Error-Mode "any";
		Acquire::Check-Valid-Until "false";
		Acquire::Languages "none";
	CONF
	export APT_CONFIG=$dir/apt.conf
	[ -z "$(find "$dir/read" -mmin "-$LISTS_AGE" 2>/dev/null)" ] || return 0
	log=$(mktemp)
	apt-get -q update >"$log" 2>&1 || status=$?
	if [ "$status" -eq 0 ]; then
		touch "$dir/read"
	elif [ -e "$dir/read" ]; then
		say "the package lists of $1 cannot be read; the ones of $(date -r "$dir/read" +%F) are used"
	elif grep -q 'does not have a Release file' "$log"; then
		rm "$log"
		return 3
	else
		failed "$status" "$log" apt-get update
	fi
	rm "$log"
}
