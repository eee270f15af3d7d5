# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Operations of programs on the two connection managers, read from the kernel's tracepoints.

Ours has its own (rdma_cm_alt:rca_op, rca_member). Stock has rdma_cma:*, but none for listening
and joining: probes on the returns of its rdma_listen() and rdma_join_multicast() stand in. Each
event names the process that made the call, so it proves which stack served the call. It is also
the way to wait until a server listens.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import NamedTuple

TRACING = Path("/sys/kernel/tracing")
OURS, STOCK = "ours", "stock"

# Event (and what its text must hold) -> (stack, what happened).
_MEANING = {
    "rca_op": (OURS, {" listen ret=0": "listen", " connect ret=0": "connect",
                      " accept ret=0": "accept"}),
    "rca_member": (OURS, {" join ret=0": "join"}),
    "stock_listen": (STOCK, {"ret=0": "listen"}),
    "stock_join": (STOCK, {"ret=0": "join"}),
    "cm_send_req": (STOCK, {"": "connect"}),
    "cm_send_sidr_req": (STOCK, {"": "connect"}),
    "cm_send_rep": (STOCK, {"": "accept"}),
    "cm_send_sidr_rep": (STOCK, {"": "accept"}),
}
_LINE = re.compile(r" *.{1,16}-(\d+) +\( *(\d+|-+)\) +\[\d+\].*? \d+\.\d+: (\w+): (.*)")
_PROBES = {"stock_listen": "rdma_listen", "stock_join": "rdma_join_multicast"}


class Call(NamedTuple):
    """One successful operation of a process on a stack."""

    tgid: int
    stack: str
    what: str
    text: str


def parse(line: str) -> Call | None:
    """The operation that a line of trace_pipe reports, if any."""
    match = _LINE.match(line)
    if not match:
        return None
    tid, tgid, event, text = match.groups()
    stack, texts = _MEANING.get(event, ("", {}))
    for part, what in texts.items():
        if part in text:
            number = int(tgid) if tgid.isdigit() else process_of(int(tid))
            return Call(number, stack, what, f"{event}: {text}")
    return None


def process_of(tid: int) -> int:
    """The process of a thread while the thread lives; the kernel records it only at the next task
    switch.
    """
    try:
        status = Path(f"/proc/{tid}/status").read_text()
    except OSError:
        return tid
    return int(re.search(r"^Tgid:\s*(\d+)", status, re.MULTILINE)[1])


class NoProbes(Exception):
    """This kernel has no kprobes, as User-mode Linux."""


def add_probes() -> None:
    """Create the probes of stock's functions; once per boot."""
    if not (TRACING / "kprobe_events").exists():
        raise NoProbes("this kernel has no kprobes, which say what stack a program is on")
    for name, function in _PROBES.items():
        if (TRACING / f"events/rca_test/{name}").exists():
            continue
        # Append without the seek of a Python file: this file does not support it.
        events = os.open(TRACING / "kprobe_events", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(events, f"r:rca_test/{name} rdma_cm:{function} ret=$retval:s32\n".encode())
        finally:
            os.close(events)


class Tracer:
    """A trace buffer of its own, read without blocking."""

    def __init__(self, name: str) -> None:
        add_probes()
        self._dir = TRACING / "instances" / f"{name}-{os.getpid()}"
        self._dir.mkdir()
        self._write("buffer_size_kb", "2048")
        self._write("options/record-tgid", "1")
        for probe in _PROBES:
            self._write(f"events/rca_test/{probe}/enable", "1")
        for event in ("req", "rep", "sidr_req", "sidr_rep"):
            self._write(f"events/rdma_cma/cm_send_{event}/enable", "1")
        self.follow_ours()
        self.fd = os.open(self._dir / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        self._rest = b""
        self._calls: list[Call] = []

    def follow_ours(self) -> None:
        """Enable our module's events; they exist while the module is loaded."""
        if (self._dir / "events/rdma_cm_alt").exists():
            for event in ("rca_op", "rca_member"):
                self._write(f"events/rdma_cm_alt/{event}/enable", "1")

    def _write(self, name: str, text: str) -> None:
        (self._dir / name).write_text(text, encoding="ascii")

    def read(self) -> None:
        """Read the events since the last call."""
        while True:
            try:
                data = os.read(self.fd, 65536)
            except BlockingIOError:
                return
            if not data:
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                call = parse(line.decode(errors="replace"))
                if call:
                    self._calls.append(call)

    def calls(self, tgid: int) -> list[Call]:
        """Operations of this process so far, in order."""
        self.read()
        return [call for call in self._calls if call.tgid == tgid]

    def close(self) -> None:
        """Release the buffer."""
        os.close(self.fd)
        # The reader's last reference may be released a moment after close().
        for _ in range(50):
            try:
                self._dir.rmdir()
                return
            except OSError:
                time.sleep(0.02)
