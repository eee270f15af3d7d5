# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of pairs whose guests end, restart or are lost, with shells in place of QEMU."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from . import pair
from .guest import Guest


class PairTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.run_dir = Path(directory.name)

    def run_pair(self, near: str, far: str, timeout: float = 20) -> tuple[pair.Pair, list[bytes]]:
        """Runs a pair with two shell commands; $RUN is the directory of this boot."""
        def prepare(guest: Guest, _: str | None) -> list[str]:
            script = far if guest.run != self.run_dir else near
            return ["bash", "-c", f"RUN={guest.run}\n{script}"]

        machine = pair.Pair("6.1+6.12", self.run_dir)
        with mock.patch.object(Guest, "_prepare", autospec=True, side_effect=prepare), \
                mock.patch.object(Guest, "_is_program", return_value=False):
            lines = list(machine.lines("", timeout))
        return machine, lines

    def test_near_one_says_how_it_ended(self) -> None:
        machine, lines = self.run_pair(r"sleep 1; printf 'a\n\nEXIT 7\n'", "echo ready; exec sleep 60")
        self.assertEqual((machine.status, lines), (7, [b"a"]))
        self.assertEqual([boot.run.name for boot in machine.far], ["far"])
        self.assertEqual((self.run_dir / "far/output.log").read_bytes(), b"ready\n")

    def test_far_one_that_goes_takes_both_along(self) -> None:
        machine, lines = self.run_pair(r"echo a; exec sleep 60", "echo ready")
        self.assertEqual((machine.status, machine.timed_out, lines), (None, False, [b"a"]))
        self.assertIn("lost its peer 6.12", machine.verdict())

    def test_far_one_with_a_status_is_lost_too(self) -> None:
        machine, _ = self.run_pair("exec sleep 60", r"printf 'no device\n\nEXIT 1\n'")
        self.assertIsNone(machine.status)
        self.assertIn("exit status 1", machine.verdict())

    def test_far_one_is_started_again_when_it_asks(self) -> None:
        machine, _ = self.run_pair(
            fr"until [ -e {self.run_dir}/far-3/up ]; do sleep 0.1; done; printf '\n\nEXIT 0\n'",
            f"touch $RUN/up; [ $RUN = {self.run_dir}/far-3 ] && exec sleep 60; printf 'START AGAIN\\n\\n'")
        self.assertEqual(machine.status, 0)
        self.assertEqual([boot.run.name for boot in machine.far], ["far", "far-2", "far-3"])

    def test_sockets_have_a_place_while_it_runs(self) -> None:
        with mock.patch.object(pair.tempfile, "mkdtemp", wraps=tempfile.mkdtemp) as made:
            pair.Pair("6.1+6.12", self.run_dir)
            self.assertFalse(made.called)
            machine, _ = self.run_pair(r"sleep 1; printf '\n\nEXIT 0\n'", "exec sleep 60")
        self.assertEqual(made.call_count, 1)
        self.assertIn("rca-wire-", " ".join(machine._qemu))
        self.assertFalse(machine._sockets.exists())

    def test_timeout_is_the_near_ones(self) -> None:
        machine, _ = self.run_pair("exec sleep 60", "exec sleep 60", timeout=1)
        self.assertEqual((machine.status, machine.verdict()), (None, "timed out"))

    def test_far_console_is_heard_once(self) -> None:
        machine, _ = self.run_pair(r"sleep 1; printf '\n\nEXIT 0\n'",
                                   "echo BUG: one >$RUN/console.log; exec sleep 60")
        self.assertEqual(machine.heard(), "BUG: one\n")
        self.assertEqual(machine.heard(), "")
        self.assertEqual(machine.consoles()[1], self.run_dir / "far/console.log")

    def test_ends_of_the_wires_meet(self) -> None:
        machine = pair.Pair("6.1+6.12", self.run_dir)
        machine._sockets = Path("/tmp/rca-wire-12345678")
        near, far = (" ".join(machine._plugs(end)) for end in (0, 1))
        for wire in pair.WIRES:
            for end, other in ((near, 0), (far, 1)):
                self.assertRegex(end, rf"id={wire},local.type=unix,local.path=\S+/{wire}\.{other},"
                                      rf"remote.type=unix,remote.path=\S+/{wire}\.{1 - other} ")
        self.assertFalse(set(near.split("mac=")[1:]) & set(far.split("mac=")[1:]))
        self.assertLess(max(len(word) for word in near.replace("=", ",").split(",")), 100)

    def test_names(self) -> None:
        self.assertTrue(pair.exists("6.1+debug"))
        self.assertFalse(pair.exists("6.1+7.0") or pair.exists("6.1") or pair.exists("6.1+6.1+6.1"))
