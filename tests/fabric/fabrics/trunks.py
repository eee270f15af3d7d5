# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Trunks over InfiniBand: between hca0 and hca1, which is in a network namespace of its own, and from a port to itself."""

from __future__ import annotations

import ipaddress
import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import ib
import transport
from adapters import KNOBS
from agent import Agent, connected, disconnected
from scenario import DEBUG, PATIENCE, Unexpected, run, same, wait_for
from stacks import OURS, ROOT, Stack
from unplug import rules, unplug

OWN, PEER = "10.8.0.1", "10.8.0.2"
PARAMETERS = Path("/sys/module/rdma_cm_alt_trunk/parameters")
TRACING = Path("/sys/kernel/tracing/events").exists()

port = 8300
# Without the module of trunks, as long as the adapters are there.
without = ExitStack()


def up() -> None:
    """Set up the adapters, ib1 in a namespace of its own. There are no trunks until a test switches them on."""
    without.enter_context(transport.trunks(False))
    wait_for("no trunk", lambda: not qps())
    ib.up()
    ib.split({})


def down() -> None:
    """Remove the adapters."""
    ib.down()
    without.close()


def close_after(seconds: int) -> None:
    """Close trunks that are idle for so long: after what has to be made over one, as any step may take long."""
    (PARAMETERS / "trunk_idle_s").write_text(str(seconds))


@contextmanager
def trunks() -> Iterator[None]:
    """Switch them on for a while. The module knows no peers when it is loaded, and leaves nothing."""
    with transport.trunks(True):
        yield
    same("QPs without the module", qps(), [])


def tool(words: str, status: int | None = 0, before: tuple[str, ...] = ()) -> dict | list[dict]:
    """What rdma-cm-alt prints, perhaps in the other network namespace."""
    return json.loads(run(" ".join([*before, f"{ROOT}/build/rdma-cm-alt -j", words]), status))


def peers(number: int) -> list[dict]:
    """The peers of hca<number>."""
    return tool(f"show peers -d hca{number}")


def counters(number: int) -> dict[str, int]:
    """What hca<number> has counted of trunks."""
    port = next(port for port in tool("stats") if port.get("device") == f"hca{number}")
    return {name: count for name, count in port["counters"].items() if name.startswith(("trunk-", "hello-"))}


def grown(number: int, before: dict[str, int]) -> dict[str, int]:
    """The counters of hca<number> that have grown, and by how much."""
    return {name: count - before[name] for name, count in counters(number).items() if count != before[name]}


def transports(number: int, before: tuple[str, ...] = ()) -> list[tuple[str | None, str | None]]:
    """What the connections of hca<number> are made over, and why it is no trunk, the oldest first."""
    shown = tool(f"show ids -s connected -d hca{number}", before=before)
    return [(one.get("transport"), one.get("no_trunk")) for one in sorted(shown, key=lambda one: one["handle"])]


def why(what: str) -> list[str | None]:
    """What explain says of trunks to this address, or of this id."""
    said = tool(f"explain {what}", None)
    return [found.get("why_no_trunk") for found in said["ids"] + said.get("peers", [])]


@contextmanager
def traced() -> Iterator[list[str]]:
    """What the tracepoint tells meanwhile: what has happened to trunks, and why. Nothing without tracing."""
    told: list[str] = []
    event = Path("/sys/kernel/tracing/events/rdma_cm_alt/rca_trunk")
    if not event.exists():
        yield told
        return
    (event.parents[2] / "trace").write_text("")
    (event / "enable").write_text("1")
    try:
        yield told
    finally:
        (event / "enable").write_text("0")
        told += re.findall(r" rca_trunk: .* session=[0-9a-f]{8} (.*)", (event.parents[2] / "trace").read_text())


def peer(number: int, other: int) -> dict:
    """What hca<number> knows of hca<other>; {}: nothing."""
    gid = ipaddress.IPv6Address(ib.gid(other))
    return next((found for found in peers(number) if ipaddress.IPv6Address(found["peer_gid"]) == gid), {})


def qps() -> list[str]:
    """The QPs of trunks."""
    shown = json.loads(run("rdma -j resource show qp") or "[]")
    return [qp for qp in shown if qp.get("comm") == transport.NAME]


