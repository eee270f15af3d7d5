# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# What is done on a machine with Secure Boot, by the commands of the document on installation: before in the boot in
# which the key is imported, after in the one after its enrolment. As KTAP, in a guest.

document=Documentation/packaging.rst
keys=/out/keys
mok=/var/lib/dkms
refusal="Key was rejected by service"

# documented TEXT: the only command of the document that contains it, with paths of this machine.
documented() {
	local found
	found=$(sed -nE 's/^ +[$#] //p' $document | grep -F -- "$1" | sed 's/  *#.*//')
	if [ "$(grep -c . <<<"$found")" -ne 1 ]; then
		echo "of commands with '$1' there is not one in $document, but: $found" >&2
		return 1
	fi
	found=${found//KEYS/$keys}
	# The headers are in the cache, not where the kernel's package installs them.
	# shellcheck disable=SC2016
	found=${found/'/lib/modules/$(uname -r)/build'/$RCA_KERNEL/build}
	echo "${found/ rdma_cm_alt.ko/ \$module}"
}

# does TEXT: executes that command.
does() {
	local command
	command=$(documented "$1") || return
	echo "$command"
	eval "$command"
}

# The directory of DKMS with a key, which both boots have.
firmware() {
	mkdir -p $keys $mok && chmod 700 $keys && mount --bind $keys $mok &&
		mount -t efivarfs efi /sys/firmware/efi/efivars && mount -t securityfs security /sys/kernel/security
}

secure() {
	does "mokutil --sb-state" | tee /dev/stderr | grep -qx "SecureBoot enabled"
}

locked() {
	cat /sys/kernel/security/lockdown
	grep -q '\[integrity\]' /sys/kernel/security/lockdown
}

# sign KEY: a copy of the module, signed with this key of the directory; prints its path.
sign() {
	local keys=$1 module=/tmp/$2/rdma_cm_alt.ko
	mkdir -p "/tmp/$2" && cp "$RIG_MODULE" "$module" && does "scripts/sign-file sha256" >&2 && echo "$module"
}

# refused MODULE: the kernel rejects it because of its key, with the message of the document.
refused() {
	local said
	grep -qF "'rdma_cm_alt': $refusal" $document || return
	said=$(LC_ALL=C RIG_MODULE=$1 rig_load 2>&1) && return 1
	echo "$said"
	grep -qF "$refusal" <<<"$said" && [ ! -e /dev/rdma_cm_alt ]
}

refused_signed() {
	local module
	module=$(sign "$1" "$2") && refused "$module"
}

# mokutil asks for the password twice, at a terminal.
imports() {
	PYTHONDONTWRITEBYTECODE=1 python3 - "$(documented "mokutil --import")" "$PASSWORD" <<'END'
import sys
import pexpect
said, status = pexpect.run(sys.argv[1], events={"password": sys.argv[2] + "\n"}, timeout=120, withexitstatus=True)
print(said.decode())
sys.exit(status)
END
}

is_pending() {
	mokutil --list-new | grep -q "CN=my modules"
}

trusted() {
	does "mokutil --test-key" | tee /dev/stderr | grep -q "already enrolled"
}

loads() {
	local module
	module=$(sign $keys trusted) && modinfo -F signer "$module" | grep -x "my modules" &&
		RIG_MODULE=$module rig_load && [ -c /dev/rdma_cm_alt ]
}

# An unmodified program, under lockdown.
works() {
	local server
	rig_up || return
	export LD_LIBRARY_PATH=$RCA_ROOT/build/dropin
	timeout 60 rping -s -a 10.9.0.1 -C 3 &
	server=$!
	sleep 2
	timeout 60 rping -c -a 10.9.0.1 -C 3 -v | tee /dev/stderr | grep -q rdma-ping-2 && wait "$server"
}

# creates DIRECTORY
creates() {
	local keys=$1
	mkdir -p "$keys" && does "openssl req"
}

another_key() {
	creates /tmp/other && refused_signed /tmp/other other
}

before() {
	check "firmware variables" firmware
	check "Secure Boot is on" secure
	check "the kernel is locked down" locked
	check "an unsigned module is refused" refused "$RIG_MODULE"
	check "a key is created" creates $keys
	check "a module that is signed with it is refused" refused_signed $keys mine
	check "the key is imported" imports
	check "the key waits for its enrolment" is_pending
	ktap_end
}

after() {
	check "firmware variables" firmware
	check "Secure Boot is on" secure
	check "the kernel is locked down" locked
	check "the key is enrolled" trusted
	check "an unsigned module is refused" refused "$RIG_MODULE"
	check "a module that is signed with another key is refused" another_key
	check "a module that is signed with the key is loaded" loads
	check "a program runs over it" works
	ktap_end
}
