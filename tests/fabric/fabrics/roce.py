# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""RoCE: two RDMA devices with a wire between them, VLANs on it, a router, a bond.

The wire's ends w0 (rxe2) and w1 (rxe3) are in one network namespace, which soft-RoCE requires.
Packets from one to the other take the wire nevertheless: routing rules that precede the local
table enforce it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from agent import Agent, connected, disconnected, route_to_listener
from capture import Capture
from cmtrace import OURS, STOCK
from scenario import DEBUG, Skip, Unexpected, run, same, wait_for
from stacks import Inside, Stack

Stacks = dict[str, Stack]

PAIRS = ((OURS, STOCK),) if DEBUG else ((OURS, OURS), (OURS, STOCK), (STOCK, OURS))
PORTS = count(23000)
HERE, THERE = "10.8.0.1", "10.8.0.2"
HERE6, THERE6 = "fd00:8::1", "fd00:8::2"
MAC0, MAC1, OTHER_MAC = "02:00:00:00:08:01", "02:00:00:00:08:02", "02:00:00:00:08:99"
LINK0, LINK1 = "fe80::ff:fe00:801", "fe80::ff:fe00:802"
VLAN_HERE, VLAN_THERE = "10.8.100.1", "10.8.100.2"
NEAR, FAR, GATEWAY = "10.8.1.1", "10.8.2.1", "10.8.1.254"
BOND_HERE, BOND_THERE = "10.8.9.1", "10.8.9.2"
# Level and name of the option of a GID type; RoCE v1 and v2.
GID_TYPE, V1, V2 = ("0xA17", 0), 1, 2
TOS = (0, 0)
SETTINGS = Path("/sys/class/infiniband/rxe2/rdma_cm_alt/1")
CONFIGFS = Path("/sys/kernel/config/rdma_cm/rxe2")
STOCK_SETTINGS = CONFIGFS / "ports/1"


def _wire(table: int, *ends: tuple[str, list[str], str]) -> None:
    """Route packets between addresses of this machine over a wire: device, addresses of the other
    end, and the options of the route.
    """
    for number, (device, others, via) in enumerate(ends):
        for other in others:
            family = "-6" if ":" in other else "-4"
            # ARP replies and received packets use the local addresses.
            run(f"ip {family} rule add pref 1 dev {device} lookup local", None)
            run(f"ip {family} rule add pref 10 to {other} lookup {table + number}", None)
            run(f"ip {family} route replace {other} {via} dev {device} table {table + number}")


def _wire_routes() -> None:
    """The routes of the wire, which are removed when an end is down."""
    run("ip route replace 10.8.0.2 dev w0 src 10.8.0.1 table 100")
    run("ip route replace 10.8.0.1 dev w1 src 10.8.0.2 table 101")


def wire_up() -> None:
    """Set up the wire, without RDMA devices."""
    run("modprobe -a veth 8021q bonding dummy")
    run(f"ip link add w0 address {MAC0} type veth peer name w1 address {MAC1}")
    for device in ("w0", "w1"):
        run(f"sysctl -q net.ipv6.conf.{device}.accept_dad=0 net.ipv4.conf.{device}.accept_local=1 "
            f"net.ipv4.conf.{device}.rp_filter=0 net.ipv4.conf.{device}.arp_ignore=1")
        run(f"ip link set {device} up")
    run("sysctl -q net.ipv4.conf.all.rp_filter=0")
    run(f"ip addr add {HERE}/24 dev w0; ip addr add {THERE}/24 dev w1; "
        f"ip addr add {HERE6}/64 dev w0 nodad; ip addr add {THERE6}/64 dev w1 nodad")
    for family in ("-4", "-6"):
        run(f"ip {family} rule add pref 20000 lookup local && ip {family} rule del pref 0")
    _wire(100, ("w0", [THERE, THERE6, LINK1], ""), ("w1", [HERE, HERE6, LINK0], ""))
    _wire_routes()


def up() -> None:
    """Set up the wire and its devices."""
    wire_up()
    run("rdma link add rxe2 type rxe netdev w0; rdma link add rxe3 type rxe netdev w1")


