# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of the selection of QEMU's arguments."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from . import accel


class AccelTest(unittest.TestCase):
    def words(self, config: str, forced: str = "tcg", parallel: bool = False) -> str:
        with tempfile.TemporaryDirectory() as directory:
            kernel = Path(directory)
            (kernel / "config").write_text(config)
            with mock.patch.dict(os.environ, {"RCA_ACCEL": forced}):
                return " ".join(accel.arguments(kernel, parallel))

    def test_processors_of_a_kernel_that_patches_itself_take_turns(self) -> None:
        self.assertIn("thread=single", self.words("CONFIG_SMP=y\nCONFIG_JUMP_LABEL=y\n"))

    def test_others_run_at_the_same_time(self) -> None:
        self.assertIn("thread=multi",
                      self.words("# CONFIG_JUMP_LABEL is not set\nCONFIG_HAVE_ARCH_JUMP_LABEL=y\n"))

    def test_measurements_ask_for_that(self) -> None:
        self.assertIn("thread=multi", self.words("CONFIG_JUMP_LABEL=y\n", parallel=True))

    def test_acceleration_needs_none_of_it(self) -> None:
        self.assertIn("kvm", self.words("CONFIG_JUMP_LABEL=y\n", forced="kvm"))
