# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""How many trunks may be open, which one is closed for another one, and which requests for one are refused.

The trunks are between hca0 and hca1, which is in a network namespace of its own, and from each of them to itself. All have both
their ends on this host, so each counts twice.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import ib
import trunks
from agent import Agent, connected, disconnected
from scenario import Unexpected, same, wait_for
from stacks import OURS, Stack
from trunk_failures import knob
from trunks import (OWN, PARAMETERS, PEER, TRACING, connect, counters, grown, is_open, open_trunk, over_trunk, peer, qps, route,
                    states, traced, why)

MOST = PARAMETERS / "trunk_max"

up, down = trunks.up, trunks.down


def refused(name: str, *wrong: str) -> None:
    """A parameter refuses these values, and keeps its own."""
    was = (PARAMETERS / name).read_text()
    for value in wrong:
        try:
            (PARAMETERS / name).write_text(value)
        except OSError:
            pass
        else:
            raise Unexpected(f"{name}: {value} was taken")
    same(name, (PARAMETERS / name).read_text(), was)


def itself(agent: Agent, number: int) -> None:
    """The trunk from hca<number> to itself."""
    address = (OWN, PEER)[number]
    for _ in range(2):
        connect(agent, agent, address, address)
    wait_for("a trunk to itself", lambda: is_open(number, number))


def oldest_ends(stacks: dict[str, Stack]) -> None:
    """If there are as many trunks as may be, the one that was idle longest is closed for another one. Connections stay."""
    with trunks.trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        MOST.write_text("4")
        kept = over_trunk(agent, other)
        itself(other, 1)
        disconnected(agent, kept[0], other, kept[1])
        kept = over_trunk(agent, other)
        time.sleep(1.2)
        with traced() as told:
            itself(agent, 0)
            wait_for("the end of hca1's to itself", lambda: "trunk" not in peer(1, 1))
        same("the others", states(), ("open", "open"))
        if TRACING and "closed: another trunk needs its place" not in told:
            raise Unexpected("the reason was not told", *told)
        MOST.write_text("2")
        counted = counters(1)
        # Two have to be closed before the next one is opened, whose ends are closed, too.
        for _ in range(90):
            time.sleep(1.2)
            connect(other, other, PEER, PEER)
            if is_open(1, 1):
                break
        wait_for("all but hca1 to itself", lambda: (len(qps()), states(), peer(0, 0).get("trunk")) == (2, ("idle", "idle"), None))
        if not grown(1, counted).get("trunk-failed"):
            raise Unexpected("a trunk was opened while there were too many")
        agent.quiet()
        other.quiet()
        time.sleep(1.2)
        # It needs its QP again.
        counted = counters(0)
        disconnected(agent, kept[0], other, kept[1])
        same("what was counted", grown(0, counted), {"trunk-open": 1, "trunk-replaced": 1})
        wait_for("the trunks", lambda: (len(qps()), states()) == (2, ("open", "open")))


def none_ends(stacks: dict[str, Stack]) -> None:
    """No trunk was idle, so no other one is opened: connections are made, and it is tried again later."""
    with trunks.trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        refused("trunk_max", "0", "4097", "-1", "many")
        refused("trunk_traffic_class", "256", "-1", "low")
        refused("trunk_sl", "16", "-1")
        MOST.write_text("1")
        before = counters(1)
        connect(agent, other, OWN, PEER)
        with traced() as told:
            connect(agent, other, OWN, PEER)
            wait_for("an attempt", lambda: peer(1, 0).get("failures") == 1)
            wait_for("its end", lambda: not qps())
        same("counted", grown(1, before), {"hello-received": 2, "trunk-failed": 1})
        said = why(ib.gid(0))[0]
        if not re.match(r"a trunk could not be opened, 1 times in a row: it is tried again ", said or ""):
            raise Unexpected(f"explain: {said}")
        if TRACING and "closed: too many trunks are open" not in told:
            raise Unexpected("the reason was not told", *told)
        MOST.write_text("2")
        time.sleep(1.5)
        open_trunk(agent, other)


