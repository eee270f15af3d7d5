# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Unmodified librdmacm programs, one end on each host, either stack at each end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from cmtrace import OURS, STOCK
from hosts import Host, Hosts
from scenario import Unexpected
from stacks import NODE


class Case(NamedTuple):
    """A server and its client; SERVER, SERVER6 and CLIENT are addresses.

    lossy: mckey destroys its address handles as soon as its messages are posted, and rxe drops
    the messages that it has not sent by then. On a busy host these may be all.
    """

    name: str
    server: str
    client: str
    says: str
    lossy: bool = False


class Lost(Exception):
    """The client of a lossy case has ended well, and its server still waits for a message."""


CASES = (
    Case("rping", "rping -s -a SERVER -p PORT -C 3", "rping -c -a SERVER -p PORT -C 3 -v",
         "rdma-ping-2"),
    Case("rping IPv6", "rping -s -a SERVER6 -p PORT -C 3",
         "rping -c -a SERVER6 -p PORT -C 3 -v", "rdma-ping-2"),
    Case("ucmatose", "ucmatose -b SERVER -p PORT -c 10", "ucmatose -s SERVER -p PORT -c 10",
         "return status 0"),
    # Its port is fixed, so one runs at a time.
    Case("udaddy", "udaddy -b SERVER -c 5", "udaddy -s SERVER -c 5", "return status 0"),
    # The client sends more than the server waits for: a datagram may be lost.
    Case("mckey", "mckey -m GROUP -b SERVER -c 2 -C 3", "mckey -m GROUP -b CLIENT -s -c 20 -C 60",
         "return status 0", lossy=True),
)

# How often a lossy case is tried, and for how many seconds a server waits after its client's end.
TRIES = 3
LINGER = 20

# Stack of the client and of the server.
PAIRINGS = ((OURS, OURS), (OURS, STOCK), (STOCK, OURS))
ORACLE = (STOCK, STOCK)
# The near host has rdma_cm_alt_ucm in place of rdma_ucm, the far one is stock.
TAKEN = ((NODE, STOCK), (STOCK, NODE))


def _fill_in(text: str, server: Host, client: Host, port: int) -> str:
    """A command with its addresses."""
    for word, value in (("SERVER6", server.ip6), ("SERVER", server.ip), ("CLIENT", client.ip),
                        ("PORT", str(port)), ("GROUP", f"239.8.{port >> 8}.{port & 255}")):
        text = text.replace(word, value)
    return text


def _engine(stack: str) -> str:
    """The name of a stack in a trace."""
    return OURS if stack == NODE else stack


@contextmanager
def _taken(host: Host) -> Iterator[None]:
    """Programs with Debian's librdmacm run over our module meanwhile."""
    host.do(". tests/harness/guest/rig.sh && rig_switch_ucm 1")
    try:
        yield
    finally:
        host.end_all()
        host.do(". tests/harness/guest/rig.sh && rig_switch_ucm 0")


def run_once(case: Case, client_is_far: bool, stacks: tuple[str, str], hosts: Hosts) -> None:
    """One server, its client on the other host; both must succeed, each on its stack."""
    server, client = (hosts.near, hosts.far) if client_is_far else (hosts.far, hosts.near)
    port = hosts.port()
    joins = "GROUP" in case.server
    waiting = server.start(stacks[1], _fill_in(case.server, server, client, port), trace=True)
    waiting.until(f"^@{_engine(stacks[1])} {'join' if joins else 'listen'}")
    asking = client.start(stacks[0], _fill_in(case.client, server, client, port), trace=True)
    try:
        asking.done(case.says)
        if case.lossy and not waiting.over(LINGER):
            raise Lost(f"the server still waits for a message\n{waiting.tell()}\n{asking.tell()}")
        waiting.done()
    except Unexpected as unexpected:
        raise Unexpected(f"{unexpected}\n{waiting.tell()}\n{asking.tell()}") from None
    for program in (waiting, asking):
        served = set(re.findall(r"(?m)^@(\w+)", program.output))
        if served != {_engine(program.stack)}:
            raise Unexpected(f"it was served by {served}\n{program.tell()}")


def run_case(case: Case, client_is_far: bool, stacks: tuple[str, str], hosts: Hosts) -> None:
    """As run_once(); a lossy case is tried again when its messages have been lost."""
    told = ""
    for _ in range(TRIES if case.lossy else 1):
        try:
            run_once(case, client_is_far, stacks, hosts)
            return
        except Lost as lost:
            told = str(lost)
            hosts.end_all()
    raise Unexpected(f"{TRIES} times: {told}")


def run_taken(case: Case, stacks: tuple[str, str], hosts: Hosts) -> None:
    """A case whose end on the near host has its librdmacm over our module."""
    with _taken(hosts.near):
        run_case(case, stacks[1] == NODE, stacks, hosts)


def tests(everything: bool) -> list[tuple[str, Callable[[Hosts], None]]]:
    """Name and test of each case; in short runs ours meets stock, once on each host."""
    found = []
    for case in CASES:
        for stacks in (*PAIRINGS, ORACLE):
            for far in (False, True):
                if not everything and (far or stacks[0] == stacks[1]) and not (
                        case == CASES[0] and stacks == (OURS, OURS)):
                    continue
                name = (f"{case.name}: {stacks[0]} client {'far' if far else 'near'}, "
                        f"{stacks[1]} server")
                found.append((name, partial(run_case, case, far, stacks)))
    # After those above, as the device that is made again is hidden from no stack.
    found += [(f"{case.name}: {stacks[0]} client, {stacks[1]} server", partial(run_taken, case, stacks))
              for case in CASES for stacks in TAKEN]
    return found