def is_open(number: int, other: int) -> bool:
    """Is there a trunk, on which both sides have sent a frame?"""
    found = peer(number, other)
    return found.get("trunk") == "open" and bool(found["frames_sent"]) and bool(found["frames_received"])


def route(client: Agent, server: Agent, source: str, address: str) -> tuple[int, int]:
    """An id with a route, and the listener that it leads to."""
    global port  # pylint: disable=global-statement
    port += 1
    listener = server.listening(address, port)
    return client.routed(source, address, port), listener


def connect(client: Agent, server: Agent, source: str, address: str) -> None:
    """A connection, which stays."""
    one, listener = route(client, server, source, address)
    connected(client, one, server, listener)


def states() -> tuple[str | None, str | None]:
    """The trunk between the adapters, at both."""
    return peer(0, 1).get("trunk"), peer(1, 0).get("trunk")


def open_trunk(client: Agent, server: Agent, source: str = OWN, address: str = PEER) -> None:
    """
    Connections until there is a trunk. The second one opens it, unless it comes more than ten seconds after the first, as on a
    busy machine.
    """
    for tries in range(6):
        connect(client, server, source, address)
        end = time.monotonic() + (20 if DEBUG else 5) * bool(tries)
        while time.monotonic() < end:
            if is_open(0, 1) and is_open(1, 0):
                return
            time.sleep(0.05)
    raise Unexpected("there is no trunk")


def over_trunk(client: Agent, server: Agent, source: str = OWN, address: str = PEER) -> tuple[int, int]:
    """A connection over the trunk, which is opened before; both ends."""
    if states() == (None, None):
        open_trunk(client, server, source, address)
    wait_for("a trunk", lambda: is_open(0, 1) and is_open(1, 0))
    one, listener = route(client, server, source, address)
    before = frames()
    other = connected(client, one, server, listener)
    if frames() == before:
        raise Unexpected("the connection was not made over the trunk")
    return one, other


def frames() -> list[int]:
    """The numbers of the frames that were sent and received."""
    return [peer(*pair)[f"frames_{what}"] for pair in ((0, 1), (1, 0)) for what in ("sent", "received")]


def opens(stacks: dict[str, Stack]) -> None:
    """The second connection to a host opens it, and later ones use it: there is one QP at each end."""
    with trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        connect(agent, other, OWN, PEER)
        same("after one connection", qps(), [])
        same("the client's host", ("protocol" in peer(0, 1), peer(0, 1)["hellos"]), (False, 1))
        same("the server's host", peer(1, 0)["protocol"], 2)
        connect(agent, other, OWN, PEER)
        wait_for("a trunk", lambda: is_open(0, 1) and is_open(1, 0))
        for _ in range(3):
            connect(agent, other, OWN, PEER)
            connect(other, agent, PEER, OWN)
        same("QPs", len(qps()), 2)
    same("peers without the module", (peers(0), peers(1)), ([], []))


def closes(stacks: dict[str, Stack]) -> None:
    """A trunk without messages is closed at both ends; connections stay."""
    with trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        open_trunk(agent, other)
        close_after(2)
        began = time.monotonic()
        wait_for("no trunk", lambda: not qps())
        # The time that it was opened with would be over after a minute.
        if time.monotonic() - began > 30:
            raise Unexpected("the trunk was not looked at when the time was changed")
        same("after it was closed", (peer(0, 1).get("trunk"), peer(1, 0).get("trunk")), (None, None))
        agent.quiet()
        other.quiet()


def crosses(stacks: dict[str, Stack]) -> None:
    """Both hosts ask at the same time: one of the two requests counts."""
    with trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        connect(agent, other, OWN, PEER)
        connect(other, agent, PEER, OWN)
        first, there = route(agent, other, OWN, PEER)
        second, here = route(other, agent, PEER, OWN)
        rules("delay CM ms=300")
        try:
            agent.must("connect", first)
            other.must("connect", second)
            other.event("CONNECT_REQUEST", there)
            agent.event("CONNECT_REQUEST", here)
            wait_for("a trunk", lambda: is_open(0, 1) and is_open(1, 0))
        finally:
            rules()
        wait_for("one QP at each end", lambda: len(qps()) == 2)
        same("open", (is_open(0, 1), is_open(1, 0)), (True, True))


