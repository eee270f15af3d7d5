# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Connections that are recorded."""

from __future__ import annotations

from host import HERE, Running, Unexpected, ids, until

CONNECTION = ["REQ", "REP", "RTU", "DREQ", "DREP"]


def talk(over: bool) -> tuple[int, int]:
    """A connection of rping from its begin to its end, over ours or over stock; the processes of client and server."""
    with Running("rping", "-s", "-a", HERE, "-p", "7188", "-C", "1", over=over) as server:
        if over:
            until("rping listens", lambda: ids("-s", "listen", "-p", str(server.pid)))
        for _ in range(20):
            with Running("rping", "-c", "-a", HERE, "-p", "7188", "-C", "1", over=over) as client:
                client.wait()
                if not client.status:
                    # One that is terminated before it has heard of the end would miss its messages.
                    server.wait()
                    return client.pid, server.pid
    raise Unexpected("rping does not connect")
