# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A terminal with a shell on an empty machine, in which commands of the documents are typed."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/harness/python"), str(ROOT / "scripts")]

import pexpect  # noqa: E402

import readme  # noqa: E402
from bench import paths  # noqa: E402
from tap import Tap  # noqa: E402

PLACE = ROOT / "build/quickstart"
# bash's own prompt, and that of a guest.
PROMPT = r"(?:bash-[0-9.]+|root@\S+)# "
# Limits in seconds: a command with downloads or a boot on a busy machine; a ping.
LIMIT = 3600
PING_LIMIT = 120
# Calls of an end, of both together: one moves from one end to the other, depending on which end disconnects first.
CALLS_SLACK = (2.0, 2.0, 1.0)


def as_root() -> list[str]:
    """The prefix of a command for root."""
    return [] if os.geteuid() == 0 else ["sudo", "-n", "env", f"RCA_CACHE={paths.cache()}"]


class Terminal:
    """A terminal with a shell on an empty machine."""

    def __init__(self, name: str, tree: str = "", options: tuple[str, ...] = ()) -> None:
        self.seen = ""
        PLACE.mkdir(parents=True, exist_ok=True)
        self._log = open(PLACE / f"{name}.log", "w")
        command = [*as_root(), "tests/release/quickstart/enter", *options, str(PLACE / name), *([tree] if tree else [])]
        self._shell = pexpect.spawn(command[0], command[1:], cwd=ROOT, encoding="utf-8",
                                    codec_errors="replace", timeout=LIMIT, dimensions=(50, 500))
        self._shell.logfile_read = self._log
        self._shell.expect(PROMPT)

    def type(self, line: str) -> str:
        """Type a line and wait for the prompt; its output."""
        # A delay as with a person, so that a program in the background has started.
        time.sleep(1)
        began = time.monotonic()
        self._shell.sendline(line)
        self._shell.expect_exact(line)
        # The output of programs in the background since the last prompt.
        self.seen += self._shell.before.replace("\r", "")
        self._shell.expect(PROMPT)
        shown = self._shell.before.replace("\r", "")
        self.seen += shown
        # A program in the background must have started; on a busy machine that takes longer.
        if line.partition(" #")[0].rstrip().endswith("&"):
            time.sleep(2 + 5 * (time.monotonic() - began))
        return shown

    def status(self) -> int:
        """The status of the last command."""
        return int(re.search(r"status (\d+)", self.type("echo status $?")).group(1))

    def wait_for(self, lines: list[str], limit: float) -> list[str]:
        """Wait for these lines, also after the prompt; the lines that did not come."""
        end = time.monotonic() + limit
        while True:
            shown = self.seen.splitlines()
            missing = [line for line in lines if line not in shown]
            if not missing or time.monotonic() > end:
                return missing
            self._shell.expect([r"\n", pexpect.TIMEOUT], timeout=2)
            if self._shell.after is not pexpect.TIMEOUT:
                self.seen += self._shell.before.replace("\r", "") + "\n"

    def close(self) -> None:
        """Exit the shell, the first process of the machine, which ends all others."""
        self._shell.sendline("exit")
        self._shell.expect(pexpect.EOF, timeout=60)
        self._shell.close()
        self._log.close()


def follow(tap: Tap, terminal: Terminal, commands: list[readme.Command], what: str) -> bool:
    """Each command succeeds and prints what the page shows."""
    inside = False
    for command in commands:
        if inside and not command.guest:
            terminal.type("exit")
        boots = command.text.startswith("scripts/vm ")
        began = time.monotonic()
        try:
            shown = terminal.type(command.text)
            status = 0 if boots else terminal.status()
            missing = terminal.wait_for(command.printed, PING_LIMIT)
        except (pexpect.TIMEOUT, pexpect.EOF) as error:
            shown, status, missing = str(error), -1, []
        inside = boots or (inside and command.guest)
        tap.note([f"{time.monotonic() - began:.0f} s"])
        tap.result(status == 0 and not missing, f"{what}: {command.name()}",
                   [*shown.splitlines()[-30:], f"status {status}",
                    *(f"not printed: {line}" for line in missing)])
        if status or missing:
            return False
    if inside:
        terminal.type("exit")
    return True


def demo_table(shown: str) -> list[str]:
    """Differences between the tables of the demo and of README."""
    why = []
    for name, *figures in readme.table(ROOT / "README.md"):
        row = re.search(rf"^ *{name} +([\d.]+) +([\d.]+) +([\d.]+)$", shown, re.MULTILINE)
        if not row:
            why.append(f"not printed: {name}")
        elif any(abs(float(a) - float(b)) > slack for a, b, slack in zip(row.groups(), figures, CALLS_SLACK)):
            why.append(f"{name}: {' '.join(row.groups())}; README has {' '.join(figures)}")
    return why
