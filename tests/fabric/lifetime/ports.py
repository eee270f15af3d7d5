# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Two connection managers and one service ID per port and device: the first one gets it."""

from __future__ import annotations

from pathlib import Path

from cmtrace import OURS, STOCK
from endpoint import Endpoints
from scenario import Unexpected
from stacks import Stack

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
HERE, THERE, ELSEWHERE = "10.9.0.1", "10.9.0.2", "10.7.0.1"
# The errno of the second one. Stock returns EINVAL when ib_cm refuses.
TAKEN = {OURS: "EADDRINUSE", STOCK: "EINVAL|EADDRINUSE"}


def _conflicts(stacks: dict[str, Stack], first: str, second: str, port: int) -> None:
    with Endpoints() as programs:
        server = programs.listen(stacks[first], HERE, port)
        for address in (HERE, THERE, "fd00:9::1", "0.0.0.0", "::"):
            programs.refused(stacks[second], address, port, TAKEN[second])
        # Another device is independent.
        other = programs.listen(stacks[second], ELSEWHERE, port)
        client = programs.client(stacks[second], "hold", HERE, port)
        client.expect("connected")
        server.expect("live 1")
        server.leave()
        other.leave()
        client.must_end()
        wildcard = programs.listen(stacks[first], "0.0.0.0", port)
        programs.refused(stacks[second], HERE, port, TAKEN[second])
        programs.refused(stacks[second], "0.0.0.0", port, TAKEN[second])
        wildcard.leave()
        programs.listen(stacks[second], "0.0.0.0", port)


def stock_first(stacks: dict[str, Stack]) -> None:
    """Stock listens: ours gets EADDRINUSE until stock stops listening."""
    _conflicts(stacks, STOCK, OURS, 22100)


def ours_first(stacks: dict[str, Stack]) -> None:
    """The reverse."""
    _conflicts(stacks, OURS, STOCK, 22101)


def chosen(stacks: dict[str, Stack]) -> None:
    """Ours asks for any port: it gets one that stock does not use."""
    before = RANGE.read_text(encoding="ascii")
    RANGE.write_text("40000 40001", encoding="ascii")
    try:
        with Endpoints() as programs:
            programs.listen(stacks[STOCK], "0.0.0.0", 40000)
            for address in (HERE, "0.0.0.0", HERE, "0.0.0.0"):
                server = programs.listen(stacks[OURS], address, 0)
                if server.port != 40001:
                    raise Unexpected(f"port {server.port}, but only 40001 is free")
                server.leave()
            programs.listen(stacks[STOCK], HERE, 40001)
            for address in (HERE, "0.0.0.0"):
                programs.refused(stacks[OURS], address, 0, "EADDRINUSE|EADDRNOTAVAIL")
    finally:
        RANGE.write_text(before, encoding="ascii")


TESTS = (
    ("a port that stock listens on is not ours", stock_first),
    ("a port that ours listens on is not stock's", ours_first),
    ("a port that ours may choose is a free one", chosen),
)
