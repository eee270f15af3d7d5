# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""InfiniBand: two software adapters with a subnet administrator, and IPoIB devices.

hca0 has ib0 (10.8.0.1, fd00:8::1) and a child of it in the partition 0x8001 (10.8.2.1), hca1
has ib1 (10.8.0.2, fd00:8::2). Programs connect over ib0 and ib1 when ib1 is in a network
namespace of its own, and over the GIDs of both adapters always.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
import time
from ipaddress import IPv6Address
from pathlib import Path

import adapters
from adapters import shell
from agent import QUIET, Agent, connected, disconnected
from cmtrace import OURS, STOCK, Tracer
from scenario import DEBUG, PATIENCE, Unexpected, must_end, run, same, wait_for
from stacks import ROOT, Program, Stack, served_by
from transport import trunks

PAIRINGS = ((OURS, OURS), (OURS, STOCK), (STOCK, OURS))
FIRST_PORT = 7700
# Time limit of all questions in seconds; the debug kernel is several times slower.
LIMIT = 3000 if DEBUG else 1200

port = FIRST_PORT
# A process in the other network namespace, whose name is not visible in the mount namespaces of
# the stacks.
holder: subprocess.Popen | None = None


def up() -> None:
    """Set up the adapters, IPoIB and the child interface."""
    adapters.up()
    adapters.child("ib0", "10.8.2.1")


def down() -> None:
    """Remove the interfaces and the adapters."""
    if holder:
        holder.kill()
        holder.wait()
    adapters.down()


def gid(number: int) -> str:
    """The first GID of an adapter."""
    return Path(f"/sys/class/infiniband/hca{number}/ports/1/gids/0").read_text().strip()


def questions(_stacks: dict[str, Stack], *how: str) -> None:
    """Every question about InfiniBand that can be answered, ours over ib_cm compared with stock's."""
    with trunks(False):
        done = subprocess.run([ROOT / "tests/api/conformance/run", "--ib", *how], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=LIMIT, check=False, cwd=ROOT)
    lines = done.stdout.splitlines()
    answers = sum(line.startswith("ok ") for line in lines)
    wrong = [line for number, line in enumerate(lines)
             if line.startswith("not ok ") or line.startswith("#")
             or (number and lines[number - 1].startswith("not ok "))]
    if done.returncode or answers < 50:
        raise Unexpected(f"status {done.returncode}, {answers} answers", *wrong)
    print(f"# {answers} answers are as they should be")


def questions_over_ucm(stacks: dict[str, Stack]) -> None:
    """The same with stock's library over the module rdma_cm_alt_ucm."""
    questions(stacks, "--ucm")


def elsewhere(command: list[str]) -> list[str]:
    """A command in the other network namespace."""
    assert holder
    return ["nsenter", "-t", str(holder.pid), "-n", *command]


def pair(stacks: dict[str, Stack], names: tuple[str, str], server: str, client: str,
         apart: bool, ready: str = "listen") -> None:
    """One server on hca1, one client on hca0, which must succeed."""
    client_stack, server_stack = names
    tracer = Tracer("fabrics-ib")
    programs: list[Program] = []
    try:
        for number, (stack, text) in enumerate(((server_stack, server), (client_stack, client))):
            command = text.split()
            if apart and not number:
                command = elsewhere(command)
            programs.append(Program(stacks[stack], command, Path(f"/tmp/fabrics-ib-{number}.log")))
            if not number and not programs[0].wait_for(tracer, ready,
                                                       time.monotonic() + PATIENCE):
                raise Unexpected(f"the server does not {ready}", *programs[0].tell())
        must_end(*reversed(programs))
        for program in programs:
            served = served_by(tracer.calls(program.pid))
            if served != program.stack.name:
                raise Unexpected(f"{program.command} was served by {served}")
    finally:
        for program in programs:
            program.end()
        tracer.close()