def over_itself(agent: Agent) -> None:
    """A connection from hca1 to itself, and its end, some times a second."""
    time.sleep(0.1)
    one, listener = route(agent, agent, PEER, PEER)
    disconnected(agent, one, agent, connected(agent, one, agent, listener))
    agent.must("destroy", listener)


@contextmanager
def port_is_busy(agent: Agent) -> Iterator[None]:
    """Connections over the trunk of hca1 to itself, so that it is not idle for a second."""
    over = Event()

    def work() -> None:
        while not over.is_set():
            over_itself(agent)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        try:
            yield
        finally:
            over.set()
        done.result()


def busy(stacks: dict[str, Stack]) -> None:
    """Another user keeps all places busy while one of five idle connections is disconnected. The others stay, at both ends."""
    with trunks.trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other, \
            Agent(stacks[OURS], *ib.elsewhere([])) as user:
        MOST.write_text("2")
        kept = [over_trunk(agent, other) for _ in range(5)]
        time.sleep(1.2)
        itself(user, 1)
        with port_is_busy(user):
            wait_for("the end of the idle one", lambda: (len(qps()), states()) == (2, ("idle", "idle")))
            agent.must("disconnect", kept[0][0])
            time.sleep(34)
            same("the busy one", (len(qps()), is_open(1, 1), states()), (2, True, ("idle", "idle")))
            agent.event("DISCONNECTED", kept[0][0])
            agent.must("destroy", kept[0][0])
            agent.quiet()
            other.quiet()
        time.sleep(1.2)
        agent.must("disconnect", kept[1][0])
        ended = [end[1] for end in kept[:2]]
        same("those that end", sorted(other.event("DISCONNECTED") for _ in ended), sorted(ended))
        for number in ended:
            other.must("destroy", number)
        agent.event("DISCONNECTED", kept[1][0])
        agent.must("destroy", kept[1][0])
        agent.quiet()
        disconnected(other, kept[2][1], agent, kept[2][0])


def foreign_token(stacks: dict[str, Stack]) -> None:
    """A peer asks with the token of another entry of the GID table: it is refused, and opens a trunk with the next hello."""
    gid = Path("/sys/class/infiniband/hca0/ports/1/gids")
    was = ib.gid(0)
    with trunks.trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        before = counters(0), counters(1)
        connect(agent, other, OWN, PEER)
        for row in (f"1 {was}", "0 fe80::77:78"):
            knob("hca0/1/gids", row)
        try:
            knob("hca0/1/event", "reregister")
            wait_for("the GID", lambda: (gid / "1").read_text().strip() == was)
            wait_for("the other GID", lambda: (gid / "0").read_text().strip() != was)
            connect(agent, other, OWN, PEER)
            wait_for("an attempt", lambda: grown(1, before[1]).get("trunk-failed") == 1)
            same("at the host that is asked", grown(0, before[0]), {"hello-sent": 2, "trunk-refused": 1})
            same("at the other one", grown(1, before[1]), {"hello-received": 2, "trunk-failed": 1})
            time.sleep(1.5)
            connect(agent, other, OWN, PEER)
            wait_for("a trunk", lambda: len(qps()) == 2 and grown(1, before[1]).get("trunk-open") == 1)
            same("refused once", grown(0, before[0])["trunk-refused"], 1)
        finally:
            for row in (f"0 {was}", "1 ::"):
                knob("hca0/1/gids", row)
            knob("hca0/1/event", "reregister")
            wait_for("the GID again", lambda: (gid / "0").read_text().strip() == was)


# A name, the test, and whether the debug guest runs it, too.
TESTS = (
    ("the one that was idle longest goes", oldest_ends, True),
    ("none can be closed", none_ends, False),
    ("others keep all places busy", busy, False),
    ("a request with a foreign token", foreign_token, False),
)
