# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""iWARP: soft-iWARP devices on both ends of a veth pair, the other end in a network namespace.

The events of both ends must be those of stock at both ends. The devices are those of
tests/harness/guest/siw.sh: siw0 here, siw1 in the namespace "peer".
Several hundred lines because each row is a function over the same two ends.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from agent import Agent, route_to_listener
from cmtrace import OURS, STOCK
from scenario import DEBUG, PATIENCE, Skip, Unexpected, run, same, wait_for
from stacks import ROOT, Inside, Program, Stack

Stacks = dict[str, Stack]

BOTH_STOCK = (STOCK, STOCK)
PAIRS = ((OURS, STOCK),) if DEBUG else ((OURS, OURS), (OURS, STOCK), (STOCK, OURS))
PORTS = count(24000)
HERE, THERE = "10.11.0.1", "10.11.0.2"
HERE6, THERE6 = "fd00:11::1", "fd00:11::2"
DEAD = "10.11.0.99"
# Time limit in seconds of a destroy or a process exit: neither waits for a peer, but guests are
# slow.
AT_ONCE = 8.0 if DEBUG else 4.0
# Time limit in milliseconds of a destroy that waits for no peer.
TARGET = 100 if DEBUG else 10
SH = f". {ROOT}/tests/harness/guest/rig.sh; . {ROOT}/tests/harness/guest/siw.sh; cd {ROOT};"


# Programs enter the namespace through a process in it: the mount namespace of their stack may be
# older than the name of the namespace.
_holder: list[subprocess.Popen[bytes]] = []


def _peer() -> str:
    return f"/proc/{_holder[0].pid}/ns/net"


def _in_peer() -> tuple[str, ...]:
    return ("nsenter", f"--net={_peer()}")


def _siw(what: str) -> None:
    run(f"bash -c '{SH} siw_{what}'")


def up() -> None:
    """Set up the devices."""
    try:
        _siw("module")
    except Unexpected as why:
        raise Skip(f"no soft-iWARP for this kernel: {why}") from why
    _siw("up")
    # pylint: disable-next=consider-using-with
    _holder.append(subprocess.Popen(["ip", "netns", "exec", "peer", "sleep", "infinity"]))
    wait_for("a process in the namespace", lambda: Path(_peer()).readlink() !=
             Path("/proc/self/ns/net").readlink(), 0.05)


def down() -> None:
    """Remove everything."""
    while _holder:
        with _holder.pop() as holder:
            holder.kill()
    run(f"bash -c '{SH} siw_down; ! [ -e /sys/module/siw ] || rmmod siw'")


@contextmanager
def _agents(stacks: Stacks, client: str, server: str) -> Iterator[tuple[Agent, Agent]]:
    with Agent(stacks[client]) as one, Agent(stacks[server], *_in_peer()) as other:
        yield one, other


def _ask(client: Agent, number: int, data: str = "") -> int:
    """An id with a route gets a QP and connects."""
    client.must("qp", number)
    client.must("connect", number, data)
    return number


def _requested(client: Agent, server: Agent, address: str = THERE, listen_on: str = "",
               data: str = "") -> tuple[int, int, int, list[str]]:
    """Up to the request, which the server has read; returns the ids, and the events of the server.
    """
    one, listener = route_to_listener(client, server, address, next(PORTS), listen_on=listen_on)
    _ask(client, one, data)
    other = server.event("CONNECT_REQUEST", listener)
    return one, other, listener, [server.must("data")]


def _connected(client: Agent, server: Agent, address: str = THERE, listen_on: str = "",
               data: tuple[str, str] = ("", "")) -> tuple[int, int, int, list[str]]:
    """Up to ESTABLISHED on both ends; returns the ids, and the events of both ends."""
    one, other, listener, seen = _requested(client, server, address, listen_on, data[0])
    server.must("qp", other)
    server.must("accept", other, data[1])
    client.event("ESTABLISHED", one)
    seen.append(client.must("data"))
    server.event("ESTABLISHED", other)
    seen.append(server.must("data"))
    return one, other, listener, seen


def _compare(stacks: Stacks, what: Callable[[Agent, Agent], object]) -> None:
    """The events with ours at one end must be those with stock at both."""
    wanted: object = None
    for names in (BOTH_STOCK, *PAIRS):
        with _agents(stacks, *names) as (client, server):
            found = what(client, server)
        if names == BOTH_STOCK:
            wanted = found
        same(f"{names[0]} client, {names[1]} server", found, wanted)


