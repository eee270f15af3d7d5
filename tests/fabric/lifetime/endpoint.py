# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The program endpoint from the side of a test: its output lines, its input, its end."""

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
        """The next line after the last one found that `wanted` matches."""
        deadline = time.monotonic() + patience
        while True:
            match = re.compile(rf"^(?:{wanted})$", re.MULTILINE).search(self._said, self._at)
            # Only complete lines count.
            if match and match.end() < len(self._said):
                self._at = match.end()
                return match
            if not self._read(deadline):
                raise Unexpected(f"no line '{wanted}'", *self.tell())

    def idle(self, patience: float = PATIENCE) -> int:
        """Wait until no connection is left; returns how many there were."""
        self.tell_it()
        return int(self.expect(r"idle (\d+)", patience)[1])

    def tell_it(self) -> None:
        """Write a line to the input."""
        self.write("?")

    def must_end(self, status: int = 0) -> None:
        """Wait for its end."""
        scenario.must_end(self, status=status)

    def leave(self) -> None:
        """Close its input, which ends the program."""
        self.close_input()
        self.must_end()


class Endpoints:
    """Starts endpoints and other programs; ends those that are still running."""

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
        """A server that listens, or an exception with the reason of the failure."""
        server = Endpoint(stack, "listen", address, port)
        self.add(server)
        server.port = int(server.expect(r"listening (\d+)")[1])
        return server

    def refused(self, stack: Stack, address: str, port: int, error: str) -> None:
        """A server that must fail to listen, with this errno."""
        server = Endpoint(stack, "listen", address, port)
        self.add(server)
        server.expect(rf"rdma_(listen|bind_addr): ({error})")
        server.must_end(1)

    def client(self, stack: Stack, how: str, address: str, port: int, count: int = 1) -> Endpoint:
        """A client; `how` is hold or churn."""
        client = Endpoint(stack, how, address, port, count)
        self.add(client)
        return client
