# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The program agent from the side of a test: commands and answers, and the steps of a connection.
"""

from __future__ import annotations

import time

from scenario import DEBUG, PATIENCE, Unexpected, same
from stacks import ROOT, PipedProgram, Stack

PROGRAM = ROOT / "build/tests/fabric/fabrics/agent"
# Seconds for which to wait that no event comes.
QUIET = 2.0 if DEBUG else 0.5


class Agent(PipedProgram):
    """A running agent. It identifies ids by numbers."""

    def __init__(self, stack: Stack, *prefix: str) -> None:
        super().__init__(stack, [*prefix, str(PROGRAM)])
        self._asked: list[str] = []
        same("the agent", self._line(PATIENCE), "ok")

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.leave()
        self.end()

    def leave(self) -> None:
        """End it as programs do: by the end of its input."""
        self.close_input()
        self.wait(time.monotonic() + PATIENCE)

    def output(self) -> str:
        return "\n".join(self._asked)

    def _line(self, patience: float) -> str:
        deadline = time.monotonic() + patience
        while "\n" not in self._said:
            if not self._read(deadline):
                raise Unexpected("no answer", *self.tell(20))
        line, _newline, self._said = self._said.partition("\n")
        return line

    def start(self, *words: object) -> None:
        """Send a command; its answer must be read before the next one."""
        line = " ".join(map(str, words))
        self.write(line + "\n")
        self._asked.append(line)

    def answer(self, patience: float = PATIENCE) -> str:
        """Read an answer."""
        answer = self._line(patience)
        self._asked[-1] += f" -> {answer}"
        return answer

    def ask(self, *words: object, patience: float = PATIENCE) -> str:
        """Send a command and read its answer."""
        self.start(*words)
        return self.answer(patience)

    def must(self, *words: object) -> str:
        """A command that must succeed; returns the answer without its "ok"."""
        answer = self.ask(*words)
        if answer.split()[0] != "ok":
            raise Unexpected(" ".join(map(str, words)) + f": {answer}", *self.tell(20))
        return answer[3:]

    def event(self, wanted: str, number: int | None = None, status: int = 0) -> int:
        """The next event must be this one (without RDMA_CM_EVENT_), of this id. Returns the number
        of the id, for a request that of the new id.
        """
        found = self.ask("event", int(PATIENCE * 900)).split()
        if found[:3] != ["ok", f"RDMA_CM_EVENT_{wanted}", str(status)] or \
                number not in (None, int(found[3])):
            raise Unexpected(f"event {' '.join(found)}, not {wanted} {status} of {number}",
                             *self.tell(20))
        return int(found[-1])

    def quiet(self) -> None:
        """No event may come."""
        found = self.ask("event", int(QUIET * 1000))
        if found != "none":
            raise Unexpected(f"event {found}, not none", *self.tell(20))

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
        """The same with its route resolved, too."""
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
    """Connect an id that has a route; returns the server's new id."""
    client.must("connect", one)
    other = server.event("CONNECT_REQUEST", listener)
    server.must("accept", other)
    client.event("CONNECT_RESPONSE", one)
    client.must("establish", one)
    server.event("ESTABLISHED", other)
    return other


def disconnected(client: Agent, one: int, server: Agent, other: int) -> None:
    """Disconnect, and destroy both ids. Over a trunk the end that disconnects is told first, else when the other one answers."""
    client.must("disconnect", one)
    first = server.event("DISCONNECTED", None if client is server else other)
    if first != other:
        server.event("DISCONNECTED", other)
    server.must("disconnect", other)
    if first == other:
        client.event("DISCONNECTED", one)
    client.must("destroy", one)
    server.must("destroy", other)


def route_to_listener(client: Agent, server: Agent, address: str, port: int,
                      source: str = "-", listen_on: str = "") -> tuple[int, int]:
    """A listener, and an id with a route to it; returns client, listener."""
    listener = server.listening(listen_on or address, port)
    return client.routed(source, address, port), listener
