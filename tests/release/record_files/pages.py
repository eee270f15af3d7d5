# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The commands of Documentation/seeing.rst and what they print.

They are the lines that begin with "$ " in its indented blocks; the lines after one are its output.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dissect import AS_USER, LUA, Differs

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "Documentation/seeing.rst"
COMMAND = re.compile(r"^(  +)\$ (.*)$")


def _ran(command: str, indent: str) -> Iterator[str]:
    """The lines of a command, run beside the captures and the dissector, indented."""
    with tempfile.TemporaryDirectory() as folder:
        for path in [*(HERE / "captures").iterdir(), LUA]:
            (Path(folder) / path.name).symlink_to(path)
        ran = subprocess.run([*AS_USER, "bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):
        raise Differs(f"{command} ended with {ran.returncode}: {ran.stderr}")
    yield from ((indent + line).rstrip() for line in ran.stdout.splitlines())


def _fresh() -> tuple[list[str], list[str]]:
    """The lines of the page as they are, and with what the commands print now."""
    old, new, commands = PAGE.read_text().splitlines(), [], 0
    at = 0
    while at < len(old):
        new.append(old[at])
        match = COMMAND.match(old[at])
        at += 1
        if not match:
            continue
        commands += 1
        new += _ran(match[2], match[1])
        while at < len(old) and old[at].startswith(match[1]) and not COMMAND.match(old[at]):
            at += 1
    if not commands:
        raise Differs("the page has no command")
    return old, new


def compare() -> None:
    old, new = _fresh()
    for number, (shown, printed) in enumerate(zip(old, new), 1):
        if shown != printed:
            raise Differs(f"line {number} is\n{shown}\nand the command prints\n{printed}")
    if len(old) != len(new):
        raise Differs(f"the page has {len(old)} lines, with what the commands print {len(new)}")


def write() -> None:
    PAGE.write_text("\n".join(_fresh()[1]) + "\n")
