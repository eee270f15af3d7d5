# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Containers of podman on the machine that tests/packages/guest has set up; their root is the machine's
# own, so no image is needed. Sourced there: the functions of that file are at hand.

rootfs=/run/rootfs
# podman keeps what it knows of containers in memory: the root of a guest is an overlay already.
podman="podman --root /run/pod --runroot /run/podrun --storage-driver vfs --cgroup-manager cgroupfs --events-backend file"
# shellcheck disable=SC2154	# where the drop-in is, says that file
container="$podman run --rm --env LD_LIBRARY_PATH=$dropin --env RDMA_CM_ALT_DEBUG=1"
server="env LD_LIBRARY_PATH=$dropin rping -s -a 10.9.0.1 -p PORT -C 2"
client="timeout 60 rping -c -a 10.9.0.1 -p PORT -C 2 -v"

# pings OPTIONS: a program in a container with these connects to one outside.
pings() {
	with_server "$server" "$container --network=host $1 --rootfs $rootfs $client" | tee /dev/stderr |
		grep -q 'ping data: rdma-ping-1'
}

# The file is made for the devices that are there.
cdi_file() {
	mkdir -p /etc/cdi && sh /usr/share/doc/rdma-cm-alt/examples/rdma_cm_alt-cdi.sh >/etc/cdi/rdma_cm_alt.yaml &&
		cat /etc/cdi/rdma_cm_alt.yaml
}

# what_is_there OPTIONS: the nodes that a container with these has.
what_is_there() {
	# shellcheck disable=SC2086
	$container $1 --rootfs $rootfs find /dev -name 'rdma_cm*' -o -name 'uverbs*' | sort | xargs
}

by_cdi() {
	local both="/dev/infiniband/rdma_cm_alt /dev/infiniband/uverbs0 /dev/rdma_cm_alt" found
	cdi_file && pings "--user 65534:65534 --device rdma-cm-alt/node=cm --device rdma-cm-alt/node=rxe0" || return
	found=$(what_is_there "--device rdma-cm-alt/node=cm --device rdma-cm-alt/node=rxe0")
	[ "$found" = "$both" ] || { echo "one device: $found"; return 1; }
	found=$(what_is_there "--device rdma-cm-alt/node=all")
	[ "$found" = "/dev/infiniband/rdma_cm ${both/uverbs0/uverbs0 \/dev\/infiniband\/uverbs1}" ] ||
		{ echo "all: $found"; return 1; }
	rm /etc/cdi/rdma_cm_alt.yaml
}

# says OPTIONS TEXT: a client in a container with these fails, and says this.
says() {
	local said
	# shellcheck disable=SC2086
	said=$($container $1 --rootfs $rootfs ${client//PORT/9} 2>&1) && return 1
	echo "$said"
	grep -qF -- "$2" <<<"$said"
}

# A namespace with an address on the device's network; see tests/lifetime/namespaces.py for why it is like that.
own_network() {
	local number
	ip netns add box && ip -n box link set lo up &&
		ip link add link d0 name boxed type macvlan mode bridge || return
	number=$(cat /sys/class/net/boxed/ifindex)
	ip link set boxed netns box && ip -n box addr add 10.9.0.31/24 dev boxed && ip -n box link set boxed up &&
		ip link add box index "$number" type dummy && ip addr add 10.9.0.31/32 dev box && ip link set box up
}

no_own_network() {
	ip netns del box
	ip link del box
	rig_namespaces_gone
}

# Both ends in one container.
pings_itself() {
	# shellcheck disable=SC2016
	$container --network ns:/run/netns/box --device /dev/rdma_cm_alt --device /dev/infiniband/uverbs0 --rootfs $rootfs \
		bash -c 'timeout 60 rping -s -a 10.9.0.31 -p 7300 -C 2 & sleep 1
			for try in 1 2 3 4 5; do
				timeout 60 rping -c -a 10.9.0.31 -p 7300 -C 2 -v && break; sleep 2; done; wait $!' |
		tee /dev/stderr | grep -q 'ping data: rdma-ping-1'
}

shared_mode() {
	local status=0
	own_network && pings_itself || status=1
	no_own_network
	return "$status"
}

exclusive_mode() {
	local status=0
	rdma system set netns exclusive && rdma system || return
	own_network || status=1
	says "--network ns:/run/netns/box --device /dev/rdma_cm_alt --device /dev/infiniband/uverbs0" "$1" || status=1
	pings "--device /dev/rdma_cm_alt --device /dev/infiniband/uverbs0" || status=1
	no_own_network
	rdma system set netns shared || status=1
	return "$status"
}

containers() {
	local nodes="--device /dev/rdma_cm_alt --device /dev/infiniband/uverbs0"
	mkdir $rootfs && mount --bind / $rootfs
	check "container: the nodes by --device" pings "$nodes"
	check "container: the nodes by CDI, for an unprivileged user" by_cdi
	check "container: the devices of the directory" pings "--device /dev/infiniband"
	check "container: the directory, with two of its devices allowed" pings \
		"-v /dev/infiniband:/dev/infiniband --device /dev/infiniband/rdma_cm_alt --device /dev/infiniband/uverbs0"
	check "container: without the device the library says what is missing" says \
		"--network=host --device /dev/infiniband/uverbs0" "open /dev/rdma_cm_alt: "
	check "container: too little locked memory" says "--network=host --ulimit memlock=4096:4096 $nodes" "reg_mr failed"
	check "container: a network of its own, devices shared" shared_mode
	check "container: exclusive devices are those of the network namespace" exclusive_mode "no RDMA device"
	umount $rootfs
}
