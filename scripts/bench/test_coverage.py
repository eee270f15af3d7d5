# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of the detection of coverage gaps, and of the list of known gaps."""

import tempfile
import unittest
from pathlib import Path

from . import coverage, paths

SOURCE = """static int first(int a)
{
	if (a)
		return 1;
	return 0;
}
static int second(void)
{
	return 2;
}
"""


def line(number: int, count: int, *branches: int) -> dict:
    return {"line_number": number, "count": count, "gcovr/noncode": False,
            "branches": [{"count": taken} for taken in branches]}


def measured(lines: list[dict]) -> list[coverage.File]:
    with tempfile.TemporaryDirectory() as top:
        (Path(top) / "a.c").write_text(SOURCE)
        return coverage.read({"files": [{"file": "a.c", "lines": lines, "functions": [
            {"name": "first", "lineno": 1}, {"name": "second", "lineno": 7}]}]}, Path(top))


def known(text: str) -> list[coverage.Known]:
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(text)
        file.flush()
        return coverage.known(Path(file.name))


class CoverageTest(unittest.TestCase):
    def setUp(self) -> None:
        # first() never returns 1, and second() is not called.
        self.files = measured([line(3, 5, 0, 5), line(4, 0), line(5, 5), line(7, 0), line(9, 0)])

    def test_gaps(self) -> None:
        self.assertEqual([(gap.function, gap.line, gap.what) for gap in self.files[0].gaps],
                         [("first", 3, "1 of 2 branches"), ("second", 7, "not executed"),
                          ("second", 9, "not executed")])

    def test_figures(self) -> None:
        file = self.files[0]
        self.assertEqual((file.lines, file.lines_run, file.branches, file.branches_run), (5, 2, 2, 1))
        self.assertIn("40.0 %    50.0 %", coverage.table({"all": self.files}))

    def test_all_known(self) -> None:
        listed = known("a.c | first | if (a) | never | it is 0\n* | second | * | never | not called\n")
        self.assertEqual(coverage.check(self.files, listed), ([], []))
        listed = known("a.c | * | ~^if \\(\\|second | never | both\n")
        self.assertEqual([gap.line for gap in coverage.check(self.files, listed)[0]], [7, 9])

    def test_new_gap(self) -> None:
        new, gone = coverage.check(self.files, known("a.c | first | if (a) | never | it is 0\n"))
        self.assertEqual(([gap.line for gap in new], gone), ([7, 9], []))

    def test_branches_alone_need_not_be_listed(self) -> None:
        files = measured([line(3, 5, 0, 5), line(5, 5)])
        self.assertEqual([gap.line for gap in files[0].gaps], [3])
        self.assertEqual(coverage.check(files, []), ([], []))
        self.assertEqual([gap.line for gap in coverage.check(self.files, [])[0]], [3, 7, 9])

    def test_gap_that_is_none_any_more(self) -> None:
        text = "a.c | * | * | never | all\na.c | first | return 0; | {} | why\n"
        self.assertEqual([row.text for row in coverage.check(self.files,
                                                             known(text.format("never")))[1]],
                         ["return 0;"])
        self.assertEqual(coverage.check(self.files, known(text.format("chance"))), ([], []))

    def test_neither_never_nor_chance(self) -> None:
        with self.assertRaises(paths.BenchError):
            known("a.c | first | if (a) | always | why\n")


if __name__ == "__main__":
    unittest.main()
