# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What happens to a trunk and its connections when a port, a partition or the peer fails.

The trunk is between hca0 and hca1, which is in a network namespace of its own. A QP of the adapters fails when a message could
not be delivered for two seconds.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import roce
import trunks
from adapters import KNOBS, shell
from agent import Agent, connected, disconnected
from scenario import DEBUG, Skip, Unexpected, run, same, wait_for
from stacks import OURS, Stack
from trunk_connections import TIMED_OUT, opened
from trunks import OWN, PARAMETERS, PEER, is_open, qps, route, states, tool
from unplug import rules

DEATH_MS = PARAMETERS / "peer_death_ms"
COUNT = 4
ROCE = "10.9.0.1"
THIRD = "10.8.0.3"

up, down = trunks.up, trunks.down


def knob(name: str, text: str) -> None:
    """Write to a file of a port of an adapter."""
    Path(KNOBS, name).write_text(text)


@contextmanager
def changed(name: str, now: str, after: str) -> Iterator[None]:
    """A port is different meanwhile."""
    knob(name, now)
    try:
        yield
    finally:
        knob(name, after)


@contextmanager
def watched(ms: int) -> Iterator[None]:
    """Peers are watched meanwhile."""
    DEATH_MS.write_text(str(ms))
    try:
        yield
    finally:
        DEATH_MS.write_text("0")


def qp_ends(number: int) -> None:
    """The QP of hca<number> ends, long before the trunk is idle. Nothing tells the other end, which has nothing to send."""
    began = time.monotonic()
    wait_for("no QP", lambda: not any(qp["ifname"] == f"hca{number}" for qp in qps()))
    took = time.monotonic() - began
    if took > 30:
        raise Unexpected(f"the QP ended after {took:.0f} s")


def connections(client: Agent, server: Agent) -> tuple[list[int], list[int]]:
    """Connections over the trunk; both ends."""
    one, listener = route(client, server, OWN, PEER)
    ids = [one] + [client.routed(OWN, PEER, trunks.port) for _ in range(COUNT - 1)]
    return ids, [connected(client, one, server, listener) for one in ids]


def all_end(agent: Agent, ids: list[int]) -> None:
    """All connections of a lost session end."""
    same("those that end", sorted(agent.event("DISCONNECTED", status=TIMED_OUT) for _ in ids), sorted(ids))


def short(stacks: dict[str, Stack]) -> None:
    """A port is down for a moment: the QP repeats its messages, and nothing else happens."""
    with opened(stacks) as (agent, other):
        ids, children = connections(agent, other)
        before = sorted(qp["lqpn"] for qp in qps())
        with changed("hca1/1/state", "down", "up"):
            agent.must("disconnect", ids[0])
            time.sleep(0.3)
            other.quiet()
        other.event("DISCONNECTED", children[0])
        other.must("destroy", children[0])
        agent.event("DISCONNECTED", ids[0])
        agent.must("destroy", ids[0])
        same("the QPs", sorted(qp["lqpn"] for qp in qps()), before)
        disconnected(other, children[1], agent, ids[1])


def long(stacks: dict[str, Stack]) -> None:
    """
    A port is down for longer than a trunk that is needed would be opened again: connections stay, and so does the QP. It is not
    closed as idle before the port can tell the peer, and if it fails as one connection has something to send, the others stay.
    """
    with opened(stacks) as (agent, other):
        ids, children = connections(agent, other)
        before = sorted(qp["lqpn"] for qp in qps())
        with changed("hca1/1/state", "down", "up"):
            time.sleep(34)
            agent.quiet()
            other.quiet()
        disconnected(agent, ids[0], other, children[0])
        disconnected(other, children[1], agent, ids[1])
        same("the QPs", sorted(qp["lqpn"] for qp in qps()), before)
        with changed("hca1/1/state", "down", "up"):
            trunks.close_after(1)
            time.sleep(3)
            same("who has a QP", [qp["ifname"] for qp in qps()], ["hca1"])
            other.must("disconnect", children[2])
            qp_ends(1)
            # It is not answered, as over ib_cm.
            other.event("DISCONNECTED", children[2])
            other.must("destroy", children[2])
            time.sleep(34)
            agent.quiet()
            other.quiet()
        trunks.close_after(60)
        agent.event("DISCONNECTED", ids[2])
        agent.must("destroy", ids[2])
        disconnected(agent, ids[3], other, children[3])


def qp1() -> str:
    """The state of the QP of soft-RoCE that sends the messages of ib_cm."""
    return next(qp["state"] for qp in json.loads(run("rdma -j resource show qp"))
                if qp["ifname"] == "rxe0" and qp["type"] == "GSI")


