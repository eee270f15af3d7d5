# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The unit of systemd that keeps messages. A guest runs its command: tests/release/record/kept.py."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from checks import EXAMPLES, ROOT, Missing, Unexpected, run

UNIT = EXAMPLES / "rdma-cm-alt-record.service"


def verified() -> None:
    """systemd accepts it, with a program in place of ours, which need not be installed."""
    if not shutil.which("systemd-analyze"):
        raise Missing("systemd-analyze is missing: apt-get install systemd")
    text = UNIT.read_text()
    if len(re.findall(r"^ExecStart=rdma-cm-alt ", text, re.M)) != 1:
        raise Unexpected(f"{UNIT.name} does not start rdma-cm-alt")
    with tempfile.TemporaryDirectory() as where:
        copy = Path(where) / UNIT.name
        copy.write_text(text.replace("ExecStart=rdma-cm-alt ", "ExecStart=true "))
        said = run("systemd-analyze", "verify", "--man=no", str(copy))
        if said:
            raise Unexpected(said)


def device_exists() -> None:
    """The unit is bound to a device that our udev rule gives to systemd."""
    device = re.search(r"^BindsTo=dev-(\w+)\.device$", UNIT.read_text(), re.M)
    rules = (ROOT / "scripts/packaging/udev/90-rdma_cm_alt.rules").read_text()
    if not device or not re.search(rf'^KERNEL=="{device[1]}".*TAG\+="systemd"', rules, re.M):
        raise Unexpected("no udev rule gives the device of the unit to systemd")


TESTS = (("systemd: the unit that keeps messages is accepted", verified),
         ("systemd: the unit starts and ends with the device", device_exists))
