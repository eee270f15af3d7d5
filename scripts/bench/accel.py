# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Determines whether KVM works, by booting a guest: an accessible /dev/kvm alone does not prove it.

Without KVM, QEMU emulates the processor (TCG). Where the processor has ERMS, kernels copy with "rep movsb", which
QEMU 7.2 emulates byte by byte: the guest therefore does not see ERMS.

A thread for each processor is not safe for a kernel that patches its own code at run time, as Debian's kernels do
(jump labels). If a processor translates a page while another one writes to it, it may keep the old code, and then hit
the breakpoint that was there temporarily ("Oops: int3"). Toggling /proc/sys/kernel/sched_schedstats in a loop on a
busy guest triggers this within a second. QEMU 10 fails less often, but still fails. Such a kernel therefore gets one
thread for all of its processors, which run in turn.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from . import paths

TCG_CPU = ["-cpu", "max,la57=off,erms=off,fsrm=off"]
KVM = ["-accel", "kvm", "-cpu", "host"]
PROBE_SECONDS = 20


def _boots_with_kvm(kernel: Path) -> bool:
    """Boots the kernel without a root file system: if KVM works, it panics within seconds."""
    command = ["qemu-system-x86_64", "-machine", "pc", *KVM, "-m", "512", "-nodefaults",
               "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio",
               "-kernel", str(kernel), "-append", "console=ttyS0 panic=-1"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=PROBE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return b"Kernel panic - not syncing" in done.stdout


def _patches_itself(config: Path) -> bool:
    return "CONFIG_JUMP_LABEL=y" in config.read_text().splitlines()


def _tcg(kernel: Path, parallel: bool) -> list[str]:
    single = _patches_itself(kernel / "config") and not parallel
    return ["-accel", f"tcg,thread={'single' if single else 'multi'}", *TCG_CPU]


def arguments(kernel: Path, parallel: bool = False) -> list[str]:
    """Returns QEMU's arguments for the fastest processor that works; the result is cached until the next reboot.

    `kernel` is the directory of the guest's kernel. With `parallel`, which measurements need, the processors run at
    the same time in spite of the risk above.
    """
    forced = os.environ.get("RCA_ACCEL")
    if forced:
        return KVM if forced == "kvm" else _tcg(kernel, parallel)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    verdict = paths.cache() / "accel"
    try:
        known = verdict.read_text().split()
    except FileNotFoundError:
        known = []
    if len(known) != 2 or known[0] != boot:
        works = os.access("/dev/kvm", os.R_OK | os.W_OK) and _boots_with_kvm(kernel / "vmlinuz")
        known = [boot, "kvm" if works else "tcg"]
        with tempfile.NamedTemporaryFile("w", dir=verdict.parent, delete=False) as new:
            new.write(" ".join(known) + "\n")
        os.replace(new.name, verdict)
    return KVM if known[1] == "kvm" else _tcg(kernel, parallel)
