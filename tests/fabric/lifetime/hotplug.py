# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Devices are removed and come back while programs of both stacks use them."""

from __future__ import annotations

import time
from pathlib import Path

import rig
from cmtrace import OURS, STOCK
from endpoint import Endpoint, Endpoints
from scenario import PATIENCE, Unexpected, must_end, run, wait_for
from stacks import Program, Stack
from tap import tried

HERE, ELSEWHERE = "10.9.0.1", "10.7.0.1"  # rxe0, rxe1
REMOVED = "RDMA_CM_EVENT_DEVICE_REMOVAL"


def _until_connected(programs: Endpoints, stack: Stack, address: str, port: int) -> Endpoint:
    """A client; listeners on a new device are started by work in the background, so retry."""
    deadline = time.monotonic() + PATIENCE
    while True:
        client = programs.client(stack, "hold", address, port)
        if client.expect(r"connected|RDMA_CM_EVENT_REJECTED|rdma_resolve_addr: ENODEV")[0] \
                == "connected":
            return client
        if time.monotonic() > deadline:
            raise Unexpected("nobody listens there", *client.tell())


def programs_leave(stacks: dict[str, Stack]) -> None:
    """Programs of ours get DEVICE_REMOVAL, and the device is removed when they have ended."""
    with Endpoints() as programs:
        server = programs.listen(stacks[OURS], ELSEWHERE, 22200)
        stock = programs.listen(stacks[STOCK], ELSEWHERE, 22202)
        # ib_core removes the device from ours before it removes it from stock, so this program
        # gets the event first.
        client = programs.client(stacks[OURS], "hold", ELSEWHERE, 22202, 3)
        client.expect("connected")
        # Here the disconnect by the peer may be the first event.
        other = programs.client(stacks[OURS], "hold", ELSEWHERE, 22200, 3)
        other.expect("connected")
        rping = programs.add(Program(stacks[OURS], ["rping", "-s", "-a", ELSEWHERE, "-p", "22201"],
                                     Path("/tmp/hotplug-rping.log")))
        probe = programs.client(stacks[OURS], "hold", ELSEWHERE, 22201)
        probe.expect("connected|RDMA_CM_EVENT_REJECTED")
        command = rig.start_delete("rxe1")
        try:
            client.expect(REMOVED)
            other.expect(f"{REMOVED}|RDMA_CM_EVENT_DISCONNECTED")
            for listener in (server, stock):
                listener.expect(REMOVED)
            must_end(client, other, server, stock)
            if not rping.wait(time.monotonic() + PATIENCE):
                raise Unexpected(*rping.tell())
            probe.leave()
            rig.finish_delete(command, "rxe1")
        finally:
            rig.add_device("rxe1")
    rig.nothing_left()
    tried(1, "devices taken away, under programs")


def wildcards(stacks: dict[str, Stack]) -> None:
    """Both stacks listen on all devices, on different ports: both listen on a device that comes
    back.
    """
    with Endpoints() as programs:
        servers = {STOCK: programs.listen(stacks[STOCK], "0.0.0.0", 22210),
                   OURS: programs.listen(stacks[OURS], "0.0.0.0", 22211)}
        for _ in range(3):
            rig.delete_device("rxe1")
            rig.add_device("rxe1")
        # Connect only now: a server with a connection keeps its device open, and rxe waits for that.
        for name, server in servers.items():
            client = _until_connected(programs, stacks[name], ELSEWHERE, server.port)
            server.expect("live 1")
            client.leave()
            server.expect("live 0")


def _same_port(stacks: dict[str, Stack], port: int) -> None:
    """Both stacks listen on the same port while there is no device; then a device is added."""
    with Endpoints() as programs:
        servers = {}
        for name in (OURS, STOCK):
            servers[name] = Endpoint(stacks[name], "later", "0.0.0.0", port)
            programs.add(servers[name])
            servers[name].expect("ready")
        try:
            for device in rig.DEVICES:
                rig.delete_device(device)
            for server in servers.values():
                server.tell_it()
                server.expect(f"listening {port}")
        finally:
            for device in rig.DEVICES:
                rig.add_device(device)
        # Stock must have the device and its port on it, in either order of module loading.
        for address in (HERE, ELSEWHERE):
            programs.client(stacks[STOCK], "hold", address, port).expect("connected")
        servers[STOCK].expect("live 2")
        programs.listen(stacks[STOCK], HERE, port + 1)
        # Ours waits for the port, and gets it.
        servers[STOCK].leave()
        _until_connected(programs, stacks[STOCK], HERE, port)
        servers[OURS].expect("live 1")


