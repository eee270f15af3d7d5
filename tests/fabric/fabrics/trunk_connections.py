# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Connections over a trunk between hca0 and hca1, which is in a network namespace of its own.

While a trunk is used, the messages of ib_cm are dropped: what happens does not need them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import ib
import trunks
from agent import Agent, connected, disconnected
from scenario import same, wait_for
from stacks import OURS, STOCK, Stack
from trunks import OWN, PEER, is_open, route
from unplug import rules, unplug

TIMED_OUT = -110
STALE, CONSUMER, NO_SERVICE = 10, 28, 8
STATES = ("init", "rtr", "rts")
# Level and name of the option, and its values.
TRUNK_OPTION = (0xa17, 6)
AUTO, REQUIRE, NEVER = 0, 1, 2
# What ib_cm carries in a request, and what a trunk carries in any message.
SHORT, LONG = 56, 255

up, down = trunks.up, trunks.down


@contextmanager
def opened(stacks: dict[str, Stack]) -> Iterator[tuple[Agent, Agent]]:
    """An agent for each end of an open trunk."""
    with trunks.trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        trunks.open_trunk(agent, other)
        yield agent, other


@contextmanager
def without_ib_cm() -> Iterator[None]:
    """No message of ib_cm arrives."""
    rules("drop CM")
    try:
        yield
    finally:
        rules()


def whole(client: Agent, server: Agent, source: str, address: str) -> None:
    """A connection from its request to the end of its timewait, with private data."""
    one, listener = route(client, server, source, address)
    client.must("connect", one, "question")
    child = server.event("CONNECT_REQUEST", listener)
    # Private data fill the field of the message, as over ib_cm.
    same("the request", server.ask("data"), "ok 1 1 56 question.")
    server.must("accept", child, "answer")
    client.event("CONNECT_RESPONSE", one)
    same("the reply", client.ask("data"), "ok 1 1 196 answer.")
    client.must("establish", one)
    server.event("ESTABLISHED", child)
    server.must("disconnect", child)
    ends = (client, server)
    for what in ("DISCONNECTED", "TIMEWAIT_EXIT"):
        same(what, sorted(end.event(what) for end in ends), sorted((one, child)))
    client.must("destroy", one)
    server.must("destroy", child)
    server.must("destroy", listener)


def all_of_it(stacks: dict[str, Stack]) -> None:
    """Connections in both directions, and from a port to itself."""
    with opened(stacks) as (agent, other):
        for _ in range(4):
            trunks.connect(other, other, PEER, PEER)
        wait_for("a trunk to itself", lambda: is_open(1, 1))
        with without_ib_cm():
            whole(agent, other, OWN, PEER)
            whole(other, agent, PEER, OWN)
            whole(other, other, PEER, PEER)


def attributes_of(agent: Agent, number: int) -> list[str]:
    return [agent.ask("attr", number, state) for state in STATES]


def attributes(client: Agent, server: Agent, source: str, address: str) -> list[list[str]]:
    """Those of both ends at each step of a connection."""
    one, listener = route(client, server, source, address)
    found = [attributes_of(client, one)]
    client.must("connect", one)
    child = server.event("CONNECT_REQUEST", listener)
    found += [attributes_of(client, one), attributes_of(server, child)]
    server.must("accept", child)
    client.event("CONNECT_RESPONSE", one)
    found += [attributes_of(client, one), attributes_of(server, child)]
    client.must("establish", one)
    server.event("ESTABLISHED", child)
    found += [attributes_of(client, one), attributes_of(server, child)]
    client.must("disconnect", one)
    server.event("DISCONNECTED", child)
    client.event("DISCONNECTED", one)
    found += [attributes_of(client, one), attributes_of(server, child)]
    client.must("destroy", one)
    server.must("destroy", child)
    return found


