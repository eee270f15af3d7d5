# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The program agent as a test sees it: questions and answers, and the steps of a connection."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable

from stacks import ROOT, Program, Stack

PROGRAM = ROOT / "build/tests/fabric/fabrics/agent"
DEBUG = os.environ.get("GUEST") == "debug"
# Seconds for whatever should happen soon; the host may be busy, the debug kernel is slow.
PATIENCE = 240 if DEBUG else 90
# Seconds in which nothing has to happen.
QUIET = 2.0 if DEBUG else 0.5

RESOLVED = "RDMA_CM_EVENT_ADDR_RESOLVED"
ROUTED = "RDMA_CM_EVENT_ROUTE_RESOLVED"


class Unexpected(Exception):
    """What did not go as it should; the text is for people."""


class Skip(Exception):
    """What cannot be tested here, and why."""


def run(command: str, status: int | None = 0) -> str:
    """A shell command that must end with this status (None: any) within the usual time."""
    done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False)
    if status is not None and done.returncode != status:
        raise Unexpected(f"{command}: status {done.returncode}, not {status}: {done.stdout}")
    return done.stdout


def same(what: str, found: object, wanted: object) -> None:
    """They have to be."""
    if found != wanted:
        raise Unexpected(f"{what}: {found}, not {wanted}")


def wait_for(what: str, true: Callable[[], bool]) -> None:
    """Until it is."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > deadline:
            raise Unexpected(f"waited for {what}")
        time.sleep(0.1)


class Agent(Program):
    """A running agent. Its ids are numbers."""

    def __init__(self, stack: Stack, *prefix: str) -> None:
        # pylint: disable=super-init-not-called
        self.stack = stack
        self.command = [*prefix, str(PROGRAM)]
        self._process = self._start(subprocess.PIPE, subprocess.PIPE)
        self.pid = self._process.pid
        self.pidfd = os.pidfd_open(self.pid)
        self._said = b""
        self._asked: list[str] = []
        same("the agent", self._line(PATIENCE), "ok")

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_exception: object) -> None:
        assert self._process.stdin and self._process.stdout
        self.leave()
        self.end()
        self._process.stdout.close()

    def leave(self) -> None:
        """It ends by itself, as programs do."""
        assert self._process.stdin
        self._process.stdin.close()
        self.wait(time.monotonic() + PATIENCE)

    def output(self) -> str:
        return "\n".join(self._asked)

    def _line(self, patience: float) -> str:
        assert self._process.stdout
        deadline = time.monotonic() + patience
        while b"\n" not in self._said:
            left = max(0.0, deadline - time.monotonic())
            more = b""
            if select.select([self._process.stdout], [], [], left)[0]:
                more = os.read(self._process.stdout.fileno(), 4096)
            if not more:
                raise Unexpected("\n".join(["no answer", *self.tell(20)]))
            self._said += more
        line, _newline, self._said = self._said.partition(b"\n")
        return line.decode()

    def start(self, *words: object) -> None:
        """One line in; its answer has to be fetched before the next one."""
        line = " ".join(map(str, words))
        assert self._process.stdin
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        self._asked.append(line)

    def answer(self, patience: float = PATIENCE) -> str:
        """One line out."""
        answer = self._line(patience)
        self._asked[-1] += f" -> {answer}"
        return answer

    def ask(self, *words: object, patience: float = PATIENCE) -> str:
        """One line in, one line out."""
        self.start(*words)
        return self.answer(patience)

    def must(self, *words: object) -> str:
        """What is asked for has to succeed; the answer without its "ok"."""
        answer = self.ask(*words)
        if answer.split()[0] != "ok":
            raise Unexpected("\n".join([" ".join(map(str, words)) + f": {answer}",
                                        *self.tell(20)]))
        return answer[3:]

    def event(self, wanted: str, number: int | None = None, status: int = 0) -> int:
        """The next event has to be this one (without RDMA_CM_EVENT_), of this id. The number of
        the id, of a request that of the new one."""
        found = self.ask("event", int(PATIENCE * 900)).split()
        if found[:3] != ["ok", f"RDMA_CM_EVENT_{wanted}", str(status)] or \
                number not in (None, int(found[3])):
            raise Unexpected("\n".join([f"event {' '.join(found)}, not {wanted} {status} of "
                                        f"{number}", *self.tell(20)]))
        return int(found[-1])

    def quiet(self) -> None:
        """No event may come."""
        found = self.ask("event", int(QUIET * 1000))
        if found != "none":
            raise Unexpected("\n".join([f"event {found}, not none", *self.tell(20)]))

    def id(self, space: str = "tcp") -> int:
        """A new id."""
        return int(self.must("id", space))

    def resolved(self, source: str, address: str, port: int, number: int | None = None) -> int:
        """A new id, or this one, with its address resolved."""
        number = self.id() if number is None else number
        self.must("resolve", number, source, address, port)
        self.event("ADDR_RESOLVED", number)
        return number

    def routed(self, source: str, address: str, port: int, number: int | None = None) -> int:
        """Likewise with its route."""
        number = self.resolved(source, address, port, number)
        self.must("route", number)
        self.event("ROUTE_RESOLVED", number)
        return number

    def listening(self, address: str, port: int, number: int | None = None) -> int:
        """A new id, or this one, that listens."""
        number = self.id() if number is None else number
        self.must("bind", number, address, port)
        self.must("listen", number)
        return number

    def place(self, number: int) -> list[str]:
        """Device, port, source, destination."""
        return self.must("place", number).split()

    def path(self, number: int) -> dict[str, int]:
        """Fields of the path record."""
        return {key: int(value) for key, value in
                (field.split("=") for field in self.must("path", number).split())}


def connected(client: Agent, one: int, server: Agent, listener: int) -> int:
    """Connect an id that has a route; the server's new id."""
    client.must("connect", one)
    other = server.event("CONNECT_REQUEST", listener)
    server.must("accept", other)
    client.event("CONNECT_RESPONSE", one)
    client.must("establish", one)
    server.event("ESTABLISHED", other)
    return other


def disconnected(client: Agent, one: int, server: Agent, other: int) -> None:
    """The end of a connection, up to both ids' destruction."""
    client.must("disconnect", one)
    server.event("DISCONNECTED", other)
    server.must("disconnect", other)
    client.event("DISCONNECTED", one)
    client.must("destroy", one)
    server.must("destroy", other)