def same_port(stacks: dict[str, Stack]) -> None:
    """Stock registered with ib_core first, as the module asks for."""
    _same_port(stacks, 22220)


def same_port_reversed(stacks: dict[str, Stack]) -> None:
    """Ours registered first, so ib_core announces a new device to it before stock."""
    run("modprobe -r rdma_ucm")
    rig.unload()
    rig.load()
    run("modprobe rdma_ucm")
    try:
        _same_port(stacks, 22230)
    finally:
        rig.nothing_left()
        rig.unload()
        rig.load()


def _driver_stays(programs: Endpoints, stacks: dict[str, Stack], servers: dict[str, Endpoint],
                  clients: list[Endpoint]) -> None:
    """The driver cannot be unloaded, and who uses it is not disturbed."""
    said = run("rmmod rdma_rxe", 1)
    if "in use" not in said:
        raise Unexpected(f"rmmod says: {said}")
    for server in servers.values():
        programs.client(stacks[OURS], "hold", HERE, server.port).expect("connected")
        server.expect("live 2")
    if "RDMA_CM_EVENT" in "".join(client.output() for client in clients):
        raise Unexpected(*(clients[0].tell() + clients[1].tell()))


def _driver_goes(servers: dict[str, Endpoint], clients: list[Endpoint]) -> None:
    """The driver takes its devices away from those who use them, as newer versions of rxe do."""
    run("rmmod rdma_rxe")
    for server in servers.values():
        server.expect(REMOVED)
    for client in clients:
        client.expect(f"{REMOVED}|RDMA_CM_EVENT_DISCONNECTED")
    must_end(*servers.values(), *clients)


def driver(stacks: dict[str, Stack]) -> None:
    """The driver module stays loaded while programs have its devices open, unless it can take them
    away; then they are told.
    """
    module = Path("/sys/module/rdma_rxe")
    with Endpoints() as programs:
        servers = {name: programs.listen(stacks[name], HERE, port)
                   for name, port in ((OURS, 22240), (STOCK, 22241))}
        clients = [programs.client(stacks[OURS], "hold", HERE, server.port)
                   for server in servers.values()]
        for client in clients:
            client.expect("connected")
        # A driver that cannot take its devices away is in use by those who have them open.
        if int((module / "refcnt").read_text(encoding="ascii")):
            _driver_stays(programs, stacks, servers, clients)
        else:
            _driver_goes(servers, clients)
    rig.nothing_left()
    try:
        if module.exists():
            run("rmmod rdma_rxe")
    finally:
        run("modprobe rdma_rxe")
        for device in rig.DEVICES:
            if not Path(f"/sys/class/infiniband/{device}").exists():
                rig.add_device(device)
    with Endpoints() as programs:
        programs.listen(stacks[OURS], HERE, 22240)
        _until_connected(programs, stacks[STOCK], HERE, 22240)


def roce_defaults(_stacks: dict[str, Stack]) -> None:
    """A new device has the defaults, and not what one of its name had."""
    settings = Path("/sys/class/infiniband/rxe1/rdma_cm_alt/1")
    (settings / "default_roce_tos").write_text("104", encoding="ascii")
    try:
        rig.delete_device("rxe1")
    finally:
        rig.add_device("rxe1")
    wait_for("the settings of the new device", settings.exists)
    for name, wanted in (("default_roce_mode", "RoCE v2"), ("default_roce_tos", "0")):
        if (said := (settings / name).read_text(encoding="ascii").strip()) != wanted:
            raise Unexpected(f"the new device has {name} {said}")


TESTS = (
    ("programs leave a device that goes", programs_leave),
    ("the driver stays while programs use it or tells them, and goes after them", driver),
    ("wildcard listeners of both stacks follow a device", wildcards),
    ("a new device's port is stock's when both want it", same_port),
    ("a new device has the defaults of RoCE", roce_defaults),
)
MORE = (
    ("a new device's port is stock's, also when ours hears of it first", same_port_reversed),
)