def pairs(server: str, client: str, apart: bool = True, ready: str = "listen"):
    """A test of all pairings, each on a port of its own."""

    def test(stacks: dict[str, Stack]) -> None:
        global port  # pylint: disable=global-statement
        for names in PAIRINGS:
            port += 1
            words = {"PORT": str(port), "GID0": gid(0), "GID1": gid(1)}
            texts = []
            for text in (server, client):
                for word, value in words.items():
                    text = text.replace(word, value)
                texts.append(text)
            try:
                pair(stacks, names, *texts, apart, ready)
            except Unexpected as unexpected:
                raise Unexpected(f"{names[0]} with {names[1]}: {unexpected}") from unexpected

    return test


def split(_stacks: dict[str, Stack]) -> None:
    """Move ib1 to a namespace of its own, for the tests that follow."""
    global holder  # pylint: disable=global-statement
    shell("hca_split")
    # pylint: disable-next=consider-using-with
    holder = subprocess.Popen(["ip", "netns", "exec", "hca1", "sleep", "infinity"])
    wait_for("a process in the other namespace", lambda: os.readlink(
        f"/proc/{holder.pid}/ns/net") != os.readlink("/proc/self/ns/net"), 0.05)


def other_namespace(stacks: dict[str, Stack]) -> None:
    """A listener in one network namespace does not accept requests of another: same port, same
    device.
    """
    global port  # pylint: disable=global-statement
    port += 1
    tracer = Tracer("fabrics-ib")
    command = f"ucmatose -p {port}".split()
    servers = [Program(stacks[OURS], words, Path(f"/tmp/fabrics-ib-ns{number}.log"))
               for number, words in enumerate((command, elsewhere(command)))]
    try:
        for server in servers:
            if not server.wait_for(tracer, "listen", time.monotonic() + PATIENCE):
                raise Unexpected("it does not listen", *server.tell())
        run(f"env LD_LIBRARY_PATH={ROOT}/build/dropin ucmatose -p {port} -s 10.8.0.2 -b 10.8.0.1")
        must_end(servers[1])
        if servers[0].wait(time.monotonic() + QUIET):
            raise Unexpected("the listener of the other namespace ended, too", *servers[0].tell())
    finally:
        for server in servers:
            server.end()
        tracer.close()


def gids(_stacks: dict[str, Stack]) -> None:
    """Addresses of family AF_IB by the ioctls."""
    run("build/tests/fabric/fabrics/gids")
    for number in (0, 1):
        shell(f"hca_wait 60 hca_running ib{number}")


def services(stacks: dict[str, Stack]) -> None:
    """Service records: by the ioctls beside stock, and a connection to where the library finds one."""
    run("build/tests/fabric/fabrics/services")
    for number in (0, 1):
        shell(f"hca_wait 60 hca_running ib{number}")
    here, there = (str(IPv6Address(gid(number))) for number in (0, 1))
    sid = (0x13F << 16) + 7471
    knobs = Path(adapters.KNOBS)
    (knobs / "services").write_text("clear")
    (knobs / "services").write_text(f"add storage {sid:#x} {there} 0xffff")
    with Agent(stacks[OURS]) as client:
        one = client.id("ib")
        client.must("bindgid", one, here, 0)
        if client.ask("service", one, "storage") == "EOPNOTSUPP":
            same("an older kernel", client.ask("lookup", "storage"), "ENOENT")
            return
        client.event("ADDRINFO_RESOLVED", one)
        same("the record", client.must("services", one), f"{there}/{sid:#x}/0xffff")
        same("looked up", client.must("lookup", "storage"), f"{there}/{sid:#x}/0xffff from {here}")
        same("looked up by its number", client.must("lookup", hex(sid)),
             f"{there}/{sid:#x}/0xffff from {here}")
        same("unknown", client.ask("lookup", "nowhere"), "ENOENT")
        client.must("destroy", one)
        for name in (OURS, STOCK):
            with Agent(stacks[name]) as server:
                listener = server.id("ib")
                server.must("bindgid", listener, there, sid)
                server.must("listen", listener)
                one = client.id("ib")
                client.must("bindgid", one, here, 0)
                client.must("service", one, "storage")
                client.event("ADDRINFO_RESOLVED", one)
                client.must("route", one)
                client.event("ROUTE_RESOLVED", one)
                other = connected(client, one, server, listener)
                disconnected(client, one, server, other)
    (knobs / "services").write_text("clear")


