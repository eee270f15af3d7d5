# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Builds the prerequisites and runs suites: on the host, in one guest per kernel, in pairs of guests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from . import guest, ktap, machine, needs, pair, paths, report, splats, suites, usage
from .suites import HOST, NOT_RUN, Run, Suite

# Additional time for a suite that hangs, after its own timeout.
HANG_SECONDS = 90
# Why a suite was not run.
UNBUILT = "what it needs does not build"

# A place, a part of its suites, and the directory for what guests write.
Job = tuple[str, tuple[Suite, ...], Path]


def _jobs(place: str, wanted: list[Suite]) -> list[Job]:
    """The parts of a place; the first one has its name."""
    for stale in paths.RUN.glob(f"{place}-*"):
        shutil.rmtree(stale)
    return [(place, part, paths.RUN / (f"{place}-{number}" if number > 1 else place))
            for number, part in enumerate(suites.parts(place, wanted), start=1)]


def _cost(job: Job) -> int:
    """About how many seconds a job takes."""
    return sum(suite.warm for suite in job[1])


def _needs_of(place: str) -> tuple[str, ...]:
    """What the suites of guests need."""
    return (suites.LIBRARY, *pair.members(place))


class Bench:
    """One run of scripts/check."""

    def __init__(self, progress: report.Progress) -> None:
        self._progress = progress
        self._allow = splats.allowed()

    def run(self, chosen: dict[str, list[Suite]], jobs: int, make: bool = True) -> list[Run]:
        """Runs all selected suites, at most `jobs` places at the same time, the slowest first; with `make`, what they need
        is made before. A place begins when what its suites need is there, and so does each suite of the host.
        """
        skipped = self._skip(chosen)
        todo = sorted((job for place in chosen for job in _jobs(place, chosen[place])), key=_cost, reverse=True)
        # What the slowest places need is made first.
        order = {place: chosen[place] for place, _, _ in todo}
        made = needs.Needs(needs.plan(order) if make else {}, self._progress)
        shutil.rmtree(paths.RUN / HOST, ignore_errors=True)
        running: dict[Future[list[Run]], Job] = {}
        ended: dict[Job, list[Run]] = {}
        waiting = list(todo)
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            while waiting or running:
                for job in list(waiting):
                    if len(running) < jobs and (job[0] == HOST or made.done(_needs_of(job[0]))):
                        waiting.remove(job)
                        running[pool.submit(self._place, job, made)] = job
                made.wait(running)
                for future in [future for future in running if future.done()]:
                    ended[running.pop(future)] = future.result()
        runs = [run for place in chosen for job in todo if job[0] == place for run in ended[job]]
        build = Run(Suite("build", (HOST,), 60, 900, "", "what the suites need"), HOST, made.results(), made.seconds, made.busy)
        return [*([build] if build.results else []), *skipped, *runs]

    def _skip(self, chosen: dict[str, list[Suite]]) -> list[Run]:
        """Takes suites out for which this release of Debian has no kernel; returns their results."""
        runs = []
        for guest, why in machine.missing_series().items():
            for place in list(chosen):
                left = [suite for suite in chosen[place]
                        if guest not in (suite.needs if place == HOST else pair.members(place))]
                runs += [Run(suite, place, [ktap.Result("all of it", ktap.SKIP, why)])
                         for suite in chosen[place] if suite not in left]
                chosen[place] = left
                if not left:
                    del chosen[place]
        return runs

    def _place(self, job: Job, made: needs.Needs) -> list[Run]:
        place, wanted, out = job
        if place == HOST:
            return self.on_host(wanted, made)
        if not made.good(_needs_of(place)):
            return [Run(suite, place, lost=UNBUILT) for suite in wanted]
        return self.in_guest(place, wanted, out)

    def on_host(self, wanted: Sequence[Suite], made: needs.Needs) -> list[Run]:
        """Runs suites of the host one after the other, those first that need nothing more."""
        found: dict[str, Run] = {}
        out = paths.RUN / HOST
        out.mkdir(parents=True, exist_ok=True)
        left = list(wanted)
        while left:
            suite = next((suite for suite in left if made.done(suite.needs)), None)
            if suite is None:
                made.wait()
                continue
            left.remove(suite)
            if not made.good(suite.needs):
                found[suite.name] = Run(suite, HOST, lost=UNBUILT)
                continue
            self._progress.running(f"{HOST} {suite.name}")
            found[suite.name] = self._host_suite(suite, out / f"{suite.name}.ktap")
            self._progress.ended(f"{HOST} {suite.name}")
            self._progress.suite(found[suite.name])
        return [found[suite.name] for suite in wanted]

    @staticmethod
    def _host_suite(suite: Suite, log: Path) -> Run:
        start = time.monotonic()
        with open(log, "wb") as out:
            process = subprocess.Popen(["bash", "-c", suite.command], cwd=paths.ROOT,
                                       stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            busy = usage.wait(process, suite.timeout)
            status = process.poll()
            if status is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        parser = ktap.Parser()
        for line in log.read_text(errors="replace").splitlines():
            parser.feed(line)
        results = _overdue(parser, suite) if status is None else parser.finish(status)
        return Run(suite, HOST, results, time.monotonic() - start, busy)

    def in_guest(self, name: str, wanted: Sequence[Suite], out: Path) -> list[Run]:
        """Boots a guest, or a pair of guests, once, and runs its suites in order; `out` is the directory for its files."""
        shutil.rmtree(out, ignore_errors=True)
        (out / "out").mkdir(parents=True)
        load = suites.LOAD_PAIR if pair.is_pair(name) else suites.LOAD
        plan = [load, *wanted, suites.UNLOAD]
        (out / "out/plan").write_text("".join(
            f"{suite.name}\t{suite.timeout}\t{suite.command}\n" for suite in plan))
        self._progress.running(f"{out.name} boot")
        if not pair.machine(name, out).works_here():
            self._progress.ended(f"{out.name} boot")
            self._progress.say(f"{name}: this machine does not run it")
            return [Run(suite, name, [ktap.Result("all of it", ktap.SKIP,
                                                  f"User-mode Linux does not run here: {out}")])
                    for suite in wanted]
        runs = self._boot(name, plan, out)
        if runs[0].unbegun:
            # Nothing of the project has run yet: an emulator that failed to start once is no reason to lose these suites.
            first = out.with_name(f"{out.name}-boot")
            shutil.rmtree(first, ignore_errors=True)
            out.rename(first)
            self._progress.say(f"{out.name}: {runs[0].lost.split(':')[0]}; starting it again, logs of this start: {first}")
            (out / "out").mkdir(parents=True)
            shutil.copy(first / "out/plan", out / "out/plan")
            why = runs[0].lost.replace(str(out), str(first))
            runs = self._boot(name, plan, out)
            runs[0].again = why
        return runs

    def _boot(self, name: str, plan: Sequence[Suite], out: Path) -> list[Run]:
        self._progress.running(f"{out.name} boot")
        session = _Session(name, pair.machine(name, out), plan, self._progress, self._allow)
        try:
            return session.read()
        finally:
            self._progress.ended(f"{out.name} boot")
            _remember(out / "out/keep")


class _Session:
    """Parses the lines of tests/harness/guest/guest-run: "> suite", "| output", "< suite status seconds"."""

    def __init__(self, name: str, machine: guest.Guest, plan: list[Suite],
                 progress: report.Progress, allow: list) -> None:
        self._machine = machine
        self._name = name
        self._runs = {suite.name: Run(suite, self._name, lost=NOT_RUN) for suite in plan}
        self._progress = progress
        self._allow = allow
        self._now: Run | None = None
        self._parser = ktap.Parser()
        self._began = 0.0
        self._busy = 0.0

    def read(self) -> list[Run]:
        """Reads lines until the guest has ended."""
        with open(self._machine.run / "results.ktap", "wb") as log:
            for line in self._machine.lines("exec tests/harness/guest/guest-run", guest.BOOT_SECONDS):
                log.write(line + b"\n")
                log.flush()
                self._line(line.decode(errors="replace").rstrip("\r"))
        runs = list(self._runs.values())
        if self._now:
            self._lost(self._now)
        elif runs[0].lost:
            runs[0].unbegun = True
            runs[0].lost = (f"guest {self._machine.verdict()} before its first suite; the end of "
                            f"{self._machine.console}:\n{self._machine.console_tail(8)}")
        return runs

    def _line(self, line: str) -> None:
        mark, _, text = line.partition(" ")
        if mark == "|" and self._now:
            self._parser.feed(text)
        elif mark == ">" and text in self._runs:
            self._begin(self._runs[text])
        elif mark == "<" and self._now:
            name, status, seconds = text.split()
            if name == self._now.suite.name:
                self._end(self._now, int(status), float(seconds))

    def _begin(self, run: Run) -> None:
        self._progress.ended(f"{self._machine.run.name} boot")
        self._progress.running(f"{self._machine.run.name} {run.suite.name}")
        self._now = run
        self._parser = ktap.Parser()
        self._began = time.monotonic()
        self._machine.deadline = self._began + run.suite.timeout + HANG_SECONDS

    def _end(self, run: Run, status: int, seconds: float) -> None:
        if status in (124, 137):
            run.results = _overdue(self._parser, run.suite)
        else:
            run.results = self._parser.finish(status)
        run.seconds = seconds
        busy = self._machine.processor_seconds()
        run.busy, self._busy = busy - self._busy, busy
        run.lost = ""
        log = self._machine.out / f"{run.suite.name}.dmesg"
        text = log.read_text(errors="replace") if log.exists() else ""
        text += self._machine.heard()
        for splat in splats.find(text, self._allow):
            run.results.append(ktap.Result(f"kernel log: {splat}", ktap.FAIL,
                                           f"the whole log is {log}"))
        self._now = None
        self._machine.deadline = time.monotonic() + HANG_SECONDS
        self._progress.ended(f"{self._machine.run.name} {run.suite.name}")
        self._progress.suite(run)

    def _lost(self, run: Run) -> None:
        """The guest was lost during this suite: tests that had finished count."""
        run.results = _finished(self._parser)
        run.seconds = time.monotonic() - self._began
        text = "\n".join(console.read_text(errors="replace")
                         .rpartition(f"rca: suite {run.suite.name} begins")[2]
                         for console in self._machine.consoles() if console.exists())
        seen = splats.find(text, self._allow)
        run.lost = f"guest {self._machine.verdict()}" + (": " + "; ".join(seen[:3]) if seen else "")
        run.trace = splats.trace(text, self._allow)
        self._progress.ended(f"{self._machine.run.name} {run.suite.name}")
        self._progress.say(f"{self._name} {run.suite.name}: {run.lost}")


def _remember(keep: Path) -> None:
    """Appends the lines that suites left in /out/keep to files in the cache, for later runs."""
    for path in keep.glob("*"):
        with open(paths.cache() / path.name, "a", encoding="utf-8") as known:
            known.write(path.read_text())


def _finished(parser: ktap.Parser) -> list[ktap.Result]:
    """Returns the results of a suite that did not finish."""
    return [result for result in parser.finish(None) if result.name.split(": ")[-1] != "plan"]


def _overdue(parser: ktap.Parser, suite: Suite) -> list[ktap.Result]:
    results = _finished(parser)
    last = f"; the last test that ended was '{results[-1].name}'" if results else ""
    return [*results, ktap.Result("timeout", ktap.FAIL,
                                  f"it took longer than {suite.timeout} s{last}")]
