#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Prints a Container Device Interface (CDI) file for this host, with the device of rdma_cm_alt, and with each
# RDMA device by its name. To use it:
#
#	mkdir -p /etc/cdi
#	sh rdma_cm_alt-cdi.sh >/etc/cdi/rdma_cm_alt.yaml
#	podman run --device rdma-cm-alt/node=cm --device rdma-cm-alt/node=mlx5_0 ...
#
# Repeat this when RDMA devices are added, removed or renamed. With rdma_cm_alt alone the file is the same on
# all hosts. The name "stock" is the stock rdma_cm, for programs that use it; "all" is every device. The name "drop-in"
# is the drop-in library of the host, for an image without it whose C library is at least as new as that of the host; it
# sets LD_LIBRARY_PATH.
set -eu

# node PATH [HOST-PATH]: prints a device node.
node() {
	echo "        - path: \"$1\""
	[ -z "${2-}" ] || echo "          hostPath: \"$2\""
}

# Both names, because some programs use only the one in /dev/infiniband.
cm() {
	node /dev/rdma_cm_alt
	node /dev/infiniband/rdma_cm_alt /dev/rdma_cm_alt
}

stock() {
	[ ! -e /dev/infiniband/rdma_cm ] || node /dev/infiniband/rdma_cm
}

# Prints the entry of the drop-in, if the host has it. The library path of a container is that of no host.
drop_in() {
	for library in /usr/local/lib/rdma_cm_alt/librdmacm.so.1 /usr/lib64/rdma_cm_alt/librdmacm.so.1 \
		/usr/lib/*/rdma_cm_alt/librdmacm.so.1; do
		[ -e "$library" ] || continue
		cat <<-END
		  - name: "drop-in"
		    containerEdits:
		      env:
		        - "LD_LIBRARY_PATH=/opt/rdma_cm_alt"
		      mounts:
		        - hostPath: "${library%/*}"
		          containerPath: "/opt/rdma_cm_alt"
		          options: ["ro", "nosuid", "nodev", "rbind"]
		END
		return
	done
}

# device NAME NODES: prints an entry, unless there are no nodes.
device() {
	[ -n "$2" ] || return 0
	printf '  - name: "%s"\n    containerEdits:\n      deviceNodes:\n%s\n' "$1" "$2"
}

[ -e /dev/rdma_cm_alt ] || echo "rdma_cm_alt-cdi.sh: warning: no /dev/rdma_cm_alt here; modprobe rdma_cm_alt" >&2
echo 'cdiVersion: "0.5.0"'
echo 'kind: "rdma-cm-alt/node"'
echo 'devices:'
device cm "$(cm)"
device stock "$(stock)"
all=$(cm; stock)
for verbs in /sys/class/infiniband_verbs/uverbs*; do
	[ -e "$verbs/ibdev" ] || continue
	nodes=$(node "/dev/infiniband/${verbs##*/}")
	device "$(cat "$verbs/ibdev")" "$nodes"
	all=$(printf '%s\n%s' "$all" "$nodes")
done
device all "$all"
drop_in
