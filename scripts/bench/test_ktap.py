# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of the KTAP parser."""

import unittest

from .ktap import FAIL, PASS, SKIP, Parser, Result


def parse(text: str, status: int | None = 0) -> list[Result]:
    parser = Parser()
    for line in text.splitlines():
        parser.feed(line)
    return parser.finish(status)


def outcomes(text: str, status: int | None = 0) -> list[tuple[str, str]]:
    return [(result.name, result.outcome) for result in parse(text, status)]


class KtapTest(unittest.TestCase):
    def test_flat_results_keep_names_and_outcomes(self) -> None:
        self.assertEqual(outcomes("KTAP version 1\n1..3\nok 1 one\nnot ok 2 - two\nok 3 three # SKIP why\n", 1),
                         [("one", PASS), ("two", FAIL), ("three", SKIP)])

    def test_plan_may_come_last(self) -> None:
        self.assertEqual(outcomes("ok 1 one\n1..1\n"), [("one", PASS)])

    def test_skip_keeps_its_reason(self) -> None:
        self.assertEqual(parse("1..1\nok 1 a # SKIP no such device\n")[0].detail, "no such device")

    def test_failure_keeps_what_was_said_before(self) -> None:
        self.assertEqual(parse("1..1\n# expected 3\nnot ok 1 a\n", 1)[0].detail, "# expected 3")

    def test_subtests_are_counted_their_parent_is_not(self) -> None:
        text = "1..1\n    # Subtest: fsm\n    1..2\n    ok 1 a\n    not ok 2 b\nnot ok 1 fsm\n"
        self.assertEqual(outcomes(text, 1), [("fsm: a", PASS), ("fsm: b", FAIL)])

    def test_two_depths_of_subtests(self) -> None:
        text = ("1..1\n    1..1\n        1..2\n        ok 1 x\n        ok 2 y\n    ok 1 case\n"
                "ok 1 suite\n")
        self.assertEqual(outcomes(text), [("suite: case: x", PASS), ("suite: case: y", PASS)])

    def test_parent_that_fails_alone_is_a_failure(self) -> None:
        self.assertEqual(outcomes("1..1\n    1..1\n    ok 1 a\nnot ok 1 suite\n", 1),
                         [("suite: a", PASS), ("suite", FAIL)])

    def test_missing_subtest_is_a_failure(self) -> None:
        self.assertEqual(outcomes("1..1\n    1..2\n    ok 1 a\nok 1 suite\n"),
                         [("suite: a", PASS), ("suite: plan", FAIL)])

    def test_missing_test_is_a_failure(self) -> None:
        self.assertEqual(outcomes("1..2\nok 1 a\n"), [("a", PASS), ("plan", FAIL)])

    def test_missing_plan_is_a_failure(self) -> None:
        self.assertEqual(outcomes("ok 1 a\n"), [("a", PASS), ("plan", FAIL)])

    def test_no_test_is_a_failure(self) -> None:
        self.assertEqual(outcomes("hello\n"), [("no test ran", FAIL)])

    def test_whole_suite_skipped(self) -> None:
        self.assertEqual(outcomes("1..0 # SKIP no device\n", 4), [("all", SKIP)])

    def test_status_without_a_failed_test_is_a_failure(self) -> None:
        self.assertEqual(outcomes("1..1\nok 1 a\n", 139), [("a", PASS), ("exit status", FAIL)])

    def test_bail_out_is_a_failure(self) -> None:
        self.assertEqual(outcomes("1..1\nok 1 a\nBail out! no memory\n")[-1], ("bail out", FAIL))

    def test_suite_without_an_end_keeps_its_results(self) -> None:
        self.assertEqual(outcomes("1..3\nok 1 a\n", None), [("a", PASS), ("plan", FAIL)])
