# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The scenes of Documentation/seeing.rst: what rdma-cm-alt prints in them is there as it was printed.

A scene passes when it prints that again, but for times, numbers that differ each time, and blanks.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from host import (ELSEWHERE, HERE, HOLD, NOBODY, NODE, ROOT, SILENT, TOOL, Running, Unexpected, connection,
                  has_listener, ids, mute, run, until)

RESULTS = ROOT / "Documentation/results/tool"


def shell(line: str, uid: int = 0) -> str:
    """A command and what it prints, as a terminal has it."""
    # On a terminal, where lines come in the order in which they are printed.
    said = run("script", "-qec", f"PATH=/usr/local/bin:$PATH NO_COLOR=1; export PATH NO_COLOR; {line}",
               "/dev/null", uid=uid)
    text = said.out.replace("\r", "")
    return f"{'#' if not uid else '$'} {line}\n{text}"


def healthy() -> str:
    """A connection."""
    server, client = connection()
    with server, client:
        return "\n".join(shell(f"rdma-cm-alt {what}") for what in (
            "show", "show listeners", "show queues", f"check {HERE}"))


def refused() -> str:
    """Nobody listens."""
    return shell(f"rdma-cm-alt run ucmatose -s {HERE} -p 9999") + "\n" + \
        shell(f"rdma-cm-alt explain {HERE}:9999 -n 1")


def unreachable() -> str:
    """A neighbour that does not answer."""
    return shell(f"rdma-cm-alt run ucmatose -s {SILENT}") + "\n" + shell(f"rdma-cm-alt explain {SILENT} -n 1")


def waiting() -> str:
    """A peer whose connection manager does not answer, while the program waits."""
    with mute("10.7.0.98"), Running(HOLD, "wait", "10.7.0.98"):
        until("it waits", lambda: ids("-s", "req-sent"))
        return shell("rdma-cm-alt explain 10.7.0.98")


def wrong_address() -> str:
    """No route."""
    return shell(f"rdma-cm-alt run ucmatose -s {ELSEWHERE}") + "\n" + \
        shell(f"rdma-cm-alt explain {ELSEWHERE} -n 1")


def no_module() -> str:
    """The module is not loaded."""
    subprocess.run(["rmmod", "rdma_cm_alt"], check=True)
    try:
        return "\n".join(shell(f"rdma-cm-alt {what}") for what in ("show", "check"))
    finally:
        subprocess.run(["bash", "-c", ". tests/harness/guest/rig.sh && rig_load"], check=True, cwd=ROOT)


def no_permission() -> str:
    """The node is not for everybody."""
    mode = NODE.stat().st_mode & 0o777
    NODE.chmod(0o600)
    try:
        return shell(f"rdma-cm-alt run ucmatose -s {HERE}", uid=NOBODY) + "\n" + \
            shell("rdma-cm-alt check", uid=NOBODY)
    finally:
        NODE.chmod(mode)


def monitored() -> str:
    """What monitor prints of a connection that is refused."""
    with Running(TOOL, "monitor", over=False) as watching:
        until("it listens", lambda: has_listener(watching.pid))
        shell(f"rdma-cm-alt run ucmatose -s {HERE} -p 9999")
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

# What differs each time.
CHANGES = (
    (re.compile(r"\d\d:\d\d:\d\d\.\d+"), "TIME"),
    (re.compile(r"for \d+\.\d s"), "for N s"),
    (re.compile(r"\b\d+/\d+\b"), "ID"),
    (re.compile(r"(?<=[\d\]]:)\d{5}\b"), "PORT"),
    (re.compile(r"rdma_cm_alt \d+\.\d+\.\d+"), "rdma_cm_alt VERSION"),
    (re.compile(r"(?<!\S)\d+(?!\S)"), "N"),
    # A neighbour is that for a second.
    (re.compile(r"\bincomplete\b"), "failed"),
    (re.compile(r"[ \t]+"), " "),
)


def plain(text: str) -> list[str]:
    """Lines without what differs each time."""
    for pattern, word in CHANGES:
        text = pattern.sub(word, text)
    return [line.strip() for line in text.splitlines()]


def record(directory: Path) -> None:
    """Write all scenes."""
    for name, scene in SCENES.items():
        (directory / f"{name}.txt").write_text(scene())


def compare(name: str) -> None:
    """A scene prints what the documentation has."""
    wanted = plain((RESULTS / f"{name}.txt").read_text())
    seen = plain(SCENES[name]())
    if seen != wanted:
        raise Unexpected("\n".join(["the documentation has:", *wanted, "it printed:", *seen,
                                    "to take that over: tests/release/tool/run --record"]))


TESTS = tuple((f"documentation: {name}", lambda name=name: compare(name), False) for name in SCENES)
