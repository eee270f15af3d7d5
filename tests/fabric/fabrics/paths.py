# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Paths of the subnet administrator that are kept: hca0 asks for its way to hca1, which is in a network namespace of its
own. Whether a path is new is seen by its service level, which the administrator changes.
"""

from __future__ import annotations

from pathlib import Path

import ib
from agent import Agent, connected
from adapters import KNOBS
from scenario import Unexpected, run, same, wait_for
from stacks import OURS, Stack

PEER, OWN = "10.8.0.2", "10.8.0.1"
PARAMETERS = Path("/sys/module/rdma_cm_alt/parameters")
HERE = Path("/proc/sys/net/rdma_cm_alt/path_cache_s")
# Level and name of options: type of service, and the number of REQs.
TOS = (0, 0)
RETRIES = ("0xa17", 3)

port = 7900
down = ib.down


def up() -> None:
    """Set up the adapters, ib1 in a namespace of its own."""
    ib.up()
    ib.split({})


def knob(name: str, value: object) -> None:
    """Write a file of the adapters."""
    Path(KNOBS, name).write_text(f"{value}\n")


def another_port() -> int:
    """A port to which no path is known."""
    global port  # pylint: disable=global-statement
    port += 1
    return port


def level(agent: Agent, to: int, number: int | None = None) -> int:
    """The service level of the path of a new id to this port; the id is destroyed."""
    number = agent.routed(OWN, PEER, to, number)
    found = agent.path(number)["sl"]
    agent.must("destroy", number)
    return found


def kept(stacks: dict[str, Stack]) -> None:
    """The second id uses the path of the first, but no other question does."""
    to = another_port()
    with Agent(stacks[OURS]) as agent:
        knob("sa_sl", 1)
        same("first", level(agent, to), 1)
        knob("sa_sl", 2)
        same("second", level(agent, to), 1)
        same("another port", level(agent, another_port()), 2)
        number = agent.id()
        agent.must("option", number, *TOS, 32)
        same("another type of service", level(agent, to, number), 2)
        number = agent.id()
        agent.must("option", number, *RETRIES, 3)
        same("an id that sends in a single round", level(agent, to, number), 2)
        # That answer is newer.
        same("third", level(agent, to), 2)


def switched_off(stacks: dict[str, Stack]) -> None:
    """A namespace, or the whole host, asks each time."""
    to = another_port()
    with Agent(stacks[OURS]) as agent:
        for sl, file, value in ((3, HERE, "0"), (4, PARAMETERS / "path_cache_s", "0"),
                                (5, PARAMETERS / "path_cache_max", "0")):
            before = file.read_text()
            file.write_text(value)
            try:
                knob("sa_sl", sl - 1)
                level(agent, another_port() if file.name.endswith("max") else to)
                knob("sa_sl", sl)
                same(f"{file} is {value}", level(agent, port if file.name.endswith("max") else to), sl)
            finally:
                file.write_text(before)
        PARAMETERS.joinpath("path_cache_s").write_text("0")
        try:
            HERE.write_text("60")
            knob("sa_sl", 6)
            same("a namespace of its own mind", level(agent, to), 4)
        finally:
            HERE.write_text("-1")
            PARAMETERS.joinpath("path_cache_s").write_text("60")


def events(stacks: dict[str, Stack]) -> None:
    """Each event of the port after which the path may be another one."""
    to = another_port()
    with Agent(stacks[OURS]) as agent:
        for sl, event in enumerate(("reregister", "sm_change", "lid_change", "pkey_change",
                                    "gid_change"), 1):
            knob("sa_sl", 0)
            before = level(agent, to)
            knob("sa_sl", sl)
            same(f"before {event}", level(agent, to), before)
            knob("hca0/1/event", event)
            wait_for(f"another path after {event}", lambda: level(agent, to) == sl)
            ib.shell("hca_wait 60 hca_running ib0")


def refusals(stacks: dict[str, Stack]) -> None:
    """An error is not kept."""
    to = another_port()
    with Agent(stacks[OURS]) as agent:
        number = agent.resolved(OWN, PEER, to)
        knob("sa_status", "0x300")
        agent.must("route", number)
        answer = agent.ask("event", 5000)
        knob("sa_status", 0)
        same("refused", answer.split()[1], "RDMA_CM_EVENT_ROUTE_ERROR")
        agent.must("route", number)
        agent.event("ROUTE_RESOLVED", number)


def moved(stacks: dict[str, Stack]) -> None:
    """The peer has another LID, of which this host is not told: the REQs are lost until the path is
    asked for again, and the program only sees the connection.
    """
    to = another_port()
    lid = Path("/sys/class/infiniband/hca1/ports/1/lid")
    before = int(lid.read_text(), 0)
    with Agent(stacks[OURS]) as client, Agent(stacks[OURS], *ib.elsewhere([])) as server:
        listener = server.listening(PEER, to)
        level(client, to)
        knob("hca1/1/lid", before + 40)
        try:
            one = client.routed(OWN, PEER, to)
            connected(client, one, server, listener)
            client.must("destroy", one)
        finally:
            knob("hca1/1/lid", before)
            ib.shell("hca_wait 60 hca_running -n hca1 ib1")


def rejected(stacks: dict[str, Stack]) -> None:
    """After a connection that failed, the next id asks."""
    to = another_port()
    with Agent(stacks[OURS]) as agent:
        knob("sa_sl", 1)
        number = agent.routed(OWN, PEER, to)
        agent.must("destroy", number)
        knob("sa_sl", 2)
        number = agent.routed(OWN, PEER, to)
        same("a known path", agent.path(number)["sl"], 1)
        # Nobody listens there.
        agent.must("connect", number)
        found = agent.ask("event", 20000).split()
        if found[1] != "RDMA_CM_EVENT_REJECTED":
            raise Unexpected(" ".join(found))
        agent.must("destroy", number)
        same("the next id", level(agent, to), 2)


def bounded(stacks: dict[str, Stack]) -> None:
    """No more paths than permitted are kept, and a lower limit takes effect."""
    limit = PARAMETERS / "path_cache_max"
    before = limit.read_text()
    ports = [another_port() for _ in range(4)]
    with Agent(stacks[OURS]) as agent:
        limit.write_text("2")
        try:
            knob("sa_sl", 1)
            for to in ports:
                level(agent, to)
            knob("sa_sl", 2)
            same("the last two", [level(agent, to) for to in ports[2:]], [1, 1])
            same("the first", level(agent, ports[0]), 2)
        finally:
            limit.write_text(before)


TESTS = (
    ("a path is used again", kept, True),
    ("the cache is switched off", switched_off, False),
    ("events drop paths", events, True),
    ("errors are not kept", refusals, False),
    ("a peer with another LID", moved, True),
    ("a connection that failed", rejected, False),
    ("a bounded number of paths", bounded, False),
)
