# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The processor time that a process and its descendants have used, which is the same on a busy machine."""

from __future__ import annotations

import os
import select
import subprocess
from pathlib import Path


def _stat(pid: str) -> tuple[int, int]:
    """The parent of a process, and its clock ticks with those of children that it has waited for; nothing if it has gone."""
    try:
        text = Path("/proc", pid, "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0
    # The name of the program may have spaces.
    words = text.rpartition(")")[2].split()
    return int(words[1]), sum(map(int, words[11:15]))


def seconds(pid: int) -> float:
    """Seconds of this process, which may have ended but was not waited for yet."""
    found = {int(name): _stat(name) for name in os.listdir("/proc") if name.isdigit()}
    family, ticks = [pid], 0
    for one in family:
        ticks += found.get(one, (0, 0))[1]
        family += [child for child, (parent, _) in found.items() if parent == one]
    return ticks / os.sysconf("SC_CLK_TCK")


def wait(process: subprocess.Popen, timeout: float | None = None) -> float:
    """Waits until a process has ended or the time is over, and leaves its status; returns the seconds that it has used."""
    ended = os.pidfd_open(process.pid)
    select.select([ended], [], [], timeout)
    os.close(ended)
    return seconds(process.pid)
