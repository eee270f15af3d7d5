# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Network namespaces on InfiniBand: two of them share an adapter, or have one of their own.

hca0 belongs to the initial namespace, with ib0 (10.8.0.1) and a child of it in the partition
0x8001 (10.8.2.1). Of hca1, ib1 (10.8.0.2) is in the namespace hca1 and its child (10.8.2.2) in
hca2. So both are reached from outside, through one adapter.
"""

from __future__ import annotations

import os
import time

import adapters
from adapters import KNOBS, shell
from agent import Agent, connected, disconnected
from cmtrace import OURS, STOCK
from scenario import DEBUG, PATIENCE, Skip, Unexpected, run, same, wait_for
from stacks import ROOT, Inside, Stack

# Server, client. Stock with itself is the reference.
PAIRINGS = ((OURS, OURS),) if DEBUG else (
    (STOCK, STOCK), (OURS, OURS), (OURS, STOCK), (STOCK, OURS))
PORT = 7800
# Seconds, less than the time for which a destroyed id may wait for its peer.
LINGERS = 8


def up() -> None:
    """Set up the adapters, and interfaces in three namespaces."""
    adapters.up()
    adapters.child("ib0", "10.8.2.1")
    adapters.child("ib1", "10.8.2.2", "hca2")
    shell("hca_split")


def down() -> None:
    """Remove the namespaces, the interfaces and the adapters."""
    adapters.down()
    wait_for("the shared mode", lambda: not run("rdma system set netns shared 2>&1", None))


def one_port(stacks: dict[str, Stack]) -> None:
    """A listener on the wildcard in each namespace; each gets the requests to its address."""
    for number, (server, client) in enumerate(PAIRINGS):
        inside = [Inside(stacks[server], f"/run/netns/{name}") for name in ("hca1", "hca2")]
        with Agent(inside[0]) as first, Agent(inside[1]) as second, \
                Agent(stacks[client]) as outside:
            port = PORT + number
            listeners = [(agent, agent.listening("0.0.0.0", port)) for agent in (first, second)]
            for (agent, listener), other, address in zip(listeners, (second, first),
                                                         ("10.8.0.2", "10.8.2.2")):
                one = outside.routed("-", address, port)
                new = connected(outside, one, agent, listener)
                same("the adapter", agent.place(new)[0], "hca1")
                other.quiet()
                disconnected(outside, one, agent, new)
            # Without one listener its address refuses; the other listener is not affected.
            first.must("destroy", listeners[0][1])
            one = outside.routed("-", "10.8.0.2", port)
            outside.must("connect", one)
            if "RDMA_CM_EVENT_REJECTED" not in outside.ask("event", int(PATIENCE * 900)):
                raise Unexpected("not rejected", *outside.tell(20))
            one = outside.routed("-", "10.8.2.2", port)
            new = connected(outside, one, *listeners[1])
            disconnected(outside, one, second, new)


def inside_only(stacks: dict[str, Stack]) -> None:
    """An id finds only the addresses of its own namespace."""
    for name in (OURS, STOCK):
        with Agent(Inside(stacks[name], "/run/netns/hca2")) as agent:
            number = agent.id()
            same("a foreign address", agent.ask("bind", number, "10.8.0.2", 0), "EADDRNOTAVAIL")
            agent.must("bind", number, "10.8.2.2", 0)
        with Agent(stacks[name]) as agent:
            same("an address of a container", agent.ask("bind", agent.id(), "10.8.2.2", 0),
                 "EADDRNOTAVAIL")


def without_interface(stacks: dict[str, Stack]) -> None:
    """A listener takes its port of an adapter when its namespace gets an interface there."""
    port = PORT + 20
    run("ip netns add none && ip -n none link set lo up")
    with Agent(Inside(stacks[OURS], "/run/netns/none")) as inside, Agent(stacks[STOCK]) as home:

        def free() -> bool:
            number = home.id()
            home.must("bind", number, "10.8.0.1", port)
            answer = home.ask("listen", number)
            home.must("destroy", number)
            return answer.startswith("ok")

        inside.listening("0.0.0.0", port)
        same("the port is free", free(), True)
        run("ip link set ib0.8001 netns none")
        wait_for("the port to be taken", lambda: not free())
        run("ip -n none link del ib0.8001")
        wait_for("the port to be free", free)
    run("ip netns del none")


def exclusive(stacks: dict[str, Stack]) -> None:
    """In the exclusive mode hca1 moves into a namespace: its users get DEVICE_REMOVAL, processes
    in that namespace can use it.
    """
    run("ip netns del hca2; ip netns del hca1")
    shell(". tests/harness/guest/rig.sh; rig_namespaces_gone")
    wait_for("the exclusive mode", lambda: not run("rdma system set netns exclusive 2>&1", None))
    wait_for("ib1", lambda: not run("ip link show ib1 >/dev/null 2>&1 || echo no"))
    shell("hca_address 1")
    run("ip netns add hca1 && ip -n hca1 link set lo up")
    with Agent(stacks[OURS]) as home:
        bound = home.id()
        home.must("bind", bound, "10.8.0.2", 0)
        everywhere = home.listening("0.0.0.0", PORT + 10)
        run("rdma dev set hca1 netns hca1")
        home.event("DEVICE_REMOVAL", bound)
        home.quiet()
        wait_for("IPoIB", _interface_moved)
        run("ip -n hca1 link set ib1 up && ip -n hca1 addr add 10.8.0.2/24 dev ib1")
        shell("hca_wait 20 hca_running -n hca1 ib1")
        # The same port: the listener of the initial namespace does not occupy it there. (Stock's
        # wildcard listener would claim it on the devices of other namespaces, too.)
        for name in (STOCK, OURS):
            with Agent(Inside(stacks[name], "/run/netns/hca1")) as inside:
                address = "10.8.0.2" if name == STOCK else "0.0.0.0"
                listener = inside.listening(address, PORT + 10)
                one = home.routed("-", "10.8.0.2", PORT + 10)
                other = connected(home, one, inside, listener)
                same("the adapter", inside.place(other)[0], "hca1")
                disconnected(home, one, inside, other)
                if name == OURS:
                    # The adapter of the initial namespace is not visible there.
                    inside.must("bind", inside.id(), "10.8.0.2", 0)
                    one = inside.resolved("-", "127.0.0.1", PORT)
                    same("loopback", inside.place(one)[0], "hca1")
        run(f"ip netns exec hca1 {ROOT}/build/tests/fabric/fabrics/gids adapter_of_another_namespace")
        home.must("destroy", everywhere)
    with Agent(stacks[STOCK]) as outside:
        _given_back(outside, Inside(stacks[OURS], "/run/netns/hca1"))


def _interface_moved() -> bool:
    """IPoIB's interface of hca1 is in the namespace hca1, as ib1. Older kernels create it in the
    initial namespace, wherever the adapter is, newer ones beside the adapter, as ib0.
    """
    run("ip link set ib1 netns hca1 2>/dev/null || true")
    run("ip -n hca1 link set ib0 name ib1 2>/dev/null || true")
    return not run("ip -n hca1 link show ib1 >/dev/null 2>&1 || echo no")


def _given_back(outside: Agent, stack: Stack) -> None:
    """A destroyed id whose peer has asked for stock's timers sends its DREQ for half a minute if it
    gets no answer, but the namespace ends, and gives its adapter back.
    """
    with Agent(stack) as inside:
        listener = inside.listening("0.0.0.0", PORT + 11)
        one = outside.routed("-", "10.8.0.2", PORT + 11)
        connected(outside, one, inside, listener)
        run(f"echo drop DREQ >{KNOBS}/rules")
    try:
        begun = time.monotonic()
        run("ip netns del hca1")
        wait_for("the adapter", lambda: run("rdma dev show hca1 2>/dev/null || true"))
        if time.monotonic() - begun > LINGERS:
            raise Unexpected(f"the adapter was back after {time.monotonic() - begun:.1f} s")
    finally:
        run(f"echo clear >{KNOBS}/rules")


def soft_roce(stacks: dict[str, Stack]) -> None:
    """Two namespaces with a device each, over a wire, in either direction."""
    release = os.uname().release
    if [int(part) for part in release.split(".")[:2]] < [7, 1]:
        raise Skip(f"until 7.1, soft-RoCE sends in the initial namespace only; this is {release}")
    address = {"rxe7": "10.9.7.1", "rxe8": "10.9.7.2"}
    run("ip netns add rxe7 && ip netns add rxe8 &&"
        " ip link add n7 netns rxe7 type veth peer name n8 netns rxe8")
    try:
        for name, link in (("rxe7", "n7"), ("rxe8", "n8")):
            run(f"ip -n {name} link set lo up && ip -n {name} link set {link} up &&"
                f" ip -n {name} addr add {address[name]}/24 dev {link} &&"
                f" ip netns exec {name} rdma link add {name} type rxe netdev {link}")
        for number, (server, client) in enumerate(PAIRINGS):
            for here, there in (("rxe7", "rxe8"), ("rxe8", "rxe7")):
                with Agent(Inside(stacks[server], f"/run/netns/{here}")) as inside, \
                        Agent(Inside(stacks[client], f"/run/netns/{there}")) as outside:
                    listener = inside.listening("0.0.0.0", PORT + 40 + number)
                    one = outside.routed("-", address[here], PORT + 40 + number)
                    new = connected(outside, one, inside, listener)
                    same("the adapters", (inside.place(new)[0], outside.place(one)[0]), (here, there))
                    disconnected(outside, one, inside, new)
    finally:
        run("ip netns del rxe7; ip netns del rxe8")


# A name, the test, and whether the debug guest runs it, too.
TESTS = (
    ("listeners in two namespaces on one port of one adapter", one_port, True),
    ("addresses of other namespaces", inside_only, True),
    ("a namespace without an interface", without_interface, True),
    ("two namespaces with a soft-RoCE device each", soft_roce, True),
    ("an adapter moves in the exclusive mode", exclusive, True),
)