def to_itself(stacks: dict[str, Stack]) -> None:
    """From a port to itself: two QPs, which are the ends of one trunk."""
    with trunks(), Agent(stacks[OURS], *ib.elsewhere([])) as agent:
        for _ in range(4):
            connect(agent, agent, PEER, PEER)
        wait_for("a trunk", lambda: is_open(1, 1))
        same("QPs", len(qps()), 2)


def goes(stacks: dict[str, Stack]) -> None:
    """An adapter with trunks is removed: the other end hears of it."""
    with trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        connect(agent, other, OWN, PEER)
        connect(agent, other, OWN, PEER)
        for _ in range(3):
            connect(other, other, PEER, PEER)
        wait_for("trunks", lambda: is_open(0, 1) and is_open(1, 0) and is_open(1, 1))
        took = unplug()
        if took > 10:
            raise Unexpected(f"the removal took {took:.1f} s")
        wait_for("no trunk", lambda: not qps())
        same("the other adapter", ["trunk" in found for found in peers(0)], [False])
    down()
    up()


def lost(stacks: dict[str, Stack]) -> None:
    """Requests for trunks that get no answer: connections are made, and it is tried again later."""
    with trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        before = counters(1)
        connect(agent, other, OWN, PEER)
        lid = int(Path("/sys/class/infiniband/hca1/ports/1/lid").read_text(), 0)
        rules(f"drop REQ from={lid}")
        try:
            connect(agent, other, OWN, PEER)
            wait_for("an attempt", lambda: peer(1, 0).get("trunk") == "opening")
            wait_for("its end", lambda: peer(1, 0)["failures"] == 1)
        finally:
            rules()
        wait_for("no QP", lambda: not qps())
        same("what failed", grown(1, before), {"hello-received": 2, "trunk-failed": 1})
        said = why(ib.gid(0))[0]
        if not re.match(r"a trunk could not be opened, 1 times in a row: it is tried again ", said or ""):
            raise Unexpected(f"explain: {said}")
        # The third hello, and a connection after it, when the first back-off is over.
        connect(agent, other, OWN, PEER)
        time.sleep(1.5)
        connect(agent, other, OWN, PEER)
        wait_for("a trunk", lambda: is_open(0, 1) and is_open(1, 0))
        same("failures", peer(1, 0)["failures"], 0)


def resumes(stacks: dict[str, Stack]) -> None:
    """Connections stay when their trunk is closed, and end over the next one, which has the same session."""
    with trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        ends = [over_trunk(agent, other) for _ in range(4)]
        close_after(2)
        wait_for("no QP", lambda: not qps())
        counted = counters(0)
        same("without a QP", states(), ("idle", "idle"))
        before = frames()
        agent.quiet()
        other.quiet()
        disconnected(agent, ends[0][0], other, ends[0][1])
        disconnected(other, ends[1][1], agent, ends[1][0])
        if not all(now > number for now, number in zip(frames(), before)):
            raise Unexpected(f"frames: {before} before, {frames()} now")
        same("what was counted", grown(0, counted), {"trunk-open": 1, "trunk-replaced": 1})
        # Another connection opens it again as well.
        wait_for("no QP again", lambda: not qps())
        one, listener = route(other, agent, PEER, OWN)
        before = frames()
        connected(other, one, agent, listener)
        if not all(now > number for now, number in zip(frames(), before)):
            raise Unexpected(f"frames: {before} before, {frames()} now")


def flaps(stacks: dict[str, Stack]) -> None:
    """The link is closed as soon as it is open, all the time: each message comes once."""
    with trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        kept = over_trunk(agent, other)
        close_after(0)
        for _ in range(10):
            one, listener = route(agent, other, OWN, PEER)
            disconnected(agent, one, other, connected(agent, one, other, listener))
            one, listener = route(other, agent, PEER, OWN)
            disconnected(agent, connected(other, one, agent, listener), other, one)
        agent.quiet()
        other.quiet()
        close_after(60)
        disconnected(agent, kept[0], other, kept[1])


