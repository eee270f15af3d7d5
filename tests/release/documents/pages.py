# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The blocks of commands in the documents that say in which scene they run.

Such a block follows a comment with the name of the scene, a function of scenes.sh:

  .. commands in: refused

  ::

    $ rdma-cm-alt explain ADDRESS:PORT        # exits with 1
    ...
    Try
      - start the server

A line with "$ " is typed by an ordinary user, one with "# " by root; a comment may name the status that it ends with.
The other lines are output: the command prints them in this order, and "..." stands for any lines. Numbers are not
compared. What follows "[y/N]" in the output is typed, too: the command is at a terminal then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

MARK = re.compile(r"^\.\. commands in: ([\w-]+)$")
ANSWER = re.compile(r"\[y/N\] (\w+)$")
EXITS = re.compile(r"# exits with (\d+)\b")


class PageError(Exception):
    """A page has a block that cannot be tested; the text says where and why."""


@dataclass
class Command:
    """A command and the output that the page shows."""

    text: str
    root: bool
    line: int
    status: int = 0
    printed: list[str] = field(default_factory=list)

    def answer(self) -> str:
        """What the page types when the command asks; empty if it does not."""
        return next((match[1] for line in self.printed if (match := ANSWER.search(line))), "")


@dataclass
class Block:
    """Commands that run one after the other in a scene."""

    scene: str
    line: int
    commands: list[Command] = field(default_factory=list)


def _literal(lines: list[str], start: int) -> tuple[int, list[tuple[int, str]]]:
    """Returns the end of the indented block that begins at or after a line, and its numbered lines."""
    begin = start
    while begin < len(lines) and not lines[begin].strip():
        begin += 1
    end, found = begin, []
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith("  ")):
        found.append((end + 1, lines[end].strip("\n")))
        end += 1
    while found and not found[-1][1].strip():
        found.pop()
    return end, found


def _commands(page: Path, numbered: list[tuple[int, str]]) -> list[Command]:
    indent = min((len(text) - len(text.lstrip()) for _, text in numbered if text.strip()), default=0)
    commands: list[Command] = []
    for number, text in numbered:
        text = text[indent:]
        if text[:2] in ("$ ", "# "):
            exits = EXITS.search(text)
            commands.append(Command(re.sub(r"\s{2,}# .*", "", text[2:]), text[0] == "#", number,
                                    int(exits[1]) if exits else 0))
        elif commands:
            commands[-1].printed.append(text)
        elif text.strip():
            raise PageError(f"{page.name}:{number}: output before the first command")
    return commands


def blocks(page: Path) -> list[Block]:
    """The marked blocks of a page; a page that has one has no block of commands without a mark."""
    lines = page.read_text().splitlines()
    found, bare, scene, number = [], [], None, 0
    while number < len(lines):
        mark = MARK.match(lines[number])
        if mark:
            scene = Block(mark[1], number + 1)
        if not lines[number].rstrip().endswith("::") or lines[number].lstrip().startswith(".. "):
            number += 1
            continue
        number, literal = _literal(lines, number + 1)
        commands = _commands(page, literal) if scene else []
        if scene and not commands:
            raise PageError(f"{page.name}:{scene.line}: no command follows")
        if scene:
            scene.commands = commands
            found.append(scene)
        elif any(text.lstrip()[:2] in ("$ ", "# ") for _, text in literal):
            bare.append(literal[0][0])
        scene = None
    if scene:
        raise PageError(f"{page.name}:{scene.line}: no block follows")
    if found and bare:
        raise PageError(f"{page.name}:{bare[0]}: commands without a scene; write '.. commands in: SCENE' before them")
    return found