def _compared(what: Callable[[Agent, Agent], object]) -> Callable[[Stacks], None]:
    """A test that compares."""
    return lambda stacks: _compare(stacks, what)


def _place(agent: Agent, number: int) -> list[str]:
    """Device, port and addresses, without ephemeral port numbers."""
    device, port, here, there = agent.place(number)
    return [device, port, here.rpartition(":")[0], there.rpartition(":")[0]]


def _connect_and_end(address: str, listen_on: str = "") -> Callable[[Agent, Agent], object]:
    def what(client: Agent, server: Agent) -> object:
        one, other, _listener, seen = _connected(client, server, address, listen_on,
                                                 ("please", "welcome"))
        seen += _place(client, one) + _place(server, other)
        seen += [client.ask("path", one), client.ask("notify", one), server.ask("notify", other)]
        same("the ports of the ends", client.place(one)[2:], server.place(other)[:1:-1])
        client.must("disconnect", one)
        client.event("DISCONNECTED", one)
        server.event("DISCONNECTED", other)
        server.must("disconnect", other)
        client.quiet()
        server.quiet()
        return seen

    return what


def connections(stacks: Stacks) -> None:
    """Private data both ways, addresses, the disconnect: DISCONNECTED, and no TIMEWAIT_EXIT."""
    _compare(stacks, _connect_and_end(THERE))


def connections6(stacks: Stacks) -> None:
    """The same over IPv6."""
    _compare(stacks, _connect_and_end(THERE6))


def wildcards(stacks: Stacks) -> None:
    """Listeners on the wildcard addresses; an IPv6 one accepts IPv4 as well, stock's does not."""
    _compare(stacks, _connect_and_end(THERE, "0.0.0.0"))
    _compare(stacks, _connect_and_end(THERE6, "::"))
    for client in (OURS, STOCK):
        with _agents(stacks, client, OURS) as ends:
            _connect_and_end(THERE, "::")(*ends)


@_compared
def server_disconnects(client: Agent, server: Agent) -> object:
    """The passive side disconnects."""
    one, other, _listener, _seen = _connected(client, server)
    server.must("disconnect", other)
    server.event("DISCONNECTED", other)
    client.event("DISCONNECTED", one)
    return [client.ask("disconnect", one), server.ask("disconnect", other)]


@_compared
def destroyed_connections(client: Agent, server: Agent) -> object:
    """One end is destroyed, its QP with it or before: the other one gets DISCONNECTED."""
    for victim in (client, server):
        one, other, _listener, _seen = _connected(client, server)
        ends = {client: one, server: other}
        number = ends.pop(victim)
        survivor, its = ends.popitem()
        victim.must("destroy", number, "keep")
        survivor.event("DISCONNECTED", its)
    return None


@_compared
def rejected(client: Agent, server: Agent) -> object:
    """Status and private data of a reject; destroying the id of a request is a reject, too."""
    one, other, _listener, seen = _requested(client, server, data="may-I?")
    server.must("reject", other, "you-may-not")
    client.event("REJECTED", one, -104)
    seen += [client.must("data"), server.ask("reject", other), server.ask("accept", other)]
    one, other, _listener, _seen = _requested(client, server)
    server.must("destroy", other)
    client.event("REJECTED", one, -104)
    seen.append(client.must("data"))
    return seen


@_compared
def long_data(client: Agent, server: Agent) -> object:
    """More private data than fits into a message of InfiniBand."""
    return _connected(client, server, data=("q" * 200, "r" * 200))[3]


@_compared
def nobody(client: Agent, _server: Agent) -> object:
    """Without a listener; without a QP; the state afterwards."""
    one = client.routed("-", THERE, next(PORTS))
    answers = [client.ask("connect", one)]
    client.must("qp", one)
    answers += [client.ask("connect", one), client.ask("connect", one)]
    answers += [client.ask("establish", one), client.ask("reject", one)]
    client.quiet()
    return answers


