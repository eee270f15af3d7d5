# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The commands in README's part to try it, or in a section of another page, and their output."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

TITLE = "## Try it without risk"


@dataclass
class Command:
    """A command; `guest`: in the shell of a guest."""

    text: str
    guest: bool = False
    printed: list[str] = field(default_factory=list)

    def name(self) -> str:
        """The command without its comment, which has a meaning in KTAP."""
        return re.sub(r"\s+# .*", "", self.text)


def _section(page: Path, title: str) -> list[str]:
    """The lines of a section, in Markdown or reStructuredText."""
    lines = page.read_text().splitlines()
    begin = lines.index(title) + 1
    if page.suffix == ".rst":
        heads = [number - 1 for number, line in enumerate(lines) if re.fullmatch("=+", line)]
    else:
        heads = [number for number, line in enumerate(lines) if line.startswith("## ")]
    end = next((number for number in heads if number >= begin), len(lines))
    return lines[begin:end]


def _command_block(lines: list[str]) -> list[Command]:
    """In a block with prompts the other lines are output; in a block without prompts every line is a command."""
    if not any(line.startswith("$ ") for line in lines):
        return [Command(line) for line in lines]
    commands: list[Command] = []
    for line in lines:
        if line[:2] in ("$ ", "# "):
            commands.append(Command(line[2:], line[0] == "#"))
        else:
            commands[-1].printed.append(line)
    return commands


def blocks(page: Path, title: str = TITLE) -> list[list[Command]]:
    """The indented blocks of the section."""
    indent = " " * (2 if page.suffix == ".rst" else 4)
    found: list[list[str]] = []
    inside = False
    for line in _section(page, title):
        indented = line.startswith(indent)
        if indented and not inside:
            found.append([])
        if indented:
            found[-1].append(line[len(indent):])
        inside = indented
    return [_command_block(block) for block in found]


def table(readme: Path) -> list[list[str]]:
    """The rows of system calls per connection near the top: name, client, server, together."""
    rows = re.findall(r"^\| ((?:rdma_cm_alt|stock rdma_cm)) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$",
                      readme.read_text(), re.MULTILINE)
    return [list(row) for row in rows]
