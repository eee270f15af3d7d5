# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of the profiles, and of the rows that are computed from them."""

import unittest

from . import counts, profile
from .verdicts import FLOOR, MET, MISSED, NOT_RUN, OURS, STOCK, judge

KALLSYMS = """\
ffffffff81000000 T __schedule
ffffffff81000040 t helper
ffffffff81000080 D data
ffffffffc0000000 t rca_ioctl\t[rdma_cm_alt]
"""


def symbols() -> profile.Symbols:
    return profile.Symbols(profile.kernel_symbols(KALLSYMS))


def record(case: str, stack: str, total: int, switches: float = 1, module: int = 1) -> dict:
    return {"row": f"count-{case}", "stack": stack, "variant": "", "round": 0, "total": total, "copied": 0,
            "cleared": 0, "iterations": 0, "modules": {"rdma_cm_alt": module, "libc.so.6": 2, "librdmacm.so.1": 3},
            "calls": {"context switches": switches}}


class ProfileTest(unittest.TestCase):
    def test_addresses_have_function_and_module(self) -> None:
        self.assertEqual(symbols().at(0xffffffff81000000), ("__schedule", "vmlinux", True))
        self.assertEqual(symbols().at(0xffffffff8100007f), ("helper", "vmlinux", False))
        self.assertEqual(symbols().at(0xffffffffc0000010), ("rca_ioctl", "rdma_cm_alt", False))
        self.assertEqual(symbols().at(0x1000), ("?", "?", False))

    def test_a_profile_is_the_difference_for_each_connection(self) -> None:
        few = "ffffffff81000000 5 10 0 0\nffffffffc0000000 7 2 0 4\n"
        more = "ffffffff81000000 5 30 0 0\nffffffff81000040 1 40 8 0\nffffffffc0000000 7 12 0 4\n"
        found = profile.difference(few, more, symbols(), 10)
        self.assertEqual(round(found.total(), 6), 5 * 2 + 4 + 7)
        self.assertEqual(round(found.calls()["context switches"], 6), 2)
        self.assertEqual(round(found.modules()["rdma_cm_alt"], 6), 7)
        # The block that clears was executed in the short run, too.
        self.assertEqual([round(value, 6) for value in (found.copied, found.cleared, found.iterations)],
                         [32, 4, 5])

    def test_the_driver_does_not_count(self) -> None:
        maps = ("555555554000-555555555000 r-xp 00000000 00:00 1    /nowhere/drive\n"
                "7ffff7dc0000-7ffff7dc1000 r-xp 00000000 00:00 2    /nowhere/libc.so.6\n")
        user = profile.Symbols(profile.user_symbols(maps))
        found = profile.difference("", "555555554010 100 1 0 0\n7ffff7dc0010 3 1 0 0\n", user, 1)
        self.assertEqual(found.total(), 3)
        self.assertEqual(found.modules()["drive"], 100)

    def test_rounds_are_kept_apart(self) -> None:
        profiles = [profile.Profile(functions=profile.Counter({("f", "m"): count})) for count in (3, 9, 5)]
        self.assertEqual(profile.middle(profiles).total(), 5)


class CountsTest(unittest.TestCase):
    @staticmethod
    def verdict_of(what: str, records: list[dict]) -> str:
        return next(row for row in judge(records, counts.TARGETS) if what in row.what).verdict

    def test_without_records_nothing_is_met(self) -> None:
        self.assertEqual({row.verdict for row in judge([], counts.TARGETS)}, {NOT_RUN})

    def test_instructions_are_a_share_of_stocks(self) -> None:
        for ours, verdict in ((72, MET), (73, MISSED)):
            found = [record("roce-64", OURS, ours), record("roce-64", STOCK, 100)]
            self.assertEqual(self.verdict_of("64 under way, RoCE", found), verdict)

    def test_fused_calls_are_against_the_floor(self) -> None:
        for ours, verdict in ((135, MET), (136, MISSED)):
            found = [record("ib-fused-64", OURS, ours), record("floor-64", FLOOR, 100)]
            self.assertEqual(self.verdict_of("fused", found), verdict)

    def test_each_fabric_counts(self) -> None:
        for module, verdict in ((13000, MET), (13001, MISSED)):
            found = [record("roce-64", OURS, 1, module=1), record("ib-64", OURS, 1, module=module)]
            self.assertEqual(self.verdict_of("of the module", found), verdict)
        for switches, verdict in ((15, MET), (15.1, MISSED)):
            found = [record("roce-64", OURS, 1, 10), record("ib-64", OURS, 1, switches)]
            self.assertEqual(self.verdict_of("switches", found), verdict)

    def test_each_fabric_counts_over_trunks(self) -> None:
        for ours, verdict in ((100000, MET), (100001, MISSED)):
            found = [record("trunk-roce-64", OURS, ours), record("trunk-ib-64", OURS, 1)]
            self.assertEqual(self.verdict_of("over a trunk, 64 under way", found), verdict)

    def test_each_window_of_a_cycle_counts(self) -> None:
        for ours, verdict in ((64, MET), (65, MISSED)):
            found = [record("cycle-1", OURS, 78), record("cycle-1", STOCK, 100),
                     record("cycle-64", OURS, ours), record("cycle-64", STOCK, 100)]
            self.assertEqual(self.verdict_of("first call to the last", found), verdict)
        self.assertEqual(self.verdict_of("first call to the last", found[:2]), NOT_RUN)

    def test_trunks_save_instructions(self) -> None:
        for ours, verdict in ((60000, MET), (59999, MISSED)):
            found = [record("ib-64", OURS, 100000), record("trunk-ib-64", OURS, 1),
                     record("ib-1", OURS, 100000), record("trunk-ib-1", OURS, 100000 - ours)]
            self.assertEqual(self.verdict_of("less those over a trunk", found), verdict)


if __name__ == "__main__":
    unittest.main()
