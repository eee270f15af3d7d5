# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# The scenes in which tests/release/documents/run types the commands of the documents; source it after rig.sh.
# A scene sets what the words in capitals of a page stand for, and ends with its shell.

# shellcheck disable=SC2034	# spelled() reads them by name
ADDRESS=10.9.0.1 PEER=10.9.0.1 PORT=7471 DEVICE=rxe0 INTERFACE=d0 VLAN=d0.7
PROGRAM="ucmatose -s 10.9.0.1 -p 7471 -c 1"
SERVER="ucmatose -b 10.9.0.1 -p 7471 -c 1"

# spelled COMMAND: prints it with the words in capitals replaced.
spelled() {
	local text=$1 word
	for word in ADDRESS PEER PORT DEVICE INTERFACE VLAN PROGRAM SERVER; do
		text=$(WORD=$word BY=${!word} perl -pe 's/\b$ENV{WORD}\b/$ENV{BY}/g' <<<"$text")
	done
	printf '%s' "$text"
}

# scene NAME: the rig with the module and the installed tool, and the scene. What it starts ends with this shell.
scene() {
	export PATH=/usr/local/bin:$PATH NO_COLOR=1
	trap 'jobs -p | xargs -r kill; wait' EXIT
	rig_up >/dev/null && rig_load && installed || return
	rm -f "$scene_log"
	"scene_$1"
}

scene_log=/tmp/documents-scene.log

installed() {
	[ -e /usr/local/bin/rdma-cm-alt ] && return
	mkdir -p /usr/local/bin /usr/local/lib/rdma_cm_alt
	cp build/rdma-cm-alt /usr/local/bin/
	cp build/dropin/librdmacm.so.1 build/dropin/librspreload.so /usr/local/lib/rdma_cm_alt/
}

# ours COMMAND...: runs a program over the drop-in; its output is in a file.
ours() {
	rdma-cm-alt run "$@" >"$scene_log" 2>&1
}

# Nothing has failed yet.
scene_host() {
	rig_unload && rig_load
}

scene_vlan() {
	modprobe 8021q
}

# An interface without an RDMA device.
scene_plain_interface() {
	DEVICE=rxe7 INTERFACE=d7
	[ -e /sys/class/net/d7 ] || { ip link add d7 type dummy && ip link set d7 up; }
}

# A server of our stack waits on ADDRESS.
scene_served() {
	local tries=200
	# Not by ours: what the shell ends has to be the server itself.
	rdma-cm-alt run bash -c "exec $SERVER" >"$scene_log" 2>&1 &
	until rdma-cm-alt show listeners | grep -q ":$PORT "; do
		[ $((tries -= 1)) -gt 0 ] || return
		sleep 0.1
	done
}

# A program was refused, because no server listens. It waits until trunks of earlier scenes are forgotten.
scene_refused() {
	rig_unload && rig_load && ! ours bash -c "exec $PROGRAM"
}

# No host has the address.
scene_silent() {
	ADDRESS=10.7.0.99 PEER=10.7.0.99 PROGRAM="ucmatose -s 10.7.0.99 -c 1"
	! ours bash -c "exec $PROGRAM"
}

# A host answers ARP, but no message of the connection manager; the program gives up after a second.
scene_mute() {
	ADDRESS=10.7.0.98 PEER=10.7.0.98 PROGRAM="ucmatose -s 10.7.0.98 -c 1"
	ip neigh replace 10.7.0.98 lladdr 02:00:00:00:00:98 nud permanent dev v0
	sysctl -qw net.rdma_cm_alt.deadline_ms=1000
	! ours bash -c "exec $PROGRAM"
	sysctl -qw net.rdma_cm_alt.deadline_ms=0
}

# There is no route to the address.
scene_no_route() {
	ADDRESS=192.0.2.77 PEER=192.0.2.77 PROGRAM="ucmatose -s 192.0.2.77 -c 1"
	! ours bash -c "exec $PROGRAM"
}

scene_no_module() {
	rig_unload
}

scene_no_permission() {
	trap 'chmod 666 /dev/rdma_cm_alt' EXIT
	chmod 600 /dev/rdma_cm_alt
}

# The modules are installed. rdma_ucm is loaded, and is again when the scene ends.
scene_takeover() {
	trap 'jobs -p | xargs -r kill; wait; rdma-cm-alt takeover -y off' EXIT
	rig_install && modprobe rdma_ucm
}

scene_taken_over() {
	scene_takeover && rdma-cm-alt takeover -y on
}

# rping waits on ADDRESS, with the librdmacm of its package.
scene_stock_in_use() {
	local tries=200
	scene_takeover || return
	rping -s -P -a "$ADDRESS" >"$scene_log" 2>&1 &
	until rdma-cm-alt takeover | grep rping; do
		[ $((tries -= 1)) -gt 0 ] || return
		sleep 0.1
	done
}

# The same, and a client is connected.
scene_ours_in_use() {
	local tries=200
	scene_taken_over || return
	rping -s -P -a "$ADDRESS" >"$scene_log" 2>&1 &
	until rdma-cm-alt show | grep "rping.*listen\|listen.*rping"; do
		[ $((tries -= 1)) -gt 0 ] || return
		sleep 0.1
	done
	rping -c -a "$ADDRESS" -C 1000000 >>"$scene_log" 2>&1 &
	until rdma-cm-alt show | grep "rping.*connected\|connected.*rping"; do
		[ $((tries -= 1)) -gt 0 ] || return
		sleep 0.1
	done
}