def same_attributes(stacks: dict[str, Stack]) -> None:
    """The attributes of QPs, at each step of a connection and at both ends, are those that ib_cm gives."""
    with Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        there = attributes(agent, other, OWN, PEER)
        back = attributes(other, agent, PEER, OWN)
    with opened(stacks) as (agent, other), without_ib_cm():
        for step, (over_ib_cm, over_trunk) in enumerate(zip(
                there + back, attributes(agent, other, OWN, PEER) + attributes(other, agent, PEER, OWN))):
            for state, want, got in zip(STATES, over_ib_cm, over_trunk):
                same(f"{state} at step {step}", got, want)


def rejects(stacks: dict[str, Stack]) -> None:
    """Requests and replies that a program rejects, and requests that nobody takes."""
    with opened(stacks) as (agent, other):
        with without_ib_cm():
            one, listener = route(agent, other, OWN, PEER)
            agent.must("connect", one)
            child = other.event("CONNECT_REQUEST", listener)
            other.must("reject", child, "no")
            agent.event("REJECTED", one, CONSUMER)
            same("the reject", agent.ask("data"), "ok 0 0 148 no.")
            one = agent.routed(OWN, PEER, trunks.port)
            agent.must("connect", one)
            child = other.event("CONNECT_REQUEST", listener)
            other.must("accept", child)
            agent.event("CONNECT_RESPONSE", one)
            agent.must("reject", one, "no")
            other.event("REJECTED", child, CONSUMER)
            other.must("destroy", listener)
            one = agent.routed(OWN, PEER, trunks.port)
        # The peer's module does not have the service ID, so another user of ib_cm there is asked.
        agent.must("connect", one)
        agent.event("REJECTED", one, NO_SERVICE)


def long_data(client: Agent, server: Agent, source: str, address: str) -> None:
    """As many private data as there may be: in a request, a reply and a reject."""
    one, listener = route(client, server, source, address)
    client.must("connect", one, "q" * LONG)
    child = server.event("CONNECT_REQUEST", listener)
    same("the request", server.ask("data"), f"ok 1 1 {LONG} {'q' * LONG}.")
    server.must("accept", child, "a" * LONG)
    client.event("CONNECT_RESPONSE", one)
    same("the reply", client.ask("data"), f"ok 1 1 {LONG} {'a' * LONG}.")
    client.must("establish", one)
    server.event("ESTABLISHED", child)
    refused = client.routed(source, address, trunks.port)
    client.must("connect", refused, "q" * (SHORT + 1))
    child = server.event("CONNECT_REQUEST", listener)
    same("a short request", server.ask("data"), f"ok 1 1 {SHORT + 1} {'q' * (SHORT + 1)}.")
    server.must("reject", child, "r" * LONG)
    client.event("REJECTED", refused, CONSUMER)
    same("the reject", client.ask("data"), f"ok 0 0 {LONG} {'r' * LONG}.")


def private_data(stacks: dict[str, Stack]) -> None:
    """Private data that ib_cm cannot carry, in both directions."""
    with opened(stacks) as (agent, other), without_ib_cm():
        long_data(agent, other, OWN, PEER)
        long_data(other, agent, PEER, OWN)


def without_trunk(stacks: dict[str, Stack]) -> None:
    """What ib_cm cannot carry, and what requires a trunk, fails where none is open, and the ids can connect still."""
    with Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        one, listener = route(agent, other, OWN, PEER)
        same("a long request", agent.ask("connect", one, "q" * (SHORT + 1)), "EINVAL")
        agent.must("option", one, *TRUNK_OPTION, REQUIRE)
        same("with a trunk alone", agent.ask("connect", one), "EOPNOTSUPP")
        agent.must("option", one, *TRUNK_OPTION, AUTO)
        agent.must("connect", one, "q" * SHORT)
        child = other.event("CONNECT_REQUEST", listener)
        same("a reject", other.ask("reject", child, "r" * 149), "EINVAL")
        # The library rejects a request that could not be accepted.
        same("a reply", other.ask("accept", child, "a" * 197), "EINVAL")
        agent.event("REJECTED", one, CONSUMER)


