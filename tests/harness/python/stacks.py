# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs unmodified librdmacm programs on one of the two stacks, with the other one inaccessible.

A program on ours gets the drop-in library and a mount namespace where the stock device node is
/dev/null; a program on stock gets Debian's library and a namespace where our node is /dev/null.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import time
from pathlib import Path

from cmtrace import OURS, STOCK, Call, Tracer

ROOT = Path(__file__).resolve().parents[3]
DROPIN = ROOT / "build/dropin"
# Ours for programs with Debian's library, where tests tell it from OURS.
NODE = "node"
HIDDEN = {OURS: "/dev/infiniband/rdma_cm", STOCK: "/dev/rdma_cm_alt"}

_CLONE_NEWNS, _CLONE_NEWNET, _MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 17, 1 << 30, 4096, 16384, 1 << 18
_LISTENS = "0A"  # the state of a TCP socket in /proc/net/tcp
_LIBC = ctypes.CDLL(None, use_errno=True)


def _must(result: int, what: str) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


class Stack:
    """One connection manager as programs see it. The node of the other one must exist when this
    object is created, unless its module is not loaded at all.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.env = dict(os.environ)
        if name == OURS:
            self.env["LD_LIBRARY_PATH"] = str(DROPIN)
            if not (DROPIN / "librdmacm.so.1").exists():
                raise SystemExit(f"{DROPIN}/librdmacm.so.1 is not there; on the host run: make lib")
        self._namespace = self._make_namespace(HIDDEN[name])

    @staticmethod
    def _make_namespace(node: str) -> int:
        """A mount namespace where `node` is /dev/null, held by a file descriptor."""
        ready_read, ready_write = os.pipe()
        done_read, done_write = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                _must(_LIBC.unshare(_CLONE_NEWNS), "unshare")
                _must(_LIBC.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "mount private")
                if os.path.exists(node):
                    _must(_LIBC.mount(b"/dev/null", node.encode(), None, _MS_BIND, None),
                          f"hide {node}")
                os.close(done_write)
                os.write(ready_write, b"y")
                os.read(done_read, 1)
            finally:
                os._exit(0)
        os.close(ready_write)
        os.close(done_read)
        if os.read(ready_read, 1) != b"y":
            raise SystemExit(f"cannot make a mount namespace without {node}")
        namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        os.close(done_write)
        os.close(ready_read)
        os.waitpid(pid, 0)
        return namespace

    def enter(self) -> None:
        """Move the calling process (a child without threads) into the namespace."""
        _must(_LIBC.setns(self._namespace, _CLONE_NEWNS), "setns")


class OverNode(Stack):
    """Ours for programs with Debian's library: the module rdma_cm_alt_ucm has stock's node."""

    def __init__(self) -> None:
        # pylint: disable=super-init-not-called
        self.name = OURS
        self.env = dict(os.environ)
        self._namespace = self._make_namespace(HIDDEN[STOCK])


class Image(OverNode):
    """Ours for programs of another release of Debian: in a container whose image is its root directory. `netns`: and whose network
    namespace is this file.
    """

    def __init__(self, root: Path, netns: str = "") -> None:
        super().__init__()
        self._root = root
        self._netns = netns

    def inside(self, netns: str) -> Image:
        """The same image in a network namespace."""
        return Image(self._root, netns)

    def enter(self) -> None:
        netns = os.open(self._netns, os.O_RDONLY | os.O_CLOEXEC) if self._netns else -1
        super().enter()
        _must(_LIBC.unshare(_CLONE_NEWNS), "unshare")
        if netns >= 0:
            _must(_LIBC.setns(netns, _CLONE_NEWNET), f"setns {self._netns}")
            os.close(netns)
        for name in ("dev", "proc", "tmp"):
            _must(_LIBC.mount(f"/{name}".encode(), str(self._root / name).encode(), None, _MS_BIND | _MS_REC, None), f"bind /{name}")
        # A new one has the devices of the network namespace.
        _must(_LIBC.mount(b"sysfs", str(self._root / "sys").encode(), b"sysfs", 0, None), "mount sysfs")
        os.chroot(self._root)
        os.chdir("/")


class Inside(Stack):
    """The same connection manager, for programs in another network namespace."""

    def __init__(self, stack: Stack, netns: str) -> None:
        # pylint: disable=super-init-not-called
        self.name = stack.name
        self.env = stack.env
        self._stack = stack
        self._netns = netns

    def enter(self) -> None:
        # Its file is no longer visible in the stack's mount namespace.
        netns = os.open(self._netns, os.O_RDONLY | os.O_CLOEXEC)
        _must(_LIBC.setns(netns, _CLONE_NEWNET), f"setns {self._netns}")
        os.close(netns)
        self._stack.enter()


# rping destroys its channel while another thread of it may be about to read the channel. That
# thread then prints an error and ends the process before the main thread, which has finished all
# its work.
OWN_THREAD = "rdma_get_cm_event: Bad file descriptor"


def ended_well(status: int | None, output: str) -> bool:
    """Whether a program succeeded, apart from that flaw of rping."""
    return status == 0 or (status is not None and status > 0 and OWN_THREAD in output)


def _proc(path: Path) -> str:
    """Text of a file of /proc; empty when its process has ended, or reading is not permitted."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def waits_for_completion(pid: int) -> bool:
    """Whether a process sleeps in a read of its completion channel."""
    return _proc(Path(f"/proc/{pid}/wchan")).startswith("ib_uverbs_event_read")


def has_socket(pid: int, port: int) -> bool:
    """Whether a UDP socket is bound to a port in the network namespace of a process, or a TCP socket listens."""
    for name in ("tcp", "tcp6", "udp", "udp6"):
        for line in _proc(Path(f"/proc/{pid}/net/{name}")).splitlines()[1:]:
            words = line.split()
            if words[1].endswith(f":{port:04X}") and (name.startswith("udp") or words[3] == _LISTENS):
                return True
    return False