def services_over_ucm(_stacks: dict[str, Stack]) -> None:
    """The same questions to rdma_cm_alt_ucm, in the place of stock's device."""
    run("exec bash -c '. tests/harness/guest/rig.sh; rig_ucm build/tests/fabric/fabrics/services'")


def sa_users(_stacks: dict[str, Stack]) -> None:
    """Users do not wait for each other's queries of the subnet administrator."""
    run("build/tests/fabric/fabrics/sa_users")
    for number in (0, 1):
        shell(f"hca_wait 60 hca_running ib{number}")


class Resolver:
    """Answers ib_addr's queries for the GID of an IP address, as ibacm does, or does not answer."""

    NETLINK_RDMA, LS, IP_RESOLVE, LS_GROUP, DGID = 20, 4, 2, 3, 4

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.asked = 0
        self._stop = False
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, self.NETLINK_RDMA)
        self._socket.bind((0, 1 << (self.LS_GROUP - 1)))
        self._socket.settimeout(0.1)
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Resolver:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop = True
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._stop:
            try:
                question = self._socket.recv(4096)
            except TimeoutError:
                continue
            _length, kind, _flags, number, _pid = struct.unpack_from("=IHHII", question)
            if kind != (self.LS << 10) + self.IP_RESOLVE:
                continue
            self.asked += 1
            if self.answer:
                gid_bytes = socket.inet_pton(socket.AF_INET6, self.answer)
                attribute = struct.pack("=HH", 20, self.DGID) + gid_bytes
                self._socket.sendto(struct.pack("=IHHII", 36, kind, 0, number, 0) + attribute,
                                    (0, 0))


def behind_a_gateway(stacks: dict[str, Stack]) -> None:
    """A peer behind a gateway of IPoIB, whose GID a program must resolve."""
    peer, late = "10.88.0.9", "10.8.0.77"
    run("ip route add 10.88.0.0/24 via 10.8.0.2 dev ib0")
    try:
        for name in (OURS, STOCK):
            with Agent(stacks[name]) as agent:
                same(f"{name}: nobody to ask", agent.ask("resolve", agent.id(), "-", peer, 7471),
                     "EADDRNOTAVAIL")
                with Resolver(gid(1)) as resolver:
                    number = agent.routed("-", peer, 7471)
                    same(f"{name}: questions", resolver.asked, 1)
                    device, _port, here, there = agent.place(number)
                    same(f"{name}: the way", [device, here.split(":")[0], there],
                         ["hca0", "10.8.0.1", f"{peer}:7471"])
                with Resolver(None):
                    number = agent.id()
                    agent.must("resolve", number, "-", peer, 7471)
                    agent.event("ADDR_ERROR", number, -110)
                    # The program does not wait for its end.
                    number = agent.id()
                    agent.must("resolve", number, "-", peer, 7471)
                    agent.must("destroy", number)
                    agent.quiet()
        # The gateway appears only after the neighbour resolution has waited for a while.
        with Agent(stacks[OURS]) as agent:
            for answer in (gid(1), None):
                number = agent.id()
                agent.must("resolve", number, "-", late, 7471)
                if not answer:
                    run(f"ip route add {late}/32 via 10.8.0.2 dev ib0")
                    agent.event("ADDR_ERROR", number, -99)
                else:
                    with Resolver(answer):
                        run(f"ip route add {late}/32 via 10.8.0.2 dev ib0")
                        agent.event("ADDR_RESOLVED", number)
                run(f"ip route del {late}/32")
    finally:
        run("ip route del 10.88.0.0/24", None)


