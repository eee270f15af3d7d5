# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""An InfiniBand adapter is removed while ids of a program are in every state, waiting ones
included.

Everything happens on hca1: it connects to itself through the switch, and path queries go to the
administrator as for any other port. Its removal does not wait for programs that use it, as with
real adapters and unlike soft-RoCE.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from adapters import KNOBS, down, shell, up
from agent import Agent, connected
from cmtrace import OURS, STOCK
from scenario import DEBUG, PATIENCE, Unexpected, run, same
from stacks import Stack

__all__ = ("TESTS", "down", "up")
HERE, NOBODY = "10.8.0.2", "10.8.0.99"
GROUP, SILENT_GROUP = "239.8.7.1", "239.8.7.2"
PORT = 7900
STACKS = (OURS,) if DEBUG else (STOCK, OURS)


def rules(*each: str) -> None:
    """Set the rules for messages."""
    for rule in ("clear", *each):
        run(f"echo {rule} >{KNOBS}/rules")


def unplug() -> float:
    """Remove hca1, which waits for no program; returns how long it took."""
    began = time.monotonic()
    run(f"echo hca1 >{KNOBS}/remove")
    return time.monotonic() - began


def plug() -> None:
    """Add it again."""
    run(f"echo 1 >{KNOBS}/add")
    shell("hca_wait 20 test -e /sys/class/net/ib1 && hca_address 1")


def route_asked(agent: Agent) -> int:
    """An id with an outstanding path query."""
    number = agent.resolved("-", HERE, PORT)
    agent.must("route", number)
    return number


def told(agent: Agent, names: dict[int, str]) -> list[str]:
    """Events of ids with these names until no more come; the removal comes once and last."""
    heard: dict[str, list[str]] = {name: [] for name in names.values()}
    while (found := agent.ask("event", 3000 if DEBUG else 1500)) != "none":
        number = int(found.split()[3])
        if number not in names:
            raise Unexpected(f"{found} of another id", *agent.tell(20))
        heard[names[number]].append(found.split()[1].removeprefix("RDMA_CM_EVENT_"))
    return [f"{name}: {' '.join(events)}" for name, events in sorted(heard.items())]


def everything(agent: Agent, other: Agent) -> tuple[dict[int, str], dict[int, str]]:
    """Ids in every state, the waiting ones last; returns names of them."""
    ids = {agent.id(): "bound"}
    agent.must("bind", 0, HERE, 0)
    ids[agent.routed("-", HERE, PORT)] = "routed"
    ids[agent.listening(HERE, PORT + 1)] = "listening"
    member = agent.id("udp")
    agent.must("bind", member, HERE, 0)
    agent.must("join", member, GROUP)
    agent.event("MULTICAST_JOIN", member)
    ids[member] = "member"

    listener = other.listening(HERE, PORT)
    others = {listener: "listening"}
    one = agent.routed("-", HERE, PORT)
    ids[one] = "connected, active"
    others[connected(agent, one, other, listener)] = "connected, passive"

    # The peer has read the request, and does not answer.
    one = agent.routed("-", HERE, PORT)
    agent.must("connect", one)
    ids[one] = "unanswered"
    others[other.event("CONNECT_REQUEST", listener)] = "with a request"
    # It has answered, and gets no RTU.
    one = agent.routed("-", HERE, PORT)
    agent.must("connect", one)
    ids[one] = "answered, not confirmed"
    request = other.event("CONNECT_REQUEST", listener)
    other.must("accept", request)
    agent.event("CONNECT_RESPONSE", one)
    others[request] = "accepted, not confirmed"

    # This one causes no event.
    rules("drop REQ")
    one = agent.routed("-", HERE, PORT)
    agent.must("connect", one)
    ids[one] = "unheard"
    rules("drop REQ", "drop SA")
    ids[route_asked(agent)] = "path asked for"
    joining = agent.id("udp")
    agent.must("bind", joining, HERE, 0)
    agent.must("join", joining, SILENT_GROUP)
    ids[joining] = "joining"
    asking = agent.id()
    agent.must("bind", asking, HERE, 0)
    agent.must("resolve", asking, "-", NOBODY, PORT)
    ids[asking] = "address asked for"
    return ids, others


