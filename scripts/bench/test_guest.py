# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of how the last lines of a guest are parsed, with a shell in place of QEMU."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from .guest import Guest


class GuestTest(unittest.TestCase):
    def run_guest(self, script: str, timeout: float = 20) -> tuple[Guest, list[bytes]]:
        with tempfile.TemporaryDirectory() as directory:
            machine = Guest("6.12", Path(directory))
            with mock.patch.object(machine, "_prepare", return_value=["bash", "-c", script]):
                lines = list(machine.lines("", timeout))
        return machine, lines

    def test_last_line_is_the_status(self) -> None:
        machine, lines = self.run_guest(r"printf 'a\n\nb\n\nEXIT 7\n'")
        self.assertEqual((machine.status, lines), (7, [b"a", b"", b"b"]))

    def test_status_in_the_middle_is_output(self) -> None:
        machine, lines = self.run_guest(r"printf 'EXIT 0\nmore\n\nEXIT 3\n'")
        self.assertEqual((machine.status, lines), (3, [b"EXIT 0", b"more"]))

    def test_no_status_is_a_lost_guest(self) -> None:
        machine, lines = self.run_guest(r"printf 'a\nhalf a li'")
        self.assertEqual((machine.status, machine.timed_out), (None, False))
        self.assertEqual(lines, [b"a", b"half a li"])
        self.assertIn("lost", machine.verdict())

    def test_a_lost_guest_tells_how_its_process_ended(self) -> None:
        for script, end in (("exit 3", "exited with 3"), ("kill -9 $$", "killed its process with signal 9"),
                            ("exec >&-; sleep 60", "without a status")):
            with mock.patch(f"{__package__}.guest.GRACE", 1):
                self.assertIn(end, self.run_guest(script)[0].verdict())

    def test_no_end_is_a_timeout(self) -> None:
        machine, lines = self.run_guest("echo a; exec sleep 60", timeout=1)
        self.assertEqual((machine.status, machine.timed_out, lines), (None, True, [b"a"]))
        self.assertEqual(machine.verdict(), "timed out")

    def test_guest_that_stands_still_is_lost(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            for script, still in (("exec sleep 60", True), ("sleep 4; printf '\\nEXIT 0\\n'", False)):
                machine = Guest("6.12", Path(directory))
                machine.out.mkdir(exist_ok=True)
                alive = machine.out / "alive"
                beats = "" if still else f"(for i in 1 2 3 4; do touch '{alive}'; sleep 1; done) & "
                with mock.patch(f"{__package__}.guest.STILL_SECONDS", 2), \
                        mock.patch.object(machine, "_prepare",
                                          return_value=["bash", "-c", f"touch '{alive}'; {beats}{script}"]):
                    self.assertEqual(list(machine.lines("", 20)), [])
                self.assertEqual((machine.stands_still, machine.timed_out, machine.status),
                                 (still, False, None if still else 0))
                self.assertEqual("stood still" in machine.verdict(), still)

    def test_program_that_does_not_start_does_not_work_here(self) -> None:
        for script, works in ((r"printf '\nEXIT 0\n'", True), ("exit 1", False)):
            with tempfile.TemporaryDirectory() as directory:
                machine = Guest("uml", Path(directory))
                with mock.patch.object(machine, "_prepare", return_value=["bash", "-c", script]), \
                        mock.patch.object(machine, "_is_program", return_value=True):
                    self.assertEqual(machine.works_here(), works)
