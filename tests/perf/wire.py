# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Measurements between two hosts: soft-RoCE loops packets to itself back, so none could be lost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from guest import DRIVE, Records
from hosts import AGENT_PORT, Hosts, Unexpected
from stacks import OURS, STOCK

AGENT = Path(__file__).resolve().parents[1] / "fabric/wire/agent.py"
LIMIT = 240
# Few enough that the connections do not queue behind each other.
WINDOW = 16


def _one(hosts: Hosts, stack: str, count: int, records: Records) -> dict:
    """A client on this host, a server on the far one; returns the client's result."""
    port = hosts.port()
    common = f"{DRIVE} -a {hosts.far.ip} -p {port} -n {count} -w {WINDOW} -t {LIMIT}"
    server = hosts.far.start(stack, f"{common} -q {records.qpn(count)} serve")
    server.until("listens")
    client = hosts.near.start(stack, f"{common} -q {records.qpn(count)} -e rate")
    try:
        client.done(patience=LIMIT)
        return json.loads(client.output)
    except (Unexpected, json.JSONDecodeError) as error:
        return {"broken": str(error)[-300:]}
    finally:
        hosts.end_all()


def measure(records: Records) -> int:
    """Loss on RoCE; the wire loses messages in both directions."""
    hosts = Hosts()
    count = records.count(1000)
    with subprocess.Popen([sys.executable, AGENT, str(AGENT_PORT)]) as agent:
        try:
            for host in hosts.both:
                while not host.boot_id():
                    time.sleep(0.2)
            for number in records.rounds(3):
                for stack in ((OURS, STOCK), (STOCK, OURS))[number % 2]:
                    with hosts.disturbed("loss 1%"):
                        found = _one(hosts, stack, count, records)
                    records.add("loss-roce", stack, found, number=number)
        finally:
            agent.kill()
    return 0