def switched_off(stacks: dict[str, Stack]) -> None:
    """The module of trunks is in use as long as there are connections over one, also when that is idle; then it goes."""
    with trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        one, there = over_trunk(agent, other)
        close_after(2)
        for _ in range(3):
            if "in use" not in run(f"rmmod {transport.NAME} 2>&1", 1):
                raise Unexpected("the module goes while a connection is over a trunk")
        wait_for("no QP", lambda: not qps())
        agent.quiet()
        disconnected(agent, one, other, there)
        transport.unload()
        same("QPs", qps(), [])
        connect(agent, other, OWN, PEER)
        same("transport", transports(0)[-1], ("ib_cm", "off"))


def goes_with_connections(stacks: dict[str, Stack]) -> None:
    """An adapter is removed: connections over its trunks end at the other one, as those over ib_cm do."""
    with trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        one, _ = over_trunk(agent, other)
        before = counters(0)
        with traced() as told:
            took = unplug()
            heard = [agent.ask("event", PATIENCE * 1000).split() for _ in range(3)]
            counted = grown(0, before)
            agent.must("destroy", one)
            wait_for("no trunk", lambda: not any("trunk" in found for found in peers(0)))
        if took > 10:
            raise Unexpected(f"the removal took {took:.1f} s")
        same("events", sorted((int(event[3]), event[1], event[2]) for event in heard),
             [(number, "RDMA_CM_EVENT_DISCONNECTED", "0") for number in (0, 1, one)])
        same("what was counted", counted, {"trunk-lost": 1})
        if TRACING:
            same("what was traced", sorted(told), ["closed: the device is removed", "closed: the peer has ended it",
                                                   "lost: the peer has ended it"])
    down()
    up()


def seen(stacks: dict[str, Stack]) -> None:
    """What operators see: what connections are made over, and why it is no trunk."""
    with trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *ib.elsewhere([])) as other:
        before = [counters(0), counters(1)]
        transport.unload()
        connect(agent, other, OWN, PEER)
        transport.load()
        connect(agent, other, OWN, PEER)
        same("before a trunk", [line[:30] for line in why(PEER)], ["the peer has not said hello: i"])
        with traced() as told:
            over_trunk(agent, other)
        ours = transports(0)
        over = ours.count(("trunk", None))
        same("the client's", ours, [("ib_cm", "off"), *[("ib_cm", "none")] * (len(ours) - 1 - over),
                                    *[("trunk", None)] * over])
        same("the server's", set(transports(1, tuple(ib.elsewhere([])))), {("ib_cm", "asked"), ("trunk", None)})
        explained = [why(one["name"])[0] for one in tool("show ids -s connected -d hca0")]
        same("off", explained[0].split(":")[0], "trunks were off when it was requested")
        same("none", explained[1].split(";")[1], " one is now")
        same("a trunk", (explained[-1], why(PEER)), (None, [None]))
        told_of = [{name: count for name, count in grown(number, before[number]).items() if "hello" not in name}
                   for number in (0, 1)]
        same("counted", told_of, [{"trunk-connect": over, "trunk-open": 1}, {"trunk-request": over, "trunk-open": 1}])
        same("hellos", (grown(0, before[0])["hello-sent"], grown(1, before[1])["hello-received"]),
             (len(ours) - 1 - over,) * 2)
        if TRACING:
            same("traced", sorted(told), ["open: the peer has sent a frame"] * 2 +
                 ["opening: the peer asks", "opening: this host asks"])


def without_a_grh(stacks: dict[str, Stack]) -> None:
    """Paths without a GRH, as subnet managers give them inside of a subnet."""
    Path(KNOBS, "sa_hop_limit").write_text("0")
    try:
        opens(stacks)
    finally:
        Path(KNOBS, "sa_hop_limit").write_text("1")


# A name, the test, and whether the debug guest runs it, too.
TESTS = (
    ("the second connection opens a trunk", opens, False),
    ("paths without a GRH", without_a_grh, False),
    ("an idle trunk is closed", closes, False),
    ("both hosts ask at the same time", crosses, False),
    ("from a port to itself", to_itself, False),
    ("an adapter with trunks is removed", goes, True),
    ("requests for trunks are lost", lost, False),
    ("connections outlive an idle link", resumes, False),
    ("links that end all the time", flaps, True),
    ("what operators see of trunks", seen, True),
    ("the module of trunks is unloaded", switched_off, False),
    ("an adapter with connections over trunks is removed", goes_with_connections, True),
)
