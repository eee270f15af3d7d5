# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of what suites need, and of when they begin."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from . import ktap, machine, needs, paths, report, runner, suites


def suite(name: str, *where: str, command: str = "true", needed: tuple[str, ...] = ()) -> suites.Suite:
    return suites.Suite(name, where, 1, 10, command, "", needed)


class NeedsTest(unittest.TestCase):
    def setUp(self) -> None:
        output = contextlib.redirect_stdout(io.StringIO())
        output.__enter__()
        self.addCleanup(output.__exit__, None, None, None)
        self.progress = report.Progress()
        self.addCleanup(self.progress.close)

    def test_a_plan_has_what_is_needed_and_nothing_else(self) -> None:
        self.assertEqual(needs.plan({"host": [suite("one", "host")]}), {})
        found = needs.plan({"host": [suite("one", "host", needed=("debug",))], "6.1+6.12": [suite("two", "6.1+6.12")]})
        self.assertEqual(list(found), ["library", "6.1", "6.12", "debug"])
        self.assertEqual(list(found["debug"])[:2], ["kernel for debug", "module for debug"])
        self.assertNotIn("module with a later trunk protocol for 6.1", found["6.1"])
        self.assertIn("module with a later trunk protocol for 6.12", found["6.12"])

    def test_a_need_ends_with_its_first_failure(self) -> None:
        made = needs.Needs({"a": {"good": ["true"], "bad": ["sh", "-c", "echo said; exit 1"], "never": ["true"]},
                            "b": {"other": ["true"]}}, self.progress)
        self.assertEqual([(result.name, result.outcome, result.detail) for result in made.results()],
                         [("good", ktap.PASS, ""), ("bad", ktap.FAIL, "said"), ("other", ktap.PASS, "")])
        self.assertFalse(made.good(["a", "b"]))
        self.assertTrue(made.good(["b", "unknown"]))
        self.assertTrue(made.done(["a", "b", "unknown"]))

    def run_with(self, plan: dict[str, needs.Steps], chosen: dict[str, list[suites.Suite]]) -> dict[str, str]:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        with mock.patch.object(needs, "plan", return_value=plan), mock.patch.object(paths, "RUN", Path(directory.name)), \
                mock.patch.object(machine, "missing_series", return_value={"6.1": "there is no 6.1"}):
            runs = runner.Bench(self.progress).run(chosen, 2)
        return {run.suite.name: run.lost or (run.results[0].detail if run.results else "") for run in runs}

    def test_suites_wait_for_what_they_need_and_are_lost_without(self) -> None:
        plan = {"good": {"good": ["sleep", "0.5"]}, "bad": {"bad": ["false"]}}
        found = self.run_with(plan, {"host": [
            suite("late", "host", command="echo ok 1 late; echo 1..1", needed=("good",)),
            suite("early", "host", command="echo ok 1 early; echo 1..1"),
            suite("never", "host", needed=("bad",)),
            suite("absent", "host", needed=("6.1",))], "6.1": [suite("guest", "6.1")]})
        self.assertEqual(found, {"build": "", "absent": "there is no 6.1", "guest": "there is no 6.1", "late": "",
                                 "early": "", "never": runner.UNBUILT})
