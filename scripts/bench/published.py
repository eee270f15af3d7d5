# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The recorded results in tests/perf/results, and the parts of README that are made of them."""

from __future__ import annotations

import re
from pathlib import Path

from . import paths

RESULTS = paths.ROOT / "tests/perf/results"
TRUNK = "instructions"
# What one user can do to another; what the rows do is in a file of the suite.
ATTACKS = "attacks"
ATTACK_ROWS = paths.ROOT / "tests/robust/attacks/rows.conf"
# The table that scripts/demo prints.
CALLS = "calls"
# What writes the records; without an entry, scripts/perf.
WRITERS = {CALLS: "scripts/demo -p", ATTACKS: "tests/robust/attacks/run"}
# The runs in the guest of a plain make bench, and in the one with the newest kernel.
TABLE = "table.rst"
NEWEST = "table-newest.rst"

# What README says of a row of the table, or of the instructions.
REASONS = [
    ("A lost message does not cost seconds: 99 of 100 connects at 1 % loss take at most", "connect p99, 1 % of messages lost, InfiniBand"),
    ("A dead peer does not block a program: synchronous disconnect, with a deadline of 2 s", "synchronous disconnect from a dead peer"),
    ("Closing takes linear time: a channel with 16,000 ids", "close with 16,000 ids and events"),
    ("Known neighbours are resolved within the call: one address and route", "address and route, warm neighbour"),
    ("With [trunks](Documentation/trunks.rst) turned on at both hosts: instructions per connection, on one processor", TRUNK),
]

# The same of a row of the suite attacks.
ATTACK_REASONS = [
    ("One user does not [stop another](Documentation/security.rst): an address and its route, beside 200 threads of another user that "
     "listen and have no processor time left", "listens_resolve"),
]


class PublishedError(Exception):
    """A recorded result is missing or has an unexpected form; the text says which."""


def table(name: str = TABLE) -> tuple[str, list[list[str]]]:
    """Returns what a table says of its run, and the cells of its rows, the titles first."""
    path = RESULTS / name
    try:
        text = path.read_text().partition("\n\n")[2].strip()
    except FileNotFoundError as error:
        raise PublishedError(f"there is no {path.relative_to(paths.ROOT)}; scripts/perf -p writes it") from error
    about, *rows = re.split(r"(?m)^(?=   [*] - )", text)
    return about.partition("\n")[0], [re.findall(r"(?m)^ +[*]? *- (.*)$", row) for row in rows]


def records(name: str) -> list[list[str]]:
    """Returns the lines of a file of tabbed records, without its comments."""
    path = RESULTS / f"{name}.tsv"
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError as error:
        writer = WRITERS.get(name, "scripts/perf -j -p")
        raise PublishedError(f"there is no {path.relative_to(paths.ROOT)}; {writer} writes it") from error
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def _figures(row: str) -> tuple[str, str]:
    """Returns the figures of ours and stock, without the range of the rounds."""
    if row == TRUNK:
        counts = {case: f"{int(number):,}" for case, number in records(TRUNK)}
        return counts["trunk"], counts["stock"]
    for cells in table()[1]:
        if cells[0] == row:
            ours, stock = (re.sub(r" \(.*?\)", "", cell) for cell in cells[1:3])
            return ours, stock
    raise PublishedError(f"tests/perf/results/table.rst has no row '{row}', which README shows")


def reasons() -> str:
    """Returns the reasons as a table in Markdown."""
    lines = ["| | rdma_cm_alt | stock |", "|---|---|---|"]
    measured = _measured_attacks()
    for text, row in ATTACK_REASONS:
        if row not in measured:
            raise PublishedError(f"tests/perf/results/{ATTACKS}.tsv has no row '{row}', which README shows")
        _, stock, _, ours = map(_seconds, measured[row])
        lines.append(f"| {text} | **{ours}** | {stock} |")
    for text, row in REASONS:
        ours, stock = _figures(row)
        lines.append(f"| {text} | **{ours}** | {stock} |")
    return "\n".join(lines)


def calls() -> str:
    """Returns the system calls of a connection, as the demo counts them, as a table in Markdown."""
    return "\n".join(["| | client | server | together |", "|---|---|---|---|",
                      *(f"| {' | '.join(cells)} |" for cells in records(CALLS))])


def newest() -> str:
    """Returns the ratios on the newest kernel beside those of the other run, as a table in reStructuredText."""
    about, rows = table(NEWEST)
    others = {cells[0]: cells for cells in table()[1]}
    lines = [about, "", ".. list-table::", "   :header-rows: 1", ""]
    for cells in rows:
        other = others.get(cells[0])
        if other is None:
            continue
        shown = [cells[0], *(value for row in (other, cells) for value in (_ours(row), row[4], row[6]))]
        if cells[0] == "what":
            shown = ["what", *(f"{kernel}: {title}" for kernel in ("6.12", "newest")
                               for title in ("ours", "ratio", "verdict"))]
        lines += [f"   {'* -' if not number else '  -'} {cell if cell != '-' else '..'}"
                  for number, cell in enumerate(shown)]
    return "\n".join(lines)


def _ours(cells: list[str]) -> str:
    return re.sub(r" \(.*?\)", "", cells[1])


def _seconds(text: str) -> str:
    """Returns a time of the suite attacks for people: "0.012 s", "not in 10 s", or the name of an error."""
    if text == "-":
        return ".."
    if text.startswith("+"):
        return f"not in {float(text):.0f} s"
    return f"{float(text):.3f} s" if text[0].isdigit() else text


def _attack_rows() -> list[list[str]]:
    """Returns what the rows of the suite attacks do: name, one user, another user, bound."""
    lines = ATTACK_ROWS.read_text().splitlines()
    return [[cell.strip() for cell in line.split("|")] for line in lines if line and not line.startswith("#")]


def _measured_attacks() -> dict[str, list[str]]:
    """Returns the four times of each row: stock alone and beside the other user, and ours."""
    return {name: times for name, *times in records(ATTACKS)}


def attacks() -> str:
    """Returns what one user can do to another, as a table in reStructuredText."""
    measured = _measured_attacks()
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for cells in [["one user", "another user", "stock: alone", "beside", "ours: alone", "beside", "bound"],
                  *([one, another, *map(_seconds, measured[name]), f"{bound} s"]
                    for name, one, another, bound in _attack_rows() if name in measured)]:
        lines += [f"   {'  -' if number else '* -'} {cell}" for number, cell in enumerate(cells)]
    return "\n".join(lines)
