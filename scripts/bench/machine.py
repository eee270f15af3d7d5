# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The machine on which checks and guests run: scripts/in-machine makes and enters it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from . import paths

# Says that this is such a machine (scripts/lib/machine.sh).
MARK = Path("/etc/check-machine")
GROUPS = ("demo", "check", "docs", "packages")
# The series of kernels among the guests of make check that not all releases of Debian have.
SERIES = ("6.1", "6.12")


def enter(more_groups: tuple[str, ...] = (), visible: tuple[Path, ...] = ()) -> None:
    """Starts this program again in such a machine, which sees these directories, too; returns if this is one already,
    or if RCA_HERE says to use this machine as it is.
    """
    if MARK.exists() or os.environ.get("RCA_HERE"):
        return
    line = [str(paths.ROOT / "scripts/in-machine")]
    for group in (*GROUPS, *more_groups):
        line += ["-p", group]
    for place in visible:
        line += ["-b", str(place)]
    os.execv(line[0], [*line, str(Path(sys.argv[0]).resolve()), *sys.argv[1:]])


def own_series() -> list[str]:
    """Returns the series of kernels among the guests of make check that this release of Debian has."""
    return subprocess.run([str(paths.ROOT / "scripts/kernel-fetch"), "-o"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.split()


def missing_series() -> dict[str, str]:
    """Returns the others, each with a sentence that says so."""
    release = next((line.partition("=")[2].strip().strip('"') for line in Path("/etc/os-release").read_text().splitlines()
                    if line.startswith("PRETTY_NAME=")), "this machine")
    return {series: f"{release} has no kernel {series}" for series in SERIES if series not in own_series()}
