# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A parser for the part of syzkaller's language that scripts/gen-syzkaller writes: declarations, and sizes of types."""

from __future__ import annotations

import re

# What syzkaller itself describes.
KNOWN_SIZES = {"fd": 4, "sockaddr_in": 16, "sockaddr_in6": 28}
KNOWN_FLAGS = ("mmap_prot", "mmap_flags")


class SyzlangError(Exception):
    """The text is not valid."""


def split(text: str) -> list[str]:
    """The parts between commas that are outside of brackets and strings."""
    parts, depth, start, quoted = [], 0, 0, False
    for at, char in enumerate(text):
        quoted ^= char == '"'
        depth += not quoted and (char == "[") - (char == "]")
        if depth < 0:
            raise SyzlangError(f"{text}: a bracket too many")
        if char == "," and not depth and not quoted:
            parts.append(text[start:at].strip())
            start = at + 1
    if depth or quoted:
        raise SyzlangError(f"{text}: a bracket or quote is open")
    return [*parts, text[start:].strip()] if text.strip() else []


class Description:
    """A description, by kind of declaration."""

    def __init__(self, text: str) -> None:
        self.resources: dict[str, str] = {}
        self.flags: dict[str, list[str]] = {}
        self.calls: dict[str, list[tuple[str, str]]] = {}
        self.structs: dict[str, list[tuple[str, str]]] = {}
        self.unions: dict[str, list[tuple[str, str]]] = {}
        self.fixed: dict[str, int] = {}  # templates with a size
        text = re.sub(r"^#.*\n", "", text, flags=re.M)
        for block in re.finditer(r"^(type )?(\w+)(\[\w+\])? ([{\[])\n(.*?)^[}\]](?: \[size\[(\d+)\]\])?\n", text, re.M | re.S):
            template, name, _, kind, body, size = block.groups()
            if template:
                self.fixed[name] = int(size or 0)
            else:
                self._new(name)
                (self.structs if kind == "{" else self.unions)[name] = [self._member(line) for line in body.splitlines()]
            text = text.replace(block[0], "")
        for line in filter(None, text.splitlines()):
            self._line(line)

    def _new(self, name: str) -> None:
        if name in self.structs or name in self.unions or name in self.resources or name in self.flags:
            raise SyzlangError(f"{name} is declared twice")

    @staticmethod
    def _member(line: str) -> tuple[str, str]:
        match = re.fullmatch(r"\t(\w+)\t([^\t]+)(?:\t\((?:in|out|inout)\))?", line)
        if not match:
            raise SyzlangError(f"no member: {line}")
        return match[1], match[2]

    def _line(self, line: str) -> None:
        if re.fullmatch(r"include <[\w/.]+>", line):
            return
        if match := re.fullmatch(r"resource (\w+)\[(\w+)\](?:: .+)?", line):
            self._new(match[1])
            self.resources[match[1]] = match[2]
        elif match := re.fullmatch(r"(\w+) = (.+)", line):
            self._new(match[1])
            self.flags[match[1]] = split(match[2])
        elif match := re.fullmatch(r"(\w+\$\w+)\((.*)\)(?: (\w+))?", line):
            if match[3] and match[3] not in self.resources:
                raise SyzlangError(f"{match[1]} makes {match[3]}, which is no resource")
            args = [arg.split(" ", 1) for arg in split(match[2])]
            self.calls[match[1]] = [(name, kind) for name, kind in args]
        else:
            raise SyzlangError(f"no declaration: {line}")

    def size(self, kind: str, siblings: list[str]) -> int | None:
        """The size of a type; None: it varies. All names in the type must be declared."""
        match = re.fullmatch(r"(\w+)(?:\[(.*)\])?", kind)
        if not match:
            raise SyzlangError(f"no type: {kind}")
        name, args = match[1], split(match[2] or "")
        if number := re.fullmatch(r"int(8|16|32|64)(?:be)?", name):
            return int(number[1]) // 8
        if name in ("const", "flags"):
            if name == "flags" and args[0] not in self.flags and args[0] not in KNOWN_FLAGS:
                raise SyzlangError(f"there are no flags {args[0]}")
            return self.size(args[1], siblings) if len(args) > 1 else None
        if name in ("len", "bytesize"):
            if args[0] not in siblings and args[0] != "parent":
                raise SyzlangError(f"{kind}: there is no {args[0]}")
            return self.size(args[1], siblings) if len(args) > 1 else None
        if name in ("ptr", "ptr64"):
            if args[0] not in ("in", "out", "inout"):
                raise SyzlangError(f"{kind}: no direction")
            self.size(args[1], siblings)
            return 8
        if name == "array":
            each = self.size(args[0], siblings)
            return each * int(args[1], 0) if each and args[1].isdigit() else None
        if name in ("string", "buffer", "vma", "fileoff"):
            return None
        if name in self.fixed:
            self.size(args[0], siblings)
            return self.fixed[name]
        if name in self.resources:
            return self.size(self.resources[name], siblings)
        if name in KNOWN_SIZES:
            return KNOWN_SIZES[name]
        if name in self.structs:
            members = [member for member, _ in self.structs[name]]
            sizes = [self.size(kind, members) for _, kind in self.structs[name]]
            return None if None in sizes else sum(sizes)
        if name in self.unions:
            return max(self.size(kind, []) or 0 for _, kind in self.unions[name])
        raise SyzlangError(f"there is no type {name}")
