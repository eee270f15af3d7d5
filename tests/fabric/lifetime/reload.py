# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The module is loaded and unloaded while stock's programs run."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import rig
from cmtrace import OURS, STOCK
from endpoint import Endpoints
from scenario import DEBUG, PATIENCE, Unexpected, run
from stacks import Program, Stack

ROUNDS = 6 if DEBUG else 20
ADDRESS, ELSEWHERE = "10.9.0.1", "10.7.0.1"
STOP = Path("/tmp/reload-stop")


def _ping(programs: Endpoints, stack: Stack, port: int) -> None:
    """One rping that must work."""
    client = programs.add(Program(stack, ["rping", "-c", "-a", ADDRESS, "-p", str(port), "-C", "2",
                                          "-v"], Path("/tmp/reload-client.log")))
    if (not client.wait(time.monotonic() + PATIENCE) or not client.well
            or "rdma-ping-1" not in client.output()):
        raise Unexpected(*client.tell())


def reload(stacks: dict[str, Stack]) -> None:
    """Load and unload repeatedly; one stock server stays, with an idle connection."""
    with Endpoints() as programs:
        server = programs.listen(stacks[STOCK], ADDRESS, 22000)
        held = programs.client(stacks[STOCK], "hold", ADDRESS, 22000)
        held.expect("connected")
        pinger = programs.add(Program(
            stacks[STOCK], ["rping", "-s", "-P", "-a", ADDRESS, "-p", "22001"],
            Path("/tmp/reload-server.log")))
        while "22001" not in run("rdma resource show cm_id"):
            if pinger.status is not None:
                raise Unexpected(*pinger.tell())
        _ping(programs, stacks[STOCK], 22001)
        for number in range(ROUNDS):
            rig.unload()
            _ping(programs, stacks[STOCK], 22001)
            rig.load()
            # Ours as a client, every fifth time as a server, too.
            _ping(programs, stacks[OURS], 22001)
            if number % 5 == 0:
                ours = programs.listen(stacks[OURS], ADDRESS, 22002)
                client = programs.client(stacks[STOCK], "hold", ADDRESS, 22002)
                client.expect("connected")
                ours.close_input()
                client.must_end()
                ours.must_end()
        held.leave()
        if server.idle() != 1:
            raise Unexpected("the connection that should have stayed was made anew")
        if pinger.status is not None:
            raise Unexpected(*pinger.tell())


def busy(stacks: dict[str, Stack]) -> None:
    """The module cannot be unloaded while a program has it open, and continues to work."""
    with Endpoints() as programs:
        server = programs.listen(stacks[OURS], ADDRESS, 22010)
        said = run(f"rmmod {rig.MODULE}", 1)
        if "in use" not in said:
            raise Unexpected(f"rmmod says: {said}")
        client = programs.client(stacks[STOCK], "hold", ADDRESS, 22010)
        client.expect("connected")
        run(f"rmmod {rig.MODULE}", 1)
        server.leave()
        client.must_end()
    rig.nothing_left()


def after_stock(stacks: dict[str, Stack]) -> None:
    """Stock is unloaded and loaded again while ours is in use."""
    with Endpoints() as programs:
        server = programs.listen(stacks[OURS], ADDRESS, 22020)
        run("modprobe -r rdma_ucm")
        if Path("/sys/module/rdma_cm").exists():
            raise Unexpected("stock's rdma_cm cannot be unloaded: something uses it")
        client = programs.client(stacks[OURS], "hold", ADDRESS, 22020)
        client.expect("connected")
        run("modprobe rdma_ucm")
        other = programs.listen(stacks[STOCK], ADDRESS, 22021)
        programs.client(stacks[STOCK], "hold", ADDRESS, 22021).expect("connected")
        other.expect("live 1")
        server.expect("live 1")


def devices(stacks: dict[str, Stack]) -> None:
    """Load and unload while a device is added and removed, with stock's wildcard listener on it."""
    with Endpoints() as programs:
        server = programs.listen(stacks[STOCK], "0.0.0.0", 22030)
        loop = subprocess.Popen(("sh", "-c", """while [ ! -e /tmp/reload-stop ]; do
                                 rdma link delete rxe1; rdma link add rxe1 type rxe netdev v0
                                 done"""), stdin=subprocess.DEVNULL)
        try:
            for _ in range(ROUNDS // 2):
                rig.unload()
                rig.load()
        finally:
            STOP.touch()
            loop.wait(PATIENCE)
            STOP.unlink()
        # Both stacks have the device, and stock has its port there.
        client = programs.client(stacks[STOCK], "hold", ELSEWHERE, 22030)
        client.expect("connected")
        server.expect("live 1")
        other = programs.listen(stacks[OURS], ELSEWHERE, 22031)
        programs.client(stacks[OURS], "hold", ELSEWHERE, 22031).expect("connected")
        other.expect("live 1")
    rig.nothing_left()


TESTS = (
    ("the module is loaded and unloaded while a device comes and goes", devices),
    ("stock works on while the module is loaded and unloaded", reload),
    ("the module stays while a program has it open", busy),
    ("stock is unloaded and loaded while the module is in use", after_stock),
)