def loopback(stacks: dict[str, Stack]) -> None:
    """127.0.0.1 and ::1 stand for addresses of the IPoIB device; where it has none, for none."""
    link = "fe80::8:2"

    def leads(agent: Agent, address: str) -> list[str]:
        number = agent.id()
        answer = agent.ask("resolve", number, "-", address, 7471)
        if not answer.startswith("ok"):
            return [answer]
        agent.event("ADDR_RESOLVED", number)
        device, _port, here, there = agent.place(number)
        same("both ends", here.rpartition(":")[0], there.rpartition(":")[0])
        return [device, there.rpartition(":")[0]]

    def inside(command: str) -> None:
        run(f"ip -n hca1 {command}")

    with Agent(stacks[OURS], *elsewhere([])) as agent:
        same("127.0.0.1", leads(agent, "127.0.0.1"), ["hca1", "10.8.0.2"])
        same("::1", leads(agent, "::1"), ["hca1", "fd00:8::2"])
        try:
            inside("addr flush dev ib1")
            same("127.0.0.1 without IPv4", leads(agent, "127.0.0.1"), ["ENODEV"])
            # A tentative address may not be used before duplicate address detection has finished.
            run("ip netns exec hca1 sysctl -q net.ipv6.conf.ib1.dad_transmits=600")
            inside("addr add fd00:8::9/64 dev ib1")
            same("::1 with a tentative address", leads(agent, "::1"), ["ENODEV"])
            inside("addr del fd00:8::9/64 dev ib1")
            inside(f"addr add {link}/64 dev ib1 nodad")
            same("::1 with a link-local address", leads(agent, "::1"), ["hca1", f"{link}%ib1"])
            inside("addr add 10.8.0.2/24 dev ib1")
            inside("link set ib1 mtu 1000")
            same("::1 without IPv6", leads(agent, "::1"), ["ENODEV"])
            inside("link set ib1 down")
            same("127.0.0.1 on one that is down", leads(agent, "127.0.0.1"), ["ENODEV"])
        finally:
            inside("link set ib1 mtu 2044 up")
            inside("addr replace 10.8.0.2/24 dev ib1")
            inside("addr replace fd00:8::2/64 dev ib1 nodad")
            shell("hca_wait 60 hca_running -n hca1 ib1")
        same("127.0.0.1 again", leads(agent, "127.0.0.1"), ["hca1", "10.8.0.2"])


# A name, the test, and whether the debug guest runs it, too.
TESTS = (
    ("every answer beside stock's", questions, False),
    ("every answer of stock's library over rdma_cm_alt_ucm", questions_over_ucm, False),
    ("connections over GIDs", pairs("ucmatose -f gid -b GID1 -p PORT",
                                    "ucmatose -f gid -s GID1 -b GID0 -p PORT", False), True),
    ("datagrams over GIDs", pairs("udaddy -f gid -b GID1",
                                  "udaddy -f gid -s GID1 -b GID0", False), False),
    ("addresses of family AF_IB by the ioctls", gids, False),
    ("service records", services, False),
    ("service records over rdma_cm_alt_ucm", services_over_ucm, False),
    ("queries of several users", sa_users, False),
    ("a namespace for each adapter", split, True),
    ("a peer behind a gateway of IPoIB", behind_a_gateway, False),
    ("127.0.0.1 and ::1", loopback, False),
    ("connections over IPoIB", pairs("ucmatose -b 10.8.0.2 -p PORT -c 3",
                                     "ucmatose -s 10.8.0.2 -b 10.8.0.1 -p PORT -c 3"), True),
    ("connections over IPoIB and IPv6",
     pairs("ucmatose -f ipv6 -b fd00:8::2 -p PORT",
           "ucmatose -f ipv6 -s fd00:8::2 -b fd00:8::1 -p PORT"), False),
    ("connections to the wildcard", pairs("ucmatose -p PORT", "ucmatose -s 10.8.0.2 -p PORT"),
     False),
    ("datagrams over IPoIB", pairs("udaddy -b 10.8.0.2",
                                   "udaddy -s 10.8.0.2 -b 10.8.0.1"), True),
    ("datagrams of RDMA_PS_IPOIB", pairs("udaddy -b 10.8.0.2 -p 0x0002",
                                         "udaddy -s 10.8.0.2 -b 10.8.0.1 -p 0x0002"), False),
    ("messages to a group", pairs("mckey -m 239.8.9.1 -b 10.8.0.2 -C 3",
                                  "mckey -s -m 239.8.9.1 -b 10.8.0.1 -C 3", ready="join"), True),
    ("listeners of one port in two namespaces", other_namespace, False),
)
