# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of the table of targets."""

import unittest

from .verdicts import FLOOR, MET, MISSED, NOT_RUN, OURS, STOCK, TARGETS, Row, cmtime, judge, percentile


def record(row: str, stack: str, number: int = 0, variant: str = "", **found: object) -> dict:
    return {"row": row, "stack": stack, "variant": variant, "round": number, **found}


def of(records: list[dict], what: str) -> Row:
    return next(row for row in judge(records, TARGETS) if what in row.what)


def rates(ours: list[int], stock: list[int], floor: list[int]) -> list[dict]:
    return [record("rate", name, number, count=1000, up_us=value * 1000)
            for name, values in ((OURS, ours), (STOCK, stock), (FLOOR, floor))
            for number, value in enumerate(values)]


def closes(each: dict[int, tuple[float, float]]) -> list[dict]:
    """Returns close records with these numbers of ids: us per id, ours and stock."""
    return [record("close", name, variant=str(count), count=count, close_us=us * count, after_us=0)
            for count, pair in each.items() for name, us in zip((OURS, STOCK), pair)]


class VerdictsTest(unittest.TestCase):
    def test_without_records_nothing_is_met(self) -> None:
        self.assertEqual({row.verdict for row in judge([], TARGETS)}, {NOT_RUN})

    def test_percentile_is_one_of_the_values(self) -> None:
        self.assertEqual(percentile(range(1000), 0.99), 990)
        self.assertEqual(percentile([7], 0.99), 7)

    def test_calls(self) -> None:
        for calls, verdict in ((12.0, MET), (12.1, MISSED)):
            found = [record("calls", OURS, calls=calls, each={"read": 1})]
            self.assertEqual(of(found, "one at a time").verdict, verdict)

    def test_each_variant_of_the_fused_calls_counts(self) -> None:
        for one, many, verdict in ((6, 3, MET), (6.1, 3, MISSED), (3, 6.1, MISSED)):
            found = [record("calls-fused", OURS, variant=variant, calls=calls, each={"CONNECT": 1})
                     for variant, calls in (("1", one), ("64", many))]
            self.assertEqual(of(found, "fused").verdict, verdict)

    def test_a_disconnect_without_its_deadline_is_missed(self) -> None:
        for found, verdict in (({"deadline_us": 3000000}, MET), ({}, MISSED)):
            found = [record("disconnect", OURS, disconnect_us=3.1e6, **found)]
            self.assertEqual(of(found, "disconnect from").verdict, verdict)

    def test_a_disconnect_that_waits_for_nobody_is_missed(self) -> None:
        found = [record("disconnect", OURS, disconnect_us=543, deadline_us=3000000)]
        self.assertEqual(of(found, "disconnect from").verdict, MISSED)

    def test_rate_needs_gain(self) -> None:
        self.assertEqual(of(rates([100], [120], [90]), "without QPs").verdict, MET)
        self.assertEqual(of(rates([100], [119], [90]), "without QPs").verdict, MISSED)
        self.assertEqual(of(rates([100], [150], []), "without QPs").verdict, NOT_RUN)

    def test_ratios_are_of_one_round(self) -> None:
        # The machine was slow in the second round: ratios do not change.
        row = of(rates([100, 1000, 100], [125, 1250, 125], [90, 900, 90]), "without QPs")
        self.assertIn("1.25x (1.25..1.25)", row.ratio)
        self.assertIn("100 us (100..1000)", row.ours)

    def test_loss_fails_with_a_connection_that_failed(self) -> None:
        for failures, verdict in ((0, MET), (1, MISSED)):
            found = [record("loss-ib", OURS, connect=[1000] * 100, failures=failures, why="x")]
            self.assertEqual(of(found, "InfiniBand").verdict, verdict)

    def test_storm_is_against_its_own_paced_time(self) -> None:
        for burst, verdict in ((1.2e6, MET), (1.3e6, MISSED)):
            found = [record("storm", OURS, variant="paced", up_us=1e6, failures=0),
                     record("storm", OURS, variant="at once", up_us=burst, failures=0)]
            self.assertEqual(of(found, "at once").verdict, verdict)

    def test_close_has_to_be_linear(self) -> None:
        self.assertEqual(of(closes({4000: (10, 80), 16000: (12, 300)}), "close").verdict, MET)
        self.assertEqual(of(closes({4000: (10, 80), 16000: (40, 300)}), "close").verdict, MISSED)
        self.assertEqual(of(closes({4000: (10, 80), 16000: (12, 300)})[::2], "close").verdict, NOT_RUN)

    def test_cmtime_is_told_of_its_last_table(self) -> None:
        output = ("cm\nstep   avg/conn  total(us)\nfull connect  900 1 0 0 1 1\nConnect (4) test - no QPs\n"
                  "full connect         1407      56299          0          0      55580      14427\n")
        said = cmtime([record("cmtime", OURS, output=output), record("cmtime", STOCK, broken="no")])
        self.assertRegex(said, "full connect +1407 +-")
        self.assertNotIn("900", said)

    def test_broken_records_are_told_and_missed(self) -> None:
        found = [*rates([100], [200], [100]), record("rate", OURS, 1, broken="status 1: no")]
        row = of(found, "without QPs")
        self.assertEqual(row.verdict, MISSED)
        self.assertIn("status 1: no", row.note)


if __name__ == "__main__":
    unittest.main()
