# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What suites need before they can run: the library and the test programs, kernels and modules. Made in the background."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from . import ktap, pair, paths, report, suites, usage

# Guests in which fuzzers and played captures prove that they find a planted bug: one Debian kernel and one User-mode Linux suffice.
PLANTED = ("6.12", "uml")

# Guests whose kernels are built here.
COMPILED = ("debug", "kcsan", "uml")

Steps = dict[str, list[str]]


def guest_steps(guest: str, far: bool) -> Steps:
    """The commands that provide a guest's kernel and modules; `far`: it is the second one of a pair, too."""
    steps = {f"kernel for {guest}": ["scripts/setup", "-p", "demo", guest]}
    steps[f"module for {guest}"] = ["scripts/build-module", guest]
    steps[f"test adapter for {guest}"] = ["scripts/build-module", "-m", "hca", guest]
    steps[f"soft-iWARP for {guest}"] = ["scripts/build-siw", guest]
    if guest in PLANTED:
        patches = sorted(str(path) for pattern in ("robust/fuzz/*", "fabric/replay")
                         for path in paths.ROOT.glob(f"tests/{pattern}/planted.patch"))
        steps[f"module with planted bugs for {guest}"] = [
            "scripts/build-module", "-o", "planted", *(word for path in patches for word in ("-p", path)), guest]
    # It speaks a later version of the trunk protocol in one test.
    if far:
        steps[f"module with a later trunk protocol for {guest}"] = [
            "scripts/build-module", "-o", "version3", "-p", str(paths.ROOT / "tests/fabric/wire/version3.patch"), guest]
    return steps


def plan(chosen: dict[str, list[suites.Suite]]) -> dict[str, Steps]:
    """Returns the steps for each need of suites, which are given by their places."""
    guests = [name for place in chosen if place != suites.HOST for name in pair.members(place)]
    of_host = [need for suite in chosen.get(suites.HOST, []) for need in suite.needs]
    far = {pair.members(place)[1] for place in chosen if pair.is_pair(place)}
    steps: dict[str, Steps] = {}
    if guests or suites.LIBRARY in of_host:
        steps[suites.LIBRARY] = {"library": ["make", "-s", "-j2", "lib"], "test programs": ["make", "-s", "-j2", "tests"]}
    # Debian's kernels are only unpacked: their suites run while the others are compiled.
    for guest in sorted(dict.fromkeys([*guests, *of_host]), key=COMPILED.__contains__):
        if guest != suites.LIBRARY:
            steps[guest] = guest_steps(guest, guest in far)
    return steps


class Needs:
    """Makes what is needed, one need after the other, so that the first is there soon; each step is a test."""

    def __init__(self, steps: dict[str, Steps], progress: report.Progress) -> None:
        self._progress = progress
        self._began = time.monotonic()
        self.seconds = self.busy = 0.0
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._made: dict[str, Future[list[ktap.Result]]] = {
            name: self._pool.submit(self._make, commands) for name, commands in steps.items()}

    def _make(self, steps: Steps) -> list[ktap.Result]:
        """Runs the commands of a need until one fails."""
        results: list[ktap.Result] = []
        for name, command in steps.items():
            self._progress.running(f"building the {name}")
            with subprocess.Popen(command, cwd=paths.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True) as process:
                assert process.stdout
                said = process.stdout.read()
                self.busy += usage.wait(process)
                failed = process.wait() != 0
            self._progress.ended(f"building the {name}")
            results.append(ktap.Result(name, ktap.FAIL if failed else ktap.PASS,
                                       "\n".join(said.splitlines()[-30:]) if failed else ""))
            if failed:
                break
        self.seconds = time.monotonic() - self._began
        return results

    def done(self, names: Iterable[str]) -> bool:
        """Whether all of this has been made, or has failed."""
        return all(name not in self._made or self._made[name].done() for name in names)

    def good(self, names: Iterable[str]) -> bool:
        """Whether all of this is there; waits for it."""
        return all(result.outcome != ktap.FAIL for name in names if name in self._made
                   for result in self._made[name].result())

    def wait(self, others: Iterable[Future] = ()) -> None:
        """Waits until one more need is made, or one of these has a result."""
        wait([*others, *(made for made in self._made.values() if not made.done())], return_when=FIRST_COMPLETED)

    def results(self) -> list[ktap.Result]:
        """The results of all steps; waits for them."""
        return [result for made in self._made.values() for result in made.result()]
