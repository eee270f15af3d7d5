# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Finds out by booting whether this machine can accelerate a guest; /dev/kvm alone proves nothing."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from . import paths

TCG = ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off"]
KVM = ["-accel", "kvm", "-cpu", "host"]
PROBE_SECONDS = 20


def _boots_with_kvm(kernel: Path) -> bool:
    """A kernel without a root panics within seconds when it runs at all."""
    command = ["qemu-system-x86_64", "-machine", "pc", *KVM, "-m", "512", "-nodefaults",
               "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio",
               "-kernel", str(kernel), "-append", "console=ttyS0 panic=-1"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=PROBE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return b"Kernel panic - not syncing" in done.stdout


def arguments(kernel: Path) -> list[str]:
    """QEMU's arguments for the fastest processor that works here; kept until the next boot."""
    forced = os.environ.get("RCA_ACCEL")
    if forced:
        return KVM if forced == "kvm" else TCG
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    verdict = paths.cache() / "accel"
    try:
        known = verdict.read_text().split()
    except FileNotFoundError:
        known = []
    if len(known) != 2 or known[0] != boot:
        works = os.access("/dev/kvm", os.R_OK | os.W_OK) and _boots_with_kvm(kernel)
        known = [boot, "kvm" if works else "tcg"]
        with tempfile.NamedTemporaryFile("w", dir=verdict.parent, delete=False) as new:
            new.write(" ".join(known) + "\n")
        os.replace(new.name, verdict)
    return KVM if known[1] == "kvm" else TCG