def chosen(stacks: dict[str, Stack]) -> None:
    """A program that requires the trunk, and one that does not want it."""
    with opened(stacks) as (agent, other):
        one, listener = route(agent, other, OWN, PEER)
        agent.must("option", one, *TRUNK_OPTION, NEVER)
        same("a long request", agent.ask("connect", one, "q" * (SHORT + 1)), "EINVAL")
        before = trunks.frames()
        child = connected(agent, one, other, listener)
        same("frames", trunks.frames(), before)
        disconnected(agent, one, other, child)
        one = agent.routed(OWN, PEER, trunks.port)
        agent.must("option", one, *TRUNK_OPTION, REQUIRE)
        with without_ib_cm():
            child = connected(agent, one, other, listener)
            disconnected(agent, one, other, child)
            other.must("destroy", listener)
            # Nobody but the peer's module is asked.
            one = agent.routed(OWN, PEER, trunks.port)
            agent.must("option", one, *TRUNK_OPTION, REQUIRE)
            agent.must("connect", one)
            agent.event("REJECTED", one, NO_SERVICE)


def long_and_lost(stacks: dict[str, Stack]) -> None:
    """A request that ib_cm cannot carry, and one that requires the trunk, whose peer is removed: it is unreachable."""
    with opened(stacks) as (agent, other):
        one, listener = route(agent, other, OWN, PEER)
        required = agent.routed(OWN, PEER, trunks.port)
        agent.must("option", required, *TRUNK_OPTION, REQUIRE)
        agent.must("connect", one, "q" * LONG)
        agent.must("connect", required)
        for _ in range(2):
            other.event("CONNECT_REQUEST", listener)
        unplug()
        ends: dict[int, list[str]] = {}
        while not {one, required} <= set(ends):
            _ok, name, status, number = agent.ask("event", 5000).split()
            ends[int(number)] = [name.removeprefix("RDMA_CM_EVENT_"), status]
        # The last record of the peer's program may arrive before the adapter is removed.
        for number in (one, required):
            if ends[number] != ["REJECTED", str(CONSUMER)]:
                same("the end of a request", ends[number], ["UNREACHABLE", str(TIMED_OUT)])
        agent.must("destroy", one)
        agent.must("destroy", required)
    down()
    up()


def elsewhere(stacks: dict[str, Stack]) -> None:
    """A listener of the stock connection manager on a host to which there is a trunk."""
    with opened(stacks) as (agent, _other), Agent(stacks[STOCK], *ib.elsewhere([])) as stock:
        one, listener = route(agent, stock, OWN, PEER)
        child = connected(agent, one, stock, listener)
        same("why it is no trunk", trunks.transports(0)[-1], ("ib_cm", "elsewhere"))
        disconnected(agent, one, stock, child)


def held(stacks: dict[str, Stack]) -> None:
    """Requests to a listener whose backlog is full arrive when there is room."""
    with opened(stacks) as (agent, other), without_ib_cm():
        trunks.port += 1
        listener = other.id()
        other.must("bind", listener, PEER, trunks.port)
        other.must("listen", listener, 1)
        ids = [agent.routed(OWN, PEER, trunks.port) for _ in range(4)]
        for one in ids:
            agent.must("connect", one)
        time.sleep(0.3)
        children = [other.event("CONNECT_REQUEST", listener) for _ in ids]
        for child in children:
            other.must("accept", child)
        for _ in ids:
            agent.event("CONNECT_RESPONSE")


def given_up(stacks: dict[str, Stack]) -> None:
    """Clients that end before their request is accepted, and before they are ready."""
    with opened(stacks) as (agent, other), without_ib_cm():
        one, listener = route(agent, other, OWN, PEER)
        agent.must("connect", one)
        child = other.event("CONNECT_REQUEST", listener)
        before = trunks.frames()
        agent.must("destroy", one)
        wait_for("the end of the request", lambda: trunks.frames()[-1] > before[-1])
        other.quiet()
        same("accept", other.ask("accept", child), "ECONNRESET")
        one = agent.routed(OWN, PEER, trunks.port)
        agent.must("connect", one)
        child = other.event("CONNECT_REQUEST", listener)
        other.must("accept", child)
        agent.event("CONNECT_RESPONSE", one)
        agent.must("destroy", one)
        other.event("REJECTED", child, CONSUMER)
        # A server that closes without an answer.
        one = agent.routed(OWN, PEER, trunks.port)
        agent.must("connect", one)
        child = other.event("CONNECT_REQUEST", listener)
        other.must("destroy", child)
        agent.event("REJECTED", one, CONSUMER)


