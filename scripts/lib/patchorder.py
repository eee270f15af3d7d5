# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Finds out, without building each patch, whether a patch of a series needs a symbol that only a later one defines."""

from pathlib import Path


def read(symbols: Path) -> list[tuple[str, str, str]]:
    """Returns source file, kind and name of each symbol of the module: scripts/build-module lists them ("nm -gA")."""
    found = []
    for line in symbols.read_text().splitlines():
        place, rest = line.split(":", 1)
        if place.startswith("kernel/"):
            *_, kind, name = rest.split()
            found.append((place.removeprefix("kernel/").removesuffix(".o") + ".c", kind, name))
    return found


def too_early(symbols: Path, number: dict[str, int]) -> list[str]:
    """Returns what is wrong with an order: the number of the patch of each file."""
    listed = read(symbols)
    owner = {name: file for file, kind, name in listed if kind != "U"}
    return [f"{file}, in patch {number[file]}, needs {name} of {owner[name]}, in patch {number[owner[name]]}"
            for file, kind, name in listed
            if kind == "U" and name in owner and number[owner[name]] > number[file]]
