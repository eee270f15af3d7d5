# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Functions for two guests on a wire: scripts/bench/pair.py plugs it in. Needs
# tests/harness/guest/rig.sh.
#
# The near guest is number 1, the far one number 2. Each has wire0 with rxe0 and the addresses
# 10.8.0.<number> and fd00:8::<number>, which tests may disturb, and control0 with 10.8.1.<number>,
# over which the tests control the far guest.

WIRE_AGENT_PORT=7900

# wire_device NUMBER WIRE: prints the network device with the hardware address that pair.py gives
# it.
wire_device() {
	local path
	for path in /sys/class/net/*; do
		if [ "$(cat "$path/address")" = "52:54:00:08:0$2:0$1" ]; then
			basename "$path"
			return
		fi
	done
	echo "no network device of number $1 on wire $2; is this guest one of a pair?" >&2
	return 1
}

# wire_up NUMBER: set devices and addresses up; idempotent.
wire_up() {
	local number=$1 name
	[ ! -e /sys/class/net/wire0 ] || return 0
	rig_modules || return
	modprobe -a virtio_net sch_netem || return
	ip link set lo up
	name=$(wire_device "$number" 1) && ip link set "$name" name control0 || return
	ip addr add "10.8.1.$number/24" dev control0 && ip link set control0 up || return
	name=$(wire_device "$number" 0) && ip link set "$name" name wire0 || return
	# Keep manually set IPv6 addresses when the carrier is lost and comes back.
	sysctl -qw net.ipv6.conf.wire0.keep_addr_on_down=1
	ip addr add "10.8.0.$number/24" dev wire0
	ip addr add "fd00:8::$number/64" dev wire0 nodad
	ip link set wire0 up || return
	rdma link add rxe0 type rxe netdev wire0
}

# wire_agent: start the agent that runs programs for the near guest's tests, at both ends.
wire_agent() {
	exec /usr/bin/python3 tests/fabric/wire/agent.py "$WIRE_AGENT_PORT"
}