@contextmanager
def link_down() -> Iterator[None]:
    """The network device of rxe0 is down meanwhile, and keeps its addresses."""
    run("sysctl -qw net.ipv6.conf.d0.keep_addr_on_down=1")
    run("ip link set d0 down")
    try:
        yield
    finally:
        run("ip link set d0 up")


def roce_open(agent: Agent) -> list[tuple[int, int]]:
    """Connections over a trunk from a port of soft-RoCE to itself; both ends of each."""
    for _ in range(6):
        trunks.connect(agent, agent, ROCE, ROCE)
        end = time.monotonic() + (20 if DEBUG else 5)
        while time.monotonic() < end and not all("trunk" in found for found in tool("show peers -d rxe0")):
            time.sleep(0.1)
        if len(qps()) == 2:
            break
    made = []
    for _ in range(COUNT):
        one, listener = route(agent, agent, ROCE, ROCE)
        made.append((one, connected(agent, one, agent, listener)))
    over = [shown["transport"] for shown in tool("show ids -s connected -d rxe0")]
    same("connections over a trunk", over.count("trunk") >= 2 * COUNT, True)
    return made


def roce_down(stacks: dict[str, Stack]) -> None:
    """
    The link of a port of soft-RoCE is down while trunks are idle, have to send, and lose their peer: no message of ib_cm is sent
    meanwhile, which would put QP 1 of the port into the error state, for ever.
    """
    with trunks.trunks(), Agent(stacks[OURS]) as agent:
        ends = roce_open(agent)
        with link_down():
            trunks.close_after(1)
            time.sleep(3)
            same("QPs, idle", len(qps()), 2)
            agent.must("disconnect", ends[0][0])
            agent.event("DISCONNECTED", ends[0][0])
            agent.must("destroy", ends[0][0])
            time.sleep(3)
            same("QP 1", qp1(), "RTS")
        agent.event("DISCONNECTED", ends[0][1])
        agent.must("destroy", ends[0][1])
        for times in range(5):
            one, listener = route(agent, agent, ROCE, ROCE)
            other = connected(agent, one, agent, listener)
            agent.start("disconnect", one)
            time.sleep(0.002 * times)
            with link_down():
                agent.answer()
                # The message may arrive before the link is down.
                ended = agent.event("DISCONNECTED")
                agent.must("destroy", ended)
                time.sleep(0.5)
            left = other if ended == one else one
            agent.event("DISCONNECTED", left)
            agent.must("destroy", left)
            same("QP 1, used while the link goes down", qp1(), "RTS")
        trunks.close_after(60)
        with watched(6000 if DEBUG else 2000), link_down():
            all_end(agent, [number for pair in ends[1:] for number in pair])
            wait_for("no QP", lambda: not qps())
            same("QP 1", qp1(), "RTS")
        # The ids that have ended still get TIMEWAIT_EXIT, at a time that depends on the load.
        with Agent(stacks[OURS]) as fresh:
            trunks.connect(fresh, fresh, ROCE, ROCE)


def forgotten(stacks: dict[str, Stack]) -> None:
    """
    A port is down while the last connections of a trunk end: this end is told at once, and forgets them. Their queue pair
    fails with what it had to say, but the peer hears of them when the port comes back.
    """
    with opened(stacks) as (agent, other):
        ids, children = connections(agent, other)
        with changed("hca0/1/state", "down", "up"):
            for one in ids:
                agent.must("disconnect", one)
                agent.event("DISCONNECTED", one)
                agent.must("destroy", one)
            over = [shown["transport"] for shown in tool("show ids -s connected -d hca0")]
            same("connections over a trunk", over.count("trunk"), 0)
            qp_ends(0)
            time.sleep(2)
            other.quiet()
        same("those that end", sorted(other.event("DISCONNECTED") for _ in ids), sorted(children))


def unheard(stacks: dict[str, Stack]) -> None:
    """The peer's trunk ends with its partition, and the message about it is lost. A request is repeated once the QP has failed."""
    with opened(stacks) as (agent, other):
        rules("drop DREQ")
        try:
            with changed("hca1/1/pkeys", "0x8001", "0xffff 0x8001"):
                qp_ends(1)
        finally:
            rules()
        same("this end", states()[0], "open")
        one, listener = route(agent, other, OWN, PEER)
        disconnected(agent, one, other, connected(agent, one, other, listener))


