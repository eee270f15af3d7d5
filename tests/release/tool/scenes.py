# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The scenes of Documentation/seeing.rst: rdma-cm-alt prints what the document shows.

Times, varying numbers and blanks are not compared.
"""

from __future__ import annotations

import re
from pathlib import Path

from host import (ELSEWHERE, HERE, HOLD, NOBODY, NODE, ROOT, SILENT, Running, Unexpected, connection,
                  ids, monitor, mute, run, shell, until)
from transport import trunks

RESULTS = ROOT / "tests/release/tool/shown"


def typed(line: str, uid: int = 0) -> str:
    """A command with its prompt, and its output."""
    # On a terminal, which keeps the order of standard output and standard error.
    said = run("script", "-qec", f"PATH=/usr/local/bin:$PATH NO_COLOR=1; export PATH NO_COLOR; {line}",
               "/dev/null", uid=uid)
    text = said.out.replace("\r", "")
    return f"{'#' if not uid else '$'} {line}\n{text}"


def healthy() -> str:
    """A connection."""
    server, client = connection()
    with server, client:
        return "\n".join(typed(f"rdma-cm-alt {what}") for what in (
            "show", "show listeners", "show queues", f"check {HERE}"))


def refused() -> str:
    """A port without listener. No peer is known, whatever the tests before have done."""
    shell("rig_unload && rig_load")
    with trunks(False):
        return typed(f"rdma-cm-alt run ucmatose -s {HERE} -p 9999") + "\n" + \
            typed(f"rdma-cm-alt explain {HERE}:9999 -n 1")


def unreachable() -> str:
    """A neighbour that does not answer."""
    return typed(f"rdma-cm-alt run ucmatose -s {SILENT}") + "\n" + typed(f"rdma-cm-alt explain {SILENT} -n 1")


def waiting() -> str:
    """A peer whose connection manager does not answer, while the program waits."""
    with mute("10.7.0.98"), Running(HOLD, "wait", "10.7.0.98"):
        until("it waits", lambda: ids("-s", "req-sent"))
        return typed("rdma-cm-alt explain 10.7.0.98")


def wrong_address() -> str:
    """No route."""
    return typed(f"rdma-cm-alt run ucmatose -s {ELSEWHERE}") + "\n" + \
        typed(f"rdma-cm-alt explain {ELSEWHERE} -n 1")


def no_module() -> str:
    """The module is not loaded."""
    shell("rig_unload")
    try:
        return "\n".join(typed(f"rdma-cm-alt {what}") for what in ("show", "check"))
    finally:
        shell("rig_load")


def no_permission() -> str:
    """A device node without permission."""
    mode = NODE.stat().st_mode & 0o777
    NODE.chmod(0o600)
    try:
        return typed(f"rdma-cm-alt run ucmatose -s {HERE}", uid=NOBODY) + "\n" + \
            typed("rdma-cm-alt check", uid=NOBODY)
    finally:
        NODE.chmod(mode)


def monitored() -> str:
    """The output of monitor for a connection that is rejected."""
    with monitor() as watching:
        typed(f"rdma-cm-alt run ucmatose -s {HERE} -p 9999")
        until("it tells of the end", lambda: "REJECTED" in watching.said())
        return "# rdma-cm-alt monitor\n" + watching.end()


SCENES = {
    "healthy": healthy,
    "refused": refused,
    "unreachable": unreachable,
    "waiting": waiting,
    "wrong-address": wrong_address,
    "no-module": no_module,
    "no-permission": no_permission,
    "monitor": monitored,
}

# Values that differ from run to run.
CHANGES = (
    (re.compile(r"\d\d:\d\d:\d\d\.\d+"), "TIME"),
    (re.compile(r"for \d+\.\d s"), "for N s"),
    (re.compile(r"\b\d+/\d+\b"), "ID"),
    (re.compile(r"(?<=[\d\]]:)\d{5}\b"), "PORT"),
    (re.compile(r"rdma_cm_alt \d+\.\d+\.\d+"), "rdma_cm_alt VERSION"),
    (re.compile(r"(?<!\S)\d+(?!\S)"), "N"),
    # The state of a neighbour for a second.
    (re.compile(r"\bincomplete\b"), "failed"),
    (re.compile(r"[ \t]+"), " "),
)


def plain(text: str) -> list[str]:
    """The lines without the values that differ."""
    for pattern, word in CHANGES:
        text = pattern.sub(word, text)
    return [line.strip() for line in text.splitlines()]


def record(directory: Path) -> None:
    """Write all scenes."""
    for name, scene in SCENES.items():
        (directory / f"{name}.txt").write_text(scene())


def told(lines: list[str]) -> tuple[list[str], list[str]]:
    """The events of the monitor, and its other lines, each in their order."""
    is_event = re.compile(r" rxe\d/1 [A-Z]").search
    return [line for line in lines if is_event(line)], [line for line in lines if not is_event(line)]


def compare(name: str) -> None:
    """A scene prints what the documentation has."""
    wanted = plain((RESULTS / f"{name}.txt").read_text())
    seen = plain(SCENES[name]())
    # An operation is told of when it returns, which the event of its answer can overtake.
    same = told(seen) == told(wanted) if name == "monitor" else seen == wanted
    if not same:
        raise Unexpected("\n".join(["the documentation has:", *wanted, "it printed:", *seen,
                                    "to take that over: tests/release/tool/run --record DIR"]))


TESTS = tuple((f"documentation: {name}", lambda name=name: compare(name), False) for name in SCENES)
