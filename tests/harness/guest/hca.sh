# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Functions for suites that run in a guest: the software InfiniBand adapters, see tests/fabric/hca.
#
# After hca_up: adapters hca0, hca1, ... with a LID from 1 on; the port of adapter N has the IPoIB
# device ibN in the initial namespace with 10.8.0.(N+1)/24 and fd00:8::(N+1)/64. hca_split puts ib1
# into the namespace hca1, so that packets between the two addresses really travel.

HCA_MODULE=build/hca/$GUEST/rca_hca.ko
# shellcheck disable=SC2034 # for suites
HCA_KNOBS=/sys/kernel/debug/rca_hca

# hca_load [PARAMETER=VALUE...]: load the adapters alone, without IPoIB.
hca_load() {
	[ ! -e /sys/module/rca_hca ] || return 0
	if [ ! -e "$HCA_MODULE" ]; then
		echo "$HCA_MODULE is not there; on the host run: scripts/build-module -m hca $GUEST" >&2
		return 1
	fi
	modprobe -qa crc32_generic crc32-generic
	modprobe -a ib_core ib_cm ib_uverbs ib_umad || return
	mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
	insmod "$HCA_MODULE" "$@"
}

# hca_unload: unload the adapters.
hca_unload() {
	[ ! -e /sys/module/rca_hca ] || rmmod rca_hca
}

# hca_wait SECONDS COMMAND...: retry the command until it succeeds.
hca_wait() {
	local tries=$(($1 * 10))
	shift
	until "$@"; do
		[ $((tries -= 1)) -gt 0 ] || return 1
		sleep 0.1
	done
}

# hca_running [-n NAMESPACE] DEVICE: whether IPoIB has joined its broadcast group.
hca_running() {
	local netns=()
	if [ "$1" = -n ]; then
		netns=(ip netns exec "$2")
		shift 2
	fi
	"${netns[@]}" ip -o link show "$1" | grep -q LOWER_UP
}

# hca_address N: set the addresses of ibN, and set it up.
hca_address() {
	ip link set "ib$1" up || return
	ip addr add "10.8.0.$(($1 + 1))/24" dev "ib$1" || return
	ip addr add "fd00:8::$(($1 + 1))/64" dev "ib$1" nodad || return
	hca_wait 60 hca_running "ib$1"
}

# hca_up [N]: set N adapters up (default 2) with IPoIB.
hca_up() {
	local count=${1:-2} i
	hca_load "devices=$count" || return
	modprobe ib_ipoib || return
	for ((i = 0; i < count; i++)); do
		hca_wait 60 test -e "/sys/class/net/ib$i" || return
		hca_address "$i" || return
	done
}

# hca_split: move ib1 to a new network namespace hca1, with its addresses.
hca_split() {
	ip netns add hca1 || return
	ip -n hca1 link set lo up
	hca_move
}

# hca_move: move ib1 to the existing namespace hca1.
hca_move() {
	ip link set ib1 netns hca1 || return
	ip -n hca1 link set ib1 up || return
	ip -n hca1 addr add 10.8.0.2/24 dev ib1 || return
	ip -n hca1 addr add fd00:8::2/64 dev ib1 nodad || return
	hca_wait 60 hca_running -n hca1 ib1
}

# hca_return: add the adapter hca1 again after its removal, with a new LID, and move ib1 back to
# its namespace.
hca_return() {
	echo 1 >"$HCA_KNOBS/add" || return
	hca_wait 60 test -e /sys/class/net/ib1 || return
	hca_move || return
	# It also has a new GUID.
	ip neigh flush dev ib0
}

# hca_peers N: simulate N hosts that accept every connection: 10.16.0.0 and the following N - 1 addresses,
# behind ib0, with a neighbour entry for each.
hca_peers() {
	echo "$1" >"$HCA_KNOBS/peers" || return
	ip route replace 10.16.0.0/15 dev ib0 || return
	# The hardware address of IPoIB is a QP number and the GID.
	awk -v count="$1" 'BEGIN {
		for (n = 0; n < count; n++)
			printf "neigh replace 10.16.%d.%d lladdr 80:00:00:01:fe:80:00:00:00:00:00:00:00:02:c9:03:00:%02x:%02x:%02x " \
				"dev ib0 nud permanent\n", n / 256, n % 256, 1 + int(n / 65536), int(n / 256) % 256, n % 256
	}' | ip -batch -
}

# hca_down: remove IPoIB and the adapters.
hca_down() {
	ip netns del hca1 2>/dev/null
	modprobe -qr ib_ipoib
	hca_unload
}