def partition(stacks: dict[str, Stack]) -> None:
    """A partition goes, and comes back: connections stay, but for one that is disconnected meanwhile."""
    own = Path("/sys/class/net/ib0/pkey")
    with opened(stacks) as (agent, other):
        ids, children = connections(agent, other)
        with changed("hca0/1/pkeys", "0x8001", "0xffff 0x8001"):
            qp_ends(0)
            wait_for("the other partition", lambda: own.read_text().strip() == "0x8001")
            agent.quiet()
            other.quiet()
        # The host knows it when IPoIB does, which gets the same event.
        wait_for("the partition", lambda: own.read_text().strip() == "0xffff")
        disconnected(agent, ids[0], other, children[0])
        wait_for("a trunk", lambda: is_open(0, 1) and is_open(1, 0))
        with changed("hca0/1/pkeys", "0x8001", "0xffff 0x8001"):
            qp_ends(0)
            agent.must("disconnect", ids[1])
            agent.event("DISCONNECTED", ids[1])
            agent.must("destroy", ids[1])
            agent.quiet()
            other.quiet()
        wait_for("the partition", lambda: own.read_text().strip() == "0xffff")
        other.event("DISCONNECTED", children[1])
        other.must("destroy", children[1])
        disconnected(agent, ids[2], other, children[2])


def unreachable(stacks: dict[str, Stack]) -> None:
    """No queue pair can be opened for a time in which one connection has something to send: it ends alone, at both ends."""
    with opened(stacks) as (agent, other):
        ids, children = connections(agent, other)
        trunks.close_after(1)
        wait_for("no QP", lambda: not qps())
        rules("drop CM")
        try:
            agent.must("disconnect", ids[0])
            agent.event("DISCONNECTED", ids[0])
            agent.must("destroy", ids[0])
            time.sleep(34)
            agent.quiet()
            other.quiet()
        finally:
            rules()
        trunks.close_after(60)
        wait_for("a trunk", lambda: is_open(0, 1) and is_open(1, 0))
        other.event("DISCONNECTED", children[0])
        other.must("destroy", children[0])
        disconnected(agent, ids[1], other, children[1])
        disconnected(other, children[2], agent, ids[2])


def address(stacks: dict[str, Stack]) -> None:
    """The GID of a trunk goes: its link ends, connections stay, and another trunk has the new GID."""
    gid = Path("/sys/class/infiniband/hca0/ports/1/gids/0")
    was = gid.read_text().strip()
    with opened(stacks) as (agent, other):
        ids, children = connections(agent, other)
        with changed("hca0/1/gids", "0 fe80::77:78", f"0 {was}"):
            # On InfiniBand the change of a GID is not told; subnet managers ask for a new registration.
            wait_for("the other GID", lambda: gid.read_text().strip() != was)
            knob("hca0/1/event", "reregister")
            qp_ends(0)
            agent.quiet()
            other.quiet()
        wait_for("the GID", lambda: gid.read_text().strip() == was)
        # IPoIB has learned the other GID, and learns the first one again.
        knob("hca0/1/event", "reregister")
        own = was.replace(":", "")
        wait_for("IPoIB", lambda: Path("/sys/class/net/ib0/address").read_text().replace(":", "").strip().endswith(own))
        disconnected(agent, ids[0], other, children[0])


def silent(stacks: dict[str, Stack]) -> None:
    """A peer that is watched does not answer: its connections end, at both ends. One that does answer is not disturbed."""
    ms = 6000 if DEBUG else 1000
    with opened(stacks) as (agent, other), watched(ms):
        ids, children = connections(agent, other)
        time.sleep(2.5 * ms / 1000)
        agent.quiet()
        other.quiet()
        with changed("hca1/1/state", "down", "up"):
            began = time.monotonic()
            all_end(agent, ids)
            took = time.monotonic() - began
            all_end(other, children)
        if not ms / 2000 <= took <= ms / 1000 + (6 if DEBUG else 1):
            raise Unexpected(f"the connections ended {took:.1f} s after the peer was gone")


def watched_later(stacks: dict[str, Stack]) -> None:
    """Peers are watched from when it is asked for, also those whose trunk is idle; wrong times are refused."""
    with trunks.trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *trunks.ib.elsewhere([])) as other:
        trunks.over_trunk(agent, other)
        trunks.close_after(2)
        wait_for("no QP", lambda: not qps())
        with watched(60000):
            wait_for("a trunk", lambda: is_open(0, 1) and is_open(1, 0))
            time.sleep(2.5)
            same("QPs", len(qps()), 2)
            for wrong in ("499", "3600001", "-1", "soon"):
                try:
                    DEATH_MS.write_text(wrong)
                except OSError:
                    pass
                else:
                    raise Unexpected(f"{wrong} was taken")
            same("the parameter", DEATH_MS.read_text().strip(), "60000")
        agent.quiet()
        other.quiet()


