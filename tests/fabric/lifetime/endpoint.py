# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The program endpoint as a test sees it: its lines, its input, its end."""

from __future__ import annotations

import re
import time

import scenario
from scenario import PATIENCE, Unexpected
from stacks import ROOT, PipedProgram, Program, Stack

PROGRAM = ROOT / "build/tests/fabric/lifetime/endpoint"


class Endpoint(PipedProgram):
    """A running endpoint."""

    def __init__(self, stack: Stack, *args: object) -> None:
        super().__init__(stack, [str(PROGRAM), *map(str, args)])
        self.port = int(args[2])
        self._at = 0

    def expect(self, wanted: str, patience: float = PATIENCE) -> re.Match[str]:
        """The next line, from where the last one was found, that `wanted` matches."""
        deadline = time.monotonic() + patience
        while True:
            match = re.compile(rf"^(?:{wanted})$", re.MULTILINE).search(self._said, self._at)
            # A line counts when it is complete.
            if match and match.end() < len(self._said):
                self._at = match.end()
                return match
            if not self._read(deadline):
                raise Unexpected(f"no line '{wanted}'", *self.tell())

    def idle(self, patience: float = PATIENCE) -> int:
        """Wait until no connection is left; how many there were."""
        self.tell_it()
        return int(self.expect(r"idle (\d+)", patience)[1])

    def tell_it(self) -> None:
        """A line of input."""
        self.write("?")

    def must_end(self, status: int = 0) -> None:
        """Wait for its end."""
        scenario.must_end(self, status=status)

    def leave(self) -> None:
        """Its input ends, and so does it."""
        self.close_input()
        self.must_end()


class Endpoints:
    """Starts endpoints and other programs; ends what is left of them."""

    def __init__(self) -> None:
        self._all: list[Program] = []

    def __enter__(self) -> Endpoints:
        return self

    def __exit__(self, *_exception: object) -> None:
        for program in self._all:
            program.end()

    def add(self, program: Program) -> Program:
        self._all.append(program)
        return program

    def listen(self, stack: Stack, address: str, port: int) -> Endpoint:
        """A server that listens, or an exception that says why not."""
        server = Endpoint(stack, "listen", address, port)
        self.add(server)
        server.port = int(server.expect(r"listening (\d+)")[1])
        return server

    def refused(self, stack: Stack, address: str, port: int, error: str) -> None:
        """A server that must not be able to listen, with this errno."""
        server = Endpoint(stack, "listen", address, port)
        self.add(server)
        server.expect(rf"rdma_(listen|bind_addr): ({error})")
        server.must_end(1)

    def client(self, stack: Stack, how: str, address: str, port: int, count: int = 1) -> Endpoint:
        """A client; `how` is hold or churn."""
        client = Endpoint(stack, how, address, port, count)
        self.add(client)
        return client
