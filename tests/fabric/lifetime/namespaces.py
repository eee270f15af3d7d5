# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Programs in network namespaces that share one device, and programs with few capabilities.

rxe sends in the initial namespace only, except for packets to the sender's own Ethernet
address, which it loops back. All it needs is a route in the initial namespace, with the
interface index of that namespace. Therefore the interface of a container has the index of d0,
and its address is also on lo of the initial namespace.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import rig
from agent import Agent, connected, disconnected
from cmtrace import OURS, STOCK
from endpoint import Endpoint, Endpoints
from scenario import PATIENCE, Unexpected, run
from stacks import Inside, Program, Stack

HERE = "10.9.0.1"
CONTAINERS = {"rca1": "10.9.0.21", "rca2": "10.9.0.22"}
NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
          "--bounding-set=-all", "--no-new-privs")
# The only node of the RDMA subsystem that the process sees is that of uverbs.
ONE_NODE = ("unshare", "--mount", "sh", "-ec", """
    mkdir -p /tmp/one-node
    mount -t tmpfs none /tmp/one-node
    cp -a /dev/infiniband/$0 /tmp/one-node
    mount --bind /tmp/one-node /dev/infiniband
    test "$(ls /dev/infiniband)" = "$0"
    exec "$@" """)


@contextmanager
def _containers() -> Iterator[None]:
    """Namespaces, each with an interface above the network device of rxe0."""
    try:
        for name, address in CONTAINERS.items():
            run(f"ip netns add {name} && ip -n {name} link set lo up")
            run("ip link add link d0 name rcam type macvlan mode bridge")
            number = Path("/sys/class/net/rcam/ifindex").read_text(encoding="ascii").strip()
            run(f"ip link set rcam netns {name} && ip -n {name} addr add {address}/24 dev rcam &&"
                f" ip -n {name} link set rcam up")
            run(f"ip link add {name} index {number} type dummy &&"
                f" ip addr add {address}/32 dev {name} && ip link set {name} up")
        yield
    finally:
        for name in (*CONTAINERS, "rcam"):
            run(f"ip netns del {name}; ip link del {name}", None)


def _listen(programs: Endpoints, stack: Stack, address: str, port: int) -> Endpoint:
    """A server; the device gets a new address a moment after the interface."""
    deadline = time.monotonic() + PATIENCE
    while True:
        server = Endpoint(stack, "listen", address, port)
        programs.add(server)
        said = server.expect(r"listening (\d+)|rdma_bind_addr: ENODEV")
        if said[1]:
            server.port = port
            return server
        if time.monotonic() > deadline:
            raise Unexpected("no device there", *server.tell())


def _one_port(stacks: dict[str, Stack], name: str, port: int) -> None:
    with _containers(), Endpoints() as programs:
        first, second = (Inside(stacks[name], f"/run/netns/{ns}") for ns in CONTAINERS)
        one, two = CONTAINERS.values()
        ends = [(stacks[name], HERE, programs.listen(stacks[name], "0.0.0.0", port)),
                (first, one, _listen(programs, first, one, port)),
                (second, two, _listen(programs, second, two, port))]
        for stack, address, server in ends:
            client = programs.client(stack, "hold", address, port, 2)
            client.expect("connected")
            server.expect("live 2")
        # Each namespace has its own listener only.
        for _, _, server in ends:
            server.leave()
            if "live 3" in server.output():
                raise Unexpected("a server got another's connection", *server.tell())
    rig.nothing_left()


def one_port(stacks: dict[str, Stack]) -> None:
    """Servers of ours in three namespaces on one port of one device."""
    _one_port(stacks, OURS, 22400)


def one_port_stock(stacks: dict[str, Stack]) -> None:
    """Stock does the same."""
    _one_port(stacks, STOCK, 22401)


def invisible(stacks: dict[str, Stack]) -> None:
    """Addresses of another namespace are unreachable, and so are its listeners."""
    with _containers(), Endpoints() as programs:
        inside = Inside(stacks[OURS], "/run/netns/rca1")
        server = _listen(programs, inside, CONTAINERS["rca1"], 22410)
        programs.refused(inside, HERE, 22411, "EADDRNOTAVAIL")
        programs.refused(stacks[OURS], CONTAINERS["rca1"], 22410, "ENODEV")
        # There is no listener in the namespace of the client.
        client = programs.client(stacks[OURS], "hold", HERE, 22410)
        client.expect("RDMA_CM_EVENT_REJECTED")
        server.leave()
        if "live" in server.output():
            raise Unexpected(*server.tell())


