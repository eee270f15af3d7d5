# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The KTAP parser: converts the output of a suite to a list of results."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_RESULT = re.compile(r"( *)(ok|not ok)\b *(\d+)? *(?:- )?(.*)")
_DIRECTIVE = re.compile(r"(.*?)\s*#\s*(SKIP|XFAIL|TIMEOUT|ERROR)\b:?\s*(.*)", re.IGNORECASE)
_PLAN = re.compile(r"( *)1\.\.(\d+)\b(?:\s*#\s*SKIP\b\s*(.*))?", re.IGNORECASE)
_DETAIL_LINES = 12

PASS, FAIL, SKIP = "pass", "fail", "skip"


@dataclass
class Result:
    """A test: its name, prefixed with the names of its parents, the outcome, and the reason."""

    name: str
    outcome: str
    detail: str = ""


@dataclass
class _Level:
    """The tests at one level of indentation since the last result of their parent."""

    indent: int
    planned: int | None = None
    seen: int = 0
    results: list[Result] = field(default_factory=list)

    def close(self) -> list[Result]:
        """Returns all results of this level, with an additional failure if their number differs from the plan."""
        if self.planned is not None and self.planned != self.seen:
            self.results.append(Result("plan", FAIL,
                                       f"{self.planned} tests planned, {self.seen} reported"))
        return self.results


class Parser:
    """Parses a suite line by line; `finish` returns the results."""

    def __init__(self) -> None:
        self._levels = [_Level(0)]
        self._said: list[str] = []
        self._bail = ""

    def feed(self, line: str) -> None:
        """Parses a line, without its newline."""
        line = line.rstrip().expandtabs(4)
        plan = _PLAN.fullmatch(line)
        result = _RESULT.fullmatch(line)
        if plan:
            self._plan(len(plan.group(1)), int(plan.group(2)), plan.group(3))
        elif result:
            self._result(len(result.group(1)), result.group(2) == "ok",
                         result.group(4) or f"test {result.group(3) or '?'}")
        elif line.startswith("Bail out!"):
            self._bail = line
        elif line and not line.lstrip().startswith("KTAP version"):
            self._said.append(line.strip())

    def _level(self, indent: int) -> _Level:
        """Returns the level of this indentation; deeper levels stay open until the result of their parent."""
        while len(self._levels) > 1 and self._levels[-1].indent > indent:
            self._fold(self._levels.pop(), "")
        if self._levels[-1].indent < indent:
            self._levels.append(_Level(indent))
        return self._levels[-1]

    def _fold(self, child: _Level, parent: str) -> int:
        """Moves the results of a closed level to the one above it; returns the number of failures."""
        results = child.close()
        for result in results:
            result.name = f"{parent}: {result.name}" if parent else result.name
        self._levels[-1].results.extend(results)
        return sum(result.outcome == FAIL for result in results)

    def _plan(self, indent: int, planned: int, skip: str | None) -> None:
        level = self._level(indent)
        level.planned = planned
        if planned == 0:
            level.results.append(Result("all", SKIP, skip or "no reason given"))

    def _result(self, indent: int, good: bool, text: str) -> None:
        children = None
        while len(self._levels) > 1 and self._levels[-1].indent > indent:
            child = self._levels.pop()
            if self._levels[-1].indent < indent:
                self._levels.append(_Level(indent))
            if children is None:
                children = 0
            children += self._fold(child, self._plain(text))
        level = self._level(indent)
        level.seen += 1
        name, outcome, detail = text, PASS if good else FAIL, ""
        directive = _DIRECTIVE.fullmatch(text)
        if directive:
            name, word, reason = directive.groups()
            if word.upper() == "SKIP":
                outcome, detail = SKIP, reason or "no reason given"
            elif not good:
                detail = f"{word} {reason}".strip()
        if outcome == FAIL and not detail:
            detail = "\n".join(self._said[-_DETAIL_LINES:])
        # A parent has no result of its own, unless it failed without a failed child.
        if children is None or outcome == FAIL and not children:
            level.results.append(Result(name, outcome, detail))
        self._said = []

    @staticmethod
    def _plain(text: str) -> str:
        directive = _DIRECTIVE.fullmatch(text)
        return directive.group(1) if directive else text

    def finish(self, status: int | None) -> list[Result]:
        """Returns the results, after the suite ended with `status` (None: it did not end)."""
        while len(self._levels) > 1:
            self._fold(self._levels.pop(), "")
        top = self._levels[0]
        planned = top.planned is not None
        results = top.close()
        said = "\n".join(self._said[-_DETAIL_LINES:])
        if self._bail:
            results.append(Result("bail out", FAIL, self._bail))
        elif status is not None and not results:
            results.append(Result("no test ran", FAIL, f"exit status {status}\n{said}".strip()))
        elif status is not None and not planned:
            results.append(Result("plan", FAIL, f"the suite never gave its plan\n{said}".strip()))
        failed = any(result.outcome == FAIL for result in results)
        skipped = any(result.outcome == SKIP for result in results)
        if status and not failed and not (status == 4 and skipped):
            results.append(Result("exit status", FAIL, f"{status}, though no test failed\n{said}".strip()))
        return results