def down() -> None:
    """Remove everything that exists."""
    for name in ("rxe2", "rxe3", "rxe4", "rxe5", "rxe6", "rxe8"):
        run(f"rdma link delete {name}", None)
    for name in ("w0", "w2", "vrf8", "g0", "g1", "bond8", "m0", "m1"):
        run(f"ip link delete {name}", None)
    run("ip netns delete gw", None)
    for family in ("-4", "-6"):
        run(f"ip {family} rule add pref 0 lookup local", None)
        for pref in (1, 10, 20000):
            run(f"while ip {family} rule del pref {pref}; do :; done", None)


@contextmanager
def _agents(stacks: Stacks, *names: str) -> Iterator[list[Agent]]:
    agents: list[Agent] = []
    try:
        for name in names:
            agents.append(Agent(stacks[name]))
        yield agents
    finally:
        for agent in reversed(agents):
            agent.__exit__()


def _connect(stacks: Stacks, source: str, address: str, listen_on: str = "") -> None:
    """A connection between two addresses, in all pairings; returns the events of both ends."""
    for names in PAIRS:
        with _agents(stacks, *names) as (client, server):
            one, listener = route_to_listener(client, server, address, next(PORTS), source,
                                              listen_on)
            other = connected(client, one, server, listener)
            _device, _port, here, there = client.place(one)
            _device, _port, back, forth = server.place(other)
            same("addresses of the ends", [_bare(there), _bare(here)], [_bare(back), _bare(forth)])
            disconnected(client, one, server, other)


def _bare(address: str) -> str:
    """Without a scope, which is different at the two ends."""
    host, _colon, port = address.rpartition(":")
    return host.partition("%")[0] + ":" + port


def wire(stacks: Stacks) -> None:
    """IPv4 and IPv6 over a wire."""
    _connect(stacks, "-", THERE)
    _connect(stacks, HERE6, THERE6)


def link_local(stacks: Stacks) -> None:
    """Link-local addresses are valid with a scope only."""
    _connect(stacks, f"{LINK0}%w0", f"{LINK1}%w0", f"{LINK1}%w1")
    for name in (OURS, STOCK):
        with _agents(stacks, name) as (agent,):
            same("bind without a scope", agent.ask("bind", agent.id(), LINK0, 0), "EINVAL")


def loopback(stacks: Stacks) -> None:
    """127.0.0.1 and ::1 stand for an address of a device; stock cannot be the client."""
    for name in (OURS, STOCK):
        with _agents(stacks, OURS, name) as (client, server):
            port = next(PORTS)
            listener = server.listening("::", port)
            for address in ("127.0.0.1", "::1"):
                one = client.routed("-", address, port)
                same("the peer", client.place(one)[3].rpartition(":")[0] in ("127.0.0.1", "::1"),
                     False)
                disconnected(client, one, server, connected(client, one, server, listener))


def loopback_link_local(stacks: Stacks) -> None:
    """::1 stands for a link-local address where the device has no other."""
    run("ip netns add ll && ip -n ll link set lo up")
    try:
        run("ip link add ll0 link w0 type macvlan && ip link set ll0 netns ll &&"
            " ip netns exec ll sysctl -q net.ipv6.conf.ll0.addr_gen_mode=1 &&"
            " ip -n ll link set ll0 up && ip -n ll addr add fe80::77/64 dev ll0 nodad")
        with Agent(Inside(stacks[OURS], "/run/netns/ll")) as agent:
            same("127.0.0.1", agent.ask("resolve", agent.id(), "-", "127.0.0.1", 7471), "ENODEV")
            one = agent.id()
            # The GID is added by work.
            wait_for("a GID", lambda: agent.ask("resolve", one, "-", "::1", 7471) == "ok")
            agent.event("ADDR_RESOLVED", one)
            place = agent.place(one)
            same("the address", [place[0], place[3].rpartition(":")[0]], ["rxe2", "fe80::77%ll0"])
            # The IPv4 GID stays when the device is down, and is then unusable.
            run("ip -n ll addr add 10.8.77.1/24 dev ll0")
            one = agent.id()
            wait_for("a GID", lambda: agent.ask("resolve", one, "-", "127.0.0.1", 7471) == "ok")
            agent.event("ADDR_RESOLVED", one)
            run("ip -n ll link set ll0 down")
            same("down", agent.ask("resolve", agent.id(), "-", "127.0.0.1", 7471), "ENODEV")
    finally:
        run("ip netns del ll")


