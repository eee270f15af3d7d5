# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Counts the system calls that a program makes to its connection manager, from a strace log."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from cmtrace import Tracer
from stacks import ROOT, Program, Stack, waits_for_completion

# -D: the program keeps its process id; -y: descriptors with their paths.
STRACE = ("strace", "-D", "-f", "--seccomp-bpf", "-y", "-x", "-s", "4", "-e",
          "trace=openat,close,read,write,ioctl,poll,ppoll,fcntl,mmap,epoll_ctl")
DRIVE = ROOT / "build/tests/perf/drive"
_OPEN = re.compile(r"openat\(.* = \d+<.*rdma_cm")
_CALL = re.compile(r"(?:\d+ +)?(\w+)\((?:\[\{fd=)?\d+<([^>]*rdma_cm[^>]*)>(?:, (.*))?")
_MAPPED = re.compile(r"mmap\(.*, \d+<[^>]*rdma_cm")
_IOCTL = re.compile(r"_IOC\(\w+, 0xd9, (0x[0-9a-f]+),")
_WRITTEN = re.compile(r'"((?:\\x[0-9a-f]{2}){4})"')
_END = re.compile(r"\+\+\+ (exited with|killed by)")


def _names(header: Path, prefix: str, first: int) -> dict[int, str]:
    """The commands that an enum of a header declares, in order."""
    found = re.findall(rf"^\t{prefix}(\w+)(?: = \w+)?,", header.read_text(), re.MULTILINE)
    return {first + number: name for number, name in enumerate(found)}


OURS_COMMANDS = _names(ROOT / "uapi/rdma/rdma_cm_alt.h", "RDMA_CM_ALT_CMD_", 0x80)
STOCK_COMMANDS = _names(Path("/usr/include/rdma/rdma_user_cm.h"), "RDMA_USER_CM_CMD_", 0)


def parse(log: str) -> Counter[str]:
    """Counts of each call, or of each command of a call."""
    calls: Counter[str] = Counter()
    for line in log.splitlines():
        if "resumed>" in line:
            continue
        if _OPEN.search(line):
            calls["open"] += 1
        elif _MAPPED.search(line):
            calls["mmap"] += 1
        elif match := _CALL.match(line):
            calls[_name(*match.groups())] += 1
    return calls


def _name(call: str, _path: str, rest: str | None) -> str:
    """Name of the command, or of the call itself."""
    command = _IOCTL.match(rest or "")
    if call == "ioctl" and command:
        return OURS_COMMANDS.get(int(command[1], 16), "ioctl")
    written = _WRITTEN.match(rest or "")
    if call == "write" and written:
        number = int.from_bytes(bytes.fromhex(written[1].replace("\\x", "")), "little")
        return STOCK_COMMANDS.get(number, "write")
    return "poll" if call == "ppoll" else call


class LostAcknowledgement(RuntimeError):
    """One side has ended, the other waits for the completion of a message that rxe will not
    acknowledge.
    """


def _wait_for_end(log: Path, deadline: float) -> str:
    """The log, when all processes in it have ended: strace is not a child of this process, and may
    be late.
    """
    while True:
        text = log.read_text()
        begun = set(re.findall(r"^(\d+) ", text, re.MULTILINE))
        if _END.search(text) and len(_END.findall(text)) >= len(begun):
            return text
        if time.monotonic() > deadline:
            raise RuntimeError(f"{log} has no end")
        time.sleep(0.01)


def count_alone(stack: Stack, command: str, limit: float) -> Counter[str]:
    """Run a program that is both ends itself; returns all its calls."""
    deadline = time.monotonic() + limit
    log = Path("/tmp/cmcalls-alone.strace")
    log.unlink(missing_ok=True)
    program = Program(stack, [*STRACE, "-o", str(log), *command.split()], log.with_suffix(".out"))
    try:
        if not program.wait(deadline) or program.status:
            raise RuntimeError("\n".join(program.tell()))
        return parse(_wait_for_end(log, deadline))
    finally:
        program.end()


