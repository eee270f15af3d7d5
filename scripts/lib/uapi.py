# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Parses the uAPI headers: comments, enums and structs.

Sizes and offsets come from the C compiler ($CC), so that they are those of compiled programs.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HEADER = ROOT / "uapi/rdma/rdma_cm_alt.h"
NETLINK = ROOT / "uapi/rdma/rdma_cm_alt_netlink.h"
PREFIX = "RDMA_CM_ALT_"

_COMMENT = re.compile(r"^/\*\*\n((?: \*[^\n]*\n)*?) \*/\n(.*?)(?=^/\*\*|\Z)",
                      re.MULTILINE | re.DOTALL)
_ONE_LINE = re.compile(r"^/\*\* (\w+) - (.*?) \*/\n", re.MULTILINE)
_HEAD = re.compile(r"(?:(struct|enum) )?(\w+) - (.*)", re.DOTALL)
_MEMBER = re.compile(r"^\t+(?!\})(?:struct )?(\w+) (\w+)(\[.*\])?;", re.MULTILINE)


class UapiError(Exception):
    """The header has an unexpected form; the text describes the error."""


@dataclass
class Entry:
    """A struct or enum of the header with its comment."""

    kind: str
    name: str
    about: str
    members: dict[str, str] = field(default_factory=dict)
    text: str = ""
    types: dict[str, str] = field(default_factory=dict)

    @property
    def waits(self) -> tuple[str, str]:
        """What an ioctl with this struct waits for: the key of its bound, and a description."""
        found = re.search(r"^Waits for ((?:its |an )?(\w+)[^.]*)\.$", self.text, re.MULTILINE)
        if not found:
            raise UapiError(f"{HEADER.name}: struct {self.name} does not say what it waits for")
        return found[2], found[1]

    @property
    def ioctls(self) -> list[str]:
        """The names, without prefix, of the ioctls that take this struct."""
        return re.findall(rf"ioctl\({PREFIX}(\w+)\)", self.about)


@dataclass
class Header:
    """The parsed header."""

    docs: dict[str, str]
    entries: dict[str, Entry]

    def structs(self) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.kind == "struct"]

    def ioctls(self) -> dict[str, Entry]:
        """Maps names without prefix to structs, in the order of the command numbers."""
        by_name = {name: entry for entry in self.structs() for name in entry.ioctls}
        return {name: by_name[name] for name in self.commands() if name in by_name}

    def bounds(self) -> dict[str, int]:
        """Maps what calls wait for to a bound in seconds."""
        return {name: int(seconds) for name, seconds in
                re.findall(r"^- \*(\w+)\*, (\d+) s:", self.docs["How long calls take"], re.MULTILINE)}

    def commands(self) -> list[str]:
        """Returns the names in enum rdma_cm_alt_cmd, without prefix and without the end marker."""
        names = [name.removeprefix(f"{PREFIX}CMD_")
                 for name in self.entries["rdma_cm_alt_cmd"].members]
        return [name for name in names if name != "END"]


def _parse_comment(lines: list[str]) -> tuple[str, dict[str, str], str]:
    """Returns the first line of a comment, the members, and the text after them."""
    head, members, text = lines[0], {}, []
    current = "head"
    for line in lines[1:]:
        member = re.match(r"@(\w+): (.*)", line)
        if member:
            current = member[1]
            members[current] = member[2]
        elif not line.strip():
            text.append("")
            current = "text"
        elif current == "head":
            head += " " + line.strip()
        elif current == "text":
            text.append(line)
        else:
            members[current] += " " + line.strip()
    return head, members, "\n".join(text).strip()


def read(path: Path = HEADER) -> Header:
    """Parses a header."""
    source = path.read_text()
    header = Header({}, {})
    for comment, code in _COMMENT.findall(_ONE_LINE.sub("", source)):
        lines = [line.removeprefix(" *").removeprefix(" ") for line in comment.splitlines()]
        if lines[0].startswith("DOC: "):
            header.docs[lines[0].removeprefix("DOC: ")] = "\n".join(lines[1:]).strip()
            continue
        head, members, text = _parse_comment(lines)
        found = _HEAD.fullmatch(head)
        if not found or not found[1]:
            raise UapiError(f"{path.name}: a comment begins with '{head}'")
        body = code.split("\n};")[0]
        types = {name: kind + (array or "") for kind, name, array in _MEMBER.findall(body)}
        header.entries[found[2]] = Entry(found[1], found[2], found[3], members, text, types)
    return header


def compiled(program: str) -> str:
    """Returns the output of a C program that includes the headers."""
    with tempfile.TemporaryDirectory() as tmp:
        source, binary = Path(tmp) / "ask.c", Path(tmp) / "ask"
        source.write_text("#include <stddef.h>\n#include <stdio.h>\n"
                          f"#include <rdma/{HEADER.name}>\n#include <rdma/{NETLINK.name}>\n"
                          f"int main(void)\n{{\n{program}\n\treturn 0;\n}}\n")
        subprocess.run([os.environ.get("CC", "gcc"), "-I", str(ROOT / "uapi"), "-o", str(binary),
                        str(source)], check=True)
        return subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout


def layout(header: Header) -> dict[tuple[str, str], tuple[int, int]]:
    """Maps (struct, member) to offset and size; the member "" stands for the struct itself."""
    asked = [(entry.name, member) for entry in header.structs() for member in ("", *entry.types)]
    lines = []
    for struct, member in asked:
        if member:
            lines.append(f'\tprintf("%zu %zu\\n", offsetof(struct {struct}, {member}), '
                         f"sizeof(((struct {struct} *)0)->{member}));")
        else:
            lines.append(f'\tprintf("0 %zu\\n", sizeof(struct {struct}));')
    answers = [tuple(map(int, line.split())) for line in compiled("\n".join(lines)).splitlines()]
    return dict(zip(asked, answers, strict=True))


def table() -> dict[str, tuple[str, str]]:
    """Maps each command in the table of kernel/user/ioctl.c to its struct and last mandatory member."""
    rows = re.findall(r"^\tIOCTL\((\w+),\s*\w+,\s*(\w+),\s*(\w+)",
                      (ROOT / "kernel/user/ioctl.c").read_text(), re.MULTILINE)
    return {name: (struct, last) for name, struct, last in rows}
