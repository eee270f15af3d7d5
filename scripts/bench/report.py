# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Output for the user: progress during a run, and the table at the end."""

from __future__ import annotations

import threading
import time

from . import ktap, suites


class Progress:
    """Prints lines with the time since the start; if there is no other output, prints what is running."""

    QUIET = 60

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._running: dict[str, float] = {}
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._beat = threading.Thread(target=self._heartbeat, daemon=True)
        self._beat.start()

    def say(self, text: str) -> None:
        with self._lock:
            self._last = time.monotonic()
            print(f"[{self._last - self._start:5.0f}s] {text}", flush=True)

    def running(self, what: str) -> None:
        with self._lock:
            self._running[what] = time.monotonic()

    def ended(self, what: str) -> None:
        with self._lock:
            self._running.pop(what, None)

    def suite(self, run: suites.Run) -> None:
        """Prints a line for a suite that ended."""
        text = f"{run.where} {run.suite.name}: {run.count(ktap.PASS)} passed"
        for outcome, word in ((ktap.FAIL, "failed"), (ktap.SKIP, "skipped")):
            if run.count(outcome):
                text += f", {run.count(outcome)} {word}"
        self.say(f"{text} in {run.seconds:.0f} s")

    def close(self) -> None:
        self._done.set()
        self._beat.join()

    def _heartbeat(self) -> None:
        while not self._done.wait(5):
            now = time.monotonic()
            with self._lock:
                running = [f"{what} ({now - since:.0f} s)" for what, since in self._running.items()]
                quiet = now - self._last
            if running and quiet >= self.QUIET:
                self.say("still running: " + ", ".join(running))


def _indented(text: str) -> str:
    return "".join(f"\n      {line}" for line in text.splitlines())


def table(runs: list[suites.Run]) -> str:
    """Formats a line for each run, with the processor time that it used, and the sum; marks suites that took more than twice
    their declared time.
    """
    rows = [("suite", "guest", "passed", "failed", "skipped", "seconds", "busy", "warm", "")]
    for run in runs:
        note = run.lost.split(":")[0] or ("guest started twice" if run.again else "")
        if not note and run.seconds > 2 * run.suite.warm + 10:
            note = "slow"
        rows.append((run.suite.name, run.where, str(run.count(ktap.PASS)),
                     str(run.count(ktap.FAIL)), str(run.count(ktap.SKIP)),
                     f"{run.seconds:.0f}", f"{run.busy:.0f}", str(run.suite.warm), note))
    rows.append(("all", "", *(str(sum(run.count(outcome) for run in runs)) for outcome in (ktap.PASS, ktap.FAIL, ktap.SKIP)),
                 "", f"{sum(run.busy for run in runs):.0f}", "", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(8)]
    lines = []
    for row in rows:
        cells = [row[i].ljust(widths[i]) if i < 2 else row[i].rjust(widths[i]) for i in range(8)]
        lines.append(("  ".join(cells) + f"  {row[8]}").rstrip())
    return "\n".join(lines)


def _lost(runs: list[suites.Run]) -> list[str]:
    """Lists the suite in which each guest was lost with its trace, and the suites that did not run because of it."""
    lines = []
    for where in dict.fromkeys(run.where for run in runs):
        here = [run for run in runs if run.where == where]
        lines += [f"  {where} {run.suite.name}: {run.lost}{_indented(run.trace)}"
                  for run in here if run.lost not in ("", suites.NOT_RUN)]
        missed = [run.suite.name for run in here if run.lost == suites.NOT_RUN]
        if missed:
            lines.append(f"  {where}: not run: {' '.join(missed)}")
    return lines


def summary(runs: list[suites.Run], artifacts: str) -> str:
    """Formats the end of the output; its last line is for machines."""
    parts = [table(runs)]
    # Failures come last, because often only the end of a long log is kept.
    for outcome, title in ((ktap.SKIP, "Skipped"), (ktap.FAIL, "Failed")):
        lines = []
        for run in runs:
            for result in run.named(outcome):
                detail = result.detail if outcome == ktap.FAIL else ""
                reason = f" ({result.detail})" if outcome == ktap.SKIP and result.detail else ""
                lines.append(f"  {run.where} {run.suite.name}: {result.name}{reason}"
                             f"{_indented(detail)}")
            if outcome == ktap.FAIL and run.named(outcome):
                lines.append(f"    again: {run.reproduce()}")
        if lines:
            parts.append("\n".join([f"{title}:", *lines]))
    again = [f"  {run.where}: {run.again}" for run in runs if run.again]
    if again:
        parts.append("\n".join(["Started again, because the first start did not get to a suite:", *again]))
    lost = _lost(runs)
    if lost:
        parts.append("\n".join(["Without a verdict:", *lost]))
    parts.append(f"Logs: {artifacts}")
    totals = [sum(run.count(outcome) for run in runs)
              for outcome in (ktap.PASS, ktap.FAIL, ktap.SKIP)]
    parts.append("{} passed, {} failed, {} skipped".format(*totals))
    return "\n\n".join(parts)
