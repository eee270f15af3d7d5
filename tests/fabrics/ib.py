# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""InfiniBand: two software adapters with a subnet administrator, IPoIB above them.

hca0 has ib0 (10.8.0.1, fd00:8::1) and a child of it in the partition 0x8001 (10.8.2.1), hca1 has
ib1 (10.8.0.2, fd00:8::2). Programs meet over ib0 and ib1 when ib1 is in a network namespace of its
own, and over the GIDs of both adapters always.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from agent import DEBUG, PATIENCE, QUIET, Unexpected, run
from cmtrace import OURS, STOCK, Tracer
from stacks import ROOT, Program, Stack, served_by

GUEST = os.environ.get("GUEST", "")
SHELL = ". tests/lib/hca.sh; "
PAIRINGS = ((OURS, OURS), (OURS, STOCK), (STOCK, OURS))
FIRST_PORT = 7700
# Seconds for all questions; the debug kernel needs several times as long.
LIMIT = 3000 if DEBUG else 1200

port = FIRST_PORT
# A process in the other network namespace, whose name the mount namespaces of the stacks do not see.
holder: subprocess.Popen | None = None


def shell(command: str) -> str:
    """A command with the functions of tests/lib/hca.sh."""
    return run(f"cd {ROOT} && exec bash -c '{SHELL}{command}'")


def up() -> None:
    """The adapters, IPoIB and the child interface."""
    if not (ROOT / f"build/hca/{GUEST}/rca_hca.ko").exists():
        raise Unexpected(f"no adapter; on the host run: scripts/build-module -m hca {GUEST}")
    shell("hca_up 2")
    shell("echo 0xffff 0x8001 >$HCA_KNOBS/hca0/1/pkeys")
    run("ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001")
    run("ip addr add 10.8.2.1/24 dev ib0.8001 && ip link set ib0.8001 up")
    shell("hca_wait 60 hca_running ib0.8001")


def down() -> None:
    """All of it away."""
    if holder:
        holder.kill()
        holder.wait()
    run("ip link del ib0.8001", None)
    shell("hca_down")


def gid(number: int) -> str:
    """The first GID of an adapter."""
    return Path(f"/sys/class/infiniband/hca{number}/ports/1/gids/0").read_text().strip()


def questions(_stacks: dict[str, Stack]) -> None:
    """Every question about InfiniBand that has an answer, ours beside stock's."""
    done = subprocess.run([ROOT / "tests/conformance/run", "--ib"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT, check=False, cwd=ROOT)
    lines = done.stdout.splitlines()
    answers = sum(line.startswith("ok ") for line in lines)
    wrong = [line for number, line in enumerate(lines)
             if line.startswith("not ok ") or line.startswith("#")
             or (number and lines[number - 1].startswith("not ok "))]
    if done.returncode or answers < 50:
        raise Unexpected("\n".join([f"status {done.returncode}, {answers} answers", *wrong]))
    print(f"# {answers} answers are as they should be")


def elsewhere(command: list[str]) -> list[str]:
    """A command in the other network namespace."""
    assert holder
    return ["nsenter", "-t", str(holder.pid), "-n", *command]


def pair(stacks: dict[str, Stack], names: tuple[str, str], server: str, client: str,
         apart: bool, ready: str = "listen") -> None:
    """One server on hca1, one client on hca0, which have to end well."""
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
                raise Unexpected("\n".join([f"the server does not {ready}", *programs[0].tell()]))
        for program in reversed(programs):
            if not program.wait(time.monotonic() + PATIENCE) or program.status:
                raise Unexpected("\n".join(line for each in programs for line in each.tell()))
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
    """ib1 into a namespace of its own, for what follows."""
    global holder  # pylint: disable=global-statement
    shell("hca_split")
    # pylint: disable-next=consider-using-with
    holder = subprocess.Popen(["ip", "netns", "exec", "hca1", "sleep", "infinity"])
    # It is there when its namespace is another one than ours.
    deadline = time.monotonic() + PATIENCE
    while os.readlink(f"/proc/{holder.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        if time.monotonic() > deadline:
            raise Unexpected("nobody is in the other namespace")
        time.sleep(0.05)


def other_namespace(stacks: dict[str, Stack]) -> None:
    """Who listens in one network namespace is not there for another: same port, same device."""
    global port  # pylint: disable=global-statement
    port += 1
    tracer = Tracer("fabrics-ib")
    command = f"ucmatose -p {port}".split()
    servers = [Program(stacks[OURS], words, Path(f"/tmp/fabrics-ib-ns{number}.log"))
               for number, words in enumerate((command, elsewhere(command)))]
    try:
        for server in servers:
            if not server.wait_for(tracer, "listen", time.monotonic() + PATIENCE):
                raise Unexpected("\n".join(["it does not listen", *server.tell()]))
        run(f"env LD_LIBRARY_PATH={ROOT}/build/dropin ucmatose -p {port} -s 10.8.0.2 -b 10.8.0.1")
        if not servers[1].wait(time.monotonic() + PATIENCE) or servers[1].status:
            raise Unexpected("\n".join(servers[1].tell()))
        if servers[0].wait(time.monotonic() + QUIET):
            raise Unexpected("\n".join(["the listener of the other namespace ended, too",
                                        *servers[0].tell()]))
    finally:
        for server in servers:
            server.end()
        tracer.close()


# A name, the test, and whether the debug guest runs it, too.
TESTS = (
    ("every answer beside stock's", questions, False),
    ("connections over GIDs", pairs("ucmatose -f gid -b GID1 -p PORT",
                                    "ucmatose -f gid -s GID1 -b GID0 -p PORT", False), True),
    ("datagrams over GIDs", pairs("udaddy -f gid -b GID1",
                                  "udaddy -f gid -s GID1 -b GID0", False), False),
    ("a namespace for each adapter", split, True),
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
