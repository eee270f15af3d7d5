# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""How long connects over a trunk take while the wire loses any packets."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from cmtrace import OURS
from hosts import DEBUG, Hosts
from loss import LOSSY, qp_numbers, start_server
from scenario import Skip, Unexpected
from stacks import ROOT
from trunks import connect, counters, load, trunks, wait_for_trunk

CONNECTS = ROOT / "build/tests/fabric/wire/connects"
# A connect that takes longer has waited for the timeout of the QP, which is 67 ms, or for a busy machine.
TIMEOUT_MS = 60


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
    """Few connects wait for the timeout of the QP, as the adapter of the peer asks for a lost packet before.

    The times and the goal of the 99th percentile are only noted: they depend on the machine.
    """
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
    # The debug kernel is as slow as the timeout.
    if DEBUG:
        return
    idle, waited = late(without, TIMEOUT_MS), late(lossy, TIMEOUT_MS)
    if idle > 1:
        raise Skip(f"the machine is too busy: {idle:.1f}% of connects take longer than {TIMEOUT_MS} ms without loss")
    if waited > percent:
        raise Unexpected(f"{waited:.1f}% of connects have waited for a timeout, not {percent}% at most")


def tests(everything: bool) -> list[tuple[str, Callable[[Hosts], None]]]:
    """Percent of lost packets, connects, and the goal in milliseconds. They take a minute, so only in long runs."""
    rows = ((1, 1000, 20), (5, 400, 40)) if everything else ()
    return [(f"trunk loss: connects one at a time, {row[0]}% of all packets lost", partial(connects_with_loss, *row))
            for row in rows]