def _request(agent: Agent, port: int, source: str, address: str, tos: int | None = None,
             device: str = "w1") -> dict[str, object]:
    """A request as it is on the wire. There is no listener: it is refused."""
    with Capture(device) as capture:
        one = agent.id()
        if tos is not None:
            agent.must("option", one, *TOS, tos)
        # Fixed ports: the flow label is computed from them.
        agent.must("bind", one, source, port + 10000)
        agent.routed("-", address, port, one)
        path = agent.path(one)
        agent.must("connect", one)
        found = capture.request()
        same("the path's and the wire's hop limit, TOS, SL, flow label",
             [path["hop"], path["tos"], path["sl"], path["flow"]],
             [found["hop"], found["class"], found["sl"], found["flow"]])
        agent.event("REJECTED", one, 8)
        agent.must("destroy", one)
    return found | {"lifetime": path["lifetime"]}


def _requests(stacks: Stacks, *args: object) -> dict[str, object]:
    """Ours, which must be equal to stock's."""
    found = {}
    port = next(PORTS)
    for name in (OURS, STOCK):
        with _agents(stacks, name) as (agent,):
            found[name] = _request(agent, port, *args)
    if os.uname().release.startswith("6.1."):
        # Stock sends 18 there; see Documentation/differences.rst.
        for request in found.values():
            request.pop("lifetime")
            request.pop("timeout")
    same("our request", found[OURS], found[STOCK])
    return found[OURS]


def request_fields(stacks: Stacks) -> None:
    """TOS, flow label, hop limit, and all other fields of a request, are stock's."""
    for tos in (None, 0x68):
        found = _requests(stacks, HERE, THERE, tos)
        same("the packet's TOS and TTL", [found["tos"], found["ttl"]], [tos or 0, 64])
        same("the request's TOS, hop limit, local bit", [found["class"], found["hop"],
                                                         found["local"]], [tos or 0, 64, 0])
        same("a flow label", found["flow"] != 0, True)
    _requests(stacks, HERE6, THERE6, 0x20)
    found = _requests(stacks, f"{HERE6}/0x12345", THERE6)
    same("the flow label that was asked for", found["flow"], 0x12345)


def vlan(stacks: Stacks) -> None:
    """The addresses of a VLAN device: bind, listen, connect; priority and tag."""
    for device, address in (("w0", VLAN_HERE), ("w1", VLAN_THERE)):
        run(f"ip link add link {device} name {device}.100 type vlan id 100 egress-qos-map 6:5")
        run(f"sysctl -q net/ipv4/conf/{device}.100/accept_local=1 "
            f"net/ipv4/conf/{device}.100/rp_filter=0 net/ipv4/conf/{device}.100/arp_ignore=1")
        run(f"ip link set {device}.100 up; ip addr add {address}/24 dev {device}.100")
    _wire(102, ("w0.100", [VLAN_THERE], f"src {VLAN_HERE}"),
          ("w1.100", [VLAN_HERE], f"src {VLAN_THERE}"))
    try:
        _connect(stacks, "-", VLAN_THERE)
        # 0x10 is priority 6, which the map makes 5.
        found = _requests(stacks, VLAN_HERE, VLAN_THERE, 0x10)
        same("service level and VLAN", [found["sl"], int(found["tag"]) & 0xFFF], [5, 100])
        with _agents(stacks, OURS) as (agent,):
            one = agent.resolved("-", VLAN_THERE, next(PORTS))
            same("the device", agent.place(one)[0], "rxe2")
    finally:
        run("ip link delete w0.100; ip link delete w1.100", None)


