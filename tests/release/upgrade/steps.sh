# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# The upgrade of the kernel of a machine with our packages: on_the_old before the boot, on_the_new after it. As
# KTAP, with the functions of tests/harness/guest/ktap.sh.

export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
dropin=/usr/lib/x86_64-linux-gnu/rdma_cm_alt
packages="rdma-cm-alt-dkms rdma-cm-alt librdmacm-alt1 librdmacm-alt-dev librdmacm-alt-dropin"

# releases: prints the releases of the installed kernels, the oldest first.
releases() {
	find /boot -name 'vmlinuz-*' | sed 's/.*vmlinuz-//' | sort -V
}

# has RELEASE: DKMS has installed the module for this kernel.
has() {
	dkms status
	dkms status rdma_cm_alt -k "$1" | grep -q ': installed$' &&
		[ -n "$(find "/lib/modules/$1/updates/dkms" -name 'rdma_cm_alt.ko*')" ]
}

runs() {
	uname -r
	[[ "$(uname -r)" = "$1".* ]]
}

packages_install() {
	apt-get -y install /srv/ours/*.deb && has "$(uname -r)"
}

device() {
	modprobe -a dummy rdma_rxe rdma_ucm && ip link add d0 type dummy && ip link set d0 up &&
		ip addr add 10.9.0.1/24 dev d0 && rdma link add rxe0 type rxe netdev d0
}

# An unmodified program without access to the stock device.
works() {
	local server
	ulimit -l unlimited
	export LD_LIBRARY_PATH=$dropin
	mount --bind /dev/null /dev/infiniband/rdma_cm
	timeout 120 rping -s -a 10.9.0.1 -C 3 &
	server=$!
	sleep 5
	timeout 120 rping -c -a 10.9.0.1 -C 3 -v | tee /dev/stderr | grep -q rdma-ping-2 && wait "$server"
}

# From packages that were downloaded before.
kernel_installs() {
	apt-get -y --no-install-recommends -o Dir::Cache::archives=/srv/kernel \
		install linux-image-6.12-amd64 linux-headers-6.12-amd64 && releases && [ "$(releases | wc -l)" -eq 2 ] &&
		has "$(releases | tail -n 1)" && has "$(uname -r)"
}

# The kernel and the initrd that a boot loader would use.
next_boot() {
	cp "$(readlink -f /vmlinuz)" /out/vmlinuz && cp "$(readlink -f /initrd.img)" /out/initrd.img
}

# systemd has loaded the module that DKMS has installed. udev may take longer than its clients wait.
loaded_at_boot() {
	udevadm settle --timeout=300
	ls -l /dev/rdma_cm_alt /dev/infiniband/
	modinfo -n rdma_cm_alt
	cat /sys/module/rdma_cm_alt/version && [ -c /dev/rdma_cm_alt ] && [ -c /dev/infiniband/rdma_cm_alt ] &&
		[[ "$(modinfo -n rdma_cm_alt)" = "/lib/modules/$(uname -r)/updates/dkms/"* ]]
}

old_kernel_goes() {
	local old
	old=$(releases | head -n 1)
	[ "$old" != "$(uname -r)" ] || return
	apt-get -y purge linux-image-amd64 linux-headers-amd64 "linux-image-$old" "linux-headers-$old" &&
		! dkms status | grep -F "$old" && [ -z "$(find /lib/modules -path "*$old*" -name 'rdma_cm_alt*')" ] &&
		has "$(uname -r)"
}

removal() {
	local left
	# shellcheck disable=SC2086
	rmmod rdma_cm_alt && udevadm settle && apt-get -y purge $packages || return
	left=$(find /dev /etc /usr /lib/modules /var -xdev -regex '.*rdma[_-]?cm[_-]alt.*')
	[ -z "$left" ] || { echo "left: $left"; return 1; }
}

on_the_old() {
	check "the machine runs 6.1" runs 6.1
	check "the packages install, and DKMS builds for 6.1" packages_install || ktap_end
	check "a soft-RoCE device comes up" device
	check "the module loads" modprobe rdma_cm_alt
	check "a program runs over it" works
	check "6.12 installs, and its hooks have DKMS build for it" kernel_installs
	check "6.12 is what boots next" next_boot
	ktap_end
}

on_the_new() {
	check "the machine runs 6.12" runs 6.12
	check "the module was loaded at boot" loaded_at_boot
	check "a soft-RoCE device comes up" device
	check "a program runs over it" works
	check "the old kernel is removed, and the module for it with it" old_kernel_goes
	check "removal of the packages leaves nothing" removal
	ktap_end
}