def other_stack(stacks: dict[str, Stack]) -> None:
    """A service ID belongs to one stack in all namespaces."""
    with _containers(), Endpoints() as programs:
        first, second = (Inside(stacks[name], f"/run/netns/{ns}")
                         for name, ns in zip((STOCK, OURS), CONTAINERS))
        _listen(programs, first, CONTAINERS["rca1"], 22420)
        other = _listen(programs, second, CONTAINERS["rca2"], 22421)
        programs.refused(second, CONTAINERS["rca2"], 22420, "EADDRINUSE")
        programs.refused(stacks[STOCK], HERE, 22421, "EINVAL|EADDRINUSE")
        other.leave()
        programs.listen(stacks[STOCK], HERE, 22421)


def _ping(programs: Endpoints, stack: Stack, address: str, port: int,
          prefix: tuple[str, ...] = ()) -> None:
    """An rping server and its client, both started with `prefix`."""
    log = f"/tmp/namespaces-{port}"
    server = programs.add(Program(stack, [*prefix, "rping", "-s", "-a", address, "-p", str(port)],
                                  Path(f"{log}-server.log")))
    deadline = time.monotonic() + PATIENCE
    while True:
        client = programs.add(Program(
            stack, [*prefix, "rping", "-c", "-v", "-C", "3", "-a", address, "-p", str(port)],
            Path(f"{log}-client.log")))
        if not client.wait(deadline):
            raise Unexpected(*client.tell(), *server.tell())
        if client.well and "rdma-ping-2" in client.output():
            return
        # The server does not listen yet.
        if time.monotonic() > deadline or server.status is not None:
            raise Unexpected(*client.tell(), *server.tell())
        time.sleep(0.3)


def _verbs_node() -> str:
    """The device node of rxe0."""
    for node in Path("/sys/class/infiniband_verbs").glob("uverbs*"):
        if (node / "ibdev").read_text(encoding="ascii").strip() == "rxe0":
            return node.name
    raise Unexpected("rxe0 has no node")


def few_rights(stacks: dict[str, Stack]) -> None:
    """A user without any capability, with two nodes: uverbs of the device, and ours; no umad, no
    rdma_cm.
    """
    prefix = (*ONE_NODE, _verbs_node(), *NOBODY)
    with _containers(), Endpoints() as programs:
        _ping(programs, stacks[OURS], HERE, 22430, prefix)
        inside = Inside(stacks[OURS], "/run/netns/rca1")
        # The addresses of the device may come a moment later than the interface.
        server = _listen(programs, inside, CONTAINERS["rca1"], 22431)
        server.leave()
        _ping(programs, inside, CONTAINERS["rca1"], 22431, prefix)
    rig.nothing_left()


def _one_process(name: str, port: int) -> Callable:
    """A listener on the wildcard and the same port in each namespace, and connections to both."""
    def test(stacks: dict[str, Stack]) -> None:
        with _containers(), Endpoints() as programs:
            _listen(programs, Inside(stacks[name], "/run/netns/rca1"), CONTAINERS["rca1"], port).leave()
            # The file of the namespace is not visible where the program runs.
            with open("/run/netns/rca1", "rb") as netns, Agent(stacks[name]) as agent:
                home = f"/proc/{os.getpid()}/ns/net"
                inside = f"/proc/{os.getpid()}/fd/{netns.fileno()}"

                def connect(address: str, listener: int) -> None:
                    one = agent.routed("-", address, port)
                    disconnected(agent, one, agent, connected(agent, one, agent, listener))

                here = agent.listening("0.0.0.0", port)
                agent.must("netns", inside)
                there = agent.listening("0.0.0.0", port)
                connect(CONTAINERS["rca1"], there)
                agent.must("netns", home)
                connect(HERE, here)
                # A listener serves its own namespace, whatever namespace its process is in.
                agent.must("destroy", here)
                agent.must("netns", inside)
                connect(CONTAINERS["rca1"], there)
        rig.nothing_left()
    return test


TESTS = (
    ("servers in three namespaces share a port of a device", one_port),
    ("one process has ids in two namespaces", _one_process(OURS, 22440)),
)
MORE = (
    ("namespaces see nothing of each other", invisible),
    ("a user without rights needs uverbs and our node alone", few_rights),
    ("servers of stock share a port in the same way", one_port_stock),
    ("one process has ids of stock in two namespaces", _one_process(STOCK, 22441)),
    ("a port is one stack's in all namespaces", other_stack),
)
