# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of the recorded results that README shows, and of the points of its pictures."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from . import pictures, plots, published

TABLE = """.. SPDX

Guest 6.12, a run:

.. list-table::
   :header-rows: 1

   * - what
     - ours
     - stock
{rows}"""
ROW = "   * - {what}\n     - {ours}\n     - {stock}\n"


class PublishedTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.results = Path(directory.name)
        patch = mock.patch.object(published, "RESULTS", self.results)
        patch.start()
        self.addCleanup(patch.stop)
        (self.results / "instructions.tsv").write_text("# a comment\nstock\t278500\nours\t235200\ntrunk\t82000\n")
        (self.results / "attacks.tsv").write_text("listens_resolve\t0.0016\t+10.006\t0.0013\t0.0052\n"
                                                  "ports\t0.0016\tEADDRNOTAVAIL\t0.0013\t0.0268\n")
        self.rows = [row for _, row in published.REASONS if row != published.TRUNK]

    def write(self, rows: list[str]) -> None:
        text = "".join(ROW.format(what=what, ours="5 us/id (5..6)", stock="554 us/id (407..701)") for what in rows)
        (self.results / "table.rst").write_text(TABLE.format(rows=text))

    def test_reasons_have_figures_without_the_range_of_the_rounds(self) -> None:
        self.write(self.rows)
        lines = published.reasons().splitlines()
        self.assertEqual(len(lines), 2 + len(published.ATTACK_REASONS) + len(published.REASONS))
        self.assertTrue(lines[2].endswith("| **0.005 s** | not in 10 s |"), lines[2])
        self.assertTrue(lines[3].endswith("| **5 us/id** | 554 us/id |"), lines[3])
        self.assertTrue(lines[-1].endswith("| **82,000** | 278,500 |"), lines[-1])

    def test_a_row_that_is_gone_is_an_error_that_names_it(self) -> None:
        self.write(self.rows[1:])
        with self.assertRaisesRegex(published.PublishedError, self.rows[0]):
            published.reasons()

    def test_attacks_have_seconds_or_the_error(self) -> None:
        lines = [line.strip(" *-") for line in published.attacks().splitlines()]
        self.assertIn("EADDRNOTAVAIL", lines)
        self.assertIn("not in 10 s", lines)
        self.assertIn("0.027 s", lines)

    def test_a_row_of_the_attacks_that_is_gone_is_an_error(self) -> None:
        self.write(self.rows)
        (self.results / "attacks.tsv").write_text("ports\t0.0016\t0.0016\t0.0013\t0.0268\n")
        with self.assertRaisesRegex(published.PublishedError, "listens_resolve"):
            published.reasons()

    def test_the_newest_kernel_is_shown_beside_the_other(self) -> None:
        row = "   * - {}\n     - {}\n     - 9 s\n     - -\n     - {}\n     - <= 1x\n     - {}\n"
        head = TABLE.format(rows="") + "     - floor\n     - ratio\n     - target\n     - verdict\n"
        (self.results / "table.rst").write_text(head + row.format("close", "5 s (4 s..6 s)", "0.5x", "met") +
                                                row.format("only here", "5 s", "0.5x", "met"))
        (self.results / "table-newest.rst").write_text(head.replace("6.12", "newest (9.8)") +
                                                       row.format("close", "6 s (5 s..7 s)", "0.7x", "missed"))
        lines = published.newest().splitlines()
        self.assertEqual(lines[0], "Guest newest (9.8), a run:")
        self.assertEqual(lines[-7:], ["   * - close", *(f"     - {cell}" for cell in ("5 s", "0.5x", "met", "6 s", "0.7x", "missed"))])
        self.assertNotIn("only here", "\n".join(lines))
        (self.results / "table-newest.rst").unlink()
        with self.assertRaisesRegex(published.PublishedError, "table-newest.rst"), \
                mock.patch.object(published.paths, "ROOT", self.results.parent):
            published.newest()

    def test_a_picture_of_other_records_is_out_of_date(self) -> None:
        (self.results / "latency-ib.tsv").write_text("ours\t5\t0.9\n")
        for name, (_, records, _) in pictures.PICTURES.items():
            (self.results / f"{name}.svg").write_text(pictures._mark(records) + pictures._dark())
        self.assertEqual(pictures.outdated(), [])
        (self.results / "latency-ib.tsv").write_text("ours\t6\t0.9\n")
        self.assertEqual(len(pictures.outdated()), 1)

    def test_points_are_of_the_slowest_tenth_and_end_with_the_last(self) -> None:
        records = [{"row": "loss-ib", "stack": "ours", "variant": "", "connect": [1000.0 * number for number in range(1, 100001)]}]
        points = [line.split("\t") for line in plots.slowest(records, "loss-ib")]
        self.assertEqual(points[-1], ["ours", "1e+05", "1.0000"])
        self.assertGreater(float(points[0][2]), 0.89)
        self.assertLess(len(points), 250)


if __name__ == "__main__":
    unittest.main()
