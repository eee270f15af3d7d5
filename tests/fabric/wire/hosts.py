# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The two guests on the wire from the side of a test: programs that run there, and faults of the
wire.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scenario import Unexpected
from stacks import ended_well

DEBUG = bool(re.search(r"rca\.pair=\S*debug", Path("/proc/cmdline").read_text(encoding="ascii")))
# Time limits of a program and of an answer; the debug kernel is slow, and the host may be busy.
PATIENCE = 240 if DEBUG else 90
AGENT_PORT = 7900


def _request(stack: str | None, words: list[str], trace: bool = False) -> bytes:
    """The request that agent.py expects."""
    return json.dumps({"stack": stack, "command": words, "trace": trace}).encode() + b"\n"


class Program:
    """A program on one of the hosts. When it is ended, it is killed and sends no disconnects."""

    def __init__(self, host: Host, stack: str | None, command: str, trace: bool = False) -> None:
        self.host = host
        self.stack = stack
        self.command = command
        self._changed = threading.Condition()
        self._text = b""
        self._over = False
        self._socket = socket.create_connection(host.agent, PATIENCE)
        self._socket.settimeout(None)
        words = ["bash", "-c", command] if stack is None else command.split()
        self._socket.sendall(_request(stack, words, trace))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                data = self._socket.recv(65536)
            except OSError:
                data = b""
            with self._changed:
                self._text += data
                self._over = not data
                self._changed.notify_all()
            if not data:
                return

    @property
    def output(self) -> str:
        """Its output so far."""
        return self._text.partition(b"\0")[0].decode(errors="replace")

    @property
    def lines(self) -> list[str]:
        """Complete lines of it."""
        return self.output.split("\n")[:-1]

    @property
    def status(self) -> int | None:
        """Exit status; None: it is running, or its host is down."""
        match = re.fullmatch(rb"(?s).*\x00(-?\d+)\n", self._text)
        return int(match.group(1)) if match else None

    def tell(self) -> str:
        """For diagnostics: the command, and the end of its output."""
        said = "\n".join(f"    {line}" for line in self.output.splitlines()[-12:])
        return f"{self.host.name}, {self.stack}: {self.command}: status {self.status}\n{said}"

    def until(self, pattern: str, times: int = 1, patience: float = PATIENCE) -> None:
        """Wait until that many of its lines match."""
        def enough() -> bool:
            return sum(bool(re.search(pattern, line)) for line in self.lines) >= times

        with self._changed:
            self._changed.wait_for(lambda: enough() or self._over, patience)
            if not enough():
                raise Unexpected(f"'{pattern}' was not said {times} times\n{self.tell()}")

    def over(self, patience: float) -> bool:
        """Whether it has ended, or its host is down, by then."""
        with self._changed:
            return self._changed.wait_for(lambda: self._over, patience)

    def done(self, says: str = "", patience: float = PATIENCE) -> None:
        """Wait until it has ended successfully with some output."""
        with self._changed:
            self._changed.wait_for(lambda: self._over, patience)
        if not ended_well(self.status, self.output):
            raise Unexpected(f"it did not end well\n{self.tell()}")
        if not re.search(says, self.output):
            raise Unexpected(f"it did not say '{says}'\n{self.tell()}")

    def kill(self) -> None:
        """Kill it now."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()


class Host:
    """One of the two guests."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.ip = f"10.8.0.{number}"
        self.ip6 = f"fd00:8::{number}"
        self.agent = (f"10.8.1.{number}", AGENT_PORT)
        self.programs: list[Program] = []

    def start(self, stack: str | None, command: str, trace: bool = False) -> Program:
        """Start a program: words, with a stack; or a shell command, without one."""
        self.programs.append(Program(self, stack, command, trace))
        return self.programs[-1]

    def do(self, command: str) -> str:
        """Run a shell command that must succeed; returns its output."""
        program = self.start(None, command)
        program.done()
        return program.output

    def end_all(self) -> None:
        """No program outlives its test."""
        for program in self.programs:
            program.kill()
        self.programs.clear()

    def boot_id(self, patience: float = 5) -> str:
        """Identifies this boot; "" when the host does not answer."""
        try:
            program = self.start(None, "cat /proc/sys/kernel/random/boot_id")
            program.done(patience=patience)
            return program.output.strip()
        except (OSError, Unexpected):
            return ""

    def start_again(self) -> None:
        """Restart it as after a power failure: without any disconnect or other shutdown."""
        before = self.boot_id()
        with socket.create_connection(self.agent, PATIENCE) as line:
            line.sendall(_request(None, ["start again"]))
        deadline = time.monotonic() + 3 * PATIENCE
        while time.monotonic() < deadline:
            if self.boot_id() not in ("", before):
                return
            time.sleep(0.5)
        raise Unexpected(f"{self.name} did not come back")


class Hosts:
    """Both hosts, and the wire between them."""

    def __init__(self) -> None:
        self.near = Host("near", 1)
        self.far = Host("far", 2)
        self._port = 20000

    @property
    def both(self) -> tuple[Host, Host]:
        """Near, far."""
        return self.near, self.far

    def port(self) -> int:
        """A port that no test has used."""
        self._port += 1
        return self._port

    def end_all(self) -> None:
        """No program outlives its test."""
        for host in self.both:
            host.end_all()

    @contextmanager
    def disturbed(self, netem: str) -> Iterator[None]:
        """Make the wire faulty in both directions."""
        for host in self.both:
            host.do(f"tc qdisc replace dev wire0 root netem limit 10000 {netem}")
        try:
            yield
        finally:
            for host in self.both:
                host.do("tc qdisc del dev wire0 root")