def count_pair(tracer: Tracer, stack: Stack, server: str, client: str,
               limit: float) -> tuple[Counter[str], Counter[str]]:
    """Run a server and a client of one stack; returns the calls of the client and of the server."""
    deadline = time.monotonic() + limit
    logs = [Path(f"/tmp/cmcalls-{side}.strace") for side in ("server", "client")]
    programs: list[Program] = []
    try:
        for command, log in zip((server, client), logs):
            log.unlink(missing_ok=True)
            programs.append(Program(stack, [*STRACE, "-o", str(log), *command.split()],
                                    log.with_suffix(".out")))
            if len(programs) == 1 and not programs[0].wait_for(tracer, "listen", deadline):
                raise RuntimeError("\n".join(["the server does not listen", *programs[0].tell()]))
        for program in reversed(programs):
            if not program.wait(deadline) or program.status:
                problem = "\n".join(programs[1].tell() + programs[0].tell())
                if any(waits_for_completion(each.pid) for each in programs) and any(
                        each.status == 0 for each in programs):
                    raise LostAcknowledgement(problem)
                raise RuntimeError(problem)
        said = [_wait_for_end(log, deadline) for log in logs]
    finally:
        for program in programs:
            program.end()
    return parse(said[1]), parse(said[0])


# A channel maps its ring after some events: the shorter run includes that cost, too.
BASE, MORE = 5, 10

ATTEMPTS = 3


def difference(few: Counter[str], many: Counter[str], connections: int) -> dict[str, float]:
    """Calls for each additional connection of the longer run."""
    return {name: (many[name] - few[name]) / connections for name in sorted({*few, *many})
            if many[name] != few[name]}


class NotWhole(RuntimeError):
    """The additional calls of the longer run are no whole number for each connection."""


def per_connection(tracer: Tracer, stack: Stack, port: int, limit: float,
                   more: int = MORE) -> tuple[dict[str, float], dict[str, float]]:
    """Calls per connection of an asynchronous program (ucmatose), client and server, as the mean of
    @more connections.

    Measured again when the calls are no whole number: a run may have events that not each of its
    connections has.
    """
    for attempt in range(ATTEMPTS - 1):
        try:
            return _per_connection(tracer, stack, port + 100 * attempt, limit, more)
        except NotWhole:
            pass
    return _per_connection(tracer, stack, port + 100 * (ATTEMPTS - 1), limit, more)


def _per_connection(tracer: Tracer, stack: Stack, port: int, limit: float,
                    more: int) -> tuple[dict[str, float], dict[str, float]]:
    """The difference between runs with five and with @more connections more: it excludes the set-up
    of a process, a channel and a listener.
    """
    runs = []
    for connections in (BASE, BASE + more):
        common = f"-p {port + connections} -c {connections} -C 1"
        runs.append(count_pair(tracer, stack, f"ucmatose -b 10.9.0.1 {common}",
                               f"ucmatose -s 10.9.0.1 {common}", limit))
    result = []
    for few, many in zip(*runs):
        side = difference(few, many, more)
        # Which end disconnects first depends on timing, and the other end may then make no call.
        if side.get("DISCONNECT"):
            side["DISCONNECT"] = float(math.ceil(side["DISCONNECT"]))
        # How many events a read() returns, or a ring holds, depends on timing, too: the total can
        # be less for more connections. All other calls are made for each connection.
        if side.get("read", 0) < 0:
            del side["read"]
        if bad := {name: n for name, n in side.items() if name != "read" and not n.is_integer()}:
            raise NotWhole(f"{stack.name}: not a whole number per connection: {bad}")
        result.append(side)
    return result[0], result[1]


def one_at_a_time(stack: Stack, port: int, limit: float) -> dict[str, float]:
    """Calls of both ends per connection of a program that ends one before it begins the next."""
    runs = []
    for connections in (BASE, BASE + MORE):
        port += 1
        runs.append(count_alone(stack, f"{DRIVE} -a 10.9.0.1 -s 10.9.0.2 -p {port} -n {connections} "
                                "-w 1 -Q rate", limit))
    return difference(*runs, MORE)


def total(calls: Mapping[str, float]) -> float:
    """Their number."""
    return round(sum(calls.values()), 2)


def describe(calls: Mapping[str, float]) -> str:
    """The commands of one side as text."""
    return ", ".join(f"{name} {count:g}" if count != 1 else name
                     for name, count in sorted(calls.items()))