class Mute(socket.socket):
    """A TCP server on HERE that accepts connections and never answers.

    siw takes the callback lock of its sockets in a way that lockdep cannot reconcile with TCP
    closing a server while connections wait to be accepted; lockdep has one class for all
    sockets, so the connections are accepted before the server is closed.
    """

    def __init__(self) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_STREAM)
        self.bind((HERE, 0))
        self.listen(64)
        self.port = self.getsockname()[1]

    def close(self) -> None:
        """No connection waits any more; when this runs again the socket is closed already."""
        if self.fileno() != -1:
            self.setblocking(False)
            try:
                while True:
                    self.accept()[0].close()
            except BlockingIOError:
                pass
        super().close()


def unreachable(stacks: Stacks) -> None:
    """A host that accepts the TCP connection and never answers: UNREACHABLE when MPA times out."""
    mute = Mute()

    def what(name: str) -> object:
        with Agent(stacks[name]) as client:
            one = _ask(client, client.routed("-", HERE, mute.port))
            client.event("UNREACHABLE", one, -110)
            return client.must("data")

    with mute, ThreadPoolExecutor() as pool:
        same("ours", *pool.map(what, (OURS, STOCK)))


def _timed(what: str, call: Callable[[], object], limit: float = AT_ONCE) -> float:
    began = time.monotonic()
    call()
    took = time.monotonic() - began
    if took > limit:
        raise Unexpected(f"{what} took {took:.1f} s, not {limit} s at most")
    return took