def _router() -> None:
    run("ip netns add gw && ip -n gw link set lo up")
    run("ip link add g0 type veth peer name q0 netns gw && "
        "ip link add g1 type veth peer name q1 netns gw")
    for number, address in enumerate((NEAR, FAR)):
        device = f"g{number}"
        run(f"sysctl -q net.ipv4.conf.{device}.accept_local=1 net.ipv4.conf.{device}.rp_filter=0 "
            f"net.ipv4.conf.{device}.arp_ignore=1")
        run(f"ip link set {device} up; ip addr add {address}/24 dev {device}; "
            f"ip -n gw link set q{number} up; "
            f"ip -n gw addr add 10.8.{number + 1}.254/24 dev q{number}")
    run("ip netns exec gw sysctl -q net.ipv4.ip_forward=1")
    for number, (address, gateway) in enumerate(((FAR, GATEWAY), (NEAR, "10.8.2.254"))):
        run(f"ip rule add pref 1 dev g{number} lookup local; "
            f"ip rule add pref 10 to {address} lookup {110 + number}; "
            f"ip route add 10.8.{2 - number}.0/24 via {gateway} dev g{number} "
            f"src {(NEAR, FAR)[number]} table {110 + number}")
    run("rdma link add rxe5 type rxe netdev g0; rdma link add rxe6 type rxe netdev g1")


def gateway(stacks: Stacks) -> None:
    """A peer behind a router: the packets go to the router's hardware address, and the router
    forwards them.
    """
    _router()
    _connect(stacks, "-", FAR)
    found = _requests(stacks, NEAR, FAR, None, "g1")
    same("TTL behind the router, hop limit", [found["ttl"], found["hop"]], [63, 64])


def vrf(stacks: Stacks) -> None:
    """Own addresses in a VRF: requests arrive. The way back is ib_addr's: only new kernels know it."""
    if "vrf8" not in run("ip link add vrf8 type vrf table 108 && ip link set vrf8 up &&"
                         " ip -o link show vrf8", None):
        raise Skip("the kernel has no VRF")
    try:
        run("ip link add w2 type dummy && ip link set w2 master vrf8 && ip link set w2 up &&"
            " ip addr add 10.8.8.1/24 dev w2 && ip addr add fd00:88::1/64 dev w2 nodad")
        run("rdma link add rxe8 type rxe netdev w2")
        for address in ("10.8.8.1", "fd00:88::1"):
            with _agents(stacks, OURS, OURS) as (client, server):
                port = next(PORTS)
                listener = server.listening(address, port)
                one = client.routed(address, address, port)
                same("the device", client.place(one)[0], "rxe8")
                client.must("connect", one)
                other = server.event("CONNECT_REQUEST", listener)
                if _stock_knows_vrf(stacks, address):
                    server.must("accept", other)
                    client.event("CONNECT_RESPONSE", one)
                    client.must("establish", one)
                    server.event("ESTABLISHED", other)
                    disconnected(client, one, server, other)
    finally:
        run("rdma link delete rxe8; ip link delete w2; ip link delete vrf8", None)


def _stock_knows_vrf(stacks: Stacks, address: str) -> bool:
    """Whether a request of stock arrives at an own address in a VRF."""
    with _agents(stacks, STOCK, STOCK) as (client, server):
        port = next(PORTS)
        server.listening(address, port)
        one = client.id()
        if client.ask("resolve", one, address, address, port) != "ok" or \
                client.ask("event", 5000).split()[1:2] != ["RDMA_CM_EVENT_ADDR_RESOLVED"] or \
                client.ask("route", one) != "ok" or \
                client.ask("event", 5000).split()[1:2] != ["RDMA_CM_EVENT_ROUTE_RESOLVED"]:
            return False
        client.must("connect", one)
        return server.ask("event", 3000).split()[1:2] == ["RDMA_CM_EVENT_CONNECT_REQUEST"]


def _set_neighbour(mac: str) -> None:
    run(f"ip neigh replace {THERE} lladdr {mac} dev w0 nud permanent")


