# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Containers of podman, by the commands of the document on containers. Their root is that of the machine, so no
# image is needed. Sourced by tests/release/packages/guest.

document=Documentation/containers.rst
rootfs=/run/rootfs
# podman's storage is in memory, because the root of a guest is an overlay already.
podman="podman --root /run/pod --runroot /run/podrun --storage-driver vfs --cgroup-manager cgroupfs --events-backend file"
# shellcheck disable=SC2154	# dropin is set in that file
server="env LD_LIBRARY_PATH=$dropin rping -s -a 10.9.0.1 -p PORT -C 2"
client="timeout 60 rping -c -a 10.9.0.1 -p PORT -C 2 -v"
by_node="--network=host \$drop_in --device /dev/rdma_cm_alt"

# documented TEXT: the only command of the document that contains it, with the names of the devices here.
documented() {
	local found
	found=$(sed -e ':a; /\\$/{N; s/\\\n *//; ba}' $document | sed -nE 's/^ +[$#] //p' | grep -F -- "$1")
	if [ "$(grep -c . <<<"$found")" -ne 1 ]; then
		echo "of commands with '$1' there is not one in $document, but: $found" >&2
		return 1
	fi
	found=${found//mlx5_0/rxe0}
	echo "${found//eth0/d0}"
}

# container TEXT PROGRAM [OPTION...]: the documented command that contains TEXT, with more options.
container() {
	local command drop_in nodes=''
	command=$(documented "$1") && eval "$(documented 'drop_in=')" || return
	case $command in
	*/dev/infiniband:*) eval "$(documented 'nodes="--device /dev/infiniband/')" ;;
	*) eval "$(documented 'nodes="--device /dev/rdma_cm_alt')" ;;
	esac
	command=${command/podman run/$podman run --rm --env RDMA_CM_ALT_DEBUG=1}
	command=${command/\$drop_in/$drop_in "${*:3}"}
	command=${command/\$nodes/$nodes}
	# Quoted, because "&" stands for the replaced text otherwise.
	echo "${command/IMAGE PROGRAM/"--rootfs $rootfs $2"}"
}

# pings TEXT [OPTION...]: a client in a container connects to a server outside.
pings() {
	local command
	command=$(container "$1" "$client" "${@:2}") || return
	echo "$command"
	with_server "$server" "$command" | tee /dev/stderr | grep -q 'ping data: rdma-ping-1'
}

# Makes the CDI file for the devices of the machine.
cdi_file() {
	eval "$(documented 'mkdir -p /etc/cdi')" && eval "$(documented 'rdma_cm_alt-cdi.sh')" && cat /etc/cdi/rdma_cm_alt.yaml
}

# nodes_in TEXT [OPTION...]: the device nodes in a container.
nodes_in() {
	eval "$(container "$1" "find /dev -name 'rdma_cm*' -o -name 'uverbs*'" "${@:2}")" | sort | xargs
}

by_cdi() {
	local both="/dev/infiniband/rdma_cm_alt /dev/infiniband/uverbs0 /dev/rdma_cm_alt" found
	cdi_file && pings "node=mlx5_0" "--user 65534:65534" || return
	found=$(nodes_in "node=mlx5_0")
	[ "$found" = "$both" ] || { echo "one device: $found"; return 1; }
	found=$(nodes_in "node=mlx5_0" "--device rdma-cm-alt/node=all")
	[ "$found" = "/dev/infiniband/rdma_cm ${both/uverbs0/uverbs0 \/dev\/infiniband\/uverbs1}" ] ||
		{ echo "all: $found"; return 1; }
	pings "node=drop-in" || return
	rm /etc/cdi/rdma_cm_alt.yaml
}

# The command and the capabilities of the container of the DaemonSet that loads the module.
loads_as_in_kubernetes() {
	local options command
	options=$(manifest '" ".join(f"--cap-{how}={one}" for how, all in one["securityContext"]["capabilities"].items() for one in all)')
	command=$(manifest '" ".join(one["command"])') && rmmod rdma_cm_alt || return
	echo "$options: $command"
	# shellcheck disable=SC2086
	$podman run --rm $options --volume /:/host:ro --rootfs $rootfs $command && [ -c /dev/rdma_cm_alt ]
}

