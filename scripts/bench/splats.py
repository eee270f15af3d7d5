# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Finds messages that a kernel log must not contain."""

from __future__ import annotations

import re
from pathlib import Path

from . import paths

_SPLAT = re.compile("|".join((
    r"\bBUG:", r"\bBUG\b.*Objects remaining", r"kernel BUG at", r"\bWARNING:", r"\bOops\b",
    r"\bKASAN\b(?!.*initialized)", r"\bUBSAN\b", r"general protection fault", r"unable to handle",
    r"Kernel panic", r"DEBUG_LOCKS_WARN", r"possible (circular|recursive) locking",
    r"inconsistent lock state", r"bad unlock balance", r"held lock freed",
    r"lock held when returning to user", r"suspicious RCU", r"scheduling while atomic",
    r"sleeping function called", r"\bODEBUG:", r"refcount_t:", r"list_(add|del) corruption",
    r"INFO: task .* blocked", r"INFO: .*detected stall", r"self-detected stall", r"soft lockup",
    r"kmemleak: \d+ new suspected", r"unregister_netdevice: waiting",
    r"Invalid (wait|sleep) context", r"usercopy: Kernel memory",
)))
_STAMP = re.compile(r"^(<\d+>)?\[ *\d+\.\d+\](\[ *[TC]\d+\])? *")
# A trace of both processors' registers, interrupt and task stack has this many lines at most.
_TRACE_LINES = 120


def allowed(path: Path = paths.ROOT / "tests/harness/qemu/splats.allow") -> list[re.Pattern[str]]:
    """Returns the patterns of lines that stock kernels print without our module."""
    if not path.exists():
        return []
    return [re.compile(row[0]) for row in paths.table(path, 2)]


def find(log: str, allow: list[re.Pattern[str]]) -> list[str]:
    """Returns the splats in `log`, without time stamps and duplicates."""
    found: dict[str, None] = {}
    for line in log.splitlines():
        text = _STAMP.sub("", line.strip())
        if _SPLAT.search(text) and not any(pattern.search(text) for pattern in allow):
            found[text] = None
    return list(found)


def trace(log: str, allow: list[re.Pattern[str]]) -> str:
    """Returns what the kernel printed from its first splat on, without time stamps and the list of modules."""
    lines = [_STAMP.sub("", line.strip()) for line in log.splitlines()]
    for first, text in enumerate(lines):
        if _SPLAT.search(text) and not any(pattern.search(text) for pattern in allow):
            return "\n".join(line for line in lines[max(first - 2, 0):first + _TRACE_LINES]
                             if line and not line.startswith("Modules linked in:"))
    return ""
