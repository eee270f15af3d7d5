# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A host that dies without disconnecting, and a cable that is pulled: the events of the survivor
and of the next connection.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from cmtrace import OURS, STOCK
from hosts import PATIENCE, Hosts, Program
from loss import events, qp_numbers, start_client, start_server
from scenario import Unexpected
from stacks import ROOT
from tap import tried

# A peer that still knows the QP rejects the request as stale.
STALE = 10


def told(program: Program, wanted: list[tuple[str, int]], number: int = 0) -> None:
    """All events of a connection so far; they may take a moment to arrive."""
    deadline = time.monotonic() + PATIENCE
    while True:
        seen = events(program).get(number, [])
        if seen[:len(wanted)] == wanted:
            return
        if time.monotonic() > deadline or program.status is not None:
            raise Unexpected(f"connection {number} told {seen}, not {wanted}\n{program.tell()}")
        time.sleep(0.2)


IDLE = ROOT / "build/tests/fabric/wire/idle"

RESOLVED = [("ADDR_RESOLVED", 0), ("ROUTE_RESOLVED", 0)]
CONNECTED = [*RESOLVED, ("CONNECT_RESPONSE", 0)]
ACCEPTED = [("CONNECT_REQUEST", 0), ("ESTABLISHED", 0)]
REFUSED = [*RESOLVED, ("REJECTED", STALE)]


def client_killed_in_silence(hosts: Hosts, client: str, server: str, oracle: bool = False) -> None:
    """The near client is killed while the wire loses everything; the next client has its QP's
    number.
    """
    first_qp = qp_numbers(1)
    waiting, port = start_server(hosts, hosts.far, server, 1, "hold")
    # Stock sends one DREQ when its program is killed, and none after that.
    old = start_client(hosts.near, STOCK, (hosts.far.ip, port), 1, "hold", first_qp)
    waiting.until("^all$")
    with hosts.disturbed("loss 100%"):
        old.kill()
        time.sleep(2)
    tried(1, "peers killed in silence")
    told(waiting, ACCEPTED)
    new = start_client(hosts.near, client, (hosts.far.ip, port), 1, "hold", first_qp)
    if oracle:
        told(new, REFUSED)
        return
    told(new, CONNECTED)
    # The old connection got its event; the new one has the same number here.
    waiting.until("DISCONNECTED 0")
    waiting.until("CONNECT_REQUEST 0", 2)
    waiting.until("ESTABLISHED 0", 2)


def stale(client: str, server: str) -> Callable[[Hosts], None]:
    """client_killed_in_silence() for a pairing."""
    return partial(client_killed_in_silence, client=client, server=server,
                   oracle=client == STOCK)


def started_again(hosts: Hosts) -> None:
    """The far host is restarted while it is connected; both ends of old connections come back."""
    near, far = hosts.both
    # Clients on the far host, with the stack of each end; a restarted client uses the QP numbers
    # of before.
    clients = []
    for client, server in ((OURS, OURS), (OURS, STOCK), (STOCK, OURS)):
        first_qp = qp_numbers(1)
        waiting, port = start_server(hosts, near, server, 1, "hold")
        start_client(far, client, (near.ip, port), 1, "hold", first_qp)
        waiting.until("^all$")
        clients.append((client, waiting, port, first_qp))
    # Servers on the far host, which come back with the QP numbers of before.
    servers = []
    for client, server in ((OURS, OURS), (OURS, STOCK)):
        first_qp = qp_numbers(1)
        waiting, port = start_server(hosts, far, server, 1, "hold", first_qp)
        old = start_client(near, client, (far.ip, port), 1, "hold")
        old.until("^all$")
        servers.append((client, server, old, first_qp))
    far.start_again()
    far.programs.clear()
    tried(1, "hosts started again")

    # The far host sends a request: the survivor drops the old connection and accepts the new one,
    # at the first attempt.
    asking = []
    for client, waiting, port, first_qp in clients:
        new = start_client(far, client, (near.ip, port), 1, "hold", first_qp)
        asking.append((client, waiting, new))
    for client, waiting, new in asking:
        if client == STOCK:
            told(new, REFUSED)
            waiting.until("DISCONNECTED 0")
        else:
            told(new, CONNECTED)
            waiting.until("DISCONNECTED 0")
            waiting.until("ESTABLISHED 0", 2)

    # The far host gets a request: the survivor finds the old connection by the reply, and drops
    # it.
    for client, server, old, first_qp in servers:
        waiting, port = start_server(hosts, far, server, 1, "hold", first_qp)
        new = start_client(near, client, (far.ip, port), 1, "hold")
        told(new, CONNECTED)
        told(old, [*CONNECTED, ("DISCONNECTED", 0)])


