# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Functions for suites that run in a guest: the software RDMA devices, loading and unloading our
# module.
#
# The rig: dummy device d0 with rxe0, addresses 10.9.0.1, 10.9.0.2, fd00:9::1, fd00:9::2; veth pair
# v0/v1 with rxe1 on v0, address 10.7.0.1 (another 10.7.0.x has no neighbour: it never resolves).

# Directory of the modules: build/module/GUEST, or where scripts/build-module -o put them for this
# run.
RIG_MODULE=$RCA_MODULES/rdma_cm_alt.ko
RIG_TRUNK_MODULE=$RCA_MODULES/rdma_cm_alt_trunk.ko
RIG_UCM_MODULE=$RCA_MODULES/rdma_cm_alt_ucm.ko

# rig_modules: load the modules of the devices and of the stock stack; rxe requests the generic
# crc32.
rig_modules() {
	modprobe -qa crc32_generic crc32c_generic crc32-generic crc32c-generic
	modprobe -a ib_core ib_cm iw_cm ib_uverbs ib_umad rdma_ucm rdma_rxe || return
	mountpoint -q /sys/kernel/config || mount -t configfs config /sys/kernel/config
}

# rig_up: create devices and addresses; idempotent.
rig_up() {
	[ ! -e /sys/class/net/d0 ] || return 0
	rig_modules || return
	modprobe -a dummy veth
	ip link add d0 type dummy && ip link set d0 up || return
	ip addr add 10.9.0.1/24 dev d0
	ip addr add 10.9.0.2/24 dev d0
	ip addr add fd00:9::1/64 dev d0 nodad
	ip addr add fd00:9::2/64 dev d0 nodad
	ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up || return
	ip addr add 10.7.0.1/24 dev v0
	rdma link add rxe0 type rxe netdev d0 || return
	rdma link add rxe1 type rxe netdev v0
}

# rig_down: remove the devices.
rig_down() {
	rdma link delete rxe0 2>/dev/null
	rdma link delete rxe1 2>/dev/null
	ip link delete d0 2>/dev/null
	ip link delete v0 2>/dev/null
	true
}

# rig_load [PARAMETER=VALUE...]: load our module, with its dependencies.
rig_load() {
	local depends
	[ ! -e /sys/module/rdma_cm_alt ] || return 0
	if [ ! -e "$RIG_MODULE" ]; then
		echo "$RIG_MODULE is not there; on the host run: scripts/build-module $GUEST" >&2
		return 1
	fi
	depends=$(modinfo -F depends "$RIG_MODULE")
	# shellcheck disable=SC2086
	[ -z "$depends" ] || modprobe -a ${depends//,/ } || return
	insmod "$RIG_MODULE" "$@"
}

# rig_unload: unload our modules.
rig_unload() {
	rig_unload_trunks || return
	[ ! -e /sys/module/rdma_cm_alt_ucm ] || rmmod rdma_cm_alt_ucm || return
	[ ! -e /sys/module/rdma_cm_alt ] || rmmod rdma_cm_alt
}

# rig_load_trunks [PARAMETER=VALUE...]: load the module of trunks, which switches them on.
rig_load_trunks() {
	[ -e /sys/module/rdma_cm_alt_trunk ] || insmod "$RIG_TRUNK_MODULE" "$@"
}

# rig_unload_trunks: unload it, as soon as no connection of a program that has ended is over one.
rig_unload_trunks() {
	local tries=600
	[ -e /sys/module/rdma_cm_alt_trunk ] || return 0
	until rmmod rdma_cm_alt_trunk 2>/dev/null; do
		[ $((tries -= 1)) -gt 0 ] || { rmmod rdma_cm_alt_trunk; return; }
		sleep 0.05
	done
}

# rig_trunks N COMMAND...: run a command while trunks are on (1) or off (0). 0 is for suites that drop
# or count messages of ib_cm, depend on its timers, or compare with its limits.
rig_trunks() {
	local rig_before=0 rig_status
	[ ! -e /sys/module/rdma_cm_alt_trunk ] || rig_before=1
	rig_switch_trunks "$1" || return
	"${@:2}"
	rig_status=$?
	rig_switch_trunks "$rig_before" || rig_status=1
	return "$rig_status"
}

# rig_switch_trunks N: switch trunks on (1) or off (0).
rig_switch_trunks() {
	if [ "$1" = 1 ]; then rig_load_trunks; else rig_unload_trunks; fi
}

# rig_switch_ucm N: the device of librdmacm is that of our module (1) or of rdma_ucm (0).
rig_switch_ucm() {
	if [ "$1" = 1 ]; then
		[ ! -e /sys/module/rdma_ucm ] || rmmod rdma_ucm || return
		[ -e /sys/module/rdma_cm_alt_ucm ] || insmod "$RIG_UCM_MODULE"
	else
		[ ! -e /sys/module/rdma_cm_alt_ucm ] || rmmod rdma_cm_alt_ucm || return
		modprobe rdma_ucm
	fi
}

# rig_install, rig_uninstall: put our modules where modprobe finds them, and take them away; idempotent, as depmod takes
# a while in a guest.
rig_install() {
	local place
	place=/lib/modules/$(uname -r)/updates
	[ ! -e "$place" ] || return 0
	mkdir "$place" && cp "$RIG_MODULE" "$RIG_UCM_MODULE" "$place" && depmod
}

rig_uninstall() {
	local place
	place=/lib/modules/$(uname -r)/updates
	[ ! -e "$place" ] || { rm -r "$place" && depmod; }
}

# rig_ucm COMMAND...: run a command while the device of librdmacm is that of our module.
rig_ucm() {
	local rig_status
	rig_switch_ucm 1 || { rig_switch_ucm 0; return 1; }
	"$@"
	rig_status=$?
	rig_switch_ucm 0 || rig_status=1
	return "$rig_status"
}

# rig_namespaces_gone: wait until ib_core, too, has released the network namespaces that were
# deleted before. It deletes one more: when the devices of that one are removed, ib_core has
# finished with all earlier ones.
rig_namespaces_gone() {
	local tries=1200
	ip netns add ending && ip link add ending0 type veth peer name ending1 netns ending || return
	ip netns del ending
	while ip link show ending0 >/dev/null 2>&1; do
		[ $((tries -= 1)) -gt 0 ] || return 1
		sleep 0.05
	done
}
