# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""KTAP for suites that are Python programs: numbered results, diagnostics, the plan at the end."""

from __future__ import annotations

from collections.abc import Iterable


def tried(count: int, what: str) -> None:
    """Number of faults that a test has injected, for scripts/faults-tried."""
    print(f"# faults tried: {count} {what}", flush=True)


class Tap:
    """Prints results as they come; `end` prints the plan and returns the exit status."""

    def __init__(self) -> None:
        self._count = 0
        self._failed = 0
        print("KTAP version 1", flush=True)

    def result(self, good: bool, name: str, why: Iterable[str] = ()) -> None:
        """One test; `why` is only printed when it failed."""
        self._count += 1
        if not good:
            self._failed += 1
            self.note(why)
        print(f"{'ok' if good else 'not ok'} {self._count} {name}", flush=True)

    def skip(self, name: str, reason: str) -> None:
        """A test that cannot run here, with the reason."""
        self._count += 1
        print(f"ok {self._count} {name} # SKIP {reason}", flush=True)

    @staticmethod
    def note(lines: Iterable[str]) -> None:
        """Diagnostic lines."""
        for line in lines:
            print(f"# {line}", flush=True)

    def end(self) -> int:
        """Print the plan; returns 0 when no test failed."""
        print(f"1..{self._count}", flush=True)
        return 1 if self._failed else 0