def killed(stacks: dict[str, Stack]) -> None:
    """A program that ends with its connections: the peers of all hear of it."""
    with opened(stacks) as (agent, other), without_ib_cm():
        with Agent(stacks[OURS]) as client:
            children = []
            for _ in range(20):
                one, listener = route(client, other, OWN, PEER)
                children.append(connected(client, one, other, listener))
        same("those that hear of it", sorted(other.event("DISCONNECTED") for _ in children), sorted(children))
        agent.quiet()


def ends_of(agent: Agent, count: int) -> list[int]:
    """The ids of so many connections that have ended. The timewait of some may be over as well."""
    ends: list[int] = []
    while len(ends) < count:
        _ok, name, status, number = agent.ask("event", 30000).split()
        same("an event", (name.removeprefix("RDMA_CM_EVENT_") in ("DISCONNECTED", "TIMEWAIT_EXIT"), status), (True, "0"))
        if name.endswith("DISCONNECTED"):
            ends.append(int(number))
    return ends


def at_once(stacks: dict[str, Stack]) -> None:
    """More requests than the frames that are kept hold, in both directions, and all disconnects at once."""
    count = 150
    with opened(stacks) as (agent, other), without_ib_cm():
        one, listener = route(agent, other, OWN, PEER)
        ids = [one] + [agent.routed(OWN, PEER, trunks.port) for _ in range(count - 1)]
        for one in ids:
            agent.must("connect", one)
        children = [other.event("CONNECT_REQUEST", listener) for _ in ids]
        for child in children:
            other.must("accept", child)
        for _ in ids:
            agent.must("establish", agent.event("CONNECT_RESPONSE"))
        same("established", sorted(other.event("ESTABLISHED") for _ in ids), sorted(children))
        for one in ids:
            agent.must("disconnect", one)
        for child in children:
            other.must("disconnect", child)
        same("ended", sorted(ends_of(agent, len(ids))), sorted(ids))


def lost(stacks: dict[str, Stack]) -> None:
    """The peer's adapter is removed: its connections end here."""
    with opened(stacks) as (agent, other):
        one, listener = route(agent, other, OWN, PEER)
        connected(agent, one, other, listener)
        half = agent.routed(OWN, PEER, trunks.port)
        agent.must("connect", half)
        other.event("CONNECT_REQUEST", listener)
        unplug()
        # Over ib_cm before there was a trunk, and over it. Its last records may be lost with the adapter; the request may
        # be rejected before, or be repeated.
        ends: dict[int, int] = {}
        while len(ends) < 3:
            _ok, _name, status, number = agent.ask("event", 5000).split()
            if int(number) != half:
                ends[int(number)] = int(status)
        same("the ends of connections", (sorted(ends), ends[one] in (0, TIMED_OUT)), ([0, 1, one], True))
        agent.must("destroy", half)
        agent.must("destroy", one)
    down()
    up()


# A name, the test, and whether the debug guest runs it, too.
TESTS = (
    ("from the request to the end of the timewait", all_of_it, True),
    ("the attributes of QPs are those of ib_cm", same_attributes, False),
    ("rejects", rejects, False),
    ("long private data", private_data, False),
    ("long private data without a trunk", without_trunk, False),
    ("a trunk is required, or refused", chosen, False),
    ("requests that need the trunk, and the peer's adapter is removed", long_and_lost, False),
    ("a listener of another user of ib_cm", elsewhere, False),
    ("a full backlog", held, False),
    ("an end that gives up", given_up, False),
    ("a program that is killed", killed, False),
    ("many at once", at_once, True),
    ("the peer's adapter is removed", lost, True),
)
