# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs rdma-cm-alt, and programs that it has something to tell of, on the rig of tests/harness/guest/rig.sh."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "harness/python"))

import members  # noqa: E402
from stacks import ROOT  # noqa: E402

TOOL = "/usr/local/bin/rdma-cm-alt"
DROPIN = Path("/usr/local/lib/rdma_cm_alt")
NODE = Path("/dev/rdma_cm_alt")
NOBODY = 65534
HOLD = str(ROOT / "build/tests/release/tool/hold")
DEBUG = os.environ.get("GUEST") == "debug"
# Seconds that something may take which takes none.
SOON = 60 if DEBUG else 20
OK, BAD, USAGE, MODULE, ERROR, NONE = range(6)
HERE, SILENT, ELSEWHERE = "10.9.0.1", "10.7.0.99", "192.0.2.77"


class Unexpected(Exception):
    """What was seen is not what has to be."""


class Skip(Exception):
    """This guest cannot do that."""


def same(what: str, seen: object, wanted: object) -> None:
    """Complain unless they are."""
    if seen != wanted:
        raise Unexpected(f"{what}: {seen!r}, not {wanted!r}")


def true(what: str, seen: object, said: str = "") -> None:
    """Complain unless it is."""
    if not seen:
        raise Unexpected(f"{what}: it is not so\n{said}".strip())


def install() -> None:
    """What `make install` does with them; a guest forgets it."""
    Path(TOOL).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "build/rdma-cm-alt", TOOL)
    DROPIN.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "build/dropin/librdmacm.so.1", DROPIN)


@dataclass
class Said:
    """What a command said, and how it ended."""

    status: int
    out: str
    err: str
    args: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def json(self):
        """The answer to --json."""
        try:
            value = json.loads(self.out)
        except json.JSONDecodeError as error:
            raise Unexpected(f"no JSON: {error}\n{self.text}") from error
        members.note(self.args, value)
        return value


def command(*args: str, uid: int = 0, netns: str = "") -> list[str]:
    """A command line for another user or network namespace."""
    before: list[str] = ["ip", "netns", "exec", netns] if netns else []
    if uid:
        before += ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]
    return [*before, *args]


def run(*args: str, uid: int = 0, netns: str = "", **more) -> Said:
    """Any command."""
    done = subprocess.run(command(*args, uid=uid, netns=netns), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=10 * SOON, check=False,
                          cwd="/tmp", **more)
    return Said(done.returncode, done.stdout, done.stderr)


def tool(*args: str, status: int | None = OK, uid: int = 0, netns: str = "", **more) -> Said:
    """rdma-cm-alt, which has to end with this status."""
    said = run(TOOL, *args, uid=uid, netns=netns, **more)
    said.args = args
    if status is not None and said.status != status:
        raise Unexpected(f"rdma-cm-alt {' '.join(args)}: status {said.status}, not {status}\n"
                         f"{said.text}")
    return said


def until(what: str, test, seconds: float = SOON):
    """The first answer that is true."""
    deadline = time.monotonic() + seconds
    while True:
        seen = test()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise Unexpected(f"{what}: not in {seconds} s")
        time.sleep(0.1)


class Running:
    """A program that runs over the drop-in library meanwhile."""

    def __init__(self, *args: str, uid: int = 0, netns: str = "", over: bool = True) -> None:
        line = [TOOL, "run", *args] if over else list(args)
        self._process = subprocess.Popen(  # pylint: disable=consider-using-with
            command(*line, uid=uid, netns=netns), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, cwd="/tmp")
        # What it executes keeps its number.
        self.pid = self._process.pid
        os.set_blocking(self._process.stdout.fileno(), False)
        self._said = b""

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_unused) -> None:
        self.end()

    @property
    def status(self) -> int | None:
        return self._process.poll()

    def said(self) -> str:
        """Until now."""
        with contextlib.suppress(BlockingIOError):
            while more := os.read(self._process.stdout.fileno(), 65536):
                self._said += more
        return self._said.decode(errors="replace")

    def end(self) -> str:
        """End it; what it has said."""
        if self._process.poll() is None:
            self._process.terminate()
        return self.wait()

    def wait(self) -> str:
        """Until it ends of itself; what it has said."""
        def ended() -> bool:
            self.said()  # else it would wait for room
            return self.status is not None

        try:
            until("it ends", ended, 3 * SOON)
        except Unexpected:
            self._process.kill()
            raise Unexpected(f"it still runs: {self._process.args}") from None
        return self.said()


def ids(*more: str, **how) -> list[dict]:
    """Ids, as `show` has them."""
    return tool("-j", "show", "ids", *more, **how).json


def connection() -> tuple[Running, Running]:
    """rping's server and client, connected for as long as they are left."""
    server = Running("rping", "-s", "-a", HERE, "-C", "0")
    until("rping listens", lambda: ids("-s", "listen", "-p", str(server.pid)))
    client = Running("rping", "-c", "-a", HERE, "-S", "64", "-C", "100000000")
    until("rping is connected", lambda: ids("-s", "connected", "-p", str(client.pid)))
    return server, client


def refused() -> str:
    """A connect where nobody listens; what the program says."""
    return run(TOOL, "run", "rping", "-c", "-a", HERE, "-p", "9999", "-C", "1").text


def failures(*more: str, **how) -> list[dict]:
    """What failed lately."""
    return tool("-j", "explain", "-n", "10000", *more, status=None, **how).json["failures"]


# nlctrl's group "notify", number 16, among the groups of a socket.
NOTIFY = 1 << 15


def listener_port(pid: int) -> int | None:
    """The port with which a process is a member of the module's group: libnl makes its low 22 bits of the number."""
    for line in Path("/proc/net/netlink").read_text().splitlines()[1:]:
        cells = line.split()
        if int(cells[2]) & (1 << 22) - 1 == pid and int(cells[3], 16) & ~NOTIFY:
            return int(cells[2])
    return None


def has_listener(pid: int) -> bool:
    """Whether a process hears what happens."""
    return listener_port(pid) is not None


@contextlib.contextmanager
def mute(address: str) -> Iterator[None]:
    """A neighbour that is known and never answers."""
    subprocess.run(["ip", "neighbour", "replace", address, "lladdr", "02:00:00:00:00:98", "dev", "v0"], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "neighbour", "del", address, "dev", "v0"], check=True)
