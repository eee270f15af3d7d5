#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs programs for the tests of a pair of guests; one runs at each end of the wire.

usage: agent.py PORT

A connection is one program. The input is a line of JSON: {"stack": "ours", "stock", "node" (Debian's
librdmacm over rdma_cm_alt_ucm) or null, "command": [word, ...], "trace": bool}; the output is that
of the program, line by line, then a NUL and the exit status. With "trace" there is a line
"@STACK WHAT" for each operation of the program that the kernel traced on a stack. When the
connection ends before the program, the program is killed without notice, so it sends no
disconnects. The command ["start again"] is for the bench: this guest is restarted without any
shutdown.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socketserver
import subprocess
import sys
import termios
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "harness/python"))

from cmtrace import OURS, STOCK, Tracer, add_probes  # noqa: E402
from stacks import NODE, OverNode, Stack  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
START_AGAIN = "start again"
STACKS: dict[str, Stack] = {}


def start_again() -> None:
    """As if the power was lost: the bench sees the line and boots a new guest."""
    os.write(1, b"\nSTART AGAIN\n")
    termios.tcdrain(1)
    Path("/proc/sysrq-trigger").write_text("b", encoding="ascii")


class Handler(socketserver.StreamRequestHandler):
    """One program; a process of its own."""

    def handle(self) -> None:
        request = json.loads(self.rfile.readline())
        if request["command"] == [START_AGAIN]:
            start_again()
            return
        # Its device is made anew whenever the module is loaded.
        stack = OverNode() if request["stack"] == NODE else STACKS.get(request["stack"])
        tracer = Tracer("wire") if request["trace"] else None
        # This process has no threads, so preexec_fn is safe.
        process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            request["command"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, cwd=ROOT, start_new_session=True,
            env=stack.env if stack else None, preexec_fn=stack.enter if stack else None)
        try:
            self._forward(process, tracer)
        finally:
            if tracer:
                tracer.close()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _forward(self, process: subprocess.Popen, tracer: Tracer | None) -> None:
        """Run until the program has ended, or the connection is closed."""
        assert process.stdout
        rest = b""
        told = 0
        data = b"."
        while data:
            sources = [self.connection, process.stdout, *([tracer.fd] if tracer else [])]
            # The wake-up of the trace's pipe may be late: poll at least twice a second.
            ready, _, _ = select.select(sources, [], [], 0.5 if tracer else None)
            if self.connection in ready:
                return
            text = b""
            if process.stdout in ready:
                data = os.read(process.stdout.fileno(), 65536)
                *lines, rest = (rest + data).split(b"\n")
                text = b"".join(line + b"\n" for line in lines)
            for call in tracer.calls(process.pid)[told:] if tracer else []:
                told += 1
                text += f"@{call.stack} {call.what}\n".encode()
            self.connection.sendall(text)
        self.connection.sendall(rest + b"\0%d\n" % process.wait())


class Server(socketserver.ForkingTCPServer):
    """Listen on all addresses: the wire connects this guest to the other one only."""

    allow_reuse_address = True
    request_queue_size = 64
    max_children = 1000


def main() -> int:
    add_probes()
    for name in (OURS, STOCK):
        STACKS[name] = Stack(name)
    with Server(("", int(sys.argv[1])), Handler) as server:
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