def restart_unseen(stacks: dict[str, Stack]) -> None:
    """A watched peer whose trunk cannot be opened again is given up in time."""
    ms = 6000 if DEBUG else 3000
    with opened(stacks) as (agent, other), watched(ms):
        ids, _children = connections(agent, other)
        rules("drop CM")
        try:
            with changed("hca1/1/state", "down", "up"):
                all_end(agent, ids)
        finally:
            rules()


def administrator(stacks: dict[str, Stack]) -> None:
    """
    A trunk takes no path of a request: without the answer of the subnet administrator to the host that opens it, there is none.
    Connections, whose path that host does not ask for, are made over ib_cm.
    """
    lid = int(Path("/sys/class/infiniband/hca1/ports/1/lid").read_text(), 0)
    # IPoIB knows both ends afterwards, for which it asks, too.
    with Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *trunks.ib.elsewhere([])) as other:
        trunks.connect(agent, other, OWN, PEER)
    with trunks.trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *trunks.ib.elsewhere([])) as other:
        before = trunks.counters(1)
        rules(f"drop SA from={lid}")
        try:
            with trunks.traced() as told:
                for _ in range(2):
                    trunks.connect(agent, other, OWN, PEER)
                wait_for("the end of the attempt", lambda: trunks.peer(1, 0)["failures"] == 1)
            same("what failed", trunks.grown(1, before), {"hello-received": 2, "trunk-failed": 1})
            if trunks.TRACING and "closed: the subnet administrator tells no path" not in told:
                raise Unexpected("the reason was not told", *told)
        finally:
            rules()
        time.sleep(1.5)
        trunks.open_trunk(agent, other)


def brought(client: Agent, server: Agent, ends: tuple[str, str], sources: tuple[str | None, ...]) -> list[str]:
    """What a program is told that sets the path of an id itself, with each of these source GIDs."""
    said = []
    for source in sources:
        trunks.port += 1
        listener = server.listening(ends[1], trunks.port)
        model = client.routed(*ends, trunks.port)
        one = client.resolved(*ends, trunks.port)
        answer = client.ask("given", one, model, *filter(None, [source]))
        said.append(answer.split()[0])
        if said[-1] == "ok":
            client.event("ROUTE_RESOLVED", one)
            connected(client, one, server, listener)
    return said


NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@contextmanager
def third_host() -> Iterator[tuple[str, ...]]:
    """Another adapter. Its IPoIB device, in a network namespace of its own, too, has a name that is free. What runs a command there."""
    knob("add", "1")
    shell("hca_wait 60 test -e /sys/class/net/ib1")
    run("ip netns add third && ip link set ib1 netns third && ip -n third link set ib1 up && "
        f"ip -n third addr add {THIRD}/24 dev ib1")
    shell("hca_wait 60 hca_running -n third ib1")
    with subprocess.Popen(["ip", "netns", "exec", "third", "sleep", "infinity"]) as holder:
        wait_for("a process there", lambda: os.readlink(f"/proc/{holder.pid}/ns/net") != os.readlink("/proc/self/ns/net"))
        try:
            yield ("nsenter", "-t", str(holder.pid), "-n")
        finally:
            holder.kill()
            knob("remove", "hca2")
            run("ip netns del third")


def pretends(stacks: dict[str, Stack]) -> None:
    """
    A third host connects with the GID of the client's host as its source over a path without a GRH, and ib_cm answers it, by its
    LID. Its users may not, and what its root does ends nothing between the two others: neither a connection nor a queue pair.
    """
    with changed("sa_hop_limit", "0", "1"), third_host() as there, opened(stacks) as (agent, other), \
            Agent(stacks[OURS], *there) as root, Agent(stacks[OURS], *there, *NOBODY) as user:
        ids, children = connections(agent, other)
        before, had = trunks.counters(1), sorted(qp["lqpn"] for qp in qps())
        foreign = trunks.ib.gid(0)
        same("a user there", brought(user, other, (THIRD, PEER), (foreign,)), ["EPERM"])
        same("root there", brought(root, other, (THIRD, PEER), (foreign,) * 3), ["ok"] * 3)
        agent.quiet()
        other.quiet()
        same("what the server's host has counted", trunks.grown(1, before), {})
        same("the QPs", sorted(qp["lqpn"] for qp in qps()), had)
        disconnected(agent, ids[0], other, children[0])
        disconnected(other, children[1], agent, ids[1])