# manifest EXPRESSION: the value of a Python expression about the container "one".
manifest() {
	python3 -c "import sys, yaml
daemon_set = next(one for one in yaml.safe_load_all(sys.stdin) if one['kind'] == 'DaemonSet')
one = daemon_set['spec']['template']['spec']['initContainers'][0]
print($1)" <scripts/packaging/examples/kubernetes/rdma_cm_alt.yml
}

# says COMMAND LINE...: a client in a container fails and prints these lines and no others of the library, and
# the document shows each of them. Whether a client waits for its other thread depends on the moment.
says() {
	local said line wanted=("${@:2}")
	said=$(eval "${1//PORT/9}" 2>&1) && return 1
	echo "$said"
	while read -r line; do
		[ -z "$line" ] || wanted+=("$line")
	done < <(grep '^rdma_cm_alt: ' <<<"$said" | grep -v 'waits for rdma_ack_cm_event')
	for line in "${wanted[@]}"; do
		grep -qxF -- "$line" <<<"$said" || { echo "not said: $line"; return 1; }
		sed 's/^ *//' $document | grep -qxF -- "$line" || { echo "not in $document: $line"; return 1; }
	done
}

# The network namespace of the document, and what soft-RoCE needs for it (see tests/fabric/lifetime/namespaces.py).
own_network() {
	local text number
	for text in "ip netns add" "ip link add link" "ip link set boxed" "ip -n box addr" "ip -n box link set boxed"; do
		eval "$(documented "$text")" || return
	done
	ip -n box link set lo up && number=$(ip -n box -o link show boxed | cut -d: -f1) &&
		ip link add box index "$number" type dummy && ip addr add 10.9.0.31/32 dev box && ip link set box up
}

no_own_network() {
	ip netns del box
	ip link del box
	rig_namespaces_gone
}

# Server and client in one container.
pings_itself() {
	local both
	both="timeout 60 rping -s -a 10.9.0.31 -p 7300 -C 2 & sleep 1
		for try in 1 2 3 4 5; do
			timeout 60 rping -c -a 10.9.0.31 -p 7300 -C 2 -v && break; sleep 2; done; wait \$!"
	eval "$(container "--network ns:" "bash -c '$both'")" | tee /dev/stderr | grep -q 'ping data: rdma-ping-1'
}

shared_mode() {
	local status=0
	own_network && pings_itself || status=1
	no_own_network
	return "$status"
}

exclusive_mode() {
	local status=0
	eval "$(documented 'netns exclusive')" && rdma system || return
	own_network || status=1
	says "$(container "--network ns:" "$client")" "$1" || status=1
	pings "$by_node" || status=1
	no_own_network
	rdma system set netns shared || status=1
	return "$status"
}

containers() {
	local short command
	mkdir $rootfs && mount --bind / $rootfs
	check "container: the nodes by --device" pings "$by_node"
	check "container: the nodes by CDI, for an unprivileged user; the drop-in by CDI" by_cdi
	check "container: the devices of the directory" pings "--device /dev/infiniband IMAGE"
	check "container: the directory, with two of its devices allowed" pings "--volume /dev/infiniband:"
	command=$(container "$by_node" "$client")
	check "container: without the device the library says what is missing" says "${command/--device \/dev\/rdma_cm_alt/}" \
		"rdma_cm_alt: open /dev/rdma_cm_alt: No such file or directory; is the module rdma_cm_alt loaded (modprobe rdma_cm_alt)?"
	short=${command/memlock=-1:-1/memlock=4096:4096}
	check "container: too little locked memory" says "$short" "send_buf reg_mr failed" "rping_setup_buffers failed: 12"
	check "container: a network of its own, devices shared" shared_mode
	check "container: exclusive devices are those of the network namespace" exclusive_mode \
		"rdma_cm_alt: no RDMA device in this system; 'rdma link show' lists them"
	check "container: the command of the Kubernetes example loads the module" loads_as_in_kubernetes
	umount $rootfs
}
