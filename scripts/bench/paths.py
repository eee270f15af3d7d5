# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Paths: the tree, the cache outside of it, and the table of guests."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
RUN = BUILD / "run"
# The guest with the last of the series of kernels that scripts/kernel-fetch -l lists.
NEWEST = "newest"


class BenchError(Exception):
    """An error message for the user, in one sentence."""


def cache() -> Path:
    """Returns the directory that keeps kernels and cached results between runs."""
    if "RCA_CACHE" in os.environ:
        return Path(os.environ["RCA_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "rdma_cm_alt"


def kernel_dir(guest: str) -> Path:
    """Returns the kernel of a guest that scripts/kernel-fetch or scripts/kernel-build has provided."""
    path = cache() / "kernels" / guest
    if not (path / "complete").exists():
        raise BenchError(f"there is no kernel for guest '{guest}' in {cache()}; run scripts/setup")
    return path


def is_program(kernel: Path) -> bool:
    """Whether this kernel is User-mode Linux, which runs as a program of the host."""
    arch = kernel / "arch"
    return arch.exists() and arch.read_text().strip() == "um"


@dataclass(frozen=True)
class GuestSpec:
    """A line of tests/harness/qemu/guests.conf."""

    name: str
    memory: int
    append: str
    about: str


def table(path: Path, columns: int) -> list[list[str]]:
    r"""Read a data file of lines "a | b | c"; # starts a comment line, \| is a bar in a cell."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = [cell.strip().replace(r"\|", "|")
                 for cell in re.split(r"(?<!\\)\|", line, maxsplit=columns - 1)]
        if len(cells) != columns:
            raise BenchError(f"{path}:{number}: {len(cells)} columns, {columns} are needed")
        rows.append(cells)
    return rows


def guests() -> dict[str, GuestSpec]:
    """Returns all guests by name, in the order of the file; after them the other series of kernels of the cache."""
    rows = table(ROOT / "tests/harness/qemu/guests.conf", 4)
    found = {row[0]: GuestSpec(row[0], int(row[1]), row[2], row[3]) for row in rows}
    for path in sorted((cache() / "kernels").glob("[0-9]*.[0-9]*"), key=lambda path: _numbers(path.name)):
        found.setdefault(path.name, replace(found[NEWEST], name=path.name))
    return found


def _numbers(series: str) -> list[int]:
    return [int(part) for part in series.split(".")]


def canonical(guest: str) -> str:
    """Returns the guest's name in the files of suites: newest if it is called by its series."""
    kernels = cache() / "kernels"
    if guest != NEWEST and re.fullmatch(r"[0-9]+\.[0-9]+", guest) and (kernels / guest).exists() and \
            (kernels / guest).resolve() == (kernels / NEWEST).resolve():
        return NEWEST
    return guest
