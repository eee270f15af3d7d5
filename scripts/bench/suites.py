# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The suites of tests/suites.conf, and the results of a run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from . import ktap, machine, pair, paths

HOST = "host"
# What a suite of the host may need, but for guests: the library, the tool and the test programs; and each guest of a series
# that this release of Debian has.
LIBRARY = "library"
OWN = "own"
NOT_RUN = "not run"
FILE = paths.ROOT / "tests/suites.conf"


@dataclass(frozen=True)
class Suite:
    """A line of tests/suites.conf."""

    name: str
    where: tuple[str, ...]
    # Of a selected suite: in its place; before: in the slowest of them.
    warm: int
    timeout: int
    command: str
    about: str
    # Of a suite of the host: LIBRARY, and guests whose kernels it uses.
    needs: tuple[str, ...] = ()
    # The warm seconds in each place, where they differ.
    each: tuple[int, ...] = ()

    def at(self, place: str) -> Suite:
        """The suite with the warm seconds that it has there."""
        return replace(self, warm=self.each[self.where.index(place)]) if self.each else self


@dataclass
class Run:
    """A run of a suite in one guest, or on the host."""

    suite: Suite
    where: str
    results: list[ktap.Result] = field(default_factory=list)
    seconds: float = 0
    # The processor time that it used.
    busy: float = 0
    # Why there is no verdict: the guest was lost, or did not get to this suite.
    lost: str = ""
    # What its kernel printed when it was lost.
    trace: str = ""
    # Whether its guest was lost before it began this suite, its first one.
    unbegun: bool = False
    # Why its guest was started a second time.
    again: str = ""

    def count(self, outcome: str) -> int:
        return sum(result.outcome == outcome for result in self.results)

    def named(self, outcome: str) -> list[ktap.Result]:
        return [result for result in self.results if result.outcome == outcome]

    def reproduce(self) -> str:
        return f"scripts/check -g {self.where} -s {self.suite.name}"


# The first and last suites of every guest; see tests/harness/guest/guest-load, -unload.
LOAD = Suite("load", (), 15, 180, "tests/harness/guest/guest-load", "the devices and the module come up")
LOAD_PAIR = Suite("load", (), 20, 240, "tests/fabric/wire/load", "both guests and the wire come up")
UNLOAD = Suite("unload", (), 20, 240, "tests/harness/guest/guest-unload", "the module goes, nothing leaks")


def _needed(words: list[str]) -> tuple[str, ...]:
    """Returns what these words of a line name; "own" is each series of kernels that this release of Debian has."""
    return tuple(name for word in words for name in (machine.own_series() if word == OWN else [word]))


def load(file: Path = FILE) -> list[Suite]:
    """Returns all suites of a file, in the order in which a guest runs them."""
    places = {HOST, *paths.guests()}
    found: dict[str, Suite] = {}
    for name, where, warm, timeout, command, about in paths.table(file, 6):
        needed: tuple[str, ...] = ()
        if where.split()[0] == HOST:
            where, needed = HOST, _needed(where.split()[1:])
        each = tuple(map(int, warm.split(",")))
        suite = Suite(name, tuple(place.strip() for place in where.split(",")),
                      max(each), int(timeout), command, about, needed, each if len(each) > 1 else ())
        if suite.each and len(suite.each) != len(suite.where):
            raise paths.BenchError(f"{file}: suite '{name}' has {len(suite.where)} places, and {len(each)} times")
        unknown = [place for place in suite.where if place not in places and not pair.exists(place)]
        unknown += [need for need in needed if need not in places and need != LIBRARY]
        if unknown:
            raise paths.BenchError(f"{file}: suite '{name}' runs on '{unknown[0]}'; "
                                   f"there are: {' '.join(sorted(places))}")
        if name in found:
            raise paths.BenchError(f"{file}: two suites are called '{name}'")
        found[name] = suite
    return list(found.values())


# Placeholder in the command of a suite with a variable duration: replaced by the seconds.
SECONDS = "{seconds}"


def seconds(text: str) -> float:
    """Parses a time with a unit: 90, 90s, 60m, 2h."""
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:], 0)
    try:
        found = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        found = 0
    if found <= 0:
        raise paths.BenchError(f"'{text}' is no time; say for example 90s, 60m or 2h")
    return found


def share(suites: list[Suite], total: float | None) -> list[Suite]:
    """Divides a total time equally among the suites of variable duration, in each place; None: their declared times."""
    runs = sum(len(suite.where) for suite in suites if SECONDS in suite.command)

    def with_time(suite: Suite) -> Suite:
        if SECONDS not in suite.command:
            return suite
        part = int(total / runs) if total else suite.warm
        return replace(suite, command=suite.command.replace(SECONDS, str(part)), warm=part,
                       each=(), timeout=suite.timeout + part)

    return [with_time(suite) for suite in suites]


def halves(suites: list[Suite]) -> list[tuple[Suite, ...]]:
    """Splits the suites of the host in two groups that run in parallel: the longest one, and all others."""
    longest = max(suites, key=lambda suite: suite.warm)
    others = tuple(suite for suite in suites if suite is not longest)
    return [(longest,), others] if others else [(longest,)]


# A guest runs no more of warm seconds, as one that runs all suites of its kernel would be the last to end.
MOST = 1200


def parts(place: str, suites: list[Suite]) -> list[tuple[Suite, ...]]:
    """Divides the suites of a place into parts that may run in parallel: two on the host, for each other place as many guests as
    keep it short.
    """
    if place == HOST:
        return halves(suites)
    shares: list[list[Suite]] = [[] for _ in range(-(-sum(suite.warm for suite in suites) // MOST))]
    for suite in sorted(suites, key=lambda suite: suite.warm, reverse=True):
        min(shares, key=lambda share: sum(suite.warm for suite in share)).append(suite)
    return [tuple(sorted(share, key=suites.index)) for share in shares]


def places_of(suites: list[Suite]) -> list[str]:
    """Returns the host, all guests, and the pairs of guests that suites name."""
    pairs = [place for suite in suites for place in suite.where if pair.is_pair(place)]
    return list(dict.fromkeys([HOST, *paths.guests(), *pairs]))


def select(suites: list[Suite], names: list[str], places: list[str]) -> dict[str, list[Suite]]:
    """Selects the suites to run in each place; no names means all suites, no places means all places."""
    if unknown := set(names) - {suite.name for suite in suites}:
        raise paths.BenchError(f"no suite is called '{unknown.pop()}'; "
                               f"there are: {' '.join(suite.name for suite in suites)}")
    known = places_of(suites)
    places = [pair.canonical(place) for place in places]
    if unknown := set(places) - set(known):
        raise paths.BenchError(f"no guest is called '{unknown.pop()}'; "
                               f"there are: {' '.join(known)}")
    chosen: dict[str, list[Suite]] = {}
    for place in known:
        if places and place not in places:
            continue
        here = [suite.at(place) for suite in suites
                if place in suite.where and (not names or suite.name in names)]
        if here:
            chosen[place] = here
    if not chosen:
        raise paths.BenchError("none of these suites runs there; scripts/check -l lists them")
    return chosen