def cable_pulled(seconds: int, hosts: Hosts) -> None:
    """The wire is dead for a while: connections stay, and those that are requested meanwhile are
    made.
    """
    near, far = hosts.both
    held = []
    for client, server in ((OURS, OURS), (OURS, STOCK), (STOCK, OURS)):
        waiting, port = start_server(hosts, far, server, 1, "hold")
        asking = start_client(near, client, (far.ip, port), 1, "hold")
        waiting.until("^all$")
        held.append((waiting, asking))
    # Many connects: some happen while the interface has no routes yet.
    late, port = start_server(hosts, far, OURS, 100, "hold")
    if seconds > 1:
        # Address resolution of programs has a shorter timeout: those addresses are known.
        near.do(f"busybox ping -c 1 -w {PATIENCE} {far.ip}")
    far.do("ip link set wire0 down")
    meanwhile = start_client(near, OURS, (far.ip, port), 100, "hold")
    time.sleep(seconds)
    far.do("ip link set wire0 up")
    for number in range(100):
        told(meanwhile, CONNECTED, number)
    late.until("^all$")
    for waiting, asking in held:
        told(asking, CONNECTED)
        told(waiting, ACCEPTED)
        if len(events(asking)[0]) > len(CONNECTED) or len(events(waiting)[0]) > len(ACCEPTED):
            raise Unexpected(f"it told more\n{asking.tell()}\n{waiting.tell()}")
        # They are still connected: a disconnect of one end reaches the other.
        asking.kill()
        waiting.until("DISCONNECTED 0")
    tried(1, f"cables pulled for {seconds} s, under 103 connections")


def route_comes_late(hosts: Hosts) -> None:
    """A host without the route of its address, except for what programs send: the request is
    retransmitted later.
    """
    near, far = hosts.both
    late, port = start_server(hosts, far, OURS, 1, "hold")
    route = "10.8.0.0/24 dev wire0"
    far.do(f"ip route add {route} table 100;"
           "for proto in udp tcp; do ip rule add ipproto $proto table 100; done;"
           f"ip route del {route}")
    asking = start_client(near, OURS, (far.ip, port), 1, "hold")
    asking.until("ROUTE_RESOLVED 0")
    time.sleep(2)
    told(asking, RESOLVED)
    if events(asking)[0] != RESOLVED:
        raise Unexpected(f"it told more\n{asking.tell()}")
    far.do(f"ip route add {route} src {far.ip};"
           "for proto in udp tcp; do ip rule del ipproto $proto table 100; done;"
           f"ip route del {route} table 100")
    told(asking, CONNECTED)
    late.until("^all$")


def idle_rsockets(hosts: Hosts) -> None:
    """The far host dies while rsockets have no traffic: they learn of it, by default, too."""
    near, far = hosts.both
    folder = "/etc/rdma/rsocket"
    near.do(f"mkdir -p {folder} && echo 2 >{folder}/keepalive_default")
    clients = []
    for server, seconds in ((OURS, "1"), (STOCK, "1"), (OURS, ""), (STOCK, "")):
        port = hosts.port()
        waiting = far.start(server, f"{IDLE} server {far.ip} {port}")
        waiting.until("^listening$")
        clients.append(near.start(OURS, f"{IDLE} client {far.ip} {port} {seconds}"))
        clients[-1].until("^connected$")
    # The peers answer, so nothing happens.
    time.sleep(6)
    for client in clients:
        if client.lines != ["connected"]:
            raise Unexpected(f"the far host is alive\n{client.tell()}")
    with hosts.disturbed("loss 100%"):
        for client in clients:
            # POLLIN, POLLERR and POLLHUP.
            client.until("^end 0x19 ETIMEDOUT$")
    near.do(f"rm {folder}/keepalive_default")
    tried(len(clients), "idle rsockets whose peer died")


def tests(everything: bool) -> list[tuple[str, Callable[[Hosts], None]]]:
    """Name and test of each way to break a connection."""
    found = [("client killed in silence: ours again, stock server", stale(OURS, STOCK)),
             ("client killed in silence: ours again, our server", stale(OURS, OURS)),
             ("far host dies while rsockets are idle", idle_rsockets),
             ("cable pulled for a second", partial(cable_pulled, 1)),
             ("a request before the route", route_comes_late),
             ("far host started again while connected", started_again)]
    if everything:
        found.insert(2, ("client killed in silence: stock is rejected with 10", stale(STOCK, STOCK)))
        found.append(("cable pulled for a minute", partial(cable_pulled, 60)))
    return found
