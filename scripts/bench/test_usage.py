# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of processor times, with a shell that computes."""

import os
import subprocess
import unittest

from . import usage

# About half a second of a processor.
COMPUTES = "i=0; while [ $((i += 1)) -lt 200000 ]; do :; done"


class UsageTest(unittest.TestCase):
    def spent(self, script: str) -> float:
        """What a shell has used when it has ended, before it is waited for."""
        with subprocess.Popen(["bash", "-c", script]) as process:
            spent = usage.wait(process)
            self.assertEqual(process.wait(), 0)
            return spent

    def test_idle_program_uses_nothing(self) -> None:
        self.assertLess(self.spent("sleep 0.5"), 0.2)

    def test_children_that_were_waited_for_count(self) -> None:
        self.assertGreater(self.spent(f"({COMPUTES}); ({COMPUTES})"), 0.1)

    def test_children_that_run_count(self) -> None:
        with subprocess.Popen(["bash", "-c", f"({COMPUTES}; echo; exec sleep 60) & exec sleep 60"],
                              stdout=subprocess.PIPE, start_new_session=True) as process:
            assert process.stdout
            process.stdout.readline()
            self.assertGreater(usage.seconds(process.pid), 0.05)
            os.killpg(process.pid, 9)

    def test_time_limit(self) -> None:
        with subprocess.Popen(["sleep", "60"]) as process:
            usage.wait(process, 0.1)
            self.assertIsNone(process.poll())
            process.kill()

    def test_process_that_does_not_exist_uses_nothing(self) -> None:
        self.assertEqual(usage.seconds(1 << 30), 0)


if __name__ == "__main__":
    unittest.main()
