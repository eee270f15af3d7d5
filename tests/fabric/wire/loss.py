# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A wire that loses, delays, reorders and duplicates: each connection is made, and each event
comes once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from cmtrace import OURS, STOCK
from hosts import DEBUG, PATIENCE, Host, Hosts, Program
from scenario import Unexpected
from stacks import ROOT

# A program of ours starts in a mount namespace, at its root.
END = ROOT / "build/tests/fabric/wire/end"
PAIRINGS = ((OURS, OURS), (OURS, STOCK), (STOCK, OURS))

# The events of each connection at its two ends, in this order.
CLIENT = ["ADDR_RESOLVED", "ROUTE_RESOLVED", "CONNECT_RESPONSE", "DISCONNECTED", "TIMEWAIT_EXIT"]
SERVER = ["CONNECT_REQUEST", "ESTABLISHED", "DISCONNECTED", "TIMEWAIT_EXIT"]
# Sixteen retries of four seconds each: a message that is lost three times in a row.
LOSSY = 2 * PATIENCE

_last_qp = 0x100000


def qp_numbers(count: int) -> int:
    """The first of a range of QP numbers that this test run has not used."""
    global _last_qp  # pylint: disable=global-statement
    _last_qp += count
    return _last_qp - count


def events(program: Program) -> dict[int, list[tuple[str, int]]]:
    """Events of each connection: event and status, in order."""
    found: dict[int, list[tuple[str, int]]] = {}
    for number, event, status in re.findall(r"(?m)^(\d+) (\w+) (-?\d+)$", program.output):
        found.setdefault(int(number), []).append((event, int(status)))
    return found


def expect(program: Program, count: int, wanted: list[str]) -> None:
    """Check that each connection had exactly these events, each once. Statuses: a timeout ends a
    disconnect.
    """
    seen = events(program)
    wrong = [f"    {number}: {told}" for number, told in sorted(seen.items())
             if [event for event, _ in told] != wanted
             or any(status for event, status in told if event != "DISCONNECTED")]
    if wrong or sorted(seen) != list(range(count)):
        raise Unexpected(f"{program.host.name}, {program.stack}: {len(seen)} of {count} "
                         f"connections told; not {wanted}:", *wrong[:8])


def start_server(hosts: Hosts, host: Host, stack: str, count: int, more: str = "",
                 first_qp: int = 0) -> tuple[Program, int]:
    """Start a server of `count` connections; returns its port."""
    port = hosts.port()
    server = host.start(stack, f"{END} server {port} {count} {first_qp or qp_numbers(count)} {more}")
    server.until("^listening$")
    return server, port


def start_client(host: Host, stack: str, server: tuple[str, int], count: int, more: str = "",
                 first_qp: int = 0) -> Program:
    """Start a client that makes `count` connections at once to (address, port)."""
    return host.start(stack, f"{END} client {server[0]} {server[1]} {count} "
                             f"{first_qp or qp_numbers(count)} {more}")


def many(netem: str, count: int, hosts: Hosts) -> None:
    """All pairings at the same time, near and far clients, with this fault of the wire."""
    ends = []
    for number, (client, server) in enumerate(PAIRINGS):
        near, far = hosts.both if number % 2 else reversed(hosts.both)
        ends.append((far, near, client, *start_server(hosts, far, server, count)))
    # The neighbours are known: only messages of the connections are lost.
    for host, other in (hosts.both, reversed(hosts.both)):
        host.do(f"busybox ping -c 1 -w {PATIENCE} {other.ip}")
    with hosts.disturbed(netem):
        pairs = [(start_client(near, client, (far.ip, port), count), server)
                 for far, near, client, server, port in ends]
        try:
            for client, server in pairs:
                client.done("(?m)^end$", LOSSY)
                server.done("(?m)^end$", LOSSY)
        except Unexpected as unexpected:
            raise Unexpected(str(unexpected), *(program.tell() for pair in pairs
                             for program in pair)) from None
    for client, server in pairs:
        expect(client, count, CLIENT)
        expect(server, count, SERVER)


def programs_over(netem: str, hosts: Hosts) -> None:
    """Data, too: rping of either stack over this wire."""
    running = []
    for client, server in PAIRINGS:
        port = hosts.port()
        waiting = hosts.far.start(server, f"rping -s -a {hosts.far.ip} -p {port} -C 5", trace=True)
        waiting.until("^@.* listen")
        running.append((waiting, port, client))
    with hosts.disturbed(netem):
        asking = [hosts.near.start(client, f"rping -c -a {hosts.far.ip} -p {port} -C 5 -v")
                  for _, port, client in running]
        for program in asking:
            program.done("rdma-ping-4", LOSSY)


def tests(everything: bool) -> list[tuple[str, Callable[[Hosts], None]]]:
    """Name and test of each fault of the wire; in short runs, the worst of each."""
    count = 4 if DEBUG else 8
    found = [("20% of all messages lost", partial(many, "loss 20%", count)),
             ("delayed, reordered and doubled",
              partial(many, "delay 30ms 25ms duplicate 40%", 2 * count))]
    if everything:
        found += [("1% of all messages lost", partial(many, "loss 1%", 8 * count)),
                  ("5% of all messages lost", partial(many, "loss 5%", 4 * count)),
                  ("20% of all messages lost, more of them", partial(many, "loss 20%", 4 * count)),
                  ("delayed by half a second", partial(many, "delay 500ms 100ms", count)),
                  ("every other message overtakes", partial(many, "delay 50ms reorder 50%", 2 * count)),
                  ("every message doubled", partial(many, "duplicate 100%", 2 * count)),
                  ("lost, delayed and doubled", partial(many, "delay 20ms 15ms loss 5% duplicate 30%",
                                                        2 * count))]
    found.append(("rping over a slow wire that doubles",
                  partial(programs_over, "delay 10ms 5ms duplicate 30%")))
    return found
