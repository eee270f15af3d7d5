# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Counts the system calls that a program makes to its connection manager, from a strace log."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

from cmtrace import Tracer
from stacks import ROOT, Program, Stack, waits_for_completion

# -D: the program keeps its process id; -y: descriptors with their paths.
STRACE = ("strace", "-D", "-f", "--seccomp-bpf", "-y", "-x", "-s", "4", "-e",
          "trace=openat,close,read,write,ioctl,poll,ppoll,fcntl,mmap,epoll_ctl")
_OPEN = re.compile(r"openat\(.* = \d+<.*rdma_cm")
_CALL = re.compile(r"(?:\d+ +)?(\w+)\((?:\[\{fd=)?\d+<([^>]*rdma_cm[^>]*)>(?:, (.*))?")
_MAPPED = re.compile(r"mmap\(.*, \d+<[^>]*rdma_cm")
_IOCTL = re.compile(r"_IOC\(\w+, 0xd9, (0x[0-9a-f]+),")
_WRITTEN = re.compile(r'"((?:\\x[0-9a-f]{2}){4})"')
_END = re.compile(r"\+\+\+ (exited with|killed by)")


def _names(header: Path, prefix: str, first: int) -> dict[int, str]:
    """The commands that an enumeration of a header declares in order."""
    found = re.findall(rf"^\t{prefix}(\w+)(?: = \w+)?,", header.read_text(), re.MULTILINE)
    return {first + number: name for number, name in enumerate(found)}


OURS_COMMANDS = _names(ROOT / "uapi/rdma/rdma_cm_alt.h", "RDMA_CM_ALT_CMD_", 0x80)
STOCK_COMMANDS = _names(Path("/usr/include/rdma/rdma_user_cm.h"), "RDMA_USER_CM_CMD_", 0)


def parse(log: str) -> Counter[str]:
    """How often each call, or command of a call, was made."""
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
    """A command's name, or the call's own."""
    command = _IOCTL.match(rest or "")
    if call == "ioctl" and command:
        return OURS_COMMANDS.get(int(command[1], 16), "ioctl")
    written = _WRITTEN.match(rest or "")
    if call == "write" and written:
        number = int.from_bytes(bytes.fromhex(written[1].replace("\\x", "")), "little")
        return STOCK_COMMANDS.get(number, "write")
    return "poll" if call == "ppoll" else call


class LostAcknowledgement(RuntimeError):
    """One side is done, the other waits for the completion of a message that rxe will not acknowledge."""


def count_pair(tracer: Tracer, stack: Stack, server: str, client: str,
               limit: float) -> tuple[Counter[str], Counter[str]]:
    """Runs a server and a client of one stack; the calls of the client and of the server."""
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
        for log in logs:
            # strace is no child of ours: it may be a moment behind.
            while not _END.search(log.read_text()):
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{log} has no end")
                time.sleep(0.01)
    finally:
        for program in programs:
            program.end()
    return parse(logs[1].read_text()), parse(logs[0].read_text())


def per_connection(tracer: Tracer, stack: Stack, port: int,
                   limit: float) -> tuple[Counter[str], Counter[str]]:
    """Calls per connection of an asynchronous program (ucmatose), client and server.

    The difference between runs with eleven and with one connection: what a process and a listener
    need once is not in it.
    """
    more = 10
    found: list[Counter[str]] = [Counter(), Counter()]
    for number, connections in enumerate((1, 1 + more)):
        common = f"-p {port + number} -c {connections} -C 1"
        sides = count_pair(tracer, stack, f"ucmatose -b 10.9.0.1 {common}",
                           f"ucmatose -s 10.9.0.1 {common}", limit)
        for side, calls in zip(found, sides):
            for name, count in calls.items():
                side[name] += count if number else -count
    result = []
    for side in found:
        if bad := {name: count for name, count in side.items() if count % more}:
            raise RuntimeError(f"{stack.name}: not a whole number per connection: {bad}")
        result.append(Counter({name: count // more for name, count in side.items() if count}))
    return result[0], result[1]


def describe(calls: Counter[str]) -> str:
    """The commands of one side, in words."""
    return ", ".join(f"{name} {count}" if count > 1 else name
                     for name, count in sorted(calls.items()))
