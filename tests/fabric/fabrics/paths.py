# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Paths of the subnet administrator that are kept: hca0 asks for its way to hca1, which is in a network namespace of its
own. Whether a path is new is seen by its service level, which the administrator changes.
"""

from __future__ import annotations

import ipaddress
import json
import re
import time
from pathlib import Path

import ib
from agent import Agent, connected
from adapters import KNOBS
from scenario import Unexpected, run, same, wait_for
from stacks import OURS, ROOT, Stack

PEER, OWN = "10.8.0.2", "10.8.0.1"
# Level and name of options: type of service, and the number of REQs.
TOS = (0, 0)
RETRIES = ("0xa17", 3)
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

# On InfiniBand ib_core reports no changes of GIDs; the own GID is part of the question.
EVENTS = (*(("hca0/1/event", event) for event in ("reregister", "sm_change", "lid_change",
                                                  "pkey_change")),
          ("hca0/1/state", "down\nup"))
# Seconds in which an event takes effect: far less than the age of a path.
SOON = 20

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


def level(agent: Agent, to: int, number: int | None = None, way: tuple[str, str] = (OWN, PEER)) -> int:
    """The service level of the path of a new id to this port; the id is destroyed."""
    number = agent.routed(*way, to, number)
    found = agent.path(number)["sl"]
    agent.must("destroy", number)
    return found


def kept(stacks: dict[str, Stack]) -> None:
    """The second id uses the path of the first, but no other question does."""
    to = another_port()
    with Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *NOBODY) as other:
        knob("sa_sl", 1)
        same("first", level(agent, to), 1)
        knob("sa_sl", 2)
        same("second", level(agent, to), 1)
        same("of another user", level(other, to), 2)
        same("second again", level(agent, to), 1)
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
    """The whole host asks each time, or a namespace alone, or the host but not a namespace."""
    to = another_port()
    with Agent(stacks[OURS]) as here, Agent(stacks[OURS], *ib.elsewhere([])) as there:
        def levels() -> list[int]:
            return [level(here, to), level(there, to, way=(PEER, OWN))]

        def set_here(seconds: int) -> None:
            run(f"sysctl -qw net.rdma_cm_alt.path_cache_s={seconds}")

        def set_there(seconds: int) -> None:
            run(f"ip netns exec hca1 sysctl -qw net.rdma_cm_alt.path_cache_s={seconds}")

        try:
            knob("sa_sl", 1)
            same("at first", levels(), [1, 1])
            knob("sa_sl", 2)
            same("not set", levels(), [1, 1])
            set_here(0)
            same("the host asks", levels(), [2, 2])
            set_there(60)
            knob("sa_sl", 3)
            same("the namespace does not", levels(), [3, 2])
            set_here(-1)
            set_there(0)
            knob("sa_sl", 4)
            same("the namespace alone asks", levels(), [3, 4])
        finally:
            set_here(-1)
            set_there(-1)


def events(stacks: dict[str, Stack]) -> None:
    """Each event of the port after which the path may be another one."""
    to = another_port()
    with Agent(stacks[OURS]) as agent:
        for sl, (file, text) in enumerate(EVENTS, 1):
            knob("sa_sl", 0)
            before = level(agent, to)
            knob("sa_sl", sl)
            same(f"before {text}", level(agent, to), before)
            for line in text.splitlines():
                knob(file, line)
            ib.shell("hca_wait 60 hca_running ib0")
            began = time.monotonic()
            wait_for(f"another path after {text}", lambda: level(agent, to) == sl)
            if time.monotonic() - began > SOON:
                raise Unexpected(f"{text}: the path was dropped by its age")


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


def queries() -> int:
    """How many path queries the first rule has seen."""
    found = re.search(r"matched (\d+)", Path(KNOBS, "rules").read_text())
    if not found:
        raise Unexpected("the rules", Path(KNOBS, "rules").read_text())
    return int(found[1])


def waiting(agent: Agent, count: int, to: int) -> list[int]:
    """Ids that wait for their paths to one port."""
    numbers = [agent.resolved(OWN, PEER, to) for _ in range(count)]
    for number in numbers:
        agent.must("route", number)
    return numbers


def routed(agent: Agent, numbers: list[int]) -> None:
    """These ids get their paths, in any order."""
    found = []
    for _ in numbers:
        answer = agent.ask("event", 20000).split()
        if answer[1:3] != ["RDMA_CM_EVENT_ROUTE_RESOLVED", "0"]:
            raise Unexpected(" ".join(answer))
        found.append(int(answer[3]))
    same("the ids", sorted(found), sorted(numbers))


def together(stacks: dict[str, Stack]) -> None:
    """Many that ask at once: one query, which outlives the id that sent it."""
    with Agent(stacks[OURS]) as agent:
        # IPoIB asks for paths of its own when it looks for the neighbour.
        level(agent, another_port())
        # ib_sa repeats a query after a tenth of the timeout, 200 ms.
        knob("rules", "delay PATH ms=150")
        try:
            routed(agent, waiting(agent, 20, another_port()))
            same("queries of twenty ids", queries(), 1)
            first, second, *rest = waiting(agent, 6, another_port())
            agent.must("destroy", first)
            agent.must("destroy", second)
            routed(agent, rest)
            same("queries with those of six more", queries(), 2)
            # The last one that waits takes the query with it.
            for number in waiting(agent, 3, another_port()):
                agent.must("destroy", number)
            agent.quiet()
        finally:
            knob("rules", "clear")


def later(stacks: dict[str, Stack]) -> None:
    """An id that follows a query has its own time."""
    to = another_port()
    with Agent(stacks[OURS]) as agent:
        first, second = (agent.resolved(OWN, PEER, to) for _ in range(2))
        knob("rules", "drop PATH")
        try:
            agent.must("route", first)
            time.sleep(1)
            agent.must("route", second)
            agent.event("ROUTE_ERROR", first, -110)
        finally:
            knob("rules", "clear")
        agent.event("ROUTE_RESOLVED", second)


def shown(stacks: dict[str, Stack]) -> None:
    """The tool shows the paths that are kept, to root; the counters tell how often they were used."""
    tool = ROOT / "build/rdma-cm-alt"
    documented = re.search(r"Members of show paths\n(.*?)\n\.El",
                           (ROOT / "Documentation/man/rdma-cm-alt.8").read_text(), re.S)
    assert documented
    to, sl = another_port(), 7

    def listed() -> list[dict]:
        return [path for path in json.loads(run(f"{tool} -j show paths -d hca0"))
                if int(path["service"], 16) & 0xffff == to]

    def used() -> int:
        ports = json.loads(run(f"{tool} -j stats --all"))
        return next(port for port in ports if port.get("device") == "hca0")["counters"]["path-cached"]

    def address(text: str) -> ipaddress.IPv6Address:
        return ipaddress.IPv6Address(text)

    with Agent(stacks[OURS]) as agent:
        same("before", listed(), [])
        knob("sa_sl", sl)
        level(agent, to)
        before = used()
        level(agent, to)
        same("uses", used() - before, 1)
        path, = listed()
        same("members", sorted(path), sorted(re.findall(r"^\.It Va (\w+)$", documented[1], re.M)))
        lid = int(Path("/sys/class/infiniband/hca1/ports/1/lid").read_text(), 0)
        same("the path", [path["device"], path["port"], path["pkey"], path["dlid"], path["sl"]],
             ["hca0", 1, "0xffff", lid, sl])
        same("its GIDs", [address(path["gid"]), address(path["peer_gid"])],
             [address(ib.gid(0)), address(ib.gid(1))])
        refused = run(f"{' '.join(NOBODY)} {tool} show paths", None)
        if "not permitted" not in refused:
            raise Unexpected(f"another user: {refused}")
        knob("hca0/1/event", "sm_change")
        wait_for("no path", lambda: not listed())


TESTS = (
    ("a path is used again", kept, True),
    ("the cache is switched off", switched_off, False),
    ("events drop paths", events, True),
    ("errors are not kept", refusals, False),
    ("a peer with another LID", moved, True),
    ("a connection that failed", rejected, False),
    ("many ask at once", together, False),
    ("the time of an id that did not ask itself", later, False),
    ("what the tool shows", shown, True),
)
