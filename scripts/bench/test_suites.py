# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of the selection of suites and places."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from . import machine, paths, suites

TABLE = """
one | host | 1 | 2 | true | on the host
two | 6.12,6.1 | 1 | 2 | true | in guests
three | 6.1+6.12,6.12 | 1 | 2 | true | in a pair, and in a guest
"""


class SuitesTest(unittest.TestCase):
    def load(self, text: str = TABLE) -> list[suites.Suite]:
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(text)
            file.flush()
            return suites.load(Path(file.name))

    def chosen(self, names: list[str], places: list[str]) -> dict[str, list[str]]:
        found = suites.select(self.load(), names, places)
        return {place: [suite.name for suite in here] for place, here in found.items()}

    def test_everything(self) -> None:
        self.assertEqual(self.chosen([], []), {"host": ["one"], "6.1": ["two"],
                                               "6.12": ["two", "three"], "6.1+6.12": ["three"]})

    def test_a_pair_is_a_place(self) -> None:
        self.assertEqual(self.chosen([], ["6.1+6.12"]), {"6.1+6.12": ["three"]})
        self.assertEqual(self.chosen(["three"], ["6.12"]), {"6.12": ["three"]})

    def test_newest_by_its_series(self) -> None:
        known = self.load("one | newest,6.12+newest | 1 | 2 | true | on the newest kernel\n")
        with tempfile.TemporaryDirectory() as directory, mock.patch.dict("os.environ", {"RCA_CACHE": directory}):
            kernels = Path(directory) / "kernels"
            for name, store in (("9.8", "old"), ("9.9", "new"), ("newest", "new")):
                (Path(directory) / store).mkdir(exist_ok=True)
                kernels.mkdir(exist_ok=True)
                (kernels / name).symlink_to(Path(directory) / store)
            self.assertEqual(list(suites.select(known, [], ["9.9"])), ["newest"])
            self.assertEqual(list(suites.select(known, [], ["6.12+9.9"])), ["6.12+newest"])
            self.assertIn("9.8", paths.guests())
            with self.assertRaises(paths.BenchError):
                suites.select(known, [], ["9.8"])

    def test_halves(self) -> None:
        known = self.load(TABLE + "four | host | 30 | 5 | run | longest\n")
        self.assertEqual([[suite.name for suite in part] for part in suites.halves(known)],
                         [["four"], ["one", "two", "three"]])
        self.assertEqual(suites.halves(known[:1]), [(known[0],)])

    def test_parts(self) -> None:
        known = self.load("".join(f"{name} | 6.12 | {warm} | 5 | true | a suite\n"
                                  for name, warm in (("one", 300), ("two", 700), ("three", 50), ("four", 400))))
        self.assertEqual([[suite.name for suite in part] for part in suites.parts("6.12", known)],
                         [["two", "three"], ["one", "four"]])
        self.assertEqual(suites.parts("6.12", known[:2]), [tuple(known[:2])])

    def test_each_place_has_its_time(self) -> None:
        known = self.load("one | 6.1,6.12 | 20,10 | 5 | true | in two guests\ntwo | 6.12,6.1 | 7 | 5 | true | the same\n")
        self.assertEqual([suite.warm for suite in known], [20, 7])
        found = suites.select(known, [], [])
        self.assertEqual({place: [suite.warm for suite in here] for place, here in found.items()}, {"6.1": [20, 7], "6.12": [10, 7]})
        with self.assertRaises(paths.BenchError):
            self.load("one | 6.1,6.12,debug | 20,10 | 5 | true | in three guests\n")

    def test_the_host_s_suites_have_needs(self) -> None:
        with mock.patch.object(machine, "own_series", return_value=["6.12"]):
            one, two = self.load("one | host | 1 | 2 | true | nothing\ntwo | host library own debug | 1 | 2 | true | much\n")
            self.assertEqual((one.where, one.needs), (("host",), ()))
            self.assertEqual((two.where, two.needs), (("host",), ("library", "6.12", "debug")))
            with self.assertRaises(paths.BenchError):
                self.load("one | host nothing | 1 | 2 | true | on no kernel\n")

    def test_unknown_places(self) -> None:
        for place in ("7.0", "6.1+7.0", "6.1+6.1+6.1", "host+6.1"):
            with self.assertRaises(paths.BenchError):
                self.load(f"one | {place} | 1 | 2 | true | nowhere\n")
        with self.assertRaises(paths.BenchError):
            self.chosen([], ["6.12+6.1"])

    def test_time_is_shared(self) -> None:
        known = self.load(TABLE + "four | host | 30 | 5 | run {seconds} | any time\n"
                                  "five | host | 40 | 5 | go --time {seconds} | any time\n")
        commands = {suite.name: (suite.command, suite.timeout)
                    for suite in suites.share(known, suites.seconds("2m"))}
        self.assertEqual(commands["four"], ("run 60", 65))
        self.assertEqual(commands["five"], ("go --time 60", 65))
        self.assertEqual(commands["one"], ("true", 2))
        own = {suite.name: suite.command for suite in suites.share(known, None)}
        self.assertEqual(own["four"], "run 30")
        for text in ("", "m", "-3s", "soon"):
            with self.assertRaises(paths.BenchError):
                suites.seconds(text)