def _short(what: str, took_us: list[int]) -> None:
    """An operation that does not wait takes no time. The guest may be busy now and then."""
    took = sorted(us / 1000 for us in took_us)
    print(f"# {what}: {took[0]:.2f} to {took[-1]:.2f} ms")
    if took[len(took) // 3] > TARGET or took[-1] > AT_ONCE * 1000:
        raise Unexpected(f"{what} should take {TARGET} ms, took {took}")


def destroy_while_mute(stacks: Stacks) -> None:
    """An id whose peer never answers is destroyed at once, ten times; stock waits for MPA."""
    # The peer is closed first: siw keeps QPs, and their process, until it has answered.
    with Agent(stacks[OURS]) as client, Mute() as mute:
        took = []
        for _round in range(3 if DEBUG else 10):
            one = _ask(client, client.routed("-", HERE, mute.port))
            took.append(int(client.must("destroy", one, "keep")))
        _short("a destroy", took)


def destroy_in_tcp(stacks: Stacks) -> None:
    """An id is destroyed at once while another thread connects it to a dead host."""
    with Agent(stacks[OURS]) as client:
        took = []
        for _round in range(3 if DEBUG else 6):
            one = client.routed("-", DEAD, 7471)
            client.must("qp", one)
            result, us = client.must("abort", one, 500).split()
            same("the connect", result, "ECONNABORTED")
            took.append(int(us))
        _short("a destroy", took)


def fused(_stacks: Stacks) -> None:
    """Fused connects to dead hosts: these ids wait for TCP, and no others do."""
    run(f"{ROOT}/build/tests/fabric/fabrics/fused_tcp")


def loopback(stacks: Stacks) -> None:
    """127.0.0.1 and ::1 stand for the address of a device."""
    for address, real, listen_on in (("127.0.0.1", THERE, THERE), ("::1", THERE6, THERE6),
                                     ("127.0.0.1", THERE, "0.0.0.0")):
        for name in (OURS, STOCK):
            with Agent(stacks[OURS], *_in_peer()) as client, \
                    Agent(stacks[name], *_in_peer()) as server:
                one, listener = route_to_listener(client, server, address, next(PORTS),
                                                  listen_on=listen_on)
                same("the way", _place(client, one), ["siw1", "1", real, real])
                _ask(client, one)
                other = server.event("CONNECT_REQUEST", listener)
                server.must("qp", other)
                server.must("accept", other)
                client.event("ESTABLISHED", one)
                server.event("ESTABLISHED", other)
                client.must("disconnect", one)
                client.event("DISCONNECTED", one)
                server.event("DISCONNECTED", other)


def loopback_without_address(stacks: Stacks) -> None:
    """127.0.0.1 and ::1 stand for no address where the device has none."""
    def inside(command: str) -> None:
        run(f"{' '.join(_in_peer())} ip {command}")

    # A device that has addresses, but is down, and another one.
    inside("link add down0 type dummy")
    try:
        inside("addr del 10.11.0.2/24 dev s1")
        inside("addr del fd00:11::2/64 dev s1")
        inside("link set s1 mtu 1000")
        with Agent(stacks[OURS], *_in_peer()) as agent:
            for address in ("127.0.0.1", "::1"):
                same(address, agent.ask("resolve", agent.id(), "-", address, 7471), "ENODEV")
    finally:
        inside("link del down0")
        inside("link set s1 mtu 1500")
        inside("addr add 10.11.0.2/24 dev s1")
        inside("addr add fd00:11::2/64 dev s1 nodad")


def vlan_elsewhere(stacks: Stacks) -> None:
    """Requests can come from a namespace that has a VLAN of the device."""
    run("modprobe 8021q; ip netns add vl && ip -n vl link set lo up")
    try:
        for there in (False, True):
            if there:
                run("ip link add link s0 name s0.5 type vlan id 5 && ip link set s0.5 netns vl &&"
                    " ip -n vl link set s0.5 up && ip -n vl addr add 10.12.0.1/24 dev s0.5")
            port = next(PORTS)
            with Agent(Inside(stacks[OURS], "/run/netns/vl")) as agent:
                agent.listening("0.0.0.0", port)
                same("who listens", f":{port} " in run("ip netns exec vl ss -ltnH"), there)
    finally:
        run("ip netns del vl")


def _in_tcp(agent: Agent) -> int:
    """An id in a connect that TCP does not answer."""
    one = agent.routed("-", DEAD, 7471)
    agent.must("qp", one)
    agent.start("connect", one)
    time.sleep(1)
    return one


def kill_in_tcp(stacks: Stacks) -> None:
    """A process is killed while it connects to a dead host; an ignored signal has no effect."""
    with Agent(stacks[OURS]) as client:
        _in_tcp(client)
        client.signal(signal.SIGWINCH)
        if client.wait(time.monotonic() + 0.5):
            raise Unexpected("it ended by a signal that it ignores")
        client.signal(signal.SIGKILL)
        _timed("its end", lambda: client.wait(time.monotonic() + PATIENCE))


def signal_in_tcp(stacks: Stacks) -> None:
    """A signal with a handler ends a connect to a dead host, and the id can connect again."""
    for name in (STOCK, OURS):
        with Agent(stacks[name]) as client:
            one = _in_tcp(client)
            client.signal(signal.SIGUSR1)
            same(f"connect on {name}", client.answer(), "EINTR")
            if name == OURS:
                client.start("connect", one)
                time.sleep(1)
                client.signal(signal.SIGUSR1)
                same("connect again", client.answer(), "EINTR")
            client.must("destroy", one)
            client.leave()


@contextmanager
def _link_goes(device: str = "siw0") -> Iterator[subprocess.Popen[bytes]]:
    """The device is removed meanwhile, which completes when no program has it open; then it is
    added again.
    """
    with subprocess.Popen(["rdma", "link", "delete", device]) as deleting:
        try:
            yield deleting
            _timed(f"the removal of {device}", lambda: deleting.wait(PATIENCE))
        finally:
            deleting.wait()
            _siw("link")


def device_goes_in_tcp(stacks: Stacks) -> None:
    """The device is removed while a connect waits for a dead host."""
    with Agent(stacks[OURS]) as client:
        one = _in_tcp(client)
        with _link_goes():
            same("connect", client.answer(), "ENXIO")
            client.event("DEVICE_REMOVAL", one)
            client.leave()


def device_goes(stacks: Stacks) -> None:
    """The device is removed in every other state."""
    with Mute() as mute, Agent(stacks[OURS]) as client, \
            Agent(stacks[STOCK], *_in_peer()) as server:
        bound, routed = client.id(), client.routed("-", THERE, 7471)
        client.must("bind", bound, HERE, next(PORTS))
        listener = client.listening(HERE, next(PORTS))
        wildcard = client.listening("0.0.0.0", next(PORTS))
        one, other, _listener, _seen = _connected(client, server)
        asking = _ask(client, client.routed("-", HERE, mute.port))
        with _link_goes():
            told = {client.event("DEVICE_REMOVAL") for _id in range(5)}
            same("who is told", told, {bound, routed, listener, one, asking})
            client.quiet()
            same("connect", client.ask("connect", routed), "ENXIO")
            same("connect", client.ask("connect", asking), "ENXIO")
            mute.close()
            client.leave()
        server.event("DISCONNECTED", other)
        del wildcard


def killed_ends(stacks: Stacks) -> None:
    """Either process of a connection is killed."""
    for names in PAIRS:
        for victim in (0, 1):
            with _agents(stacks, *names) as ends:
                one, other, _listener, _seen = _connected(*ends)
                ends[victim].signal(signal.SIGKILL)
                _timed("its end", lambda end=ends[victim]: end.wait(time.monotonic() + PATIENCE))
                ends[1 - victim].event("DISCONNECTED", (other, one)[victim])


def killed_servers(stacks: Stacks) -> None:
    """A server is killed that has not answered, and one that has not read the request."""
    for read in (True, False):
        with _agents(stacks, OURS, OURS) as (client, server):
            if read:
                one = _requested(client, server)[0]
            else:
                port = next(PORTS)
                server.listening(THERE, port)
                one = _ask(client, client.routed("-", THERE, port))
                time.sleep(0.5)
            server.signal(signal.SIGKILL)
            client.event("REJECTED", one, -104)


def _await_listener(client: Agent, port: int) -> None:
    """Connects, with retries: a wildcard listener starts on a device a moment after it is added."""
    one = client.routed("-", THERE, port)
    client.must("qp", one)

    def connects() -> bool:
        if (answer := client.ask("connect", one)) not in ("ok", "ECONNREFUSED"):
            raise Unexpected(f"connect: {answer}")
        return answer == "ok"

    wait_for("the listener", connects)


def wildcard_follows(stacks: Stacks) -> None:
    """A wildcard listener in a namespace also listens on a device that is added later."""
    run("rdma link delete siw1")
    try:
        with _agents(stacks, STOCK, OURS) as (client, server):
            port = next(PORTS)
            listener = server.listening("0.0.0.0", port)
            _siw("link")
            _await_listener(client, port)
            server.event("CONNECT_REQUEST", listener)
    finally:
        _siw("link")


def namespaces(stacks: Stacks) -> None:
    """Ids belong to the namespace of their creation, whatever namespace their user is in."""
    with Agent(stacks[OURS]) as one, Agent(stacks[STOCK]) as other:
        here = Path(f"/proc/{one.pid}/ns/net").readlink()
        one.must("netns", _peer())
        number, server = one.id(), one.id()
        one.must("netns", f"/proc/{other.pid}/ns/net")
        same("namespace of the process", Path(f"/proc/{one.pid}/ns/net").readlink(), here)
        # From the other namespace to this one.
        port = next(PORTS)
        listener = other.listening(HERE, port)
        one.routed("-", HERE, port, number)
        same("device and address", _place(one, number)[0::2], ["siw1", THERE])
        _ask(one, number)
        request = other.event("CONNECT_REQUEST", listener)
        same("the peer", _place(other, request)[2:], [HERE, THERE])
        # And back.
        port = next(PORTS)
        one.listening(THERE, port, server)
        _ask(other, other.routed("-", THERE, port))
        one.event("CONNECT_REQUEST", server)
        same("namespace of the process", Path(f"/proc/{one.pid}/ns/net").readlink(), here)


def ports(stacks: Stacks) -> None:
    """Ports: one for each id; each is reserved in TCP, and released."""
    with _agents(stacks, OURS, STOCK) as (client, server):
        port = next(PORTS)
        listener = server.listening(THERE, port)
        numbers = [client.routed("-", THERE, port) for _i in range(8)]
        sources = {client.place(number)[2] for number in numbers}
        same("different ports", len(sources), len(numbers))
        for number in numbers:
            _ask(client, number)
            server.event("CONNECT_REQUEST", listener)
        # A port of a plain TCP server cannot be used by another listener.
        with socket.create_server((HERE, 0)) as plain:
            taken = plain.getsockname()[1]
            number = client.id()
            client.must("bind", number, HERE, taken)
            same("listen on a port of TCP", client.ask("listen", number), "EADDRINUSE")
        client.must("listen", number)
        client.must("destroy", number)
        with socket.create_server((HERE, taken)):
            pass


def datagrams(stacks: Stacks) -> None:
    """There are none on iWARP: a listener on the device's address is refused, a wildcard one skips
    the device.
    """
    with Agent(stacks[OURS]) as agent:
        number, wildcard = agent.id("udp"), agent.id("udp")
        agent.must("bind", number, HERE, next(PORTS))
        same("listen", agent.ask("listen", number), "EOPNOTSUPP")
        agent.must("bind", wildcard, "0.0.0.0", next(PORTS))
        agent.must("listen", wildcard)
        number = agent.routed("-", THERE, 7471, agent.id("udp"))
        same("connect", agent.ask("connect", number), "EOPNOTSUPP")


def _rping(stacks: Stacks, names: tuple[str, str], address: str, count: int,
           running: list[Program]) -> None:
    """Start a server and, when it listens, a client that sends that many messages."""
    client, server = names
    port = next(PORTS)
    common = ["rping", "-a", address, "-p", str(port), "-C", str(count), "-v", "-V"]
    logs = [Path(f"/tmp/rping-{port}-{end}.log") for end in ("server", "client")]
    running.append(Program(stacks[server], [*_in_peer(), *common, "-s"], logs[0]))
    deadline = time.monotonic() + (10 if DEBUG else 3)
    while f":{port} " not in run(f"{' '.join(_in_peer())} ss -ltnH") and time.monotonic() < deadline:
        time.sleep(0.1)
    running.append(Program(stacks[client], [*common, "-c"], logs[1]))


def rping(stacks: Stacks) -> None:
    """The program rping, unmodified, over IPv4 and IPv6."""
    for address in (THERE, THERE6):
        for names in PAIRS:
            running: list[Program] = []
            try:
                _rping(stacks, names, address, 3, running)
                for program in running:
                    if not program.wait(time.monotonic() + PATIENCE) or not program.well:
                        raise Unexpected(*running[0].tell(), *running[-1].tell())
                if "ping data: rdma-ping-2" not in running[1].output():
                    raise Unexpected(*running[0].tell(), *running[1].tell())
            finally:
                for program in running:
                    program.end()


def driver_goes(stacks: Stacks) -> None:
    """The driver stays loaded while programs use it, and is unloaded after them; so do wildcard
    listeners.
    """
    running: list[Program] = []
    with Agent(stacks[OURS], *_in_peer()) as server:
        port = next(PORTS)
        listener = server.listening("0.0.0.0", port)
        try:
            _rping(stacks, (OURS, OURS), THERE, 1000000, running)
            wait_for("messages", lambda: "rdma-ping-9" in running[1].output())
            for _try in range(3):
                if "in use" not in (said := run("rmmod siw 2>&1", None)):
                    raise Unexpected(f"rmmod siw: {said or 'ok'}")
        finally:
            for program in running:
                program.end()
        # Objects of killed processes are freed in the background.
        wait_for("the driver's end", lambda: not run("rmmod siw 2>&1", None))
        _siw("up")
        with Agent(stacks[STOCK]) as client:
            _await_listener(client, port)
            server.event("CONNECT_REQUEST", listener)


TESTS = (
    ("rping over IPv4 and IPv6", rping, False),
    ("connections over IPv4: private data, addresses, the end", connections, True),
    ("connections over IPv6", connections6, False),
    ("listeners on wildcard addresses", wildcards, False),
    ("the server disconnects", server_disconnects, False),
    ("an end of a connection is destroyed", destroyed_connections, True),
    ("requests that are rejected", rejected, True),
    ("long private data", long_data, False),
    ("nobody listens", nobody, True),
    ("a host that says nothing", unreachable, False),
    ("destroy while the peer says nothing", destroy_while_mute, True),
    ("destroy while TCP waits for a dead host", destroy_in_tcp, True),
    ("fused connects to dead hosts", fused, True),
    ("127.0.0.1 and ::1", loopback, False),
    ("127.0.0.1 and ::1 without an address", loopback_without_address, False),
    ("a listener where a VLAN of the device is", vlan_elsewhere, False),
    ("kill while TCP waits for a dead host", kill_in_tcp, True),
    ("signal while TCP waits for a dead host", signal_in_tcp, True),
    ("the device goes while TCP waits for a dead host", device_goes_in_tcp, True),
    ("the device goes in every other state", device_goes, True),
    ("the driver is unloaded under load", driver_goes, False),
    ("either end is killed", killed_ends, True),
    ("a server is killed with a request", killed_servers, False),
    ("a wildcard listener follows devices", wildcard_follows, True),
    ("ids in another namespace", namespaces, True),
    ("source ports, and those of TCP", ports, False),
    ("datagrams", datagrams, False),
)
