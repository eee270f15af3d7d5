# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Compares what two plays have seen, and a play with its capture. Each difference has a subject, two sides and a place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from captures import Capture, Step
from play import CARRIERS, Answer, Record

NOTHING = "nothing"


@dataclass
class Difference:
    """`packet` is the last one that the peer had sent."""

    what: str
    stock: str
    ours: str
    packet: int

    def text(self, names: tuple[str, str] = ("stock", "ours")) -> str:
        """For people."""
        return f"after packet {self.packet}: {self.what}: {names[0]}: {self.stock}; {names[1]}: {self.ours}"


@dataclass
class Intended:
    """A row of intended.conf."""

    capture: str
    variant: str
    what: str
    stock: str
    ours: str
    reason: str
    seen: bool = False

    def fits(self, capture: str, variant: str, difference: Difference) -> bool:
        """Whether this row allows a difference."""
        return all(matches(pattern, text) for pattern, text in (
            (self.capture, capture), (self.variant, variant), (self.what, difference.what),
            (self.stock, difference.stock), (self.ours, difference.ours)))


def matches(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern, in which a star stands for anything."""
    return bool(re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text))


def load_intended(path: Path) -> list[Intended]:
    """The rows of the table, one for each capture and variant that a line names."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|", 5)]
        if len(cells) != 6:
            raise SystemExit(f"{path}:{number}: {len(cells)} columns, 6 are needed")
        names, variants = ([name.strip() for name in cell.split(",")] for cell in cells[:2])
        rows += [Intended(name, variant, *cells[2:]) for name in names for variant in variants]
    return rows


def _lists(what: str, stock: list[tuple[str, int]], ours: list[tuple[str, int]]) -> list[Difference]:
    """The parts in which two lists of texts differ, with the packet before each."""
    left, right = [text for text, _ in stock], [text for text, _ in ours]
    found = []
    for kind, begin, end, other, other_end in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind != "equal":
            packets = [packet for _, packet in [*stock[begin:end], *ours[other:other_end]]]
            found.append(Difference(what, ", ".join(left[begin:end]) or NOTHING,
                                    ", ".join(right[other:other_end]) or NOTHING, min(packets)))
    return found


def _texts(capture: Capture, answers: Iterable[Answer]) -> list[tuple[str, int]]:
    """Whether a stack sends an MRA depends on how slow the program is, so only captures with one compare them."""
    mra = any(step.mad.name == "MRA" and not step.from_peer for step in capture.steps)
    return [(answer.text, answer.after) for answer in answers if mra or answer.mad.name != "MRA"]


def _parameters(stock: Record, ours: Record) -> list[Difference]:
    """Fields of messages that both stacks have sent: the n-th of a kind with the n-th of that kind."""
    found = []
    rest = list(ours.answers)
    for answer in stock.answers:
        other = next((each for each in rest if each.text == answer.text), None)
        if not other:
            continue
        rest.remove(other)
        for name, value in answer.parameters.items():
            if other.parameters[name] != value:
                found.append(Difference(f"{answer.text}: {name}", str(value), str(other.parameters[name]),
                                        answer.after))
    return found


def stacks(capture: Capture, stock: Record, ours: Record) -> list[Difference]:
    """All differences between two plays of the same variant."""
    return [*_lists("answers", _texts(capture, stock.answers), _texts(capture, ours.answers)), *_parameters(stock, ours),
            *_lists("program", stock.program, ours.program)]


def _data(step: Step, played: Record) -> Iterator[Difference]:
    """The private data that a call of the program has put into a recorded message, and those that were sent."""
    for answer in played.answers:
        if answer.mad.name == step.mad.name and answer.recorded == step.number:
            sent, recorded = answer.mad.data().hex() or NOTHING, step.mad.data().hex() or NOTHING
            if sent != recorded:
                yield Difference(f"{answer.text}: private_data", recorded, sent, answer.after)


def with_capture(capture: Capture, played: Record) -> list[Difference]:
    """The stack's messages in the capture, and those of a play; repetitions do not count."""
    recorded, after, found = [], 0, []
    for step in capture.steps:
        if step.from_peer:
            after = step.number
        elif not step.again:
            recorded.append((step.mad.kind(), after))
            found += _data(step, played) if step.call in CARRIERS else []
    return [*_lists("answers", recorded, _texts(capture, played.answers)), *found]