def neighbour(stacks: Stacks) -> None:
    """The hardware address of a peer changes: UNREACHABLE for ids that have a route to it; of ours, ADDR_CHANGE if connected."""
    for name in (OURS, STOCK):
        with _agents(stacks, name, OURS) as (client, server):
            port = next(PORTS)
            listener = server.listening(THERE, port)
            client.resolved("-", THERE, port)
            elsewhere = client.routed("10.9.0.1", "10.9.0.2", port)
            routed = client.routed("-", THERE, port)
            live = client.routed("-", THERE, port)
            other = connected(client, live, server, listener)
            try:
                _set_neighbour(MAC1)
                client.quiet()
                _set_neighbour(OTHER_MAC)
                heard = [client.ask("event", 5000).split() for _ in range(2)]
                told = {int(event[3]): (event[1], int(event[2])) for event in heard}
                unreachable = ("RDMA_CM_EVENT_UNREACHABLE", -110)
                same("who hears of it", told, {
                    routed: unreachable, live: ("RDMA_CM_EVENT_ADDR_CHANGE", 0) if name == OURS else unreachable})
                client.quiet()
                _set_neighbour(MAC1)
                client.quiet()
            finally:
                run(f"ip neigh del {THERE} dev w0", None)
            # The connection is not affected.
            disconnected(client, live, server, other)
            client.must("destroy", elsewhere)
            server.quiet()


def _add_bond() -> None:
    run("ip link add m0 address 02:00:00:00:09:01 type dummy; "
        "ip link add m1 address 02:00:00:00:09:02 type dummy; "
        "ip link add bond8 type bond mode active-backup fail_over_mac active miimon 50")
    run("ip link set m0 master bond8; ip link set m1 master bond8; ip link set bond8 up; "
        "ip link set bond8 type bond active_slave m0")
    run(f"ip addr add {BOND_HERE}/24 dev bond8; ip addr add {BOND_THERE}/24 dev bond8")
    run("rdma link add rxe4 type rxe netdev bond8")


def bond(stacks: Stacks) -> None:
    """A bond fails over to its other device: ADDR_CHANGE for the ids on it, once for each change.
    """
    _add_bond()
    for names in PAIRS:
        with _agents(stacks, *names) as (client, server):
            port = next(PORTS)
            listener = server.listening(BOND_THERE, port)
            wildcard = server.listening("0.0.0.0", port + 5000)
            elsewhere = client.routed("10.9.0.1", "10.9.0.2", port)
            bound = client.id()
            client.must("bind", bound, BOND_HERE, 0)
            one = client.routed(BOND_HERE, BOND_THERE, port)
            other = connected(client, one, server, listener)
            run("ip link set bond8 type bond active_slave m1")
            same("clients that hear of it", {client.event("ADDR_CHANGE"),
                                             client.event("ADDR_CHANGE")}, {bound, one})
            same("servers that hear of it", {server.event("ADDR_CHANGE"),
                                             server.event("ADDR_CHANGE")}, {listener, other})
            # Back to the known address.
            run("ip link set bond8 type bond active_slave m0")
            client.quiet()
            server.quiet()
            # The bond has new GIDs now: the ids can only be destroyed.
            for number in (elsewhere, bound, one):
                client.must("destroy", number)
            for number in (wildcard, listener, other):
                server.must("destroy", number)


def port_down(stacks: Stacks) -> None:
    """The port goes down and comes back: connections get no event, and still work."""
    with _agents(stacks, OURS, STOCK) as (client, server):
        one, listener = route_to_listener(client, server, THERE, next(PORTS))
        other = connected(client, one, server, listener)
        run("ip link set w1 down")
        try:
            if "state DOWN" not in run("rdma link show rxe3/1"):
                raise Unexpected("the port of rxe3 is not down")
            client.quiet()
            server.quiet()
        finally:
            run(f"ip link set w1 up; ip addr add {THERE6}/64 dev w1 nodad")
            _wire(100, ("w0", [], ""), ("w1", [HERE6, LINK0], ""))
            _wire_routes()
        for name in ("rxe2/1", "rxe3/1"):
            wait_for(f"{name} to be up",
                     lambda name=name: "ACTIVE" in run(f"rdma link show {name}"))
        # The first messages may still be lost, and are retransmitted.
        disconnected(client, one, server, other)


def devices(stacks: Stacks) -> None:
    """Several devices: a wildcard listener listens on all of them, an id on that of its address."""
    places = (("10.9.0.1", "10.9.0.2", "rxe0", "rxe0"), (HERE, THERE, "rxe2", "rxe3"),
              (THERE, HERE, "rxe3", "rxe2"), ("fd00:9::1", "fd00:9::2", "rxe0", "rxe0"))
    for names in PAIRS:
        with _agents(stacks, *names) as (client, server):
            port = next(PORTS)
            listener = server.listening("::", port)
            for source, address, near, far in places:
                one = client.routed(source, address, port)
                other = connected(client, one, server, listener)
                same("the devices", [client.place(one)[0], server.place(other)[0]], [near, far])
                disconnected(client, one, server, other)


