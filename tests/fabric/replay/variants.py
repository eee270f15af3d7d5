# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Variants of a capture: one message of the peer is lost, late, doubled, or overtaken by the next.

A variant has a name, such as "lost 4" for packet 4, and is the same for both stacks.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from captures import Capture, Step

AS_RECORDED = "as recorded"
KINDS = ("lost", "late", "doubled", "swapped")


@dataclass(frozen=True)
class Variant:
    """What happens to which packet; no kind: nothing."""

    kind: str = ""
    packet: int = 0

    @property
    def name(self) -> str:
        """For people, and for the table of intended differences."""
        return f"{self.kind} {self.packet}" if self.kind else AS_RECORDED

    def applies(self, kind: str, step: Step) -> bool:
        """Whether a packet has this fate."""
        return self.kind == kind and self.packet == step.number


def _next_of_peer(capture: Capture, step: Step) -> bool:
    """Whether the peer sends another message right behind this one or later."""
    return any(other.from_peer and other.number > step.number for other in capture.steps)


def every(capture: Capture) -> list[Variant]:
    """The capture as recorded, and each variant of it."""
    found = [Variant()]
    for step in capture.steps:
        if step.from_peer:
            found += [Variant(kind, step.number) for kind in KINDS
                      if kind != "swapped" or _next_of_peer(capture, step)]
    return found


def some(capture: Capture, seed: int, count: int) -> list[Variant]:
    """The capture as recorded, and variants that the seed draws."""
    others = every(capture)[1:]
    drawn = random.Random(f"{seed} {capture.name}").sample(others, min(count, len(others)))
    return [Variant(), *sorted(drawn, key=others.index)]


def named(capture: Capture, name: str) -> Variant:
    """The variant of this name; raises ValueError."""
    for variant in every(capture):
        if variant.name == name:
            return variant
    raise ValueError(f"{capture.name} has no variant '{name}': it has {', '.join(v.name for v in every(capture))}")
