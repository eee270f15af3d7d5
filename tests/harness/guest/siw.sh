# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Functions for suites that run in a guest: soft-iWARP devices. Source it after rig.sh.
#
# siw0 is on s0, one end of a veth pair, addresses 10.11.0.1 and fd00:11::1; siw1 is on s1, the other
# end, in the network namespace "peer", addresses 10.11.0.2 and fd00:11::2. 10.11.0.99 has a
# neighbour entry and answers nothing: TCP waits for it. 10.11.0.98 has none.

SIW_MODULE=build/siw/$GUEST/siw.ko

# siw_module: load soft-iWARP; the debug kernel includes it, for the others scripts/build-siw
# builds it.
siw_module() {
	[ ! -e /sys/module/siw ] || return 0
	rig_modules || return
	modprobe -qa libcrc32c crc32c
	modprobe -q siw && return
	if [ ! -e "$SIW_MODULE" ]; then
		echo "$SIW_MODULE is not there; on the host run: scripts/build-siw $GUEST" >&2
		return 1
	fi
	insmod "$SIW_MODULE"
}

# siw_up: create devices and addresses; idempotent.
siw_up() {
	siw_module || return
	modprobe -q veth
	if [ ! -e /sys/class/net/s0 ]; then
		ip netns add peer && ip link add s0 type veth peer name s1 netns peer || return
		ip link set s0 up && ip -n peer link set s1 up && ip -n peer link set lo up || return
		ip addr add 10.11.0.1/24 dev s0
		ip addr add fd00:11::1/64 dev s0 nodad
		ip -n peer addr add 10.11.0.2/24 dev s1
		ip -n peer addr add fd00:11::2/64 dev s1 nodad
		ip neigh replace 10.11.0.99 lladdr 02:00:00:00:00:99 dev s0 nud permanent
	fi
	siw_link
}

# siw_link: add the RDMA devices alone, after siw_unlink.
siw_link() {
	[ -e /sys/class/infiniband/siw0 ] || rdma link add siw0 type siw netdev s0 || return
	[ -e /sys/class/infiniband/siw1 ] || ip netns exec peer rdma link add siw1 type siw netdev s1
}

# siw_unlink: remove the RDMA devices, the network stays.
siw_unlink() {
	rdma link delete siw0 2>/dev/null
	rdma link delete siw1 2>/dev/null
	true
}

# siw_down: remove everything.
siw_down() {
	siw_unlink
	ip link delete s0 2>/dev/null
	ip netns delete peer 2>/dev/null
	true
}
