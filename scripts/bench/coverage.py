# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Evaluates gcov counts of the module: compares gaps in coverage with the list of known gaps.

A gap is an executed line with a branch that was never taken, including the following lines that were not executed.
Unexecuted lines at the beginning of a function, before any gap of the first kind, are also a gap. A gap must be listed
if lines were not executed: branches alone, most of which are the compiler's, are counted in the table.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import paths

KNOWN = paths.ROOT / "tests/coverage.conf"
# Whether the execution of a known gap is a failure (NEVER), or depends on timing (CHANCE).
NEVER, CHANCE = "never", "chance"


@dataclass(frozen=True)
class Gap:
    """Code that was not executed. The text of the line identifies it, because line numbers change."""

    file: str
    function: str
    line: int
    text: str
    what: str
    executed: bool
    # Whether lines were not executed: this one, or those that follow it.
    lines: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.function}: {self.what}: {self.text}"

    def row(self) -> str:
        """Formats the gap as a line of the list, without the reason."""
        text = self.text.replace("|", r"\|")
        return f"{self.file} | {self.function} | {text} | {NEVER} |"


@dataclass(frozen=True)
class Known:
    """A line of tests/coverage.conf."""

    file: str
    function: str
    text: str
    when: str
    why: str

    def covers(self, gap: Gap) -> bool:
        """Whether this line of the list describes the gap.

        The text "*" matches everything in a function; "~..." is a regular expression for branches.
        """
        if self.file not in ("*", gap.file) or self.function not in ("*", gap.function):
            return False
        if self.text.startswith("~"):
            return gap.executed and re.search(self.text[1:], gap.text) is not None
        return self.text in ("*", gap.text)

    def __str__(self) -> str:
        return f"{self.file} | {self.function} | {self.text}"


@dataclass
class File:
    """The numbers of one source file, and its gaps."""

    name: str
    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_run: int = 0
    gaps: list[Gap] = field(default_factory=list)


def known(file: Path = KNOWN) -> list[Known]:
    """Returns all known gaps."""
    found = [Known(*row) for row in paths.table(file, 5)]
    for row in found:
        if row.when not in (NEVER, CHANCE):
            raise paths.BenchError(f"{file}: '{row}': '{row.when}' is neither {NEVER} nor {CHANCE}")
    return found


def check(files: list[File], listed: list[Known]) -> tuple[list[Gap], list[Known]]:
    """Returns the gaps that are not listed, and the listed gaps that no longer exist."""
    gaps = [gap for one in files for gap in one.gaps]
    new = [gap for gap in gaps if gap.lines and not any(row.covers(gap) for row in listed)]
    gone = [row for row in listed
            if row.when == NEVER and not any(row.covers(gap) for gap in gaps)]
    return new, gone


def merge(parts: list[Path], into: Path) -> None:
    """Adds up the counts of several directories of .gcda files."""
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(parts[0], into)
    for part in parts[1:]:
        # gcov-tool copies a file that only one directory has, and accepts an empty directory.
        subprocess.run(["gcov-tool", "merge", "-o", into, into, part], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(counts: Path, source: Path, kernel: Path, report: Path) -> list[File]:
    """Runs gcovr on the counts, next to the objects that they belong to, and writes its report.

    The names of kernel headers are relative to the directory where the kernel was built.
    """
    objects = source / "kernel"
    for old in objects.glob("**/*.gcda"):
        old.unlink()
    shutil.copytree(counts, objects, dirs_exist_ok=True)
    report.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["gcovr", "-r", ".", "--filter", "kernel/", "--json", report / "gcovr.json",
                           "--html-details", report / "index.html", "--html-title", report.name,
                           "--object-directory", kernel.resolve(), "kernel"],
                          cwd=source, check=False, capture_output=True, text=True)
    if done.returncode:
        raise paths.BenchError(f"gcovr cannot read {counts}: {done.stderr.strip()[-500:]}")
    return read(json.loads((report / "gcovr.json").read_text()), source)


def read(data: dict, source: Path) -> list[File]:
    """Converts the output of gcovr to a list of files."""
    return [_file(one, (source / one["file"]).read_text().splitlines())
            for one in sorted(data["files"], key=lambda one: one["file"])
            if any(not line["gcovr/noncode"] for line in one["lines"])]


def _file(data: dict, text: list[str]) -> File:
    found = File(data["file"])
    starts = sorted((one["lineno"], one["name"]) for one in data["functions"])
    inside, has_gap = "", False
    for line in data["lines"]:
        if line["gcovr/noncode"]:
            continue
        number, count = line["line_number"], line["count"]
        taken = [branch["count"] > 0 for branch in line["branches"]]
        found.lines += 1
        found.lines_run += count > 0
        found.branches += len(taken)
        found.branches_run += sum(taken)
        function = ([name for start, name in starts if start <= number] or ["?"])[-1]
        if function != inside:
            inside, has_gap = function, False
        source = " ".join(text[number - 1].split())
        if count and not all(taken):
            has_gap = True
            found.gaps.append(Gap(found.name, function, number, source,
                                  f"{taken.count(False)} of {len(taken)} branches", True, False))
        elif not count and has_gap:
            found.gaps[-1] = replace(found.gaps[-1], lines=True)
        elif not count:
            found.gaps.append(Gap(found.name, function, number, source, "not executed", False, True))
    return found


def _percent(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else "-"


def table(columns: dict[str, list[File]]) -> str:
    """Formats lines and branches, of each file and in total, for each measurement."""
    first = next(iter(columns.values()))
    figures = {name: {one.name: one for one in files} for name, files in columns.items()}
    head = f"{'file':32}{'lines':>6}{'branches':>9}"
    head += "".join(f"{name + ': lines':>16}{'branches':>10}" for name in columns)
    rows = [head]
    total = {name: File("all") for name in columns}
    for one in first:
        row = f"{one.name:32}{one.lines:6}{one.branches:9}"
        for name in columns:
            row += _cells(figures[name].get(one.name, File(one.name)))
        rows.append(row)
    for name, files in columns.items():
        for one in files:
            total[name].lines += one.lines
            total[name].lines_run += one.lines_run
            total[name].branches += one.branches
            total[name].branches_run += one.branches_run
    whole = next(iter(total.values()))
    rows.append(f"{'all':32}{whole.lines:6}{whole.branches:9}" +
                "".join(_cells(total[name]) for name in columns))
    return "\n".join(rows)


def _cells(one: File) -> str:
    return (f"{_percent(one.lines_run, one.lines):>16}"
            f"{_percent(one.branches_run, one.branches):>10}")
