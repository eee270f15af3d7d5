# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""How long connects over a trunk take while the wire loses any packets."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from cmtrace import OURS
from hosts import Hosts
from loss import LOSSY, qp_numbers, start_server
from scenario import Unexpected
from stacks import ROOT
from trunks import connect, counters, load, trunks, wait_for_trunk

CONNECTS = ROOT / "build/tests/fabric/wire/connects"


class Figures(NamedTuple):
    """Of the times of some connects, in milliseconds."""

    p50: float
    p99: float
    most: float

    def __str__(self) -> str:
        return f"p50 {self.p50:.1f}, p99 {self.p99:.1f}, longest {self.most:.1f} ms"


def figures(times: list[float]) -> Figures:
    """Nearest ranks: at least 50 and 99 of a hundred take no longer."""
    ordered = sorted(times)
    return Figures(*(ordered[-(-len(ordered) * share // 100) - 1] for share in (50, 99, 100)))


def connects(hosts: Hosts, count: int) -> list[float]:
    """The times of so many connects, one at a time, in milliseconds; each over the trunk."""
    before = counters(hosts.near)["trunk-connect"]
    server, port = start_server(hosts, hosts.far, OURS, count, "hold")
    client = hosts.near.start(OURS, f"{CONNECTS} {hosts.far.ip} {port} {count} {qp_numbers(count)}")
    client.done("(?m)^end$", LOSSY)
    server.kill()
    grown = counters(hosts.near)["trunk-connect"] - before
    if grown != count:
        raise Unexpected(f"{grown} of {count} connects were made over a trunk")
    return [int(took) / 1000 for took in re.findall(r"(?m)^connect \d+ (\d+)$", client.output)]


def late(times: list[float], goal: float) -> float:
    """The share that takes longer, in percent."""
    return 100 * sum(took > goal for took in times) / len(times)


def connects_with_loss(percent: int, count: int, goal: float, hosts: Hosts) -> None:
    """Each connect is made over the trunk. Their times are noted, with the share that takes longer than the goal."""
    for host in hosts.both:
        load(host)
    with trunks(*hosts.both):
        for _ in range(2):
            connect(hosts, (OURS, OURS))
        wait_for_trunk(hosts)
        without = connects(hosts, count)
        with hosts.disturbed(f"loss {percent}%"):
            lossy = connects(hosts, count)
    for what, times in (("without loss", without), (f"with {percent}% loss", lossy)):
        print(f"# {count} connects {what}: {figures(times)}, {late(times, goal):.1f}% above {goal} ms", flush=True)


def tests(everything: bool) -> list[tuple[str, Callable[[Hosts], None]]]:
    """Percent of lost packets, connects, and the goal in milliseconds. Each takes a minute, so in long runs only."""
    rows = ((1, 1000, 20), (5, 400, 40)) if everything else ()
    return [(f"trunk loss: connects one at a time, {row[0]}% of all packets lost", partial(connects_with_loss, *row))
            for row in rows]