def library_of(pid: int) -> str:
    """The stack whose librdmacm a process has loaded; "nothing" without one."""
    maps = _proc(Path(f"/proc/{pid}/maps"))
    if "/librdmacm.so" not in maps:
        return "nothing"
    return OURS if f"{DROPIN}/librdmacm.so" in maps else STOCK


def where_it_sleeps(pid: int, frames: int = 8) -> list[str]:
    """For diagnostics: the kernel function and, for root, the call chain of each thread of a
    process.
    """
    if os.environ.get("GUEST") == "uml":
        # The debug kernel reads stacks of running tasks, and KASAN ends it.
        return ["where its threads sleep cannot be asked in User-mode Linux"]
    lines = []
    for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
        place = _proc(task / "wchan")
        # A frame is "[<0>] function+0x1/0x2", with " [module]" after it.
        chain = [frame.partition("] ")[2] for frame in _proc(task / "stack").splitlines()]
        lines.append(f"thread {task.name} ({_proc(task / 'comm')}) " +
                     (f"sleeps in {place}" if place not in ("", "0") else "is not asleep") +
                     (f": {' < '.join(chain[:frames])}" if chain else ""))
    return lines


class Program:
    """A running program, its output kept in a file."""

    def __init__(self, stack: Stack, command: list[str], log: Path) -> None:
        self.stack = stack
        self.command = command
        self.log = log
        with open(log, "wb") as out:
            self._process = self._start(out.fileno(), subprocess.DEVNULL)
        self.pid = self._process.pid
        self.pidfd = os.pidfd_open(self.pid)

    def _start(self, out: int, into: int) -> subprocess.Popen:
        # This process has no threads, so preexec_fn is safe.
        return subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            self.command, stdin=into, stdout=out, stderr=subprocess.STDOUT, env=self.stack.env,
            cwd="/tmp", preexec_fn=self.stack.enter, start_new_session=True)

    @property
    def status(self) -> int | None:
        """Exit status, minus the signal when one ended it, None while it runs."""
        return self._process.poll()

    def wait(self, deadline: float) -> bool:
        """Wait until it has ended or the time (of time.monotonic) is over; returns whether it has
        ended.
        """
        left = max(0.0, deadline - time.monotonic())
        if not select.select([self.pidfd], [], [], left)[0]:
            return False
        try:
            # A tracer must detach before the process can be reaped.
            self._process.wait(max(1.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def wait_for(self, tracer: Tracer, what: str, deadline: float, times: int = 1) -> bool:
        """Wait until it has done `what`; False when it ended or the time is over before."""
        while sum(call.what == what for call in tracer.calls(self.pid)) < times:
            left = deadline - time.monotonic()
            if left <= 0 or self.status is not None:
                return False
            # The pipe's wake-up may be late: poll at least twice a second.
            select.select([tracer.fd, self.pidfd], [], [], min(left, 0.5))
        return True

    @property
    def well(self) -> bool:
        """Whether it has ended successfully."""
        return ended_well(self.status, self.output())

    def signal(self, number: int) -> None:
        """Send the signal, unless the program has ended."""
        if self.status is None:
            signal.pidfd_send_signal(self.pidfd, number)

    def end(self) -> None:
        """Kill it if it is running, and release everything."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        os.close(self.pidfd)

    def output(self) -> str:
        """Its output so far."""
        return self.log.read_text(errors="replace")

    def tell(self, count: int = 8) -> list[str]:
        """For diagnostics: the command, its exit status or where it sleeps, the end of its output.
        """
        sleeps: list[str] = []
        if self.status is None:
            state = "still running"
            sleeps = where_it_sleeps(self.pid)
        elif self.status < 0:
            state = f"ended by {signal.Signals(-self.status).name}"
        else:
            state = f"exit status {self.status}"
        return [f"{self.stack.name}: {' '.join(self.command)}: {state}",
                *(f"    {line}" for line in sleeps),
                *(f"    {line}" for line in self.output().splitlines()[-count:])]


class PipedProgram(Program):
    """A running program whose input and output are pipes."""

    def __init__(self, stack: Stack, command: list[str]) -> None:
        # pylint: disable=super-init-not-called
        self.stack = stack
        self.command = command
        self._process = self._start(subprocess.PIPE, subprocess.PIPE)
        assert self._process.stdin and self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout
        self.pid = self._process.pid
        self.pidfd = os.pidfd_open(self.pid)
        self._said = ""

    def hear(self) -> None:
        """Read what it has said so far, so that it is not held up by a full pipe."""
        while self._read(time.monotonic()):
            pass

    def _read(self, deadline: float) -> bool:
        """Read more output; False when there is none in time, or at its end."""
        left = max(0.0, deadline - time.monotonic())
        if not select.select([self._output], [], [], left)[0]:
            return False
        data = os.read(self._output.fileno(), 65536)
        self._said += data.decode(errors="replace")
        return bool(data)

    def output(self) -> str:
        while self._read(0):
            pass
        return self._said

    def fileno(self) -> int:
        """Its output, for select()."""
        return self._output.fileno()

    def write(self, text: str) -> None:
        """Write to its input."""
        self._input.write(text.encode())
        self._input.flush()

    def close_input(self) -> None:
        """Close its input."""
        self._input.close()

    def end(self) -> None:
        super().end()
        self._input.close()
        self._output.close()


def served_by(calls: list[Call]) -> str:
    """The one stack that served these calls; "nothing" or "both" otherwise."""
    stacks = {call.stack for call in calls}
    if len(stacks) == 1:
        return stacks.pop()
    return "both" if stacks else "nothing"
