# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Processes are killed at any moment; their peers get events, and no object of theirs remains."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable

import rig
from cmtrace import OURS, STOCK
from endpoint import Endpoints
from scenario import DEBUG, PATIENCE, Unexpected
from stacks import Stack
from tap import tried

ROUNDS = 4 if DEBUG else 12
ADDRESS = "10.9.0.1"
# The process that is killed, and its peer.
PAIRINGS = ((OURS, OURS), (OURS, STOCK), (STOCK, OURS))
AT_A_TIME = 4
# ib_cm handles messages on several processors: the reject of a killed client may overtake its
# request. The server then replies to a request whose sender is dead, and ib_cm gives up after 16
# retries of 4 to 6 seconds. A server of stock waits as long.
OVERTAKEN = PATIENCE + 16 * 6
# Events that a client may see when a server is killed.
ENDS = {"RDMA_CM_EVENT_REJECTED", "RDMA_CM_EVENT_DISCONNECTED", "done", "connected"}


def _moment(number: int) -> None:
    """A random time from zero to a few connections; the first rounds do not wait at all."""
    time.sleep(random.uniform(0, 0.3) if number > 1 else 0)


def clients(stacks: dict[str, Stack]) -> None:
    """Clients are killed; the servers then lose those connections, and serve the next client."""
    with Endpoints() as programs:
        servers = {}
        for port, (killed, peer) in enumerate(PAIRINGS, 22310):
            servers[port] = programs.listen(stacks[peer], ADDRESS, port)
            for number in range(ROUNDS):
                client = programs.client(stacks[killed], "churn", ADDRESS, port, AT_A_TIME)
                # Before its first connection, now and then.
                if number % 3:
                    client.expect("connected")
                _moment(number)
                client.signal(signal.SIGKILL)
                client.must_end(-signal.SIGKILL)
                servers[port].hear()
        for server in servers.values():
            total = server.idle(OVERTAKEN)
            if total < ROUNDS // 2:
                raise Unexpected(f"only {total} connections in {ROUNDS} rounds")
    rig.nothing_left()
    tried(ROUNDS * len(PAIRINGS), "peers killed")


def _servers(killed: str, peer: str, port: int) -> Callable:
    """Servers are killed; every connection of the client ends, as rejected or disconnected."""
    def run(stacks: dict[str, Stack]) -> None:
        with Endpoints() as programs:
            for number in range(ROUNDS):
                server = programs.listen(stacks[killed], ADDRESS, port + number)
                how = "hold" if number % 4 == 3 else "churn"
                client = programs.client(stacks[peer], how, ADDRESS, port + number, AT_A_TIME)
                client.expect("connected")
                _moment(number)
                server.signal(signal.SIGKILL)
                server.must_end(-signal.SIGKILL)
                client.must_end()
                if unknown := set(client.output().split()) - ENDS:
                    raise Unexpected(f"the client of a dead server saw {', '.join(unknown)}")
        rig.nothing_left()
        tried(ROUNDS, "peers killed")
    return run


def closed(stacks: dict[str, Stack]) -> None:
    """A program closes its channel while ids are connected: each peer gets an event."""
    with Endpoints() as programs:
        for number, (near, far) in enumerate(((OURS, OURS), (OURS, STOCK))):
            server = programs.listen(stacks[far], ADDRESS, 22300 + number)
            client = programs.client(stacks[near], "hold", ADDRESS, server.port, 20)
            client.expect("connected")
            # An end that has not received the client's last message rejects, or gets no event.
            server.expect("up 20")
            client.leave()
            if server.idle() != 20:
                raise Unexpected("not 20 connections")
            client = programs.client(stacks[far], "hold", ADDRESS, server.port, 20)
            client.expect("connected")
            server.expect("up 40")
            server.leave()
            client.must_end()
            ends = Counter(client.output().split())
            if ends["RDMA_CM_EVENT_DISCONNECTED"] != 20:
                raise Unexpected(str(dict(ends)), *client.tell())
    rig.nothing_left()


TESTS = (
    ("a channel is closed with connections on it", closed),
    ("clients are killed, of ours and of stock, under servers of both", clients),
    ("servers are killed, both ours", _servers(OURS, OURS, 22320)),
)
MORE = (
    ("servers are killed, the client is stock's", _servers(OURS, STOCK, 22340)),
    ("servers of stock are killed, the client is ours", _servers(STOCK, OURS, 22360)),
)