def goes(stacks: dict[str, Stack]) -> None:
    """Each id gets one DEVICE_REMOVAL, and can then only be destroyed. It may get events of its
    peer before.
    """
    for name in STACKS:
        with Agent(stacks[name]) as agent, Agent(stacks[name]) as other:
            wildcard = other.listening("0.0.0.0", PORT + 2)
            ids, others = everything(agent, other)
            try:
                took = unplug()
                heard = told(agent, ids) + told(other, others)
            finally:
                rules()
                plug()
            # ib_sa waits until its queries are cancelled.
            print(f"# {name}: the removal took {took:.1f} s")
            if took > PATIENCE:
                raise Unexpected(f"the removal took {took:.1f} s")
            wrong = [line for line in heard if not line.endswith("DEVICE_REMOVAL")
                     or line.count("DEVICE_REMOVAL") != 1]
            if name == STOCK:
                # Linux 6.1 forgets the id of an unanswered request.
                for line in wrong:
                    print(f"# stock: an id {line}")
            elif wrong:
                raise Unexpected(*wrong, *agent.tell(60))
            for number, state in ids.items():
                answer = agent.ask("connect", number)
                if answer == "ok":
                    raise Unexpected(f"{name}: an id that was {state} connects")
            for each, numbers in ((agent, ids), (other, others)):
                for number in numbers:
                    each.must("destroy", number)
            if name == OURS:
                with Agent(stacks[STOCK]) as client:
                    port_is_served(client, other, wildcard)


def port_is_served(client: Agent, server: Agent, listener: int) -> None:
    """The listener gets a request; it listens on a new adapter a moment after that is added."""
    deadline = time.monotonic() + PATIENCE
    while True:
        one = client.routed("-", HERE, PORT + 2)
        client.must("connect", one)
        found = server.ask("event", 1000)
        if found != "none":
            same("the request", found.split()[1:4],
                 ["RDMA_CM_EVENT_CONNECT_REQUEST", "0", str(listener)])
            return
        if time.monotonic() > deadline:
            raise Unexpected(f"listener {listener} is not there")
        client.must("destroy", one)


def again_and_again(stacks: dict[str, Stack]) -> None:
    """Remove it at any moment under ids that query paths, join, and connect; no object is left."""
    for round_ in range(2 if DEBUG else 5):
        with Agent(stacks[OURS]) as agent:
            listener = agent.listening(HERE, PORT + 3)
            ids = {listener}
            rules("delay SA ms=30", "delay CM ms=30")
            for _number in range(20):
                one = agent.id("udp" if _number % 3 == 2 else "tcp")
                agent.must("bind", one, HERE, 0)
                if _number % 3 == 2:
                    agent.must("join", one, f"239.8.8.{_number}")
                else:
                    agent.must("resolve", one, "-", HERE, PORT + 3)
                ids.add(one)
            try:
                told_once(agent, ids, _churn(agent, ids, round_ * 0.05))
            finally:
                rules()
                plug()


def told_once(agent: Agent, ids: set[int], removed: list[int]) -> None:
    """All ids of the program get the event. A request that it reads later returns an error when it
    is used.
    """
    missing = ids - set(removed)
    twice = {number for number in removed if removed.count(number) > 1}
    if missing or twice:
        raise Unexpected(f"not told: {missing}, twice: {twice}", *agent.tell(200))


def _churn(agent: Agent, ids: set[int], after: float) -> list[int]:
    """Let the ids continue; remove the adapter after that many seconds. Returns the ids that got
    the event.
    """
    began, gone, removed = time.monotonic(), False, []
    next_step: dict[str, Callable[[int], str]] = {
        "ADDR_RESOLVED": lambda number: agent.ask("route", number),
        "ROUTE_RESOLVED": lambda number: agent.ask("connect", number),
        "CONNECT_REQUEST": lambda number: agent.ask("accept", number),
        "CONNECT_RESPONSE": lambda number: agent.ask("establish", number),
        "ESTABLISHED": lambda number: agent.ask("disconnect", number),
    }
    while True:
        if not gone and time.monotonic() - began >= after:
            unplug()
            gone = True
        found = agent.ask("event", (3000 if DEBUG else 1500) if gone else 20)
        if found == "none":
            if gone:
                return removed
            continue
        if not found.startswith("ok"):
            raise Unexpected(f"event: {found}", *agent.tell(20))
        name, number = found.split()[1].removeprefix("RDMA_CM_EVENT_"), int(found.split()[-1])
        if not gone:
            ids.add(number)
        if name == "DEVICE_REMOVAL":
            removed.append(number)
        elif name in next_step:
            next_step[name](number)


# A name, the test, and whether the debug guest runs it, too.
TESTS = (
    ("an adapter goes under ids in every state", goes, True),
    ("an adapter goes at any moment", again_and_again, True),
)
