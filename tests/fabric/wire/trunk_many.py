# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Very many connections over a trunk between two hosts: requested at once, and when their peer dies."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from cmtrace import OURS
from hosts import DEBUG, PATIENCE, Host, Hosts, Program
from loss import qp_numbers
from scenario import Unexpected, wait_for
from stacks import ROOT
from tap import tried
from trunks import PARAMETERS, connect, is_open, switch, trunks

CROWD = ROOT / "build/tests/fabric/wire/crowd"
DEATH = f"{PARAMETERS}/peer_death_ms"
# Requests under way in a program that paces itself.
PACED = 64
# How much longer the same number may take without pacing.
MOST_RATIO = 1.1
ROUNDS = 4
# Connections of each end with a peer that dies.
HELD = 500
DEATH_MS = 2000
# A time that is longer than an adapter repeats what is not answered.
LATE_DEATH_MS = 7000
# What their ends may take beyond that.
GRACE_MS = 5000 if DEBUG else 1000
# What a peer that is told to die may take for that.
DYING_MS = 1000


def open_trunk(hosts: Hosts) -> None:
    """Connections of both make them known to each other, also if one of them has told its first hellos to a peer that
    was started again, and one of them opens a trunk.
    """
    for client_is_far in (False, True) * 2:
        connect(hosts, (OURS, OURS), client_is_far)
    wait_for("a trunk", lambda: is_open(hosts.near, hosts.far) and is_open(hosts.far, hosts.near))


def over_trunks(host: Host) -> int:
    """The number of requests over trunks that it has sent or received."""
    told = re.findall(r"(?m)^ *trunk-(?:connect|request) +(\d+)", host.do("build/rdma-cm-alt stats"))
    return sum(map(int, told))


def crowd(hosts: Hosts, here: Host, there: Host, count: int, more: str) -> tuple[Program, Program]:
    """Start a client here and its server there."""
    port = hosts.port()
    server = there.start(OURS, f"{CROWD} server {port} {count} {qp_numbers(count)}")
    server.until("^listening$")
    return here.start(OURS, f"{CROWD} client {there.ip} {port} {count} {qp_numbers(count)} {more}"), server


def duration(hosts: Hosts, count: int, window: int) -> int:
    """Milliseconds until all connections of a client are made, with so many requests under way."""
    before = over_trunks(hosts.near)
    client, server = crowd(hosts, hosts.near, hosts.far, count, f"{window}")
    for program in (client, server):
        program.done(f"(?m)^up {count} ", 2 * PATIENCE)
    if over_trunks(hosts.near) != before + count:
        raise Unexpected(f"{over_trunks(hosts.near) - before} of {count} requests were sent over the trunk")
    found = re.search(r"(?m)^up \d+ (\d+)$", client.output)
    assert found
    return int(found[1])


def at_once(count: int, hosts: Hosts) -> None:
    """
    All requests at once: each becomes a connection, and that takes no longer than if the program paced itself. Other guests may take
    the processor during one of the two: the shortest of some rounds count.
    """
    with trunks(*hosts.both):
        open_trunk(hosts)
        paced, together = [], []
        for _ in range(ROUNDS):
            paced.append(duration(hosts, count, PACED))
            tried(count, f"connects over a trunk, {PACED} at a time, in {paced[-1]} ms")
            together.append(duration(hosts, count, count))
            tried(count, f"connects over a trunk at once, in {together[-1]} ms")
            if min(together) <= MOST_RATIO * min(paced):
                return
        raise Unexpected(f"{count} connects take {min(together)} ms at once, {min(paced)} ms with {PACED} under way")


def held_by_near(hosts: Hosts) -> tuple[Program, Program]:
    """The near ends of connections over a trunk: of a client, and of a server."""
    before = over_trunks(hosts.near)
    client, _ = crowd(hosts, hosts.near, hosts.far, HELD, f"{HELD} hold")
    _, server = crowd(hosts, hosts.far, hosts.near, HELD, f"{HELD} hold")
    for program in (client, server):
        program.until(f"^up {HELD} ")
    if over_trunks(hosts.near) != before + 2 * HELD:
        raise Unexpected(f"{over_trunks(hosts.near) - before} of {2 * HELD} requests were sent over the trunk")
    return client, server


def ended_at(program: Program) -> int:
    """When the last of its connections has ended, in milliseconds since boot. All have been lost."""
    program.done(f"(?m)^down {HELD} {HELD} ")
    return int(program.lines[-1].split()[-1])


def now_ms() -> int:
    """The clock of crowd.c."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000000


@contextmanager
def watched(host: Host, milliseconds: int) -> Iterator[None]:
    """A host watches its peers."""
    try:
        host.do(f"echo {milliseconds} >{DEATH}")
        yield
    finally:
        host.do(f"echo 0 >{DEATH}")


def start_far_again(hosts: Hosts) -> None:
    """The far host dies and comes back, with trunks switched on."""
    hosts.far.start_again()
    hosts.far.programs.clear()
    switch(hosts.far, True)


def peer_dies(death_ms: int, hosts: Hosts) -> None:
    """A watched peer dies: all connections end in time. When it is back, there are connections again."""
    with trunks(*hosts.both), watched(hosts.near, death_ms):
        open_trunk(hosts)
        programs = held_by_near(hosts)
        began = now_ms()
        start_far_again(hosts)
        took = max(ended_at(program) for program in programs) - began
        tried(2 * HELD, f"connections ended {took} ms after their peer had been told to die")
        # The last answer may have come a quarter of the time before.
        if not death_ms * 3 // 4 <= took <= death_ms + DYING_MS + GRACE_MS:
            raise Unexpected(f"with peer_death_ms={death_ms} the connections end after {took} ms")
        open_trunk(hosts)
        duration(hosts, HELD, HELD)


def peer_comes_back(hosts: Hosts) -> None:
    """A peer that nobody watches dies: connections stay until its module tells its first hello after the restart."""
    with trunks(*hosts.both):
        open_trunk(hosts)
        programs = held_by_near(hosts)
        start_far_again(hosts)
        told = [program.tell() for program in programs if program.lines[-1].startswith("down")]
        if told:
            raise Unexpected("connections have ended before the peer has told a hello", *told)
        began = now_ms()
        connect(hosts, (OURS, OURS), client_is_far=True)
        took = max(ended_at(program) for program in programs) - began
        tried(2 * HELD, f"connections ended {took} ms after the peer began to connect")


def tests(everything: bool) -> list[tuple[str, Callable[[Hosts], None]]]:
    """The host is started once in short runs."""
    found = [("trunk many: connects at once", partial(at_once, 1000 if DEBUG else 10000)),
             ("trunk many: the peer of a thousand connections dies", partial(peer_dies, DEATH_MS))]
    if everything:
        found += [("trunk many: the peer of a thousand connections dies, and is given up later",
                   partial(peer_dies, LATE_DEATH_MS)),
                  ("trunk many: the peer of a thousand connections comes back", peer_comes_back)]
    return found