def foreign_source(stacks: dict[str, Stack]) -> None:
    """
    A path with the source GID of another host or container needs CAP_NET_RAW. A connection over a path that a program has set
    has no hello, which the peer would keep under the GID of that host.
    """
    foreign = "fe80::77:78"
    with trunks.trunks(), Agent(stacks[OURS]) as agent, Agent(stacks[OURS], *NOBODY) as user, \
            Agent(stacks[OURS], *trunks.ib.elsewhere([])) as other:
        before = trunks.counters(0)
        same("a user over InfiniBand", brought(user, other, (OWN, PEER), (None, trunks.ib.gid(0), foreign)),
             ["ok", "ok", "EPERM"])
        same("hellos of paths that a program has set", trunks.grown(0, before), {})
        same("root may", brought(agent, other, (OWN, PEER), (None,)), ["ok"])
        # Two addresses of soft-RoCE, as of two containers.
        same("a user over RoCE", brought(user, agent, (ROCE, "10.9.0.2"), (None, f"::ffff:{ROCE}", "::ffff:10.9.0.2")),
             ["ok", "ok", "EPERM"])
        trunks.open_trunk(agent, other)


def class_of_one(stacks: dict[str, Stack]) -> None:
    """The type of service of the program whose connection opens a trunk is not that of the trunk; a parameter is."""
    down()
    roce.up()
    try:
        for traffic_class, level in ((0, 0), (0x48, 2)):
            with trunks.trunks(), Agent(stacks[OURS]) as agent, roce.Capture("w0") as capture:
                if traffic_class:
                    (PARAMETERS / "trunk_traffic_class").write_text(str(traffic_class))
                    (PARAMETERS / "trunk_sl").write_text(str(level))
                for _ in range(2):
                    trunks.port += 1
                    listener = agent.listening(roce.THERE, trunks.port)
                    number = agent.id()
                    agent.must("option", number, *roce.TOS, 32)
                    agent.routed(roce.HERE, roce.THERE, trunks.port, number)
                    connected(agent, number, agent, listener)
                # Of the requests, only that for the trunk comes from there.
                found = capture.request()
                same("the request for the trunk", {name: found[name] for name in ("class", "tos", "sl", "mtu", "hop", "ttl")},
                     {"class": traffic_class, "tos": traffic_class, "sl": level, "mtu": 3, "hop": 64, "ttl": 64})
    finally:
        roce.down()
        up()


def copied(stacks: dict[str, Stack]) -> None:
    """
    This machine, with both ends, becomes a copy: no queue pair goes on, and no connection ends. When both ends know each other
    as other hosts, the connections of the former ones end with the next trunk.
    """
    with opened(stacks) as (agent, other):
        ids, children = connections(agent, other)
        was = trunks.peer(0, 1)["boot_id"], trunks.peer(1, 0)["boot_id"]
        try:
            knob("copied", "now")
        except OSError as missing:
            if missing.errno not in (errno.ENOENT, errno.EOPNOTSUPP):
                raise
            raise Skip("a kernel without generation IDs of machines") from missing
        wait_for("no QP", lambda: not qps())
        same("peers", (trunks.peers(0), trunks.peers(1)), ([], []))
        agent.must("disconnect", ids[0])
        agent.event("DISCONNECTED", ids[0])
        agent.must("destroy", ids[0])
        other.quiet()
        with Agent(stacks[OURS]) as client, Agent(stacks[OURS], *trunks.ib.elsewhere([])) as server:
            trunks.connect(client, server, OWN, PEER)
            agent.quiet()
            other.quiet()
            trunks.open_trunk(client, server)
            all_end(agent, ids[1:])
            all_end(other, children)
            now = trunks.peer(0, 1)["boot_id"], trunks.peer(1, 0)["boot_id"]
            if set(now) & set(was):
                raise Unexpected(f"boot identifiers: {was} before, {now} now")


# A name, the test, and whether the debug guest runs it, too.
TESTS = (
    ("a port is down for a moment", short, False),
    ("a port is down for long", long, False),
    ("a link of soft-RoCE is down", roce_down, False),
    ("a port is down while the last connections end", forgotten, False),
    ("a partition goes and comes back", partition, False),
    ("no queue pair can be opened for long", unreachable, False),
    ("the end of a trunk is not heard", unheard, False),
    ("a GID goes and comes back", address, False),
    ("a peer does not answer", silent, True),
    ("a peer is watched later", watched_later, False),
    ("a trunk to a dead peer", restart_unseen, False),
    ("the path of a trunk is that of the administrator", administrator, False),
    ("a path with a foreign source", foreign_source, False),
    ("a third host pretends to be the client's", pretends, False),
    ("the type of service of one program", class_of_one, False),
    ("the machine is copied", copied, True),
)
