# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The program endpoint as a test sees it: its lines, its input, its end."""

from __future__ import annotations

import os
import re
import select
import subprocess
import time

from stacks import ROOT, Program, Stack

PROGRAM = ROOT / "build/tests/fabric/lifetime/endpoint"
DEBUG = os.environ.get("GUEST") == "debug"
# Seconds for whatever should happen soon; the host may be busy, the debug kernel is slow.
PATIENCE = 240 if DEBUG else 90


class Unexpected(Exception):
    """What did not go as it should; the text is for people."""


class Endpoint(Program):
    """A running endpoint; its output comes through a pipe."""

    def __init__(self, stack: Stack, *args: object) -> None:
        # pylint: disable=super-init-not-called
        self.stack = stack
        self.command = [str(PROGRAM), *map(str, args)]
        self._process = self._start(subprocess.PIPE, subprocess.PIPE)
        self.pid = self._process.pid
        self.pidfd = os.pidfd_open(self.pid)
        self._said = ""
        self._at = 0

    def _read(self, deadline: float) -> bool:
        """More output; False when there is none in time, or never again."""
        assert self._process.stdout
        left = max(0.0, deadline - time.monotonic())
        if not select.select([self._process.stdout], [], [], left)[0]:
            return False
        data = os.read(self._process.stdout.fileno(), 65536)
        self._said += data.decode(errors="replace")
        return bool(data)

    def output(self) -> str:
        while self._read(0):
            pass
        return self._said

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
                raise Unexpected("\n".join([f"no line '{wanted}'", *self.tell()]))

    def idle(self, patience: float = PATIENCE) -> int:
        """Wait until no connection is left; how many there were."""
        self.tell_it()
        return int(self.expect(r"idle (\d+)", patience)[1])

    def tell_it(self) -> None:
        """A line of input."""
        assert self._process.stdin
        self._process.stdin.write(b"?")
        self._process.stdin.flush()

    def close_input(self) -> None:
        """Tell it to go."""
        assert self._process.stdin
        self._process.stdin.close()

    def must_end(self, status: int = 0) -> None:
        """Wait for its end."""
        if not self.wait(time.monotonic() + PATIENCE) or self.status != status:
            raise Unexpected("\n".join([f"it should end with status {status}", *self.tell()]))

    def end(self) -> None:
        super().end()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()


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
