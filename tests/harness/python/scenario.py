# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Common code of suites of scenarios: time limits, failures, shell commands, waiting, and reported
rows.
"""

from __future__ import annotations

import os
import subprocess
import time
import traceback
from collections.abc import Callable

from cmtrace import NoProbes
from stacks import ROOT, Program
from tap import Tap

GUEST = os.environ.get("GUEST", "")
DEBUG = GUEST == "debug"
# Time limit in seconds for events that come soon; the host may be busy, the debug kernel is slow.
PATIENCE = 240 if DEBUG else 90


class Unexpected(Exception):
    """A failed check; its lines are shown."""

    def __init__(self, *lines: object) -> None:
        super().__init__("\n".join(map(str, lines)))


class Skip(Exception):
    """A test that this guest cannot run, with the reason."""


def run(command: str, status: int | None = 0) -> str:
    """Run a shell command at the root of the tree; it must end with this status (None: any)."""
    done = subprocess.run(command, shell=True, cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=PATIENCE, check=False)
    if status is not None and done.returncode != status:
        raise Unexpected(f"{command}: status {done.returncode}, not {status}: {done.stdout.strip()}")
    return done.stdout


def same(what: str, found: object, wanted: object) -> None:
    """Fail if the two differ."""
    if found != wanted:
        raise Unexpected(f"{what}: {found}, not {wanted}")


def wait_for(what: str, condition: Callable[[], object], pause: float = 0.1) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise Unexpected(f"waited for {what}")
        time.sleep(pause)


def must_end(*programs: Program, status: int = 0) -> None:
    """The programs must end with this status; all of them are shown when one does not."""
    for program in programs:
        if not program.wait(time.monotonic() + PATIENCE) or program.status != status:
            raise Unexpected(f"not ended with status {status}:",
                             *(line for each in programs for line in each.tell()))


def report(tap: Tap, name: str, test: Callable[..., None], *arguments: object) -> None:
    """Run a test; returns its result, and how long it took."""
    began = time.monotonic()
    why: list[str] = []
    try:
        test(*arguments)
    except (Skip, NoProbes) as skip:
        tap.skip(name, str(skip))
        return
    except Unexpected as unexpected:
        why = str(unexpected).splitlines() or ["no reason given"]
    except Exception:  # a bug of a test fails the test, not the suite
        why = traceback.format_exc().splitlines()
    tap.result(not why, name, why)
    tap.note([f"{time.monotonic() - began:.1f} s"])
