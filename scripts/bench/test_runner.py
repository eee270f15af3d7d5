# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of a guest that is lost: before its first suite it is started again, once; later it is not."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from . import guest, ktap, pair, report, runner, suites

WHOLE = """
echo '> load'; echo '| ok 1 up'; echo '| 1..1'; echo '< load 0 1'
echo '> one'; echo '| ok 1 test'; echo '| 1..1'; echo '< one 0 1'
echo '> unload'; echo '| ok 1 down'; echo '| 1..1'; echo '< unload 0 1'
printf '\\nEXIT 0\\n'
"""
BEFORE = "exit 3"
LATER = "echo '> load'; exit 3"


class LostTest(unittest.TestCase):
    def run_starts(self, *scripts: str) -> tuple[list[suites.Run], str, list[str]]:
        """Runs the suite "one"; start N of the guest is the shell text scripts[N]."""
        starts = iter(scripts)

        def machine(place: str, run: Path) -> guest.Guest:
            made = guest.Guest(place, run)
            made._prepare = lambda command: ["bash", "-c", next(starts)]  # type: ignore[method-assign]
            return made

        output = io.StringIO()
        with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(output), \
                mock.patch.object(pair, "machine", machine):
            progress = report.Progress()
            runs = runner.Bench(progress).in_guest("6.12", [suites.Suite("one", ("6.12",), 1, 10, "", "")],
                                                   Path(directory) / "6.12")
            progress.close()
            kept = sorted(path.name for path in Path(directory).iterdir())
        return runs, report.summary(runs, "logs"), kept

    def test_a_guest_lost_before_its_first_suite_is_started_again(self) -> None:
        runs, summary, kept = self.run_starts(BEFORE, WHOLE)
        self.assertEqual([(run.lost, run.count(ktap.PASS)) for run in runs], [("", 1)] * 3)
        self.assertIn("Started again", summary)
        self.assertIn("exited with 3", summary)
        self.assertEqual(kept, ["6.12", "6.12-boot"])

    def test_a_guest_is_started_twice_at_most(self) -> None:
        runs, summary, _ = self.run_starts(BEFORE, BEFORE)
        self.assertIn("before its first suite", runs[0].lost)
        self.assertEqual(runs[1].lost, suites.NOT_RUN)
        self.assertIn("Without a verdict", summary)

    def test_a_guest_lost_later_is_not_started_again(self) -> None:
        runs, summary, kept = self.run_starts(LATER)
        self.assertIn("lost", runs[0].lost)
        self.assertNotIn("Started again", summary)
        self.assertEqual(kept, ["6.12"])
