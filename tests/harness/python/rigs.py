# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Fabrics beside that of the rig, which a suite sets up for some of its tests: soft-iWARP, and software InfiniBand."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from stacks import ROOT

# Functions of tests/harness/guest that set a fabric up, and remove it.
_FABRICS = {"siw": ("siw.sh", "siw_up", "siw_down"), "ib": ("hca.sh", "hca_up && hca_split", "hca_down"),
            "ib-alone": ("hca.sh", "hca_up 1", "hca_down")}


def gid(number: int) -> str:
    """The GID of a software InfiniBand adapter; without it, only a name."""
    path = Path(f"/sys/class/infiniband/hca{number}/ports/1/gids/0")
    return path.read_text().strip() if path.exists() else f"GID{number}"


def _function(script: str, commands: str) -> str:
    """Run functions of a script; returns the error, "" for none."""
    text = f". tests/harness/guest/rig.sh; . tests/harness/guest/{script}; {commands}"
    done = subprocess.run(["bash", "-c", text], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return (done.stdout.strip() or f"{commands} failed") if done.returncode else ""


def switch_ucm(on: bool) -> None:
    """The device of librdmacm is that of our module, or again of stock's."""
    why = _function("rig.sh", f"rig_switch_ucm {int(on)}")
    if why:
        raise SystemExit(f"rig_switch_ucm: {why}")


def up(fabrics: Iterable[str]) -> dict[str, str]:
    """Set these fabrics up ("" is that of the rig); returns those that this guest does not have, with the reason."""
    missing = {}
    for fabric in sorted(set(fabrics) - {""}):
        script, begin, _end = _FABRICS[fabric]
        missing[fabric] = _function(script, begin)
    return {fabric: why for fabric, why in missing.items() if why}


def down(fabrics: Iterable[str]) -> None:
    """Remove what up() has set up."""
    for fabric in sorted(set(fabrics) - {""}):
        script, _begin, end = _FABRICS[fabric]
        _function(script, end)