def _tos_of(stacks: Stacks, name: str, option: int | None = None) -> object:
    with _agents(stacks, name) as (agent,):
        return _request(agent, next(PORTS), HERE, THERE, option)["class"]


def settings(stacks: Stacks) -> None:
    """The type of service: that of the id, of stock's configfs, of the port, in this order."""
    mode, tos = SETTINGS / "default_roce_mode", SETTINGS / "default_roce_tos"
    same("the settings of a new device", [mode.read_text(), tos.read_text()], ["RoCE v2\n", "0\n"])
    try:
        tos.write_text("40")
        same("of the port", [_tos_of(stacks, OURS), _tos_of(stacks, STOCK)], [40, 0])
        same("of the id", [_tos_of(stacks, OURS, 0), _tos_of(stacks, OURS, 104)], [0, 104])
        CONFIGFS.mkdir()
        same("of a port that stock has no wish for", _tos_of(stacks, OURS), 0)
        (STOCK_SETTINGS / "default_roce_tos").write_text("72")
        same("of stock's", [_tos_of(stacks, OURS), _tos_of(stacks, STOCK)], [72, 72])
        same("of the id again", [_tos_of(stacks, OURS, 104), _tos_of(stacks, STOCK, 104)],
             [104, 104])
        CONFIGFS.rmdir()
        same("of the port again", _tos_of(stacks, OURS), 40)
    finally:
        tos.write_text("0")
        if CONFIGFS.exists():
            (STOCK_SETTINGS / "default_roce_tos").write_text("0")
            CONFIGFS.rmdir()


def _refused(path: Path, text: str) -> bool:
    try:
        path.write_text(text)
    except OSError:
        return True
    return False


def gid_types(stacks: Stacks) -> None:
    """RoCE v1, which soft-RoCE does not support, is refused where it is requested; v2 works."""
    mode, tos = SETTINGS / "default_roce_mode", SETTINGS / "default_roce_tos"
    CONFIGFS.mkdir()
    try:
        for text in ("IB/RoCE v1", "RoCE v3"):
            same(f"mode '{text}', ours and stock's",
                 [_refused(mode, text), _refused(STOCK_SETTINGS / "default_roce_mode", text)],
                 [True, True])
        mode.write_text("RoCE v2\n")
        for text in ("256", "-1", "x"):
            same(f"TOS '{text}', ours and stock's",
                 [_refused(tos, text), _refused(STOCK_SETTINGS / "default_roce_tos", text)],
                 [True, True])
    finally:
        CONFIGFS.rmdir()
    with _agents(stacks, OURS) as (agent,):
        one = agent.id()
        agent.must("option", one, *GID_TYPE, V1)
        same("a GID that the port has not", agent.ask("bind", one, HERE, 0), "ENODEV")
        agent.must("option", one, *GID_TYPE, V2)
        agent.must("bind", one, HERE, 0)
        same("too late", agent.ask("option", one, *GID_TYPE, V2), "EINVAL")
        for value in (0, 3):
            same("no type", agent.ask("option", agent.id(), *GID_TYPE, value), "EINVAL")


TESTS = (
    ("IPv4 and IPv6 over a wire", wire, True),
    ("a request's TOS, flow label, hop limit, SL, MTU, times", request_fields, True),
    ("a VLAN: bind, listen, connect, priority, tag", vlan, True),
    ("a peer behind a router", gateway, False),
    ("own addresses in a VRF", vrf, False),
    ("link-local addresses and scope ids", link_local, True),
    ("127.0.0.1 and ::1", loopback, True),
    ("::1 where there are link-local addresses alone", loopback_link_local, False),
    ("a neighbour that changes", neighbour, True),
    ("a bond that fails over", bond, True),
    ("a port that goes down", port_down, True),
    ("several devices", devices, True),
    ("type of service: of the id, of stock's settings, of the port", settings, True),
    ("GID types", gid_types, True),
)
