# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs rdma-cm-alt and programs over the drop-in library, on the rig of tests/harness/guest/rig.sh."""

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
# Limit in seconds of what is expected at once.
SOON = 60 if DEBUG else 20
OK, BAD, USAGE, MODULE, ERROR, NONE = range(6)
HERE, SILENT, ELSEWHERE = "10.9.0.1", "10.7.0.99", "192.0.2.77"


class Unexpected(Exception):
    """A result differs from the expected one."""


class Skip(Exception):
    """The test is not possible in this guest."""


def same(what: str, seen: object, wanted: object) -> None:
    """Raise unless both are equal."""
    if seen != wanted:
        raise Unexpected(f"{what}: {seen!r}, not {wanted!r}")


def true(what: str, seen: object, said: str = "") -> None:
    """Raise unless it is true."""
    if not seen:
        raise Unexpected(f"{what}: it is not so\n{said}".strip())


def install() -> None:
    """Install tool and library for this boot of the guest."""
    Path(TOOL).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "build/rdma-cm-alt", TOOL)
    DROPIN.mkdir(parents=True, exist_ok=True)
    for name in ("librdmacm.so.1", "librspreload.so"):
        shutil.copy(ROOT / "build/dropin" / name, DROPIN)


@dataclass
class Said:
    """Output and status of a command."""

    status: int
    out: str
    err: str
    args: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def json(self):
        """The output of --json."""
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
    """rdma-cm-alt, which must end with this status; None: any."""
    said = run(TOOL, *args, uid=uid, netns=netns, **more)
    said.args = args
    if status is not None and said.status != status:
        raise Unexpected(f"rdma-cm-alt {' '.join(args)}: status {said.status}, not {status}\n"
                         f"{said.text}")
    return said


def until(what: str, test, seconds: float = SOON):
    """Repeat the test until its result is true; that result."""
    deadline = time.monotonic() + seconds
    while True:
        seen = test()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise Unexpected(f"{what}: not in {seconds} s")
        time.sleep(0.1)


class Running:
    """A program in the background, over the drop-in library unless `over` is false."""

    def __init__(self, *args: str, uid: int = 0, netns: str = "", over: bool = True) -> None:
        line = [TOOL, "run", *args] if over else list(args)
        self._process = subprocess.Popen(  # pylint: disable=consider-using-with
            command(*line, uid=uid, netns=netns), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, cwd="/tmp")
        # The tool executes the program, which keeps the process ID.
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
        """The output so far."""
        with contextlib.suppress(BlockingIOError):
            while more := os.read(self._process.stdout.fileno(), 65536):
                self._said += more
        return self._said.decode(errors="replace")

    def end(self) -> str:
        """Terminate it; its output."""
        if self._process.poll() is None:
            self._process.terminate()
        return self.wait()

    def wait(self) -> str:
        """Wait for its end; its output."""
        def ended() -> bool:
            self.said()  # so that the pipe does not fill
            return self.status is not None

        try:
            until("it ends", ended, 3 * SOON)
        except Unexpected:
            self._process.kill()
            raise Unexpected(f"it still runs: {self._process.args}") from None
        return self.said()


def ids(*more: str, **how) -> list[dict]:
    """The ids that `show` prints."""
    return tool("-j", "show", "ids", *more, **how).json


def connection() -> tuple[Running, Running]:
    """Server and client of rping, connected until they are ended."""
    server = Running("rping", "-s", "-a", HERE, "-C", "0")
    until("rping listens", lambda: ids("-s", "listen", "-p", str(server.pid)))
    client = Running("rping", "-c", "-a", HERE, "-S", "64", "-C", "100000000")
    until("rping is connected", lambda: ids("-s", "connected", "-p", str(client.pid)))
    return server, client


def refused() -> str:
    """A connect to a port without listener; the output of the program."""
    return run(TOOL, "run", "rping", "-c", "-a", HERE, "-p", "9999", "-C", "1").text


def failures(*more: str, **how) -> list[dict]:
    """The last failures."""
    return tool("-j", "explain", "-n", "10000", *more, status=None, **how).json["failures"]


# nlctrl's group "notify", number 16, among the groups of a socket.
NOTIFY = 1 << 15


def listener_port(pid: int) -> int | None:
    """The netlink port of a process that is a member of the module's group; libnl makes its low 22 bits the process ID."""
    for line in Path("/proc/net/netlink").read_text().splitlines()[1:]:
        cells = line.split()
        if int(cells[2]) & (1 << 22) - 1 == pid and int(cells[3], 16) & ~NOTIFY:
            return int(cells[2])
    return None


def has_listener(pid: int) -> bool:
    """Whether a process is a member of the module's group."""
    return listener_port(pid) is not None


@contextlib.contextmanager
def monitor(*args: str) -> Iterator[Running]:
    """rdma-cm-alt monitor, when it receives notifications."""
    with Running(TOOL, "monitor", *args, over=False) as watching:
        until("it listens", lambda: has_listener(watching.pid))
        yield watching


def shell(line: str) -> None:
    """A command with the functions of rig.sh, which must succeed."""
    subprocess.run(["bash", "-c", f". tests/harness/guest/rig.sh; {line}"], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)


@contextlib.contextmanager
def namespace(name: str) -> Iterator[None]:
    """A network namespace."""
    shell(f"ip netns add {name}")
    try:
        yield
    finally:
        shell(f"ip netns del {name}")


@contextlib.contextmanager
def mute(address: str) -> Iterator[None]:
    """A neighbour with a link address that never answers."""
    subprocess.run(["ip", "neighbour", "replace", address, "lladdr", "02:00:00:00:00:98", "dev", "v0"], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "neighbour", "del", address, "dev", "v0"], check=True)
